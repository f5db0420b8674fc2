//! Names in paths.

/// Most bytes of an encoded name: file systems take 255 for a component of a path, with the key before it.
const MAX_BYTES: usize = 160;

/// A name as part of a path: letters, digits, `.`, `_` and `-` stay, each other byte is `%XX`; a long one is cut, with a hash of it all.
pub(super) fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => {
                text.push(char::from(byte));
            }
            other => text += &format!("%{other:02X}"),
        }
    }
    if text.is_empty() {
        return "%00".into();
    }
    if text.len() > MAX_BYTES {
        text.truncate(MAX_BYTES);
        // Not within a `%XX`.
        let whole = text.rfind('%').filter(|place| place + 3 > text.len());
        text.truncate(whole.unwrap_or(text.len()));
        text += &format!("-{:08x}", crc32fast::hash(name.as_bytes()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_harmless_and_differ() {
        assert_eq!(encoded("shock-1.2_b"), "shock-1.2_b");
        assert_eq!(encoded("../a b=é"), "..%2Fa%20b%3D%C3%A9");
        assert_eq!(encoded(""), "%00");
        let long = "ü".repeat(300);
        let (one, other) = (encoded(&long), encoded(&format!("{long}x")));
        assert!(one.len() < 200 && one != other && one.is_ascii());
        let digits = one.rsplit_once('-').map(|(head, _)| head.len() % 3);
        assert_eq!(digits, Some(0));
    }
}

//! Pieces of lines: brackets and the words before them.

/// The contents of the round brackets at the beginning of a text, and the rest.
pub(super) fn bracketed(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let mut depth = 0_usize;
    for (i, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some((text[1..i].trim(), text[i + 1..].trim_start()));
                }
            }
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The text after a word at its beginning, whatever its case; the word ends there.
pub(super) fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let start = text.get(..word.len())?;
    let rest = &text[word.len()..];
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (start.eq_ignore_ascii_case(word) && ends).then(|| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_balanced() {
        assert_eq!(bracketed("(f(x) > 0) then"), Some(("f(x) > 0", "then")));
        assert_eq!(bracketed("() x"), Some(("", "x")));
        assert_eq!(bracketed("(f(x) > 0 then"), None);
        assert_eq!(bracketed(") x ("), None);
        assert_eq!(bracketed(""), None);
    }
}

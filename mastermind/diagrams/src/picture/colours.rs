//! Colours that authors write, as SVG knows them.

/// A colour of SVG for a colour in a diagram: `#f9f`, `red`, `rgb(1, 2, 3)`, PlantUML's `#LightBlue`, and the first of
/// a gradient `#red/yellow`; `None` for other text.
pub(super) fn colour(text: &str) -> Option<String> {
    let text = text.trim();
    let is_function = text.starts_with("rgb") || text.starts_with("hsl");
    if is_function && text.ends_with(')') {
        let is_part = |c: char| c.is_ascii_alphanumeric() || " (),.%".contains(c);
        return text.chars().all(is_part).then(|| text.to_owned());
    }
    let first = text.split(['/', '|', '\\', ';', ':']).next()?.trim();
    let plain = first.trim_start_matches('#');
    let is_hexadecimal = plain.chars().all(|c| c.is_ascii_hexdigit());
    match plain.len() {
        3 | 4 | 6 | 8 if is_hexadecimal => Some(format!("#{plain}")),
        3..=24 if plain.chars().all(|c| c.is_ascii_alphabetic()) => {
            Some(plain.to_ascii_lowercase())
        }
        _ => None,
    }
}

/// Whether a colour is so dark that letters on it should be white.
pub(super) fn is_dark(colour: &str) -> bool {
    let Some(digits) = colour.strip_prefix('#') else {
        let dark = [
            "black", "navy", "dark", "blue", "purple", "maroon", "green", "indigo",
        ];
        return dark.iter().any(|word| colour.starts_with(word));
    };
    let wide = digits.len() >= 6;
    let part = |i: usize| {
        let text = if wide {
            digits.get(2 * i..2 * i + 2)
        } else {
            digits.get(i..i + 1)
        };
        let value = text
            .and_then(|text| u8::from_str_radix(text, 16).ok())
            .unwrap_or(255);
        f64::from(value) / if wide { 255.0 } else { 15.0 }
    };
    // Weights of ITU-R BT.709 for the brightness that eyes see.
    0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2) < 0.4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_are_colours() {
        for (text, expected) in [
            ("#f9f", Some("#f9f")),
            ("#LightBlue", Some("lightblue")),
            ("red", Some("red")),
            ("#red/yellow", Some("red")),
            ("#palegreen;line:green", Some("palegreen")),
            ("rgb(1, 2, 3)", Some("rgb(1, 2, 3)")),
            ("url(#x)", None),
            ("red\" onload=\"x", None),
            ("", None),
        ] {
            assert_eq!(colour(text).as_deref(), expected, "{text}");
        }
        assert!(is_dark("#003") && is_dark("#102030") && !is_dark("#ffe") && !is_dark("yellow"));
    }
}

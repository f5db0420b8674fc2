//! Activities and arrows of a line.

/// Begin or end of an arrow.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::plantuml) enum Entity<'a> {
    /// `(*)`.
    Star,
    /// `===NAME===`.
    Bar(&'a str),
    /// `<> NAME`.
    Branch(&'a str),
    /// `"text" as code`, `code`.
    Named {
        code: &'a str,
        text: &'a str,
        /// With its brackets; blank for none.
        stereotype: &'a str,
    },
}

/// The entity at the beginning of a text, and the rest.
pub(in crate::plantuml) fn entity(text: &str) -> Option<(Entity<'_>, &str)> {
    let text = text.trim_start();
    if let Some(rest) = text.strip_prefix("(*") {
        let (_, rest) = rest.split_once(')')?;
        return Some((Entity::Star, rest.trim_start()));
    }
    if text.starts_with("==") {
        let rest = text.trim_start_matches('=');
        let end = rest.find("==")?;
        let name = rest[..end].trim();
        return Some((
            Entity::Bar(name),
            rest[end..].trim_start_matches('=').trim_start(),
        ));
    }
    if let Some(rest) = text.strip_prefix("<>") {
        let (name, rest) = code(rest.trim_start())?;
        return Some((Entity::Branch(name), rest));
    }
    if let Some(rest) = text.strip_prefix('"') {
        let (quoted, rest) = rest.split_once('"')?;
        let rest = rest.trim_start();
        let (stereotype, rest) = stereotype(rest);
        let (name, rest) = match rest
            .strip_prefix("as ")
            .and_then(|rest| code(rest.trim_start()))
        {
            Some((name, rest)) => (name, rest),
            None => (quoted, rest),
        };
        let (second, rest) = self::stereotype(rest);
        let stereotype = if stereotype.is_empty() {
            second
        } else {
            stereotype
        };
        let (code, text) = (name, quoted);
        return Some((
            Entity::Named {
                code,
                text,
                stereotype,
            },
            colour(rest),
        ));
    }
    let (code, rest) = code(text)?;
    let (stereotype, rest) = stereotype(rest);
    let text = code;
    Some((
        Entity::Named {
            code,
            text,
            stereotype,
        },
        colour(rest),
    ))
}

/// A name of letters, digits, points and underlines.
fn code(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
    let end = end.unwrap_or(text.len());
    let begins = text.starts_with(char::is_alphanumeric);
    begins.then(|| (&text[..end], text[end..].trim_start()))
}

/// `<<…>>`, or nothing.
fn stereotype(text: &str) -> (&str, &str) {
    let end = text.starts_with("<<").then(|| text.find(">>")).flatten();
    match end {
        Some(end) => (&text[..end + 2], text[end + 2..].trim_start()),
        None => ("", text),
    }
}

/// The rest of a text after a colour, if there is one.
fn colour(text: &str) -> &str {
    let Some(rest) = text.strip_prefix('#') else {
        return text;
    };
    rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric())
        .trim_start()
}

/// The label of the arrow at the beginning of a text, and the rest.
pub(in crate::plantuml) fn arrow(text: &str) -> Option<(Option<&str>, &str)> {
    let text = text.trim_start();
    if !text.starts_with(['-', '.']) {
        return None;
    }
    let mut end = None;
    let mut in_style = false;
    for (i, letter) in text.char_indices() {
        match letter {
            '[' => in_style = true,
            ']' => in_style = false,
            '>' if !in_style => {
                end = Some(i);
                break;
            }
            _ if in_style => {}
            '-' | '.' | '*' => {}
            c if c.is_ascii_alphabetic() => {}
            _ => return None,
        }
    }
    let rest = text[end? + 1..].trim_start();
    match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((label, rest)) => Some((Some(label.trim()), rest.trim_start())),
        None => Some((None, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_and_arrows_are_distinguished() {
        assert_eq!(entity("(*) --> x"), Some((Entity::Star, "--> x")));
        assert_eq!(
            entity("(*top) -> x").map(|found| found.0),
            Some(Entity::Star)
        );
        assert_eq!(entity("===B1=== --> x"), Some((Entity::Bar("B1"), "--> x")));
        assert_eq!(entity("<> B"), Some((Entity::Branch("B"), "")));
        let named = Entity::Named {
            code: "a",
            text: "the action",
            stereotype: "<<action+>>",
        };
        assert_eq!(
            entity("\"the action\" <<action+>> as a #red"),
            Some((named, ""))
        );
        assert_eq!(arrow("-->[x > 1] y"), Some((Some("x > 1"), "y")));
        assert_eq!(arrow("-right-> y"), Some((None, "y")));
        assert_eq!(arrow("-[#red]-> y"), Some((None, "y")));
        assert_eq!(arrow("x"), None);
        assert_eq!(arrow("- x >"), None);
    }
}

//! Names of SIDL as other languages take them.

/// Words that are no names in Rust, C or C++; an underscore is added.
const RESERVED: &[&str] = &[
    "abstract",
    "alignas",
    "alignof",
    "and",
    "as",
    "asm",
    "async",
    "auto",
    "await",
    "become",
    "bool",
    "box",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "continue",
    "crate",
    "default",
    "delete",
    "do",
    "double",
    "dyn",
    "else",
    "enum",
    "error",
    "explicit",
    "export",
    "extern",
    "false",
    "final",
    "float",
    "fn",
    "for",
    "friend",
    "gen",
    "goto",
    "header",
    "if",
    "impl",
    "in",
    "inline",
    "int",
    "let",
    "long",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "mutable",
    "namespace",
    "new",
    "not",
    "object",
    "operator",
    "or",
    "override",
    "priv",
    "private",
    "protected",
    "pub",
    "public",
    "ref",
    "register",
    "restrict",
    "result",
    "return",
    "self",
    "short",
    "signed",
    "sizeof",
    "slot",
    "static",
    "struct",
    "super",
    "switch",
    "template",
    "this",
    "throw",
    "trait",
    "true",
    "try",
    "type",
    "typedef",
    "typeof",
    "union",
    "unsafe",
    "unsigned",
    "unsized",
    "use",
    "using",
    "virtual",
    "void",
    "volatile",
    "where",
    "while",
    "xor",
    "yield",
];

/// `set_group_name` of `setGroupName`: a name of a method, an argument or a field.
pub fn snake(name: &str) -> String {
    let text = words(name).join("_");
    match RESERVED.contains(&text.as_str()) {
        true => text + "_",
        false => text,
    }
}

/// `SetGroupName` of `setGroupName`, `LinearOp` of `linear-op`: a name of a type.
pub fn camel(name: &str) -> String {
    let capital = |word: &String| word[..1].to_ascii_uppercase() + &word[1..];
    let text: String = words(name).iter().map(capital).collect();
    match text.as_str() {
        "Self" | "Option" | "Result" | "Some" | "None" | "Ok" | "Err" => text + "_",
        _ => text,
    }
}

/// `SET_GROUP_NAME` of `setGroupName`: a name of a constant.
pub fn upper(name: &str) -> String {
    words(name).join("_").to_ascii_uppercase()
}

/// `gov_cca_type_map` of `gov.cca.TypeMap`: prefix of the names of an interface in C.
pub fn stem(name: &str) -> String {
    words(name).join("_")
}

/// The words of a name, in lower case; each begins with a letter, or with a digit behind an underscore.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let characters: Vec<char> = name.chars().filter(char::is_ascii).collect();
    for (place, c) in characters.iter().enumerate() {
        let before = place.checked_sub(1).map_or('_', |place| characters[place]);
        let next = characters.get(place + 1).copied().unwrap_or('_');
        let begins = c.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || before.is_ascii_uppercase() && next.is_ascii_lowercase());
        if begins || !c.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    match words.first_mut() {
        None => words.push("unnamed".into()),
        Some(first) if first.starts_with(|c: char| c.is_ascii_digit()) => first.insert(0, 'n'),
        Some(_) => {}
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_each_language() {
        for (name, expected) in [
            ("setGroupName", "set_group_name"),
            ("setParam1L", "set_param1_l"),
            ("QRFactor", "qr_factor"),
            ("nx", "nx"),
            ("type", "type_"),
            ("Linear-Op", "linear_op"),
            ("__x", "x"),
            ("_", "unnamed"),
            ("2d", "n2d"),
        ] {
            assert_eq!(snake(name), expected);
        }
        assert_eq!(camel("linear-op_2d"), "LinearOp2d");
        assert_eq!(camel("self"), "Self_");
        assert_eq!(upper("maxSize"), "MAX_SIZE");
        assert_eq!(stem("gov.cca.TypeMap"), "gov_cca_type_map");
    }
}

//! Names of functions and arguments that are valid in every language.

use std::collections::HashSet;

/// Keywords and functions of C, C++ and Rust, which are not available as names.
const TAKEN: &[&str] = &[
    "abs",
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
    "ceil",
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
    "erf",
    "exp",
    "explicit",
    "export",
    "extern",
    "f64",
    "false",
    "final",
    "float",
    "floor",
    "fmax",
    "fmin",
    "fn",
    "for",
    "friend",
    "gamma",
    "goto",
    "if",
    "impl",
    "in",
    "inline",
    "int",
    "j0",
    "j1",
    "jn",
    "let",
    "lgamma",
    "log",
    "log10",
    "log2",
    "long",
    "loop",
    "macro",
    "main",
    "match",
    "mod",
    "move",
    "mut",
    "namespace",
    "new",
    "not",
    "operator",
    "or",
    "override",
    "part",
    "parts",
    "pow",
    "priv",
    "private",
    "protected",
    "pub",
    "public",
    "ref",
    "register",
    "restrict",
    "return",
    "self",
    "short",
    "signed",
    "size_t",
    "sizeof",
    "sqrt",
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
    "weighted_median",
    "where",
    "while",
    "xor",
    "y0",
    "y1",
    "yield",
    "yn",
];

/// Makes unique names.
#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// A name made of `text`, different from all earlier ones.
    pub(super) fn make(&mut self, text: &str) -> String {
        let plain = identifier(text);
        let mut name = plain.clone();
        let mut n = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{plain}_{n}");
            n += 1;
        }
        name
    }
}

/// Letters, digits and underscores, beginning with a letter; no keyword of a language.
fn identifier(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.ends_with('_') && !name.is_empty() {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    if name.is_empty() {
        return "p".into();
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return format!("p{name}");
    }
    if TAKEN.contains(&name) {
        return format!("{name}_");
    }
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_suit_every_language() {
        let mut names = Names::default();
        let made =
            ["q", "Q", "log2", "n-cells (x)", "3d", "größe", "", "_x_"].map(|n| names.make(n));
        assert_eq!(
            made,
            ["q", "q_2", "log2_", "n_cells_x", "p3d", "gr_e", "p", "x"]
        );
    }

    #[test]
    fn the_list_is_in_order() {
        assert!(TAKEN.is_sorted());
    }
}

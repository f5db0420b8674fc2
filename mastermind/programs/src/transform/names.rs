//! Names of a model as names of Rust.

use std::collections::{BTreeMap, BTreeSet};

/// Words that no variable or function may be called, and names that the sources use themselves.
const TAKEN: [&str; 67] = [
    "as",
    "async",
    "await",
    "become",
    "bits",
    "box",
    "break",
    "closed_queue",
    "const",
    "continue",
    "crate",
    "div",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fitted",
    "fn",
    "for",
    "g",
    "gen",
    "globals",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "lopc",
    "macro",
    "main",
    "match",
    "mod",
    "modulo",
    "move",
    "ms",
    "mut",
    "ns",
    "override",
    "p",
    "priv",
    "program",
    "pub",
    "read_machine",
    "record",
    "ref",
    "return",
    "rounds",
    "self",
    "simulate",
    "static",
    "struct",
    "super",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "us",
    "use",
    "virtual",
    "where",
    "while",
    "xor",
];

/// Names of one sort, each given once.
pub(super) struct Names {
    upper: bool,
    prefix: &'static str,
    taken: BTreeSet<String>,
    given: BTreeMap<String, String>,
}

impl Names {
    fn new(upper: bool, prefix: &'static str) -> Self {
        Self {
            upper,
            prefix,
            taken: BTreeSet::new(),
            given: BTreeMap::new(),
        }
    }

    /// Constants: elements. Several may have one name.
    pub(super) fn constants() -> Self {
        let mut names = Self::new(true, "");
        names
            .taken
            .extend(["ELEMENTS".into(), "STRUCTURES".into(), "MAIN".into()]);
        names
    }

    pub(super) fn variables() -> Self {
        Self::new(false, "")
    }

    pub(super) fn functions() -> Self {
        Self::new(false, "cost_")
    }

    pub(super) fn activities() -> Self {
        Self::new(false, "activity_")
    }

    /// Gives a new name.
    pub(super) fn give(&mut self, name: &str) -> String {
        let mut rust = String::from(self.prefix);
        for letter in name.chars() {
            let letter = if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            };
            let (upper, lower) = (letter.to_ascii_uppercase(), letter.to_ascii_lowercase());
            rust.push(if self.upper { upper } else { lower });
        }
        let begins_well = rust.starts_with(|letter: char| letter.is_ascii_alphabetic());
        if !begins_well || TAKEN.contains(&rust.as_str()) {
            rust.insert_str(0, if self.upper { "E_" } else { "v_" });
        }
        let first = rust.clone();
        for i in 2.. {
            if self.taken.insert(rust.clone()) {
                break;
            }
            rust = format!("{first}_{i}");
        }
        self.given.insert(name.into(), rust.clone());
        rust
    }

    /// The name that was given last for this one; the name itself if it has none.
    pub(super) fn of(&self, name: &str) -> String {
        self.given
            .get(name)
            .map_or_else(|| name.to_owned(), Clone::clone)
    }
}

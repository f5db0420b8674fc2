//! Any text gives a proxy or an error, never a panic.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proxy_generate::{Header, Markup, generate};

const PIECES: [&str; 24] = [
    "int ",
    "f",
    "(",
    ")",
    "{",
    "}",
    ";",
    "*",
    "const ",
    "struct s ",
    "typedef ",
    "enum e ",
    ",",
    "...",
    "[3]",
    "\n",
    "# 3 \"h.h\"\n",
    "static ",
    "inline ",
    "\"",
    "/",
    "__attribute__((",
    "unsigned ",
    "void",
];

fn any_header(text: &str, markup: &str) {
    let Ok(markup) = Markup::read(markup) else {
        return;
    };
    let macros = BTreeSet::new();
    let header = Header {
        include: "h.h",
        before: &[],
        parts: &[],
        file: "h.h",
        preprocessed: text,
        macros: &macros,
    };
    let _ = generate(&header, &markup);
}

proptest! {
    #[test]
    fn pieces_of_c(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40)) {
        any_header(&pieces.concat(), "");
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        any_header(&text, &text);
    }

    #[test]
    fn any_expression(expression in "[a-z0-9*+/%<>=!?:().\\[\\]>&| -]{0,40}") {
        let markup = format!("[functions.f]\nparameters = {{ n = '{expression}' }}");
        any_header("# 1 \"h.h\"\nint f(int a, const double *b);\n", &markup);
    }
}

//! SIDL as tokens: their text, their position, and the documentation in front of them.

use super::SidlError;

/// The deepest nesting of packages, brackets and `<`.
pub const MAX_DEPTH: usize = 64;

/// Type of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A name or a keyword, which may hold `-` as `implements-all` does, or `.` between its parts.
    Word(String),
    /// An integer.
    Integer(i64),
    /// Any other number, or a text, which occur only in contracts.
    Literal(String),
    /// Anything else, such as `{`, `<` or `==`.
    Sign(&'static str),
    /// Behind the last one.
    End,
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub kind: Kind,
    /// From 1.
    pub line: usize,
    /// The text of the last `/** … */` before it.
    pub doc: String,
}

/// Longest first, since the first match is used.
const SIGNS: [&str; 26] = [
    "**", "<<", ">=", "<=", "==", "!=", "{", "}", "(", ")", "[", "]", "<", ">", ",", ";", ":", "=",
    "+", "-", "*", "/", "!", "~", "%", "&",
];

/// All tokens of a file.
///
/// # Errors
/// [`SidlError::Syntax`]: a comment or text without an end, a character that SIDL does not have.
pub fn tokens(file: &str, text: &str) -> Result<Vec<Token>, SidlError> {
    let mut reader = Reader {
        file,
        rest: text.strip_prefix('\u{feff}').unwrap_or(text),
        line: 1,
        doc: String::new(),
    };
    let mut tokens = Vec::new();
    loop {
        reader.pass_over()?;
        let (line, doc) = (reader.line, std::mem::take(&mut reader.doc));
        let kind = reader.next()?;
        let is_end = kind == Kind::End;
        tokens.push(Token { kind, line, doc });
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Reader<'a> {
    file: &'a str,
    rest: &'a str,
    line: usize,
    doc: String,
}

impl Reader<'_> {
    fn error(&self, found: impl Into<String>, expected: &'static str) -> SidlError {
        SidlError::Syntax {
            file: self.file.to_owned(),
            line: self.line,
            found: found.into(),
            expected: expected.to_owned(),
        }
    }

    fn advance(&mut self, bytes: usize) -> &str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// White space, comments, and lines for a preprocessor.
    fn pass_over(&mut self) -> Result<(), SidlError> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.advance(blank);
            let to_end_of_line = self.rest.find('\n').unwrap_or(self.rest.len());
            if self.rest.starts_with("//") || self.rest.starts_with('#') {
                self.advance(to_end_of_line);
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest[2..].find("*/") else {
                    return Err(self.error("a comment without an end", "*/"));
                };
                let comment = self.advance(end + 4).to_owned();
                if comment.starts_with("/**") && comment.len() > 4 {
                    self.doc = documentation(&comment);
                }
            } else {
                return Ok(());
            }
        }
    }

    fn next(&mut self) -> Result<Kind, SidlError> {
        let Some(first) = self.rest.chars().next() else {
            return Ok(Kind::End);
        };
        if first.is_ascii_alphabetic() || first == '_' {
            let length = word_length(self.rest);
            return Ok(Kind::Word(self.advance(length).to_owned()));
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == '"' || first == '\'' {
            let Some(end) = self.rest[1..].find(first) else {
                return Err(self.error("a text without an end", "a second quotation mark"));
            };
            return Ok(Kind::Literal(self.advance(end + 2).to_owned()));
        }
        match SIGNS.iter().find(|sign| self.rest.starts_with(**sign)) {
            Some(sign) => {
                self.advance(sign.len());
                Ok(Kind::Sign(sign))
            }
            None => Err(self.error(format!("'{}'", first.escape_default()), "SIDL")),
        }
    }

    fn number(&mut self) -> Result<Kind, SidlError> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        let length = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let text = self.advance(length).to_owned();
        let hexadecimal = text.strip_prefix("0x").or(text.strip_prefix("0X"));
        let integer = match hexadecimal {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        Ok(integer.map_or(Kind::Literal(text), Kind::Integer))
    }
}

/// Bytes of the name at the beginning; a dot belongs to it where a letter follows, as in `gov.cca.Port`, and so does a `-`.
fn word_length(text: &str) -> usize {
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let is_followed = characters
            .peek()
            .is_some_and(|(_, next)| next.is_ascii_alphabetic() || *next == '_');
        let is_part =
            c.is_ascii_alphanumeric() || c == '_' || ((c == '.' || c == '-') && is_followed);
        if !is_part {
            return at;
        }
    }
    text.len()
}

/// The words of a comment, without its stars; paragraphs stay apart.
fn documentation(comment: &str) -> String {
    let inner = comment.trim_start_matches('/').trim_start_matches('*');
    let inner = inner
        .strip_suffix("*/")
        .unwrap_or(inner)
        .trim_end_matches('*');
    let lines = inner.lines().map(|line| {
        let line = line.trim();
        line.strip_prefix('*').unwrap_or(line).trim()
    });
    let text: Vec<_> = lines.collect();
    text.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        let read = tokens("a.sidl", text).expect("tokens");
        read.into_iter().map(|token| token.kind).collect()
    }

    fn word(text: &str) -> Kind {
        Kind::Word(text.into())
    }

    #[test]
    fn names_keep_their_dots_and_hyphens() {
        let expected = [
            word("implements-all"),
            word("gov.cca.Port"),
            Kind::Sign(";"),
            word("version"),
            Kind::Literal("1.7.2".into()),
            Kind::Integer(31),
            word("a"),
            Kind::Sign("-"),
            Kind::Integer(1),
            Kind::End,
        ];
        assert_eq!(
            kinds("implements-all gov.cca.Port; version 1.7.2 0x1f a-1"),
            expected
        );
    }

    #[test]
    fn a_comment_before_a_token_documents_it() {
        let read = tokens(
            "a.sidl",
            "// no\n/* no */ /**\n * One.\n *\n * Two.\n */ int x /**/",
        )
        .unwrap();
        assert_eq!((read[0].doc.as_str(), read[0].line), ("One.\n\nTwo.", 6));
        assert_eq!(read[1].doc, "");
    }

    #[test]
    fn what_has_no_end_is_an_error_with_its_line() {
        for text in ["\n/* a", "\n\"a", "\n§"] {
            let Err(SidlError::Syntax { line, .. }) = tokens("a.sidl", text) else {
                panic!("{text}");
            };
            assert_eq!(line, 2);
        }
    }
}

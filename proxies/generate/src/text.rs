//! Preprocessed text made fit for the parser, and where its lines came from.
//!
//! A preprocessed header contains bodies of inline functions, which no proxy needs and a parser may
//! not understand. They are cut out first. Line ends are kept in everything that is cut or blanked,
//! because the markers of the preprocessor (`# 12 "zlib.h"`) give places by counting lines, and
//! every message and every decision about ownership needs the file and line of a declaration.
//!
//! ```text
//! static inline int f(int a) {          static inline int f(int a) ;
//!   return __builtin_ctz(a);      ─▶    (empty line)
//! }                                     (empty line)
//! ```
//!
//! One scan over words, brackets, strings and markers serves all three tasks: bodies, bounds of
//! declarations, and depth. It is no parser and must accept anything.

/// Types that the parser does not know, in terms of known ones.
const PRELUDE: &str = "typedef _Float128 __float128;\ntypedef _Float128 __ieee128;\n";

/// A preprocessed header without the bodies of its functions: the input of the parser, and the
/// origin of each of its lines.
#[derive(Clone, Debug)]
pub struct PreparedText {
    /// Input of the parser.
    pub text: String,
    /// Begins of the lines behind markers, with the file and line that the markers declare.
    markers: Vec<(usize, String, usize)>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// Path as the preprocessor names it; empty if it names none.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
}

impl PreparedText {
    /// Drops the bodies of functions, and keeps all else.
    pub fn new(preprocessed: &str) -> Self {
        let text = PRELUDE.to_owned() + &without_bodies(preprocessed);
        let markers = markers(&text);
        Self { text, markers }
    }

    /// Where a declaration is deeper than [`MAX_DEPTH`], and how deep it is: brackets within one another, and within a pair of them, or between
    /// two commas or semicolons, pointers and operators in a row.
    pub fn too_deep(&self) -> Option<(usize, usize)> {
        // For each open bracket the number of operators since the last separator.
        let mut chains = vec![0_usize];
        let mut deepest: Option<(usize, usize)> = None;
        scan(&self.text, |token, first, _| {
            match token {
                Token::Other(b'{' | b'(' | b'[') => chains.push(0),
                Token::Other(b'}' | b')' | b']') => {
                    chains.pop();
                    if chains.is_empty() {
                        chains.push(0);
                    }
                }
                Token::Other(b',' | b';') => {
                    if let Some(chain) = chains.last_mut() {
                        *chain = 0;
                    }
                }
                Token::Other(_) => {
                    if let Some(chain) = chains.last_mut() {
                        *chain += 1;
                    }
                }
                Token::Word => {}
            }
            let chain = chains.last().copied().unwrap_or_default();
            let depth = chain.max(chains.len() - 1);
            if depth > MAX_DEPTH && deepest.is_none_or(|(_, known)| known < depth) {
                deepest = Some((deepest.map_or(first, |(first, _)| first), depth));
            }
        });
        deepest
    }

    /// Where an offset of the text came from.
    pub fn place(&self, offset: usize) -> SourceLocation {
        let after = self.markers.partition_point(|(start, ..)| *start <= offset);
        let Some((start, file, line)) = after.checked_sub(1).and_then(|at| self.markers.get(at))
        else {
            return SourceLocation {
                file: String::new(),
                line: 1,
            };
        };
        let lines = self.text.as_bytes()[*start..offset.min(self.text.len())].iter();
        let n_lines = lines.filter(|byte| **byte == b'\n').count();
        SourceLocation {
            file: file.clone(),
            line: (line + n_lines).saturating_sub(1),
        }
    }

    /// Position of text that the parser does not understand: the offset where it stopped, or, if it ran to the end of
    /// the text, the begin of the declaration whose end it missed.
    pub fn misunderstood(&self, offset: usize) -> usize {
        match declarations(&self.text).last() {
            Some((start, end)) if offset >= *end => *start,
            _ => offset,
        }
    }

    /// The same with the declaration at `offset` blanked out; `None` if there is no declaration.
    pub fn without_declaration(&self, offset: usize) -> Option<Self> {
        let bounds = declarations(&self.text);
        let (start, end) = bounds
            .into_iter()
            .find(|(start, end)| (*start..*end).contains(&offset))?;
        let kept_lines = |text: &str| text.chars().filter(|c| *c == '\n').collect::<String>();
        let gone = &self.text[start..end];
        if gone.trim().is_empty() {
            return None;
        }
        // Lines with markers keep their place.
        let blank: String = gone
            .split_inclusive('\n')
            .map(|line| {
                if line.starts_with('#') {
                    line.to_owned()
                } else {
                    kept_lines(line)
                }
            })
            .collect();
        let text = format!("{}{blank}{}", &self.text[..start], &self.text[end..]);
        let markers = markers(&text);
        Some(Self { text, markers })
    }
}

fn markers(text: &str) -> Vec<(usize, String, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(marker) = line.strip_prefix("# ") {
            let (number, rest) = marker.split_once(' ').unwrap_or((marker, ""));
            let file = rest.split('"').nth(1).unwrap_or_default();
            if let Ok(number) = number.trim().parse() {
                found.push((at, file.to_owned(), number));
            }
        }
        at += line.len();
    }
    found
}

/// Brackets, pointers and operators that may be nested, so that neither the parser nor the code that reads its result
/// runs out of stack. Clang reads 256 brackets (`-fbracket-depth`), C requires 63 (C11, 5.2.4.1).
pub(crate) const MAX_DEPTH: usize = 256;

/// Token types that a scan over C distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Word,
    Other(u8),
}

/// Calls `each` with every token outside of markers, with its first and last byte.
fn scan(text: &str, mut each: impl FnMut(Token, usize, usize)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut line_begins = true;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        match byte {
            b'\n' => {
                (at, line_begins) = (at + 1, true);
                continue;
            }
            b' ' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            b'#' if line_begins => {
                at += bytes[at..]
                    .iter()
                    .position(|b| *b == b'\n')
                    .unwrap_or(bytes.len() - at);
                continue;
            }
            b'"' | b'\'' => at = end_of_string(bytes, at),
            b if b.is_ascii_alphanumeric() || b == b'_' => {
                let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
                at += bytes[at..].iter().take_while(|b| is_word(b)).count();
                each(Token::Word, start, at);
                line_begins = false;
                continue;
            }
            _ => at += 1,
        }
        line_begins = false;
        each(Token::Other(byte), start, at);
    }
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => return at,
            _ if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Where each declaration at the outermost level begins and ends.
fn declarations(text: &str) -> Vec<(usize, usize)> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0i32, None);
    scan(text, |token, first, last| {
        let begins = *start.get_or_insert(first);
        match token {
            Token::Other(b'{' | b'(' | b'[') => depth += 1,
            Token::Other(b'}' | b')' | b']') => depth -= 1,
            Token::Other(b';') if depth <= 0 => {
                found.push((begins, last));
                (start, depth) = (None, 0);
            }
            _ => {}
        }
    });
    if let Some(begins) = start {
        found.push((begins, text.len()));
    }
    found
}

/// Replaces `{ … }` after a function's parameters by a semicolon.
fn without_bodies(text: &str) -> String {
    let mut body = None;
    let mut bodies = Vec::new();
    let (mut depth, mut parentheses) = (0i32, 0i32);
    let mut closes_parameters = false;
    let mut is_record = false;
    scan(text, |token, first, last| {
        match token {
            Token::Other(b'{') if parentheses == 0 => {
                if depth == 0 && closes_parameters && !is_record {
                    body = Some(first);
                }
                depth += 1;
            }
            Token::Other(b'}') if parentheses == 0 => {
                depth -= 1;
                if let Some(start) = body.take_if(|_| depth == 0) {
                    bodies.push((start, last));
                    is_record = false;
                }
            }
            Token::Other(b'(') => parentheses += 1,
            Token::Other(b')') => parentheses -= 1,
            Token::Other(b';') if depth == 0 && parentheses == 0 => is_record = false,
            Token::Word if depth == 0 && parentheses == 0 => {
                let word = &text[first..last];
                // Attributes may come between the keyword and its brace.
                if ["struct", "union", "enum"].contains(&word) {
                    is_record = true;
                } else if word != "__attribute__" && closes_parameters {
                    is_record = false;
                }
            }
            _ => {}
        }
        closes_parameters = match token {
            Token::Other(b')') => {
                // `struct s f(void) {`: the parameters of a function end the structure's name.
                parentheses == 0
            }
            _ => false,
        };
    });
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for (start, end) in bodies {
        kept.push_str(&text[from..start]);
        kept.push(';');
        kept.extend(text[start..end].matches('\n'));
        from = end;
    }
    kept.push_str(&text[from..]);
    kept
}

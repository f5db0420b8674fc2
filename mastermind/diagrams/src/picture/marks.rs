//! Texts with marks: bold, italic and the like, and lines.
//!
//! Texts of diagrams are written in three languages of marks: tags and entities of HTML in all of
//! them, Markdown's stars in some, and PlantUML's Creole. This file turns each into the one form
//! that the rest of `picture` knows, lines of runs of one style, so that measuring and drawing need
//! no parser.
//!
//! ```text
//! creole("**Flux** of //q//")            "Flux" bold, " of ", "q" italic
//! creole("see http://a.org")             one run: a mark behind a colon or in a word is none
//! markdown("rank_of_next", true)         one run
//! markdown("x &lt; 3<br>**y", true)      two lines: "x < 3", and "**y", since nothing closes the mark
//! ```
//!
//! No text is an error: an unknown tag or an open mark stays as letters. Sizes and colours of tags
//! are dropped.

/// A line of text.
pub type Line = Vec<Run>;

/// A piece of a line with one style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// The letters.
    pub text: String,
    /// In bold letters.
    pub bold: bool,
    /// In italics.
    pub italic: bool,
    /// Underlined.
    pub underline: bool,
    /// Struck through.
    pub strike: bool,
    /// In letters of one width.
    pub mono: bool,
}

/// A text whose marks are tags and, where it is Markdown, stars and underscores.
pub(crate) fn markdown(text: &str, stars: bool) -> Vec<Line> {
    // The first that fits is taken, so a doubled mark is in front of the single one.
    let marks: &[(&str, Look)] = match stars {
        true => &[
            ("**", Look::Bold),
            ("__", Look::Bold),
            ("*", Look::Italic),
            ("_", Look::Italic),
            ("`", Look::Mono),
        ],
        false => &[],
    };
    lines(text, marks)
}

/// A text with PlantUML's marks (Creole). Rules between lines are left out, and bullets become a list's.
///
/// # Source
/// PlantUML Language Reference Guide, "Creole".
pub(crate) fn creole(text: &str) -> Vec<Line> {
    const MARKS: [(&str, Look); 6] = [
        ("**", Look::Bold),
        ("//", Look::Italic),
        ("__", Look::Underline),
        ("~~", Look::Underline),
        ("--", Look::Strike),
        ("\"\"", Look::Mono),
    ];
    let text = text.replace("\\n", "\n");
    let written = text.lines().filter_map(|line| {
        let trimmed = line.trim();
        let is_rule = trimmed.len() >= 2
            && ["-", "=", "_", "."]
                .iter()
                .any(|sign| trimmed.replace(sign, "").is_empty());
        let bullet = trimmed
            .strip_prefix("* ")
            .map(|rest| format!("\u{2022} {rest}"));
        (!is_rule).then(|| bullet.unwrap_or_else(|| line.to_owned()))
    });
    let text: Vec<_> = written.collect();
    lines(&text.join("\n"), &MARKS)
}

/// The letters of lines, without their styles.
pub fn letters(lines: &[Line]) -> String {
    plain(lines)
}

/// The letters of lines, in one line each; blank ones are left out.
pub(crate) fn plain(lines: &[Line]) -> String {
    let lines = lines
        .iter()
        .map(|line| line.iter().map(|run| run.text.as_str()).collect::<String>());
    let lines: Vec<_> = lines.map(|line| line.trim().to_owned()).collect();
    let lines: Vec<_> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Bold,
    Italic,
    Underline,
    Strike,
    Mono,
}

impl Run {
    fn look(&mut self, look: Look) -> &mut bool {
        match look {
            Look::Bold => &mut self.bold,
            Look::Italic => &mut self.italic,
            Look::Underline => &mut self.underline,
            Look::Strike => &mut self.strike,
            Look::Mono => &mut self.mono,
        }
    }
}

/// Tags that change the style of a text, and tags without an effect on the drawing.
const TAGS: [(&str, Look); 11] = [
    ("b", Look::Bold),
    ("strong", Look::Bold),
    ("i", Look::Italic),
    ("em", Look::Italic),
    ("u", Look::Underline),
    ("ins", Look::Underline),
    ("s", Look::Strike),
    ("strike", Look::Strike),
    ("del", Look::Strike),
    ("code", Look::Mono),
    ("tt", Look::Mono),
];
const SILENT: [&str; 26] = [
    "span", "div", "p", "small", "big", "sub", "sup", "font", "center", "img", "a", "ul", "ol",
    "li", "pre", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "color", "size", "back", "plain",
];

/// A tag at the beginning of a text: its length and its effect.
enum Tag {
    Break,
    Look(Look, bool),
    Nothing,
}

fn tag(text: &str) -> Option<(usize, Tag)> {
    let inside = text.strip_prefix('<')?;
    let length = inside.bytes().take(300).position(|byte| byte == b'>')?;
    let inside = &inside[..length];
    let (inside, closes) = match inside.strip_prefix('/') {
        Some(inside) => (inside, true),
        None => (inside, false),
    };
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric());
    let name = inside[..end.unwrap_or(inside.len())].to_ascii_lowercase();
    let rest = &inside[name.len()..];
    if !(rest.is_empty() || rest.starts_with([' ', '/', ':', '#', '\t'])) {
        return None;
    }
    let tag = if name == "br" {
        Tag::Break
    } else if let Some((_, look)) = TAGS.iter().find(|(tag, _)| *tag == name) {
        Tag::Look(*look, !closes)
    } else if SILENT.contains(&name.as_str()) {
        Tag::Nothing
    } else {
        return None;
    };
    Some((length + 2, tag))
}

/// The letter of an entity that the text begins with, in the forms of HTML (`&lt;`) and of Mermaid (`#lt;`, `#35;`).
fn entity(text: &str) -> Option<(usize, char)> {
    let inside = text.strip_prefix(['&', '#'])?;
    let end = inside.bytes().take(10).position(|byte| byte == b';')?;
    let name = inside[..end].trim_start_matches('#');
    let letter = match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "semi" => ';',
        "hash" | "num" => '#',
        "colon" => ':',
        "lpar" => '(',
        "rpar" => ')',
        "lsqb" => '[',
        "rsqb" => ']',
        "lbrace" => '{',
        "rbrace" => '}',
        name => {
            let hexadecimal = name.strip_prefix(['x', 'X']);
            let code = match hexadecimal {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => name.parse(),
            };
            char::from_u32(code.ok()?).filter(|letter| !letter.is_control())?
        }
    };
    Some((1 + end + 1, letter))
}

/// The lines of a text; a mark that nothing closes stays.
fn lines(text: &str, marks: &[(&str, Look)]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = Line::new();
    let mut run = Run::default();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some((length, tag)) = tag(rest) {
            match tag {
                Tag::Break => {
                    end_line(&mut lines, &mut line, &mut run);
                }
                Tag::Look(look, opens) => {
                    end_run(&mut line, &mut run);
                    *run.look(look) = opens;
                }
                Tag::Nothing => {}
            }
            rest = &rest[length..];
        } else if let Some((length, letter)) = entity(rest) {
            run.text.push(letter);
            rest = &rest[length..];
        } else if rest.starts_with("\\n") || letter == '\n' {
            end_line(&mut lines, &mut line, &mut run);
            rest = &rest[if letter == '\n' { 1 } else { 2 }..];
        } else if let Some((mark, look)) = marks.iter().find(|(mark, look)| {
            let is_open = *run.clone().look(*look);
            rest.starts_with(mark) && (is_open || closes(&rest[mark.len()..], mark, &run.text))
        }) {
            end_run(&mut line, &mut run);
            let value = run.look(*look);
            *value = !*value;
            rest = &rest[mark.len()..];
        } else {
            if letter != '\r' {
                run.text.push(letter);
            }
            rest = &rest[letter.len_utf8()..];
        }
    }
    end_line(&mut lines, &mut line, &mut run);
    while lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines
}

/// Whether a mark that opens here is closed on its line, around some text; a mark between letters does not count
/// (`a_b_c`).
fn closes(rest: &str, mark: &str, before: &str) -> bool {
    let line = rest.split('\n').next().unwrap_or_default();
    // `a_b`, and `http://`.
    let in_word = mark.starts_with('_') && before.ends_with(|c: char| c.is_alphanumeric())
        || before.ends_with(':');
    let begins = rest.starts_with(|c: char| !c.is_whitespace());
    !in_word
        && begins
        && line
            .char_indices()
            .nth(1)
            .is_some_and(|(second, _)| line[second..].contains(mark))
}

fn end_run(line: &mut Line, run: &mut Run) {
    let text = std::mem::take(&mut run.text);
    if !text.is_empty() {
        line.push(Run {
            text,
            ..run.clone()
        });
    }
}

fn end_line(lines: &mut Vec<Line>, line: &mut Line, run: &mut Run) {
    end_run(line, run);
    if let Some(first) = line.first_mut() {
        first.text = first.text.trim_start().to_owned();
    }
    if let Some(last) = line.last_mut() {
        last.text = last.text.trim_end().to_owned();
    }
    line.retain(|run| !run.text.is_empty());
    if !line.is_empty() || !lines.is_empty() {
        lines.push(std::mem::take(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_properties() {
        let found = markdown("a <b>bold</b> #quot;x#quot;<br/>_i_ snake_case_name", true);
        assert_eq!(found.len(), 2);
        assert_eq!(plain(&found), "a bold \"x\"\ni snake_case_name");
        assert!(found[0][1].bold && !found[0][0].bold && !found[0][2].bold);
        assert!(found[1][0].italic && !found[1][1].italic);
    }

    #[test]
    fn what_is_no_mark_stays() {
        for text in [
            "2 * 3 * 4",
            "a < b",
            "<<action+>>",
            "&x",
            "* open",
            "é<é>",
            "#12345678901;",
        ] {
            assert_eq!(plain(&markdown(text, true)), text);
        }
    }
}

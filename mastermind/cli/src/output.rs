//! Tables and JSON documents on standard output, complaints on standard error.
//!
//! What is printed is either written or told to be lost; names in it, which may hold anything, are shown and not obeyed.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

/// A table without lines, columns apart by two blanks; numbers to the right.
pub fn table(
    header: &[&str],
    numbers: &[usize],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().copied());
    // A cell is one line, whatever is in it.
    let cell = |cell: String| shown(&cell).replace('\n', "\\n").replace('\t', "\\t");
    let cells = rows
        .into_iter()
        .map(|row| row.into_iter().map(cell).collect::<Vec<_>>());
    table.add_rows(cells);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if numbers.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<_> = table
        .to_string()
        .lines()
        .map(|line| line.trim_end().to_string())
        .collect();
    lines.join("\n")
}

/// A text in lines of so many columns, broken at blanks; all but the first are indented as far as the text of the first.
///
/// # Arguments
/// * `head` - what stands before the text
/// * `width` - columns at most; a longer word has a line of its own
pub fn wrapped(head: &str, text: &str, width: usize) -> String {
    let text = shown(text).replace('\n', "\\n").replace('\t', "\\t");
    let indent = head.chars().count();
    let (mut lines, mut column) = (head.to_owned(), indent);
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            lines += &format!("\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += length;
    }
    lines
}

/// Prints a line; a reader that has gone away is no error. What cannot be written otherwise is told by [`finish`].
///
/// It goes to standard error where standard output is a document's.
pub fn line(text: impl AsRef<str>) {
    if IS_DOCUMENT.load(Ordering::Relaxed) {
        return tell(text.as_ref());
    }
    print(&shown(text.as_ref()));
}

/// Sends a terminal what it obeys.
pub fn control(text: &str) {
    let mut out = io::stdout().lock();
    if let Err(error) = write!(out, "{text}").and_then(|()| out.flush()) {
        fail(error);
    }
}

/// Whether a document has standard output for itself.
static IS_DOCUMENT: AtomicBool = AtomicBool::new(false);

/// From here on standard output is for a document that was asked for there (`-o -`).
pub fn give_to_document() {
    IS_DOCUMENT.store(true, Ordering::Relaxed);
}

/// A document on standard output, byte by byte as it would be in a file. A reader that has gone away is no error here either;
/// what else goes wrong is told by [`finish`].
pub struct Document;

impl Write for Document {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = io::stdout().lock().write_all(bytes) {
            fail(error);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Err(error) = io::stdout().lock().flush() {
            fail(error);
        }
        Ok(())
    }
}

/// Prints one JSON document.
///
/// # Errors
/// The value has no JSON form.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    // Outside of strings there is no character to be escaped.
    print(&escaped(&text, |c| format!("\\u{:04x}", u32::from(c))));
    Ok(())
}

/// Why standard output could not be written, for the first time.
static FAILURE: OnceLock<io::Error> = OnceLock::new();

fn print(text: &str) {
    let mut out = io::stdout().lock();
    if let Err(error) = writeln!(out, "{text}").and_then(|()| out.flush()) {
        fail(error);
    }
}

fn fail(error: io::Error) {
    // Only the first is told.
    let _ = FAILURE.set(error);
}

/// The exit code of a verb that did its work: another, if what it printed is lost.
pub fn finish(code: ExitCode) -> ExitCode {
    if let Err(error) = io::stdout().flush() {
        fail(error);
    }
    match FAILURE.get() {
        Some(error) if error.kind() != ErrorKind::BrokenPipe => {
            tell(&format!(
                "error: cannot write standard output: {error}, expected all of it written"
            ));
            ExitCode::FAILURE
        }
        _ => code,
    }
}

/// What clap has to say, help included.
pub fn usage(error: &clap::Error) -> ExitCode {
    if let Err(error) = error.print() {
        fail(error);
    }
    finish(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)))
}

/// Says something on standard error, formatted; a reader that has gone away is no error.
macro_rules! complain {
    ($($text:tt)*) => { $crate::output::tell(&format!($($text)*)) };
}
pub(crate) use complain;

/// Says something on standard error, a line or more; nothing, if it is empty.
pub fn tell(text: &str) {
    let text = text.trim_end();
    if !text.is_empty() {
        // In one piece, as several ranks write here. There is nobody else to tell.
        let _ = io::stderr().write_all(format!("{}\n", shown(text)).as_bytes());
    }
}

/// A text as it can be shown: what would move a terminal's cursor, change its colours or the direction of writing is
/// written out. Line ends and tabulators stay.
pub fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.escape_default().to_string())
}

fn escaped(text: &str, escape: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return text.into();
    }
    let escape = |c| {
        if is_obeyed(c) {
            escape(c)
        } else {
            c.to_string()
        }
    };
    text.chars().map(escape).collect::<String>().into()
}

/// Whether a terminal does something else with a character than show it.
fn is_obeyed(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || turns(c)
}

/// Whether a character turns the direction of writing, so that a name looks like another one.
pub fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// A drawing in XML of which every character is allowed there: names may hold control characters, which XML has no form for. What
/// turns the direction of writing is replaced, too.
pub fn well_formed(svg: &str) -> Cow<'_, str> {
    let is_forbidden = |c: char| {
        let is_control = c < ' ' && !matches!(c, '\n' | '\t' | '\r');
        is_control || turns(c) || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    if !svg.contains(is_forbidden) {
        return svg.into();
    }
    // Each has a picture of its own.
    let picture = |c: char| char::from_u32(0x2400 + u32::from(c)).filter(|_| c < ' ');
    let replace = |c| match is_forbidden(c) {
        true => picture(c).unwrap_or(char::REPLACEMENT_CHARACTER),
        false => c,
    };
    svg.chars().map(replace).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "a\u{1b}[31mb\u{9b}c\u{202e}d\u{7}\té";

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        let text = "a\\u{1b}[31mb\\u{9b}c\\u{202e}d\\u{7}\té";
        assert_eq!(shown(NAME), text);
        assert!(matches!(shown("é\n\tü"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_cell_is_one_line() {
        let rows = [vec!["a\nb\rc".to_string(), "\u{1b}]0;d\u{7}".to_string()]];
        let text = table(&["NAME", "MORE"], &[], rows);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(
            text.contains("a\\nb\\rc") && text.contains("\\u{1b}]0;d\\u{7}"),
            "{text}"
        );
    }

    /// By columns of a terminal, not by bytes or characters.
    #[test]
    fn columns_are_aligned() {
        let rows = [["é名", "1"], ["b", "-10"], ["", ""]].map(|row| row.map(String::from).to_vec());
        let text = table(&["NAME", "N"], &[1], rows);
        assert_eq!(text, "NAME    N\né名     1\nb     -10\n");
    }

    #[test]
    fn lines_are_broken_at_blanks() {
        let text = wrapped(
            "a  ",
            "one two t one twos a three\nfour 12345678901234567890 5",
            12,
        );
        let lines: Vec<_> = text.lines().collect();
        let expected = [
            "a  one two t",
            "   one twos",
            "   a",
            "   three\\nfour",
            "   12345678901234567890",
            "   5",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_json_document_keeps_its_texts() {
        let text = serde_json::to_string(&[NAME]).unwrap();
        let safe = escaped(&text, |c| format!("\\u{:04x}", u32::from(c)));
        assert!(!safe.contains(is_obeyed), "{safe}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&safe).unwrap(), [NAME]);
    }

    #[test]
    fn xml_has_no_control_characters() {
        assert_eq!(
            well_formed("<a>\u{1b}\u{0}\t\u{ffff}\u{9b}\u{202e}</a>"),
            "<a>␛␀\t\u{fffd}\u{9b}\u{fffd}</a>"
        );
        assert!(matches!(well_formed("<a/>\n"), Cow::Borrowed(_)));
    }
}

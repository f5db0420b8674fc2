//! Tables and JSON documents on standard output, complaints on standard error.
//!
//! A failed write is reported at the end ([`finish`]). Control characters in names are shown and not sent to the terminal. A table that
//! is wider than the terminal is printed in pages of columns, each beginning with the column that names the rows. [`Manners`] are the
//! options of every verb: `--quiet` leaves warnings, notes and progress out, and `--color` decides on colours.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ColorChoice, ValueEnum};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

/// The options of every verb.
#[derive(Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Manners {
    /// Print no warnings, notes and progress on standard error; errors are printed
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Whether help and messages have colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        help = "Whether help and messages have colours: auto, always or never; auto: on a terminal, without NO_COLOR"
    )]
    color: Color,
}

/// Whether something has colours.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Color {
    /// On a terminal, without NO_COLOR
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
    }
}

/// The value of `--color`; the parser reports an unknown value later.
pub fn color_of(arguments: &[OsString]) -> Color {
    let own = arguments.iter().take_while(|argument| *argument != "--");
    let words: Vec<_> = own.filter_map(|argument| argument.to_str()).collect();
    let pairs = words.windows(2).filter(|pair| pair[0] == "--color");
    let with_equals_sign = words
        .iter()
        .filter_map(|word| word.strip_prefix("--color="));
    let value = pairs.map(|pair| pair[1]).chain(with_equals_sign).last();
    let known = value.and_then(|value| Color::from_str(value, false).ok());
    known.unwrap_or(Color::Auto)
}

/// Whether `--quiet` stands before the arguments of a user's program, for messages before the arguments are parsed.
pub fn is_quiet_of(arguments: &[OsString]) -> bool {
    let mut own = arguments.iter().take_while(|argument| *argument != "--");
    own.any(|argument| argument == "-q" || argument == "--quiet")
}

/// Whether messages on standard error have colours.
static HAS_COLOR: AtomicBool = AtomicBool::new(false);

/// Decides on the colours of messages.
pub fn set_color(color: Color) {
    let is_wanted = match color {
        Color::Always => true,
        Color::Never => false,
        // https://no-color.org
        Color::Auto => {
            let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            io::stderr().is_terminal() && !is_refused
        }
    };
    HAS_COLOR.store(is_wanted, Ordering::Relaxed);
}

/// Whether only errors are printed on standard error.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses warnings and notes from here on.
pub fn set_quiet(is_quiet: bool) {
    IS_QUIET.store(is_quiet, Ordering::Relaxed);
}

/// Whether progress is shown: on a terminal, without `--quiet`.
pub fn shows_progress() -> bool {
    io::stderr().is_terminal() && !IS_QUIET.load(Ordering::Relaxed)
}

/// A table without lines, columns separated by two blanks; numbers right-aligned. On a narrower terminal, in pages of
/// columns.
pub fn table(
    header: &[&str],
    numbers: &[usize],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    let text = table_of(header, numbers, &rows);
    match terminal_width().filter(|_| io::stdout().is_terminal()) {
        Some(width) if text.lines().any(|line| columns(line) > width) => {
            paged(header, numbers, &rows, width)
        }
        _ => text,
    }
}

/// Columns of the terminal.
fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// Columns that a line takes.
fn columns(line: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(line)
}

/// A table in pages of a maximum width: the first column of text, which names the rows, begins each page.
///
/// A page holds at least one other column, so a single wide one may exceed the width.
fn paged(header: &[&str], numbers: &[usize], rows: &[Vec<String>], width: usize) -> String {
    let name = (0..header.len()).find(|column| !numbers.contains(column));
    let name = name.unwrap_or(0);
    let part = |chosen: &[usize]| {
        let heads: Vec<_> = chosen.iter().map(|&column| header[column]).collect();
        let right: Vec<_> = (0..chosen.len())
            .filter(|&at| numbers.contains(&chosen[at]))
            .collect();
        let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
        let cells = |row| chosen.iter().map(|&column| cell(row, column)).collect();
        let rows: Vec<_> = rows.iter().map(cells).collect();
        table_of(&heads, &right, &rows)
    };
    let is_wide = |text: &str| text.lines().any(|line| columns(line) > width);
    let (mut pages, mut chosen) = (Vec::new(), vec![name]);
    for column in (0..header.len()).filter(|&column| column != name) {
        chosen.push(column);
        if chosen.len() > 2 && is_wide(&part(&chosen)) {
            chosen.pop();
            pages.push(part(&chosen));
            chosen = vec![name, column];
        }
    }
    pages.push(part(&chosen));
    pages.join("\n\n")
}

fn table_of(header: &[&str], numbers: &[usize], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().copied());
    // A cell is one line, whatever is in it.
    let cell = |cell: &String| shown(cell).replace('\n', "\\n").replace('\t', "\\t");
    let cells = rows
        .iter()
        .map(|row| row.iter().map(cell).collect::<Vec<_>>());
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

/// A text in lines of so many columns, broken at blanks; all lines except the first are indented to the start of the
/// text.
///
/// # Arguments
/// * `head` - printed before the text
/// * `width` - maximum number of columns; a longer word has a line of its own
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

/// Prints a line; a reader that has gone away is no error. [`finish`] reports other write errors.
///
/// The line goes to standard error if standard output is reserved for a document.
pub fn line(text: impl AsRef<str>) {
    if IS_DOCUMENT.load(Ordering::Relaxed) {
        return message(text.as_ref());
    }
    print(&shown(text.as_ref()));
}

/// Sends a control sequence to a terminal.
pub fn control(text: &str) {
    let mut out = io::stdout().lock();
    if let Err(error) = write!(out, "{text}").and_then(|()| out.flush()) {
        fail(error);
    }
}

/// Whether standard output is reserved for a document.
static IS_DOCUMENT: AtomicBool = AtomicBool::new(false);

/// From here on standard output is reserved for a requested document (`-o -`).
pub fn give_to_document() {
    IS_DOCUMENT.store(true, Ordering::Relaxed);
}

/// A document on standard output, byte by byte as it would be in a file. A reader that has gone away is no error here
/// either; [`finish`] reports other write errors.
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
    // Outside of strings there is no character to escape.
    print(&escaped(&text, |c| format!("\\u{:04x}", u32::from(c))));
    Ok(())
}

/// Prints one JSON document in one line, for documents of many numbers.
///
/// # Errors
/// The value has no JSON form.
pub fn compact_json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string(value)?;
    print(&escaped(&text, |c| format!("\\u{:04x}", u32::from(c))));
    Ok(())
}

/// The first error of writing to standard output.
static FAILURE: OnceLock<io::Error> = OnceLock::new();

fn print(text: &str) {
    let mut out = io::stdout().lock();
    if let Err(error) = writeln!(out, "{text}").and_then(|()| out.flush()) {
        fail(error);
    }
}

fn fail(error: io::Error) {
    // Only the first error is reported.
    let _ = FAILURE.set(error);
}

/// The exit code of a verb that did its work: another code if its output is lost.
pub fn finish(code: ExitCode) -> ExitCode {
    if let Err(error) = io::stdout().flush() {
        fail(error);
    }
    match FAILURE.get() {
        Some(error) if error.kind() != ErrorKind::BrokenPipe => {
            message(&format!(
                "error: cannot write standard output: {error}, expected all of it written"
            ));
            ExitCode::FAILURE
        }
        _ => code,
    }
}

/// Prints clap's message, help included.
pub fn usage(error: &clap::Error) -> ExitCode {
    if let Err(error) = error.print() {
        fail(error);
    }
    finish(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)))
}

/// Prints a formatted message on standard error; a reader that has gone away is no error.
macro_rules! complain {
    ($($text:tt)*) => { $crate::output::message(&format!($($text)*)) };
}
pub(crate) use complain;

/// Prints a message of one or more lines on standard error; nothing if it is empty.
pub fn message(text: &str) {
    let text = text.trim_end();
    let is_left_out = IS_QUIET.load(Ordering::Relaxed)
        && (text.starts_with("warning:") || text.starts_with("note:"));
    if !text.is_empty() && !is_left_out {
        let text = shown(text);
        let text = match HAS_COLOR.load(Ordering::Relaxed) {
            true => colored(&text),
            false => text,
        };
        // In one piece, as several ranks write here. There is no other place to report a failure.
        let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
    }
}

/// A message whose first word, its severity, has a colour.
fn colored(text: &str) -> Cow<'_, str> {
    let color = |word| match word {
        "error" => Some("1;31"),
        "warning" => Some("1;33"),
        "note" => Some("1;36"),
        _ => None,
    };
    let lines = text.lines().map(|line| {
        let parts = line.split_once(':');
        let found = parts.and_then(|(word, rest)| Some((word, color(word)?, rest)));
        found.map_or(Cow::Borrowed(line), |(word, code, rest)| {
            format!("\u{1b}[{code}m{word}:\u{1b}[0m{rest}").into()
        })
    });
    lines.collect::<Vec<_>>().join("\n").into()
}

/// A text that can be shown: characters that would move a terminal's cursor, change its colours or the direction of
/// writing are escaped. Line ends and tabulators stay.
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

/// Whether a terminal would interpret a character instead of showing it.
fn is_obeyed(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || turns(c)
}

/// Whether a character turns the direction of writing, which makes a name look like another one.
pub fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// A drawing in XML without characters that are not allowed there: names may contain control characters, which XML
/// cannot represent. Characters that turn the direction of writing are replaced, too.
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
    fn a_wide_table_is_in_pages_that_name_their_rows() {
        let rows = [["1", "first", "10", "20"], ["2", "second", "30", "40"]];
        let rows = rows.map(|row| row.map(String::from).to_vec());
        let header = ["N", "NAME", "LONG COLUMN", "OTHER COLUMN"];
        let text = paged(&header, &[0, 2, 3], &rows, 24);
        let pages: Vec<Vec<&str>> = text
            .split("\n\n")
            .map(|page| page.lines().collect())
            .collect();
        assert_eq!(pages.len(), 2, "{text}");
        for page in &pages {
            assert!(
                page[0].starts_with("NAME") && page[2].starts_with("second"),
                "{text}"
            );
            assert!(page.iter().all(|line| columns(line) <= 24), "{text}");
        }
        assert_eq!(pages[0][1], "first   1           10");
        let one = paged(&header, &[0, 2, 3], &rows, 80);
        assert!(!one.contains("\n\n"), "{one}");
        // A page has a column in addition to the name, however narrow the terminal is.
        assert_eq!(
            paged(&header, &[0, 2, 3], &rows, 1).split("\n\n").count(),
            3
        );
    }

    #[test]
    fn colors_are_decided_before_the_program_of_the_user() {
        let of = |line: &str| {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            color_of(&words)
        };
        assert_eq!(of("wrap --color never -- ls --color always"), Color::Never);
        assert_eq!(of("run --color=always a.toml"), Color::Always);
        assert_eq!(of("run a.toml"), Color::Auto);
        let text = colored("error: a: b\nnotes: c\n  d");
        assert_eq!(text, "\u{1b}[1;31merror:\u{1b}[0m a: b\nnotes: c\n  d");
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

//! The commands of the guide, executed.
//!
//! A page is Markdown. Of its fenced blocks these mean something, in their order, in a folder of the page's own:
//!
//! ````text
//! ```c,file=ring.c          written as that file, whatever the language
//! ```console                lines that begin with `$ ` are executed by `sh`, the others are what they print
//! ```console,fails          the same of commands that end with an error
//! ```console,times          the same of what was measured: numbers with a point or an exponent are any numbers, and the lines
//!                           may stand in another order
//! ````
//!
//! In the expected output, a line `...` stands for any number of lines, `[..]` for anything within a line; blanks count
//! as one. A page that needs MPI says `<!-- needs: mpi -->`, and is skipped without one; for a page with `<!-- needs:
//! python -->` the Python package is available.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Scratch, bin_dir, python_package};

/// A block that means something.
enum Block {
    /// A file to be written.
    File { name: String, text: String },
    /// Commands, each with its expected output.
    Console {
        commands: Vec<Spoken>,
        fails: bool,
        times: bool,
    },
}

/// A command and its expected output.
struct Spoken {
    command: String,
    printed: Vec<String>,
    /// Line of the page.
    line: usize,
}

/// Executes a page in an empty folder, as a reader with nothing but an installation would.
///
/// # Panics
/// A command ends otherwise than the page says, or prints something else.
pub fn follow(page: &Path) {
    let text = fs::read_to_string(page).unwrap_or_else(|error| panic!("{page:?}: {error}"));
    let scratch = Scratch::new();
    if text.contains("<!-- needs: python -->") && !python_package(&scratch) {
        return;
    }
    let mut n_commands = 0;
    for block in blocks(&text) {
        match block {
            Block::File { name, text } => drop(scratch.write(&name, text)),
            Block::Console {
                commands,
                fails,
                times,
            } => {
                for spoken in commands {
                    check(&scratch, &spoken, [fails, times], page);
                    n_commands += 1;
                }
            }
        }
    }
    assert!(n_commands > 0, "{page:?} has no commands");
}

/// Whether a page needs MPI.
pub fn needs_mpi(page: &Path) -> bool {
    fs::read_to_string(page).is_ok_and(|text| text.contains("<!-- needs: mpi -->"))
}

fn check(scratch: &Scratch, spoken: &Spoken, [fails, times]: [bool; 2], page: &Path) {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut sh = Command::new("sh");
    sh.args(["-c", &format!("{{ {}\n}} 2>&1", spoken.command)])
        .env("PATH", format!("{}:{path}", bin_dir().display()))
        // The examples name the usual target folder; this may be another.
        .env("CCA_COMPONENT_PATH", bin_dir())
        .env("PYTHONPATH", scratch.path(""))
        // As a container's only user may have to.
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("OMPI_MCA_orte_tmpdir_base", scratch.path(""));
    let ended = scratch.run(&mut sh);
    let place = format!("{}:{}: {}", page.display(), spoken.line, spoken.command);
    assert_eq!(ended.code != Some(0), fails, "{place}\n{}", ended.stdout);
    let stable = |line: &str| match times {
        true => without_measured(&single_blanks(line)),
        false => single_blanks(line),
    };
    let lines = ended
        .stdout
        .lines()
        .filter(|line| !crate::is_of_waiting(line));
    let found: Vec<_> = lines.map(stable).collect();
    let expected: Vec<_> = spoken.printed.iter().map(|line| stable(line)).collect();
    let matches = if times { any_order } else { lines_match };
    assert!(
        matches(&expected, &found),
        "{place}\nexpected:\n{}\n\nfound:\n{}",
        spoken.printed.join("\n"),
        ended.stdout
    );
}

fn single_blanks(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether lines equal the expected ones, in which `...` stands for any number of lines.
fn lines_match(expected: &[String], found: &[String]) -> bool {
    match expected {
        [] => found.is_empty(),
        [any, rest @ ..] if any == "..." => {
            (0..=found.len()).any(|skipped| lines_match(rest, &found[skipped..]))
        }
        [line, rest @ ..] => found
            .split_first()
            .is_some_and(|(first, others)| line_matches(line, first) && lines_match(rest, others)),
    }
}

/// Whether lines equal the expected ones in any order; `...` stands for any others.
fn any_order(expected: &[String], found: &[String]) -> bool {
    let mut left: Vec<&String> = found.iter().collect();
    for line in expected.iter().filter(|line| *line != "...") {
        match left.iter().position(|found| line_matches(line, found)) {
            Some(place) => drop(left.remove(place)),
            None => return false,
        }
    }
    left.is_empty() || expected.iter().any(|line| line == "...")
}

/// A line with `#` for each number that has a point or an exponent, its sign included: whole numbers are counts and stay.
fn without_measured(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_in_word = text.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if !first.is_ascii_digit() || is_in_word {
            text.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let is_part = |(at, c): (usize, char)| match c {
            '.' => rest[at + 1..].starts_with(|c: char| c.is_ascii_digit()),
            'e' => rest[at + 1..].starts_with(|c: char| c.is_ascii_digit() || c == '-'),
            '-' => rest[..at].ends_with('e'),
            c => c.is_ascii_digit(),
        };
        let end = rest.char_indices().find(|part| !is_part(*part));
        let (number, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        if number.contains(['.', 'e']) {
            // `+ 1.5` of a formula keeps its sign, `+1.5` does not.
            if text.ends_with(['+', '-']) {
                text.pop();
            }
            text.push('#');
        } else {
            text += number;
        }
        rest = after;
    }
    text
}

/// Whether a line equals the expected one, in which `[..]` stands for any text.
fn line_matches(expected: &str, found: &str) -> bool {
    let mut parts = expected.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = found.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        let Some(words) = line.strip_prefix("```") else {
            continue;
        };
        let inside: Vec<_> = lines
            .by_ref()
            .take_while(|(_, line)| !line.starts_with("```"))
            .collect();
        let words: Vec<_> = words.split(',').collect();
        let file = words.iter().find_map(|word| word.strip_prefix("file="));
        if let Some(name) = file {
            let text: String = inside.iter().map(|(_, line)| format!("{line}\n")).collect();
            blocks.push(Block::File {
                name: name.into(),
                text,
            });
        } else if words[0] == "console" {
            blocks.push(Block::Console {
                commands: commands(&inside),
                fails: words.contains(&"fails"),
                times: words.contains(&"times"),
            });
        }
    }
    blocks
}

fn commands(lines: &[(usize, &str)]) -> Vec<Spoken> {
    let mut commands: Vec<Spoken> = Vec::new();
    for (place, line) in lines {
        let last = commands.last_mut();
        match (line.strip_prefix("$ "), last) {
            (Some(command), _) => commands.push(Spoken {
                command: command.into(),
                printed: Vec::new(),
                line: place + 1,
            }),
            // A command that goes on.
            (None, Some(last)) if last.command.ends_with('\\') && last.printed.is_empty() => {
                last.command += "\n";
                last.command += line.strip_prefix("> ").unwrap_or(line);
            }
            (None, Some(last)) => last.printed.push((*line).into()),
            (None, None) => panic!("line {}: output without a command", place + 1),
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn what_is_not_stable_is_left_open() {
        let found = strings(&["a 1.25 ms b", "x", "y", "end"]);
        for expected in [
            &["a [..] ms b", "...", "end"][..],
            &["a [..]", "x", "y", "end"],
            &["...", "end"],
            &["..."],
        ] {
            assert!(lines_match(&strings(expected), &found), "{expected:?}");
        }
        for expected in [
            &["a [..] ms c", "...", "end"][..],
            &["a 1.25 ms b", "x", "y"],
            &["...", "x"],
            &[],
        ] {
            assert!(!lines_match(&strings(expected), &found), "{expected:?}");
        }
    }

    #[test]
    fn measured_numbers_are_any_numbers_and_counts_are_not() {
        let line = "-59.8 % of 640 calls took 1.2e-3 s in b2, (+9.0 to 3.5), v1.0";
        assert_eq!(
            without_measured(line),
            "# % of 640 calls took # s in b2, (# to #), v1.0"
        );
        let lines = |lines: &[&str]| strings(lines);
        assert!(any_order(
            &lines(&["a #", "b [..]"]),
            &lines(&["b 7", "a #"])
        ));
        assert!(any_order(&lines(&["a #", "..."]), &lines(&["b 7", "a #"])));
        assert!(!any_order(&lines(&["a #"]), &lines(&["b 7", "a #"])));
        assert!(!any_order(
            &lines(&["a #", "c", "..."]),
            &lines(&["b 7", "a #"])
        ));
    }

    #[test]
    fn blocks_are_files_and_commands() {
        let text = "# Page\n```c,file=a.c\nint a;\n```\ntext\n```console\n$ ls\na.c\n$ cc \\\n> a.c\n```\n```sh\nnot run\n```\n";
        let blocks = blocks(text);
        assert_eq!(blocks.len(), 2);
        let Block::File { name, text } = &blocks[0] else {
            panic!("a file")
        };
        assert_eq!((name.as_str(), text.as_str()), ("a.c", "int a;\n"));
        let Block::Console {
            commands,
            fails,
            times,
        } = &blocks[1]
        else {
            panic!("commands")
        };
        assert!(!fails && !times);
        assert_eq!(commands[0].printed, ["a.c"]);
        assert_eq!(commands[1].command, "cc \\\na.c");
    }
}

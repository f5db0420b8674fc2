//! A script as it is in its file.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

/// A script; it writes as it was read, comments and directives of the static-main generator included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    lines: Vec<String>,
}

/// A line that is a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// From 1.
    pub number: usize,
    /// The line without blanks around it.
    pub text: &'a str,
}

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// It cannot be read.
    #[error("cannot read script \"{}\"", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is for Ccaffeine's graphical interface.
    #[error("cannot read script \"{}\": a .bld file of the graphical builder, expected an rc script; convert it by Ccaffeine's bld2rc.tcl", path.display())]
    Builder {
        /// The file.
        path: PathBuf,
    },
}

impl Script {
    /// Whether a file is meant to be a script: by its ending, or by its first line.
    pub fn is_script(path: &Path) -> bool {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if matches!(ending, Some("rc" | "bld")) {
            return true;
        }
        let text = if path.is_file() {
            fs::read(path).unwrap_or_default()
        } else {
            Vec::new()
        };
        text.trim_ascii_start().starts_with(b"#!ccaffeine")
    }

    /// Reads a script. Bytes that are no text are shown as such and belong to no command.
    ///
    /// # Errors
    /// It cannot be read; it is a `.bld` file.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        if path.extension().is_some_and(|ending| ending == "bld") {
            return Err(ScriptError::Builder { path: path.into() });
        }
        let bytes = fs::read(path).map_err(|source| ScriptError::Read {
            path: path.into(),
            source,
        })?;
        Ok(Self::parse(&String::from_utf8_lossy(&bytes)))
    }

    /// A script of a text.
    pub fn parse(text: &str) -> Self {
        Script {
            lines: text.lines().map(str::to_string).collect(),
        }
    }

    /// The lines that are commands; those after `eof` belong to nobody, which is the interpreter's to see.
    pub fn commands(&self) -> impl Iterator<Item = Line<'_>> {
        let lines = self.lines.iter().zip(1..);
        lines
            .map(|(line, number)| Line {
                number,
                text: line.trim(),
            })
            .filter(|line| !is_comment(line.text))
    }

    /// The directives of the static-main generator (`!code{…}`, `!header{…}`, `!systemheader{…}`), which are comments to
    /// everybody else.
    pub fn directives(&self) -> impl Iterator<Item = &str> {
        let lines = self.lines.iter().map(|line| line.trim());
        lines.filter(|line| {
            let word = line.strip_prefix('!').unwrap_or_default();
            let word = word.split('{').next().unwrap_or_default().trim();
            matches!(word, "code" | "header" | "systemheader")
        })
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Whether a line, without blanks in front, is no command.
pub fn is_comment(line: &str) -> bool {
    line.is_empty() || ["#", "!", "//"].iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "#!ccaffeine bootstrap file.\n# ------- don't change anything ABOVE this line.-------------\n\n  go d go\n!code{int x;}\n// no\n! no\nquit";

    #[test]
    fn comments_and_directives_are_kept_and_passed_over() {
        let script = Script::parse(TEXT);
        let commands: Vec<_> = script.commands().map(|l| (l.number, l.text)).collect();
        assert_eq!(commands, [(4, "go d go"), (8, "quit")]);
        assert_eq!(script.directives().collect::<Vec<_>>(), ["!code{int x;}"]);
        assert_eq!(script.to_string(), format!("{TEXT}\n"));
    }

    #[test]
    fn a_builder_file_is_refused() {
        let error = Script::read(Path::new("shock.bld"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("graphical builder"), "{error}");
    }
}

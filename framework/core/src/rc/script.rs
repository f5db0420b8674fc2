//! An rc script as it is in its file.
//!
//! Ccaffeine starts an application from a script of commands. This module reads such files line by
//! line, keeps every line as it was (comments and directives included), and hands the commands to
//! the interpreter; it also writes the script for an assembly. It gives no line a meaning beyond
//! the split into commands, comments and directives: parsing is `command.rs`, execution the
//! interpreter.
//!
//! ```text
//! #!ccaffeine bootstrap file.
//! path set /usr/lib/cca
//! repository get-global hydro.GodunovFlux
//! instantiate hydro.GodunovFlux flux
//! #!alternatives flux = hydro.EfmFlux          a comment to Ccaffeine
//! connect driver flux flux \
//!         flux                                 continues the line before
//! go driver go
//! #!eof                                        no command below it is run
//! ```

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use super::command::{Command, find};
use crate::assembly::{Assembly, Start};

/// Start of the first line of a script; Ccaffeine accepts no other file.
const MAGIC: &[u8] = b"#!ccaffeine";

/// A line that begins with it ends a script, as the end of its file does.
const END_MARK: &str = "#!eof";

/// Start of a line that names the alternative classes of an instance: a comment to Ccaffeine.
const ALTERNATIVES: &str = "#!alternatives";

/// Bytes of a file that are read to detect its type.
const LONGEST_START_BYTES: u64 = 64 << 10;

/// A script; it is written as it was read, comments and directives of the static-main generator
/// included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    lines: Vec<String>,
}

/// A line that is a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// From 1; of the first line where a backslash joins several.
    pub number: usize,
    /// The line without blanks around it.
    pub text: Cow<'a, str>,
}

/// Joins lines that end in a backslash with their next line, as a terminal or a pipe delivers them, line by
/// line.
///
/// # Source
/// Ccaffeine, `CmdContextCCA.cxx`, `concatLines`: blanks at the end of a line do not count, the backslash is replaced by
/// the next line without the blanks in front of it.
#[derive(Debug, Default)]
pub struct Continuation {
    pending: Option<String>,
}

impl Continuation {
    /// Takes a line.
    ///
    /// # Returns
    /// The whole line, if it is complete.
    pub fn push<'a>(&mut self, line: &'a str) -> Option<Cow<'a, str>> {
        let (part, goes_on) = match line.trim_end().strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        let whole = match self.pending.take() {
            Some(before) => Cow::Owned(before + part.trim_start()),
            None => Cow::Borrowed(part),
        };
        if goes_on {
            self.pending = Some(whole.into_owned());
            return None;
        }
        Some(whole)
    }

    /// The rest, when there are no more lines.
    pub fn finish(&mut self) -> Option<String> {
        self.pending.take()
    }
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
    /// A script cannot express it.
    #[error("cannot write script: {what}, expected {expected}")]
    NotSayable {
        /// The part of the assembly.
        what: String,
        /// What a script can express.
        expected: &'static str,
    },
    /// A line that names alternatives has the wrong form.
    #[error(
        "cannot read alternatives at line {line} of the script: \"{found}\", expected {ALTERNATIVES} INSTANCE = CLASS CLASS…"
    )]
    Alternatives {
        /// From 1.
        line: usize,
        /// The line.
        found: String,
    },
}

impl Script {
    /// Whether a file is meant to be a script: by its ending, or by its first line.
    pub fn is_script(path: &Path) -> bool {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if matches!(ending, Some("rc" | "bld")) {
            return true;
        }
        start(path).trim_ascii_start().starts_with(MAGIC)
    }

    /// Whether an unmarked file resembles a script: its first line that is no comment is a command with the right
    /// number of arguments.
    pub fn looks_like_script(path: &Path) -> bool {
        let start = start(path);
        let text = String::from_utf8_lossy(&start);
        let first = Script::parse(&text)
            .commands()
            .next()
            .map(|line| line.text.into_owned());
        first.is_some_and(|line| {
            let word = line.split_whitespace().next().unwrap_or_default();
            find(word).is_ok() && Command::parse(&line).is_ok()
        })
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

    /// A script of a text. Carriage returns at the ends of lines belong to none, also where the last line has no other end.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().map(|line| line.trim_end_matches('\r'));
        Script {
            lines: lines.map(str::to_string).collect(),
        }
    }

    /// The lines that are commands, up to `#!eof`, joined where they end in a backslash. Lines after the command `eof`
    /// are included; the interpreter ignores them.
    pub fn commands(&self) -> impl Iterator<Item = Line<'_>> {
        let lines = self
            .lines
            .iter()
            .take_while(|line| !line.starts_with(END_MARK));
        let mut lines = lines.zip(1..);
        let mut continuation = Continuation::default();
        let whole = std::iter::from_fn(move || {
            let mut number = None;
            for (line, at) in lines.by_ref() {
                let first = *number.get_or_insert(at);
                if let Some(text) = continuation.push(line) {
                    return Some((first, text));
                }
            }
            Some((number?, Cow::Owned(continuation.finish()?)))
        });
        whole
            .map(|(number, text)| Line {
                number,
                text: trimmed(text),
            })
            .filter(|line| !is_comment(&line.text))
    }

    /// The script that makes an assembly and starts it.
    ///
    /// # Errors
    /// [`ScriptError::NotSayable`]: a text with blanks at its ends or in a row, which a script's reader takes for one; a folder with
    /// such a name or a colon; a parameter without its port; a dispatcher.
    pub fn of_assembly(assembly: &Assembly) -> Result<Self, ScriptError> {
        let refuse = |what: String, expected| Err(ScriptError::NotSayable { what, expected });
        let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
        let mut lines = vec![
            format!("{} bootstrap file.", String::from_utf8_lossy(MAGIC)),
            "# ------- don't change anything ABOVE this line.-------------".into(),
        ];
        if let Some(instance) = assembly.dispatch.keys().next() {
            return refuse(format!("dispatcher \"{instance}\""), "instances of classes");
        }
        for (instance, classes) in &assembly.alternatives {
            lines.push(format!("{ALTERNATIVES} {instance} = {}", classes.join(" ")));
        }
        for (at, folder) in assembly.assembly.path.iter().enumerate() {
            let folder = folder.display().to_string();
            if !is_word(&folder) || folder.contains(':') {
                return refuse(
                    format!("folder \"{folder}\""),
                    "a name without blanks and colons",
                );
            }
            let act = if at == 0 { "set" } else { "append" };
            lines.push(format!("path {act} {folder}"));
        }
        let classes: BTreeSet<_> = assembly.instances.values().collect();
        lines.extend(
            classes
                .iter()
                .map(|class| format!("repository get-global {class}")),
        );
        for (instance, class) in &assembly.instances {
            lines.push(format!("instantiate {class} {instance}"));
        }
        for (instance, key, value) in assembly.parameter_settings() {
            let Some((port, key)) = key.split_once('.') else {
                return refuse(
                    format!("parameter \"{instance}.{key}\" without its port"),
                    "PORT.KEY",
                );
            };
            let value = match value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            if value.split_whitespace().collect::<Vec<_>>().join(" ") != value || value.is_empty() {
                let what = format!("parameter \"{instance}.{port}.{key}\" of \"{value}\"");
                return refuse(what, "words with a blank between them");
            }
            lines.push(format!("configure {instance} {port} {key} {value}"));
        }
        for (uses, provides) in &assembly.connections {
            lines.push(format!(
                "connect {} {} {} {}",
                uses.instance, uses.port, provides.instance, provides.port
            ));
        }
        if let Some(Start { port }) = &assembly.go {
            lines.push(format!("go {} {}", port.instance, port.port));
        }
        lines.push("quit".into());
        Ok(Script { lines })
    }

    /// The alternative classes of instances, from the lines `#!alternatives INSTANCE = CLASS CLASS…` anywhere in the
    /// script; several for one instance add up.
    ///
    /// # Errors
    /// [`ScriptError::Alternatives`]: a line without an instance, an equals sign or a class.
    pub fn alternatives(&self) -> Result<BTreeMap<String, Vec<String>>, ScriptError> {
        let mut alternatives: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (line, number) in self.lines.iter().zip(1..) {
            let Some(rest) = line.trim().strip_prefix(ALTERNATIVES) else {
                continue;
            };
            // Another word that begins like this one.
            if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
                continue;
            }
            let (instance, classes) = rest.split_once('=').unwrap_or((rest, ""));
            let instance = instance.trim();
            let mut classes = classes.split_whitespace().peekable();
            if instance.is_empty()
                || instance.contains(char::is_whitespace)
                || classes.peek().is_none()
            {
                return Err(ScriptError::Alternatives {
                    line: number,
                    found: line.trim().into(),
                });
            }
            let known = alternatives.entry(instance.into()).or_default();
            // Lines of one instance add up; a class stands in the list once.
            for class in classes {
                if known.iter().all(|known| known != class) {
                    known.push(class.into());
                }
            }
        }
        Ok(alternatives)
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

fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_string()),
    }
}

/// The first bytes of a file; none if it cannot be read.
fn start(path: &Path) -> Vec<u8> {
    let mut start = Vec::new();
    if path.is_file()
        && let Ok(file) = fs::File::open(path)
    {
        // The code that reads the whole file reports an unreadable one.
        let _ = file.take(LONGEST_START_BYTES).read_to_end(&mut start);
    }
    start
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
        let commands: Vec<_> = script
            .commands()
            .map(|l| (l.number, l.text.into_owned()))
            .collect();
        assert_eq!(commands, [(4, "go d go".into()), (8, "quit".into())]);
        assert_eq!(script.directives().collect::<Vec<_>>(), ["!code{int x;}"]);
        assert_eq!(script.to_string(), format!("{TEXT}\n"));
    }

    #[test]
    fn a_backslash_joins_lines_and_a_mark_ends_them() {
        let commands = |text: &str| -> Vec<_> {
            let script = Script::parse(text);
            let lines = script.commands();
            lines.map(|l| (l.number, l.text.into_owned())).collect()
        };
        let text = "connect a x \\  \n    b y\nparameters a p k one\\\n   two\n# a comment \\\nthat goes on\ngo a go\n";
        let expected = [
            (1, "connect a x b y".into()),
            (3, "parameters a p k onetwo".into()),
            (7, "go a go".into()),
        ];
        assert_eq!(commands(text), expected);
        assert_eq!(
            commands("go a \\\n#!eof no more\ngo b go"),
            [(1, "go a".into())]
        );
        assert_eq!(
            commands(" #!eof\ngo a go\n#!eof\nquit"),
            [(2, "go a go".into())]
        );
        assert_eq!(commands("go a \\"), [(1, "go a".into())]);
    }

    #[test]
    fn a_script_without_its_mark_is_known_by_its_first_command() {
        let folder = tempfile::tempdir().unwrap();
        let is_script = |text: &str| {
            let path = folder.path().join("file");
            fs::write(&path, text).unwrap();
            (Script::is_script(&path), Script::looks_like_script(&path))
        };
        assert_eq!(is_script("#!ccaffeine\nrep list"), (true, true));
        assert_eq!(is_script("# no mark\n\nrep list\n"), (false, true));
        assert_eq!(is_script("path set a:b\n"), (false, true));
        assert_eq!(is_script("[assembly]\nname = \"a\"\n"), (false, false));
        assert_eq!(is_script("path = 3 + 4\n"), (false, false));
        assert_eq!(is_script("hello\n"), (false, false));
        assert_eq!(is_script(""), (false, false));
    }

    #[test]
    fn alternatives_are_comments_that_are_read() {
        let script = Script::parse(
            "#!ccaffeine\n#!alternatives flux = a.A b.B\ncreate a.A flux\n  #!alternatives flux=b.B c.C\n#!alternativesx y\n",
        );
        let classes = ["a.A", "b.B", "c.C"].map(String::from).to_vec();
        let expected = BTreeMap::from([("flux".to_string(), classes)]);
        assert_eq!(script.alternatives().unwrap(), expected);
        assert_eq!(script.commands().count(), 1);
        for wrong in [
            "#!alternatives",
            "#!alternatives flux a.A",
            "#!alternatives flux =",
            "#!alternatives a b = c",
        ] {
            let error = Script::parse(wrong).alternatives().unwrap_err().to_string();
            assert!(error.contains("line 1"), "{error}");
        }
    }

    #[test]
    fn an_assembly_is_written_as_the_script_that_makes_it() {
        let text = r#"
            [assembly]
            name = "a"
            path = ["lib", "more"]
            [instances]
            d = "x.Driver"
            e = "x.Side"
            [connections]
            "d.side" = "e.side"
            [parameters.d.own]
            steps = 3
            title = "two words"
            [alternatives]
            e = ["x.Side", "x.Other"]
            [go]
            port = "d.go"
        "#;
        let mut assembly: Assembly = toml::from_str(text).unwrap();
        let script = Script::of_assembly(&assembly).unwrap();
        let lines: Vec<_> = script
            .commands()
            .map(|line| line.text.into_owned())
            .collect();
        let expected = [
            "path set lib",
            "path append more",
            "repository get-global x.Driver",
            "repository get-global x.Side",
            "instantiate x.Driver d",
            "instantiate x.Side e",
            "configure d own steps 3",
            "configure d own title two words",
            "connect d side e side",
            "go d go",
            "quit",
        ];
        assert_eq!(lines, expected);
        assert_eq!(script.alternatives().unwrap(), assembly.alternatives);
        assembly.set("d", "own.title", "\"two  words\"").unwrap();
        assert!(Script::of_assembly(&assembly).is_err());
    }

    #[test]
    fn a_builder_file_is_refused() {
        let error = Script::read(Path::new("shock.bld"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("graphical builder"), "{error}");
    }
}

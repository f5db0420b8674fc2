//! The commands of Ccaffeine's rc scripts: their names and arguments, and the parser of one line.
//!
//! The table `COMMANDS` is the only list of commands: the parser takes names and numbers of
//! arguments from it, and `help` prints it. As in Ccaffeine a command may be shortened to any
//! beginning that only one command has; a full name always wins, so that a command may be the
//! beginning of another. A parsed [`Command`] holds texts only. Whether an instance or a port
//! exists is known to the interpreter, not here.
//!
//! ```text
//! connect driver flux g flux   ->  Connect(["driver", "flux", "g", "flux"])
//! disc driver flux g flux      ->  Disconnect([..])
//! con driver flux g flux       ->  Ambiguous: connect, configure
//! configure g mesh title a b   ->  Configure(["g", "mesh", "title"], Some("a b"))
//! ```

use super::error::RcError;

/// One row of the table of commands: names, usage and effect for `help`, and the numbers of
/// arguments for the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandHelp {
    /// Its names, the usual one first.
    pub names: &'static [&'static str],
    /// How it is written.
    pub usage: &'static str,
    /// Its effect.
    pub does: &'static str,
    /// Fewest arguments.
    least: usize,
    /// Most arguments; `None` if the rest of the line is one.
    most: Option<usize>,
}

macro_rules! commands {
    ($([$($name:literal),+] $least:literal $most:expr, $usage:literal, $does:literal;)*) => {
        /// All commands.
        pub const COMMANDS: &[CommandHelp] = &[$(CommandHelp {
            names: &[$($name),+],
            usage: $usage,
            does: $does,
            least: $least,
            most: $most,
        }),*];
    };
}

commands! {
    ["help", "?"] 0 Some(1), "help [COMMAND]", "describe one or all commands";
    ["exit", "x", "bye", "quit"] 0 Some(1), "exit [CODE]", "leave";
    ["path"] 0 Some(2), "path [init | append D | prepend D | set D:D2]", "show or change where libraries are looked for";
    ["repository"] 1 Some(2), "repository list | get C | get-global C | get-lazy C | get-lazy-global C | get-ports LIB | init | init-lazy | init-global | init-lazy-global", "list the classes there are, load one";
    ["pallet", "palette", "classes"] 0 Some(0), "pallet", "list the classes loaded";
    ["instantiate", "create", "pulldown"] 1 Some(2), "instantiate CLASS [NAME]", "make an instance";
    ["arena", "instances"] 0 Some(0), "arena", "list the instances";
    ["remove"] 1 Some(1), "remove INSTANCE", "destroy an instance";
    ["nuke"] 1 Some(1), "nuke all", "destroy all instances";
    ["connect"] 4 Some(4), "connect USER UPORT PROVIDER PPORT", "connect a uses port to a provides port";
    ["disconnect"] 4 Some(4), "disconnect USER UPORT PROVIDER PPORT", "take a connection away";
    ["links", "chain"] 0 Some(0), "links", "list the connections";
    ["display"] 1 Some(2), "display palette | arena | component I | chain I | state", "show something";
    ["configure", "parameters"] 3 None, "configure INSTANCE PORT ALL | KEY [VALUE…]", "show parameters, or set one";
    ["property"] 1 None, "property INSTANCE [KEY [VALUE…]]", "show properties of an instance, or set one";
    ["port-property"] 2 None, "port-property INSTANCE PORT [KEY [TYPE VALUE…]]", "show properties of a port, or set one";
    ["go", "run"] 2 Some(2), "go INSTANCE PORT", "start";
    ["debug", "noisy"] 0 Some(0), "debug", "say more";
    ["nodebug", "quiet"] 0 Some(0), "nodebug", "say less";
    ["shell", "system"] 1 None, "shell LINE", "run a command of the system, where enabled";
    ["eof"] 0 Some(0), "eof", "end the script here";
}

/// A parsed line; texts as in the line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// `help [COMMAND]`.
    Help(Option<String>),
    /// `exit [CODE]`.
    Exit(i32),
    /// `path …`.
    Path(Vec<String>),
    /// `repository …`.
    Repository(Vec<String>),
    /// `pallet`.
    Pallet,
    /// `instantiate CLASS [NAME]`.
    Instantiate(String, Option<String>),
    /// `arena`.
    Arena,
    /// `remove INSTANCE`.
    Remove(String),
    /// `nuke all`.
    Nuke,
    /// `connect USER UPORT PROVIDER PPORT`.
    Connect([String; 4]),
    /// `disconnect USER UPORT PROVIDER PPORT`.
    Disconnect([String; 4]),
    /// `links`.
    Links,
    /// `display …`.
    Display(Vec<String>),
    /// `configure INSTANCE PORT KEY [VALUE]`; `KEY` may be `ALL`.
    Configure([String; 3], Option<String>),
    /// `property INSTANCE [KEY [VALUE]]`.
    Property(String, Option<String>, Option<String>),
    /// `port-property INSTANCE PORT [KEY [TYPE VALUE]]`.
    PortProperty([String; 2], Option<String>, Option<(String, String)>),
    /// `go INSTANCE PORT`.
    Go(String, String),
    /// `debug`, or `nodebug`.
    Verbose(bool),
    /// `shell LINE`.
    Shell(String),
    /// `eof`.
    Eof,
}

/// The command that a word begins, by its name or an alias.
///
/// # Errors
/// [`RcError::Ambiguous`], [`RcError::Undefined`].
pub fn find(word: &str) -> Result<&'static CommandHelp, RcError> {
    let begins = |command: &&CommandHelp| command.names.iter().any(|name| name.starts_with(word));
    let exact = COMMANDS
        .iter()
        .find(|command| command.names.contains(&word));
    let found: Vec<_> = COMMANDS.iter().filter(begins).collect();
    match (exact, &found[..]) {
        (Some(command), _) => Ok(command),
        (None, [command]) => Ok(command),
        (None, []) => Err(RcError::Undefined { word: word.into() }),
        (None, several) => {
            let names = several.iter().flat_map(|command| command.names);
            let names: Vec<_> = names.filter(|n| n.starts_with(word)).copied().collect();
            Err(RcError::Ambiguous {
                word: word.into(),
                candidates: names.join(", "),
            })
        }
    }
}

impl Command {
    /// Understands a line that is no comment.
    ///
    /// # Errors
    /// An ambiguous or unknown command; too many or too few arguments, or another argument than the command takes.
    pub fn parse(line: &str) -> Result<Self, RcError> {
        let mut words = line.split_whitespace().map(str::to_string);
        let help = find(&words.next().unwrap_or_default())?;
        let words: Vec<_> = words.collect();
        let (command, usage) = (help.names[0], help.usage);
        if help.most.is_some_and(|most| words.len() > most) {
            return Err(RcError::TooManyArguments { command, usage });
        }
        if words.len() < help.least {
            return Err(RcError::MissingArguments { command, usage });
        }
        let word = |at: usize| words.get(at).cloned();
        let given = |at: usize| word(at).unwrap_or_default();
        let rest = |at: usize| (words.len() > at).then(|| words[at..].join(" "));
        Ok(match command {
            "help" => Command::Help(word(0)),
            "exit" => Command::Exit(exit_code(word(0))?),
            "path" => Command::Path(words),
            "repository" => Command::Repository(words),
            "pallet" => Command::Pallet,
            "instantiate" => Command::Instantiate(given(0), word(1)),
            "arena" => Command::Arena,
            "remove" => Command::Remove(given(0)),
            "nuke" if given(0) == "all" => Command::Nuke,
            "nuke" => {
                return Err(RcError::BadArgument {
                    command,
                    found: given(0),
                    expected: "all".into(),
                });
            }
            "connect" => Command::Connect([0, 1, 2, 3].map(given)),
            "disconnect" => Command::Disconnect([0, 1, 2, 3].map(given)),
            "links" => Command::Links,
            "display" => Command::Display(words),
            "configure" => Command::Configure([0, 1, 2].map(given), rest(3)),
            "property" => Command::Property(given(0), word(1), rest(2)),
            "port-property" => {
                let value = match (word(3), rest(4)) {
                    (Some(kind), Some(value)) => Some((kind, value)),
                    (None, _) => None,
                    (Some(_), None) => return Err(RcError::MissingArguments { command, usage }),
                };
                Command::PortProperty([0, 1].map(given), word(2), value)
            }
            "go" => Command::Go(given(0), given(1)),
            "debug" => Command::Verbose(true),
            "nodebug" => Command::Verbose(false),
            "shell" => Command::Shell(words.join(" ")),
            _ => Command::Eof,
        })
    }
}

fn exit_code(word: Option<String>) -> Result<i32, RcError> {
    let Some(word) = word else {
        return Ok(0);
    };
    let code = word.parse::<u8>().map(i32::from);
    code.map_err(|_| RcError::BadArgument {
        command: "exit",
        found: word,
        expected: "a code from 0 to 255".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_alias_is_its_own_command() {
        for command in COMMANDS {
            for name in command.names {
                assert_eq!(find(name).unwrap().names, command.names, "{name}");
            }
        }
    }

    #[test]
    fn a_beginning_is_enough_if_it_is_of_one_command() {
        for (word, name) in [
            ("i", "ambiguous"),
            ("ins", "ambiguous"),
            ("inst", "ambiguous"),
            ("instanti", "instantiate"),
            ("pal", "pallet"),
            ("pa", "ambiguous"),
            ("q", "ambiguous"),
            ("qui", "ambiguous"),
            ("quie", "nodebug"),
            ("con", "ambiguous"),
            ("conf", "configure"),
            ("conn", "connect"),
            ("disp", "display"),
            ("dis", "ambiguous"),
            ("g", "go"),
            ("port", "port-property"),
            ("prop", "property"),
            ("rep", "repository"),
            ("re", "ambiguous"),
            ("ru", "go"),
            ("b", "exit"),
            ("moves", "undefined"),
            ("Go", "undefined"),
        ] {
            let found = match find(word) {
                Ok(command) => command.names[0],
                Err(RcError::Ambiguous { .. }) => "ambiguous",
                Err(_) => "undefined",
            };
            assert_eq!(found, name, "{word}");
        }
    }

    #[test]
    fn arguments_are_counted() {
        let error = |line| Command::parse(line).unwrap_err().to_string();
        assert!(error("go").contains("missing arguments, expected go INSTANCE PORT"));
        assert!(error("go a b c").contains("too many arguments"));
        assert!(error("nuke some").contains("\"some\", expected all"));
        assert!(error("exit 300").contains("0 to 255"));
        assert!(error("port-property i p k int").contains("missing"));
        let set = Command::parse("param  i p key  a   b ").unwrap();
        let names = ["i", "p", "key"].map(String::from);
        assert_eq!(set, Command::Configure(names, Some("a b".into())));
    }
}

//! Completions of the tabulator key.

use cca_abi::Interface;
use cca_core::Framework;
use cca_core::rc::{COMMANDS, find};
use cca_ports::{GoPort, ParameterPort};
use rustyline::Context;
use rustyline::Helper;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;

/// Completes from the current contents of a framework.
pub struct Words<'a>(pub &'a Framework);

impl Helper for Words<'_> {}

impl Highlighter for Words<'_> {}

impl Validator for Words<'_> {}

impl Hinter for Words<'_> {
    type Hint = String;
}

impl Completer for Words<'_> {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..at).unwrap_or(line);
        let begin = before
            .rfind(char::is_whitespace)
            .map_or(0, |blank| blank + 1);
        let candidates = self.candidates(before).into_iter();
        // A complete word is followed by the next.
        let pair = |word: String| Pair {
            replacement: format!("{word} "),
            display: word,
        };
        Ok((begin, candidates.map(pair).collect()))
    }
}

impl Words<'_> {
    /// Completions of the word at the end of a line.
    fn candidates(&self, line: &str) -> Vec<String> {
        let begin = line.rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
        let (before, word) = line.split_at(begin);
        let before: Vec<_> = before.split_whitespace().collect();
        let mut offered = match before.split_first() {
            None => COMMANDS
                .iter()
                .flat_map(|command| command.names)
                .map(|name| name.to_string())
                .collect(),
            Some((command, arguments)) => match find(command) {
                Ok(command) => self.arguments(command.names[0], arguments),
                Err(_) => Vec::new(),
            },
        };
        offered.retain(|candidate| candidate.starts_with(word));
        offered
    }

    fn arguments(&self, command: &str, before: &[&str]) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        match (command, before) {
            ("help", []) => words(&COMMANDS.iter().map(|c| c.names[0]).collect::<Vec<_>>()),
            ("path", []) => words(&["init", "append", "prepend", "set"]),
            ("repository", []) => words(&["list", "get", "get-global", "get-lazy", "init"]),
            ("instantiate", []) => {
                let classes = self.0.available_classes();
                classes.iter().map(|class| class.name().into()).collect()
            }
            ("nuke", []) => words(&["all"]),
            ("display", []) => words(&["palette", "arena", "component", "chain", "state"]),
            ("display", [_]) => self.instances(),
            ("remove" | "connect" | "disconnect" | "configure" | "go", [])
            | ("property" | "port-property", [])
            | ("connect" | "disconnect", [_, _]) => self.instances(),
            ("connect" | "disconnect", [user]) => self.ports(user, true),
            ("connect" | "disconnect", [_, _, provider]) => self.ports(provider, false),
            ("configure", [instance]) => self.ports_of::<dyn ParameterPort>(instance),
            ("go", [instance]) => self.ports_of::<dyn GoPort>(instance),
            ("port-property", [instance]) => {
                let mut ports = self.ports(instance, true);
                ports.extend(self.ports(instance, false));
                ports
            }
            ("configure", [instance, port]) => {
                let parameters = self.0.parameters(instance).unwrap_or_default();
                let of_port = parameters.iter().filter(|p| p.port == *port);
                let mut keys: Vec<_> = of_port.map(|p| p.description.key.to_string()).collect();
                keys.push("ALL".into());
                keys
            }
            _ => Vec::new(),
        }
    }

    fn instances(&self) -> Vec<String> {
        let instances = self.0.instances().into_iter();
        let of_libraries = instances.filter(|instance| instance.library.is_some());
        of_libraries.map(|instance| instance.name).collect()
    }

    /// Provides ports of an interface.
    fn ports_of<P: Interface + ?Sized>(&self, instance: &str) -> Vec<String> {
        let provides = self.0.instance(instance).map(|info| info.provides);
        let ports = provides.unwrap_or_default().into_iter();
        let of_interface = ports.filter(|port| port.interface.name == P::descriptor().name);
        of_interface.map(|port| port.name).collect()
    }

    fn ports(&self, instance: &str, used: bool) -> Vec<String> {
        let Ok(info) = self.0.instance(instance) else {
            return Vec::new();
        };
        let ports = if used { info.uses } else { info.provides };
        ports.into_iter().map(|port| port.name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_their_words_are_offered() {
        let framework = Framework::new();
        let words = Words(&framework);
        assert_eq!(words.candidates("dis"), ["disconnect", "display"]);
        assert_eq!(words.candidates("disp c"), ["component", "chain"]);
        assert_eq!(words.candidates("path ap"), ["append"]);
        assert!(words.candidates("con ").is_empty());
        assert!(words.candidates("go nobody ").is_empty());
        assert!(words.candidates("").len() > COMMANDS.len());
    }
}

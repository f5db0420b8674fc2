//! Output of commands.

use cca_ports::{ParameterDescription, ParameterValue};

use super::command::{COMMANDS, find};
use super::error::RcError;
use super::interpreter::Interpreter;
use crate::{ConnectionId, PortInfo};

/// Lines, or a text if there are none.
pub fn list(none: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        none.into()
    } else {
        lines.join("\n")
    }
}

/// `USER.UPORT -> PROVIDER.PPORT`.
pub fn connection(c: &ConnectionId) -> String {
    format!("{}.{} -> {}.{}", c.user, c.uses, c.provider, c.provides)
}

/// `KEY = VALUE UNIT`; the unit of pure numbers is not shown.
pub fn parameter(description: &ParameterDescription, value: &ParameterValue) -> String {
    let unit = Some(description.unit.as_str()).filter(|unit| *unit != "1");
    let text = format!("{} = {value} {}", description.key, unit.unwrap_or_default());
    text.trim_end().into()
}

/// About one or all commands.
pub fn help(about: Option<&str>) -> Result<String, RcError> {
    if let Some(word) = about {
        let command = find(word)?;
        let names = command.names.join(", ");
        return Ok(format!(
            "{}\n  {}\n  names: {names}",
            command.usage, command.does
        ));
    }
    let lines = COMMANDS
        .iter()
        .map(|c| format!("{:<36} {}", c.names.join(", "), c.does));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

impl Interpreter<'_> {
    pub(super) fn shown_pallet(&self) -> String {
        let classes = self.framework.available_classes();
        let lines: Vec<_> = classes
            .iter()
            .map(|class| class.name().to_string())
            .collect();
        list("no class", &lines)
    }

    pub(super) fn shown_arena(&self) -> String {
        let instances = self.framework.instances().into_iter();
        let shown = instances.filter(|instance| self.is_shown(&instance.name));
        let lines: Vec<_> = shown
            .map(|i| format!("{} of type {}", i.name, i.class))
            .collect();
        list("no instance", &lines)
    }

    /// Connections of one instance, or of all.
    pub(super) fn shown_links(&self, instance: Option<&str>) -> String {
        let connections = match instance {
            Some(name) => self.framework.connections_of(&[name]),
            None => self.framework.connections(),
        };
        let ends = |c: &ConnectionId| self.is_shown(&c.user) && self.is_shown(&c.provider);
        let shown = connections.iter().filter(|c| ends(c));
        list("no connection", &shown.map(connection).collect::<Vec<_>>())
    }

    fn shown_component(&self, instance: &str) -> Result<String, RcError> {
        self.shown_instance(instance)?;
        let info = self.framework.instance(instance)?;
        let mut lines = vec![format!(
            "{} of type {} {}",
            info.name, info.class, info.version
        )];
        let port = |word: &str, port: &PortInfo| {
            let interface = port.interface;
            format!(
                "  {word} {}: {}/{}",
                port.name, interface.name, interface.version
            )
        };
        lines.extend(info.provides.iter().map(|p| port("provides", p)));
        lines.extend(info.uses.iter().map(|p| port("uses", p)));
        for p in self.framework.parameters(instance)? {
            let shown = parameter(&p.description, &p.value);
            lines.push(format!("  parameter {}.{shown}", p.port));
        }
        Ok(lines.join("\n"))
    }

    pub(super) fn shown(&self, words: &[String]) -> Result<String, RcError> {
        let mut words: Vec<_> = words.iter().map(String::as_str).collect();
        if let Some(what) = words.first_mut() {
            // In Ccaffeine's order: the first that begins with the word is meant.
            let all = ["pallet", "palette", "arena", "chain", "component", "state"];
            *what = all
                .into_iter()
                .find(|name| name.starts_with(*what))
                .unwrap_or(what);
        }
        match words[..] {
            ["palette" | "pallet" | "classes"] => Ok(self.shown_pallet()),
            ["arena" | "instances"] => Ok(self.shown_arena()),
            ["component", instance] => self.shown_component(instance),
            ["chain" | "links"] => Ok(self.shown_links(None)),
            ["chain" | "links", instance] => {
                self.shown_instance(instance)?;
                Ok(self.shown_links(Some(instance)))
            }
            ["state"] => Ok(format!(
                "pallet\n{}\narena\n{}\nlinks\n{}",
                self.shown_pallet(),
                self.shown_arena(),
                self.shown_links(None)
            )),
            _ => Err(RcError::BadArgument {
                command: "display",
                found: words.join(" "),
                expected: "palette, arena, component I, chain I or state".into(),
            }),
        }
    }
}

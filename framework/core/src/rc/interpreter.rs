//! Carries commands out on a framework.
//!
//! [`Interpreter::line`] takes a line of a script or of a shell and returns how to continue ([`Step`]); `command`
//! parses the line, the interpreter calls the [`Framework`] as a TOML assembly would, and `show` formats output.
//! Everything that is printed, started or run by the system goes through a [`Host`]. A line that fails has done
//! nothing, so the next one may follow. Instances that existed before the interpreter belong to the program: they are
//! neither listed nor accessible. [`Interpreter::assembly`] returns the assembly that the lines have made.
//!
//! ```text
//! 1  repository get hydro.GodunovFlux
//! 2  instantiate hydro.GodunovFlux flux
//! 3  instantiate hydro.GodunovFlux flux     cannot create instance "flux": name taken, expected a new one
//! 4  connect flux nothing flux flux         cannot find uses port "nothing" of "flux": unknown, expected none
//! 5  arena                                  flux of type hydro.GodunovFlux
//! 6  exit 3                                 Step::Exit(3)
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cca_loader::{Library, LoadError};
use cca_ports::{ParameterPort, TypeMap};

use super::command::Command;
use super::error::RcError;
use super::matching::{self, Match};
use super::{properties, script};
use crate::assembly::{Assembly, Endpoint, Start};
use crate::error::names;
use crate::parameters::read_all;
use crate::{ConnectionId, Framework, FrameworkError, Repository};

/// Actions that an interpreter leaves to the program around it.
pub trait Host {
    /// Shows a text of one or more lines.
    fn say(&mut self, text: &str);

    /// Warns of skipped input that is not an error of a line.
    fn warn(&mut self, text: &str) {
        self.say(&format!("warning: {text}"));
    }

    /// Starts an instance's Go port; every uses port with a service is connected by then.
    ///
    /// # Errors
    /// Why it did not reach its end.
    fn go(
        &mut self,
        interpreter: &Interpreter<'_>,
        start: &Endpoint,
    ) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Has the system run a line; `None` if that is not allowed.
    fn shell(&mut self, line: &str) -> Option<Result<(), Box<dyn Error + Send + Sync>>> {
        let _ = line;
        None
    }
}

/// Next step after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// With the next line.
    Next,
    /// End, with this exit code.
    Exit(i32),
    /// Not with this script.
    End,
}

/// Carries commands out on a framework.
pub struct Interpreter<'a> {
    pub(super) framework: &'a Framework,
    /// Instances that were there before: the program's own.
    pub(super) hidden: BTreeSet<String>,
    initial_path: Vec<PathBuf>,
    pub(super) path: Vec<PathBuf>,
    folder: PathBuf,
    available: Option<Repository>,
    verbose: bool,
    replaced: BTreeMap<String, String>,
    settings: Vec<(String, String, String, toml::Value)>,
    start: Option<Endpoint>,
}

impl<'a> Interpreter<'a> {
    /// An interpreter on a framework.
    ///
    /// # Arguments
    /// * `path` - where libraries are searched until a script sets another path
    /// * `folder` - base of a script's relative paths
    pub fn new(framework: &'a Framework, path: Vec<PathBuf>, folder: &Path) -> Self {
        let hidden = framework.instances().into_iter().map(|i| i.name).collect();
        Interpreter {
            framework,
            hidden,
            initial_path: path.clone(),
            path,
            folder: folder.into(),
            available: None,
            verbose: false,
            replaced: BTreeMap::new(),
            settings: Vec::new(),
            start: None,
        }
    }

    /// Relative paths begin at another folder from now on.
    pub fn set_folder(&mut self, folder: &Path) {
        self.folder = folder.into();
    }

    /// Takes another class for an instance that a script makes.
    pub fn replace(&mut self, instance: &str, class: &str) {
        self.replaced.insert(instance.into(), class.into());
    }

    /// Reports the effect of each command, not only requested output.
    pub fn set_verbose(&mut self, verbose: bool) {
        self.verbose = verbose;
    }

    /// The framework.
    pub fn framework(&self) -> &'a Framework {
        self.framework
    }

    /// Whether an instance is shown: the program's own are not.
    pub fn is_shown(&self, instance: &str) -> bool {
        let of_program = |name| self.framework.instance(name).map(|i| i.library.is_none());
        !self.hidden.contains(instance) && !of_program(instance).unwrap_or(false)
    }

    /// The present assembly, with its first start.
    pub fn assembly(&self, name: &str) -> Assembly {
        let mut assembly = Assembly::default();
        assembly.assembly.name = name.into();
        assembly.assembly.path = self.path.clone();
        let folders = self.path.iter().filter_map(|path| path.canonicalize().ok());
        let folders: Vec<_> = folders.collect();
        let is_on_path = |library: &Path| {
            let mut folders = folders.iter();
            folders.any(|path| path == library || Some(&**path) == library.parent())
        };
        let mut libraries = BTreeSet::new();
        for instance in self.framework.instances() {
            let Some(library) = instance.library else {
                continue;
            };
            if !self.hidden.contains(&instance.name) {
                // A script may have changed its path since: the assembly must find the class again.
                if !is_on_path(&library) && libraries.insert(library.clone()) {
                    assembly.assembly.path.push(library);
                }
                assembly.instances.insert(instance.name, instance.class);
            }
        }
        for c in self.framework.connections() {
            let both = [&c.user, &c.provider];
            if both.iter().all(|end| assembly.instances.contains_key(*end)) {
                let end = |instance, port| Endpoint { instance, port };
                let (uses, provides) = (end(c.user, c.uses), end(c.provider, c.provides));
                assembly.connections.insert(uses, provides);
            }
        }
        for (instance, port, key, value) in &self.settings {
            if assembly.instances.contains_key(instance) {
                let ports = assembly.parameters.entry(instance.clone()).or_default();
                let port = ports.entry(port.clone());
                let port = port.or_insert_with(|| toml::Value::Table(toml::Table::new()));
                if let toml::Value::Table(port) = port {
                    port.insert(key.clone(), value.clone());
                }
            }
        }
        assembly.go = self.start.clone().map(|port| Start { port });
        assembly
    }

    /// Carries a line out; a comment does nothing.
    ///
    /// # Errors
    /// The error in the line; nothing was then done, and the next may follow.
    pub fn line(&mut self, line: &str, host: &mut dyn Host) -> Result<Step, RcError> {
        let line = line.trim();
        if script::is_comment(line) {
            return Ok(Step::Next);
        }
        match Command::parse(line)? {
            Command::Exit(code) => return Ok(Step::Exit(code)),
            Command::Eof => return Ok(Step::End),
            Command::Help(about) => host.say(&super::show::help(about.as_deref())?),
            Command::Path(words) => self.change_path(&words, host)?,
            Command::Repository(words) => self.repository(&words, host)?,
            Command::Pallet => host.say(&self.shown_pallet()),
            Command::Instantiate(class, name) => self.instantiate(&class, name, host)?,
            Command::Arena => host.say(&self.shown_arena()),
            Command::Remove(instance) => self.remove(&self.meant(instance, host), host)?,
            Command::Nuke => self.nuke(host)?,
            Command::Connect(ends) => self.connect(ends, host)?,
            Command::Disconnect(ends) => self.disconnect(ends, host)?,
            Command::Links => host.say(&self.shown_links(None)),
            Command::Display(mut words) => {
                if let Some(instance) = words.get_mut(1) {
                    *instance = self.meant(std::mem::take(instance), host);
                }
                host.say(&self.shown(&words)?);
            }
            Command::Configure([instance, port, key], value) => {
                let instance = self.meant(instance, host);
                self.configure(&[instance, port, key], value, host)?;
            }
            Command::Property(instance, key, value) => {
                self.property(&self.meant(instance, host), key, value, host)?;
            }
            Command::PortProperty([instance, port], key, value) => {
                let instance = self.meant(instance, host);
                self.port_property(&[instance, port], key, value, host)?;
            }
            Command::Go(instance, port) => {
                let instance = self.meant(instance, host);
                self.go(Endpoint { instance, port }, host)?;
            }
            Command::Verbose(verbose) => self.verbose = verbose,
            Command::Shell(line) => shell(&line, host)?,
        }
        Ok(Step::Next)
    }

    /// The instance that a word means; the word itself, if it means none.
    fn meant(&self, word: String, host: &mut dyn Host) -> String {
        if self.framework.component_id(&word).is_ok() {
            return word;
        }
        let instances = self.framework.instances().into_iter().map(|i| i.name);
        let shown: Vec<_> = instances.filter(|name| self.is_shown(name)).collect();
        take("instance", word, &shown, host)
    }

    fn say_if_verbose(&self, host: &mut dyn Host, text: impl FnOnce() -> String) {
        if self.verbose {
            host.say(&text());
        }
    }

    fn change_path(&mut self, words: &[String], host: &mut dyn Host) -> Result<(), RcError> {
        let folders = |list: &str| -> Vec<PathBuf> {
            let parts = list.split(':').filter(|part| !part.is_empty());
            parts.map(|part| self.folder.join(part)).collect()
        };
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        match words[..] {
            [] => {
                let path: Vec<_> = self.path.iter().map(|p| p.display().to_string()).collect();
                host.say(&format!("path: {}", path.join(":")));
                return Ok(());
            }
            ["init"] => self.path = self.initial_path.clone(),
            ["set", list] => self.path = folders(list),
            ["append", list] => {
                let more = folders(list);
                self.path.extend(more);
            }
            ["prepend", list] => {
                let more = folders(list);
                self.path.splice(0..0, more);
            }
            _ => {
                return Err(RcError::BadArgument {
                    command: "path",
                    found: words.join(" "),
                    expected: "init, append D, prepend D or set D:D2".into(),
                });
            }
        }
        self.available = None;
        Ok(())
    }

    /// The classes of the libraries on the path; unusable libraries are reported and skipped.
    fn available(&mut self, host: &mut dyn Host) -> &Repository {
        self.available.get_or_insert_with(|| {
            let mut repository = Repository::default();
            for path in &self.path {
                if !path.exists() {
                    let path = path.display();
                    host.warn(&format!(
                        "cannot search \"{path}\": no such folder; passed over"
                    ));
                    continue;
                }
                for error in repository.add_what_opens(path) {
                    host.warn(&format!("{}; passed over", with_causes(&error)));
                }
            }
            repository
        })
    }

    /// Libraries open at once and separately, whatever the command requests.
    fn repository(&mut self, words: &[String], host: &mut dyn Host) -> Result<(), RcError> {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["get-ports", library] => {
                let opened = Library::open_global(&self.folder.join(library));
                // Of a library of port types no component is expected.
                match opened {
                    Ok(_) | Err(LoadError::NoComponent { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            [get, class] if get.starts_with("get") => self.load(class, host)?,
            [init] if init.starts_with("init") => {
                let available = self.available(host).clone();
                self.framework.add_repository(&available);
            }
            [list] if list.starts_with('l') => {
                let classes = self.available(host).classes();
                let lines: Vec<_> = classes.map(|class| class.name().to_string()).collect();
                host.say(&super::show::list("no class", &lines));
            }
            _ => {
                return Err(RcError::BadArgument {
                    command: "repository",
                    found: words.join(" "),
                    expected: "list, get C, get-global C, get-lazy C, get-lazy-global C, get-ports LIB or init".into(),
                });
            }
        }
        Ok(())
    }

    /// Brings a class of the path into the pallet.
    fn load(&mut self, class: &str, host: &mut dyn Host) -> Result<(), RcError> {
        if self.is_loaded(class) {
            return Ok(());
        }
        let available = self.available(host);
        let Some(found) = available.class(class).cloned() else {
            let known: Vec<_> = available.classes().map(|c| c.name().into()).collect();
            return Err(RcError::UnknownClass {
                class: class.into(),
                known: names(&known),
            });
        };
        self.framework.add_class(&found);
        self.say_if_verbose(host, || format!("loaded {class}"));
        Ok(())
    }

    fn instantiate(
        &mut self,
        class: &str,
        name: Option<String>,
        host: &mut dyn Host,
    ) -> Result<(), RcError> {
        let wanted = name.as_ref().and_then(|name| self.replaced.get(name));
        let is_replaced = wanted.is_some();
        let mut class = wanted.map_or(class, String::as_str).to_string();
        if is_replaced && !self.is_loaded(&class) {
            // The script could not know that it is wanted.
            if let Some(found) = self.available(host).class(&class).cloned() {
                self.framework.add_class(&found);
            }
        }
        let loaded = self.framework.available_classes();
        let loaded: Vec<_> = loaded.iter().map(|c| c.name().to_string()).collect();
        if !is_replaced {
            class = take("class", class, &loaded, host);
        }
        if !self.is_loaded(&class) {
            return Err(RcError::NotLoaded {
                instance: name.unwrap_or_else(|| class.clone()),
                class,
                known: names(&loaded),
            });
        }
        let name = name.unwrap_or_default();
        let made = self
            .framework
            .create_instance_of(&name, &class, TypeMap::default())?;
        if name.is_empty() || self.verbose {
            host.say(&format!("{made} of type {class}"));
        }
        Ok(())
    }

    fn is_loaded(&self, class: &str) -> bool {
        self.framework.has_class(class)
    }

    /// The program's own instances are out of reach.
    pub(super) fn shown_instance(&self, instance: &str) -> Result<(), RcError> {
        let unknown = |known: Vec<String>| FrameworkError::UnknownInstance {
            instance: instance.into(),
            known: names(&known),
        };
        if self.hidden.contains(instance) || self.framework.component_id(instance).is_err() {
            let instances = self.framework.instances().into_iter().map(|i| i.name);
            let shown = instances.filter(|name| self.is_shown(name)).collect();
            return Err(unknown(shown).into());
        }
        Ok(())
    }

    /// The error for an unknown instance lists the known ones.
    fn known_instance(&self, instance: &str) -> Result<(), RcError> {
        match self.framework.component_id(instance) {
            Ok(_) => Ok(()),
            Err(_) => self.shown_instance(instance),
        }
    }

    fn remove(&mut self, instance: &str, host: &mut dyn Host) -> Result<(), RcError> {
        self.shown_instance(instance)?;
        self.framework.destroy_instance(instance, Duration::ZERO)?;
        self.settings.retain(|(of, ..)| of != instance);
        self.say_if_verbose(host, || format!("removed {instance}"));
        Ok(())
    }

    fn nuke(&mut self, host: &mut dyn Host) -> Result<(), RcError> {
        for instance in self.framework.instances() {
            if self.is_shown(&instance.name) {
                self.remove(&instance.name, host)?;
            }
        }
        Ok(())
    }

    fn connection(
        &self,
        [user, uses, provider, provides]: [String; 4],
        host: &mut dyn Host,
    ) -> ConnectionId {
        let user = self.meant(user, host);
        let service = self.framework.service_named(&provider, &provides);
        let (provider, provides) =
            service.unwrap_or_else(|| (self.meant(provider, host), provides));
        ConnectionId {
            user,
            uses,
            provider,
            provides,
        }
    }

    fn connect(&self, ends: [String; 4], host: &mut dyn Host) -> Result<(), RcError> {
        let id = self.connection(ends, host);
        self.known_instance(&id.user)?;
        self.known_instance(&id.provider)?;
        self.framework.connect(&id)?;
        self.say_if_verbose(host, || super::show::connection(&id));
        Ok(())
    }

    fn disconnect(&self, ends: [String; 4], host: &mut dyn Host) -> Result<(), RcError> {
        let id = self.connection(ends, host);
        self.known_instance(&id.user)?;
        let found = self.framework.connection(&id.user, &id.uses)?;
        if found != id {
            return Err(RcError::BadArgument {
                command: "disconnect",
                found: super::show::connection(&id),
                expected: super::show::connection(&found),
            });
        }
        self.framework.disconnect(&id.user, &id.uses)?;
        self.say_if_verbose(host, || format!("disconnected {}.{}", id.user, id.uses));
        Ok(())
    }

    fn configure(
        &mut self,
        [instance, port, key]: &[String; 3],
        value: Option<String>,
        host: &mut dyn Host,
    ) -> Result<(), RcError> {
        self.known_instance(instance)?;
        let known = self
            .framework
            .with_port::<dyn ParameterPort, _>(instance, port, read_all)?;
        let known = known.map_err(|source| FrameworkError::Port {
            act: format!("read parameters \"{instance}.{port}\""),
            source,
        })?;
        if key == "ALL" {
            if let Some(value) = value {
                return Err(RcError::BadArgument {
                    command: "configure",
                    found: format!("ALL {value}"),
                    expected: "ALL without a value; one parameter is set at a time".into(),
                });
            }
            let lines: Vec<_> = known
                .iter()
                .map(|(d, value)| super::show::parameter(d, value))
                .collect();
            host.say(&super::show::list("no parameter", &lines));
            return Ok(());
        }
        let Some((description, now)) = known.iter().find(|(d, _)| d.key == *key) else {
            let keys: Vec<_> = known.iter().map(|(d, _)| d.key.to_string()).collect();
            return Err(parameter(instance, key, "unknown", names(&keys)).into());
        };
        let Some(text) = value else {
            host.say(&super::show::parameter(description, now));
            return Ok(());
        };
        let kind = description.default.kind();
        let Some(value) = properties::of_kind(&description.default, &text) else {
            return Err(parameter(instance, key, &format!("\"{text}\""), kind.into()).into());
        };
        self.framework
            .set_parameter(instance, &format!("{port}.{key}"), &value)?;
        let setting = (instance.clone(), port.clone(), key.clone(), value);
        self.settings.push(setting);
        self.say_if_verbose(host, || format!("{instance}.{port}.{key} = {text}"));
        Ok(())
    }

    fn property(
        &self,
        instance: &str,
        key: Option<String>,
        value: Option<String>,
        host: &mut dyn Host,
    ) -> Result<(), RcError> {
        self.shown_instance(instance)?;
        let mut map = self.framework.component_properties(instance)?;
        let value = value.map(|value| (None, value));
        if properties::show_or_put("property", &mut map, key, value, host)? {
            self.framework.set_component_properties(instance, map)?;
        }
        Ok(())
    }

    fn port_property(
        &self,
        [instance, port]: &[String; 2],
        key: Option<String>,
        value: Option<(String, String)>,
        host: &mut dyn Host,
    ) -> Result<(), RcError> {
        self.shown_instance(instance)?;
        let mut map = self.framework.port_properties(instance, port)?;
        let value = value.map(|(kind, value)| (Some(kind), value));
        if properties::show_or_put("port-property", &mut map, key, value, host)? {
            self.framework.set_port_properties(instance, port, map)?;
        }
        Ok(())
    }

    fn go(&mut self, start: Endpoint, host: &mut dyn Host) -> Result<(), RcError> {
        self.shown_instance(&start.instance)?;
        self.framework.connect_defaults()?;
        self.start.get_or_insert_with(|| start.clone());
        let ended = host.go(self, &start);
        // Programs that read Ccaffeine's output search for this text.
        host.say(match &ended {
            Ok(()) => "##specific go command successful",
            Err(_) => "#specific go command failed",
        });
        ended.map_err(|source| RcError::Host {
            act: format!("go \"{start}\""),
            source,
        })
    }
}

fn shell(line: &str, host: &mut dyn Host) -> Result<(), RcError> {
    let ended = host.shell(line).ok_or(RcError::ShellDisabled)?;
    ended.map_err(|source| RcError::Host {
        act: format!("run \"{line}\""),
        source,
    })
}

/// The name that a word means; the word itself, if it means none.
fn take(kind: &str, word: String, names: &[String], host: &mut dyn Host) -> String {
    let Some(Match { name, others }) = matching::find(&word, names) else {
        return word;
    };
    if !others.is_empty() {
        let others = others.join(", ");
        host.warn(&format!(
            "{kind} \"{word}\" may be {name}, {others}: {name} is taken"
        ));
    }
    name.to_string()
}

/// An error and its causes on one line.
fn with_causes(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", with_causes(cause)),
        None => error.to_string(),
    }
}

fn parameter(instance: &str, key: &str, found: &str, expected: String) -> FrameworkError {
    FrameworkError::Parameter {
        instance: instance.into(),
        key: key.into(),
        found: found.into(),
        expected,
    }
}

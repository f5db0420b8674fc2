//! Changes of an assembly file: unchanged parts stay byte for byte, with their comments and their
//! order.
//!
//! The page edits the user's own file, which has comments, an order and blanks that mean something
//! to its author. Parsing it into an assembly and writing that back would lose them. `toml_edit`
//! keeps the document as text with structure; each edit changes one entry of it, and everything
//! else stays.
//!
//! ```text
//! [instances]                                  [instances]
//! flux = "hydro.GodunovFlux"   # exact         flux = "hydro.EfmFlux"   # exact
//! states = "hydro.States"                      states = "hydro.States"
//!
//!                   SetClass { instance: "flux", class: "hydro.EfmFlux" }
//! ```
//!
//! Names are checked only as far as the file shows: an instance must be there, a new name must be
//! free. Whether a class or port exists is found by `check`, as for a file written by hand. Several
//! edits are applied to one text, all or none.

use serde::Deserialize;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value, value};

use crate::Error;

/// One change of an assembly file, as the page sends it. Each changes one entry, or all that name
/// an instance.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "edit", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Edit {
    /// A new instance of a class.
    AddInstance {
        /// Its name.
        instance: String,
        /// Its class.
        class: String,
    },
    /// A library, or a folder of libraries, in which classes are searched.
    AddPath {
        /// As it will be written in the file.
        path: String,
    },
    /// An instance with its connections, parameters and alternatives.
    RemoveInstance {
        /// Its name.
        instance: String,
    },
    /// Another name, wherever the old one occurs.
    RenameInstance {
        /// The old name.
        instance: String,
        /// The new one.
        to: String,
    },
    /// Another class.
    SetClass {
        /// The instance.
        instance: String,
        /// The class.
        class: String,
    },
    /// A connection; of a uses port that has one, another.
    Connect {
        /// The uses port, `INSTANCE.PORT`.
        uses: String,
        /// The provides port, `INSTANCE.PORT`.
        provides: String,
    },
    /// A connection less.
    Disconnect {
        /// The uses port, `INSTANCE.PORT`.
        uses: String,
    },
    /// A parameter.
    SetParameter {
        /// The instance.
        instance: String,
        /// `KEY`, or `PORT.KEY`.
        key: String,
        /// Its value in TOML's notation; other text is a string.
        value: String,
    },
    /// A parameter back to its default.
    UnsetParameter {
        /// The instance.
        instance: String,
        /// `KEY`, or `PORT.KEY`.
        key: String,
    },
    /// The classes that may replace an instance's; an empty list removes the entry.
    SetAlternatives {
        /// The instance.
        instance: String,
        /// The classes.
        classes: Vec<String>,
    },
    /// The port that starts the assembly.
    SetGo {
        /// `INSTANCE.PORT`.
        port: String,
    },
}

/// The text of an assembly after some changes, one after the other.
///
/// # Errors
/// The text is no TOML, or a change names a missing entry or has a name that is taken.
pub fn edited(text: &str, edits: &[Edit]) -> Result<String, Error> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| Error::Edit(error.message().to_owned()))?;
    for edit in edits {
        apply(&mut document, edit)?;
    }
    Ok(document.to_string())
}

fn wrong<T>(found: String) -> Result<T, Error> {
    Err(Error::Edit(found))
}

/// A table of the document; made at its end if it does not exist.
fn table<'a>(document: &'a mut DocumentMut, name: &str) -> Result<&'a mut dyn TableLike, Error> {
    let item = document
        .entry(name)
        .or_insert_with(|| Item::Table(Table::new()));
    item.as_table_like_mut()
        .ok_or_else(|| Error::Edit(format!("\"{name}\" is no table, expected one")))
}

/// A table of the document, if it is there.
fn present<'a>(document: &'a mut DocumentMut, name: &str) -> Option<&'a mut dyn TableLike> {
    document.get_mut(name)?.as_table_like_mut()
}

/// Another value for a key, with the comment behind the old one.
fn replace(table: &mut dyn TableLike, key: &str, new: impl Into<Value>) {
    let mut new = new.into();
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            // Decor is the text around a value: blanks, and the comment at the end of the line.
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        None => {
            table.insert(key, value(new));
        }
    }
}

fn has_instance(document: &mut DocumentMut, instance: &str) -> bool {
    present(document, "instances").is_some_and(|table| table.contains_key(instance))
}

fn known(document: &mut DocumentMut, instance: &str) -> Result<(), Error> {
    if has_instance(document, instance) {
        return Ok(());
    }
    wrong(format!("no instance \"{instance}\""))
}

fn new_name(document: &mut DocumentMut, instance: &str) -> Result<(), Error> {
    if has_instance(document, instance) {
        return wrong(format!("the name \"{instance}\" is taken"));
    }
    if instance.is_empty()
        || instance.contains(['.', '@', '/'])
        || instance.contains(char::is_whitespace)
    {
        return wrong(format!(
            "\"{instance}\" is no name of an instance, expected one without spaces, dots and \"@\""
        ));
    }
    Ok(())
}

/// The instance of `INSTANCE.PORT`.
fn owner(port: &str) -> &str {
    port.split_once('.').map_or(port, |(instance, _)| instance)
}

fn endpoint(document: &mut DocumentMut, port: &str) -> Result<(), Error> {
    match port.split_once('.') {
        Some((instance, name)) if !name.is_empty() => known(document, instance),
        _ => wrong(format!("\"{port}\" is no port, expected INSTANCE.PORT")),
    }
}

fn apply(document: &mut DocumentMut, edit: &Edit) -> Result<(), Error> {
    match edit {
        Edit::AddInstance { instance, class } => {
            new_name(document, instance)?;
            table(document, "instances")?.insert(instance, value(class));
        }
        Edit::AddPath { path } => {
            let paths = table(document, "assembly")?
                .entry("path")
                .or_insert_with(|| value(Array::new()));
            let paths = paths.as_array_mut();
            let paths =
                paths.ok_or_else(|| Error::Edit("\"path\" is no list, expected one".into()))?;
            if !paths.iter().any(|known| known.as_str() == Some(path)) {
                paths.push(path);
            }
        }
        Edit::RemoveInstance { instance } => {
            known(document, instance)?;
            remove(document, instance);
        }
        Edit::RenameInstance { instance, to } => {
            known(document, instance)?;
            new_name(document, to)?;
            rename(document, instance, to)?;
        }
        Edit::SetClass { instance, class } => {
            known(document, instance)?;
            replace(table(document, "instances")?, instance, class);
        }
        Edit::Connect { uses, provides } => {
            endpoint(document, uses)?;
            endpoint(document, provides)?;
            replace(table(document, "connections")?, uses, provides);
        }
        Edit::Disconnect { uses } => {
            let connections = present(document, "connections");
            if connections.and_then(|table| table.remove(uses)).is_none() {
                return wrong(format!("uses port \"{uses}\" is not connected"));
            }
        }
        Edit::SetParameter {
            instance,
            key,
            value,
        } => {
            known(document, instance)?;
            set_parameter(document, instance, key, value)?;
        }
        Edit::UnsetParameter { instance, key } => unset_parameter(document, instance, key)?,
        Edit::SetAlternatives { instance, classes } => {
            known(document, instance)?;
            if classes.is_empty() {
                if let Some(table) = present(document, "alternatives") {
                    table.remove(instance);
                }
            } else {
                let classes: Array = classes.iter().collect();
                replace(table(document, "alternatives")?, instance, classes);
            }
        }
        Edit::SetGo { port } => {
            endpoint(document, port)?;
            replace(table(document, "go")?, "port", port);
        }
    }
    Ok(())
}

fn remove(document: &mut DocumentMut, instance: &str) {
    for name in ["instances", "parameters", "alternatives", "attributes"] {
        if let Some(table) = present(document, name) {
            table.remove(instance);
        }
    }
    if let Some(connections) = present(document, "connections") {
        let of_it: Vec<_> = connections
            .iter()
            .filter(|(uses, provides)| {
                owner(uses) == instance || provides.as_str().map(owner) == Some(instance)
            })
            .map(|(uses, _)| uses.to_owned())
            .collect();
        for uses in of_it {
            connections.remove(&uses);
        }
    }
    let go = document.get("go").and_then(|go| go.get("port"));
    if go.and_then(Item::as_str).map(owner) == Some(instance) {
        document.remove("go");
    }
}

/// Renames a key of a table at its place.
fn rename_key(table: &mut dyn TableLike, old: &str, new: &str) {
    // The entries are inserted again from the renamed one on, so that their order stays.
    let keys: Vec<_> = table.iter().map(|(key, _)| key.to_owned()).collect();
    let later = keys.iter().skip_while(|key| *key != old);
    for key in later {
        let decor = table.key(key).map(|key| key.leaf_decor().clone());
        let Some(item) = table.remove(key) else {
            continue;
        };
        let name = if key == old { new } else { key };
        table.insert(name, item);
        if let (Some(mut key), Some(decor)) = (table.key_mut(name), decor) {
            *key.leaf_decor_mut() = decor;
        }
    }
}

fn rename(document: &mut DocumentMut, instance: &str, to: &str) -> Result<(), Error> {
    for name in ["instances", "parameters", "alternatives", "attributes"] {
        if let Some(table) = present(document, name)
            && table.contains_key(instance)
        {
            rename_key(table, instance, to);
        }
    }
    let moved = |port: &str| {
        let (owner, rest) = port.split_once('.')?;
        (owner == instance).then(|| format!("{to}.{rest}"))
    };
    if let Some(connections) = present(document, "connections") {
        let ends: Vec<(String, Option<String>)> = connections
            .iter()
            .map(|(uses, provides)| (uses.to_owned(), provides.as_str().map(str::to_owned)))
            .collect();
        for (uses, provides) in ends {
            // The value first: its entry is found by the old key.
            if let Some(provides) = provides.as_deref().and_then(moved) {
                replace(connections, &uses, provides);
            }
            if let Some(new) = moved(&uses) {
                rename_key(connections, &uses, &new);
            }
        }
    }
    let go = document.get("go").and_then(|go| go.get("port"));
    if let Some(port) = go.and_then(Item::as_str).and_then(moved) {
        replace(table(document, "go")?, "port", port);
    }
    Ok(())
}

/// A value as TOML has it, or else text.
fn toml_value(text: &str) -> Value {
    let text = text.trim();
    text.parse().unwrap_or_else(|_| Value::from(text))
}

fn set_parameter(
    document: &mut DocumentMut,
    instance: &str,
    key: &str,
    new: &str,
) -> Result<(), Error> {
    let parameters = document.entry("parameters").or_insert_with(|| {
        let mut table = Table::new();
        // Only its tables have heads, `[parameters.mesh]`.
        table.set_implicit(true);
        Item::Table(table)
    });
    let no_table = |name: &str| Error::Edit(format!("\"{name}\" is no table, expected one"));
    let parameters = parameters
        .as_table_like_mut()
        .ok_or_else(|| no_table("parameters"))?;
    let of_instance = parameters
        .entry(instance)
        .or_insert_with(|| Item::Table(Table::new()));
    let of_instance = of_instance
        .as_table_like_mut()
        .ok_or_else(|| no_table(instance))?;
    match key.split_once('.') {
        None => replace(of_instance, key, toml_value(new)),
        Some((port, key)) => {
            let of_port = of_instance
                .entry(port)
                .or_insert_with(|| value(toml_edit::InlineTable::new()));
            let of_port = of_port.as_table_like_mut().ok_or_else(|| no_table(port))?;
            replace(of_port, key, toml_value(new));
        }
    }
    Ok(())
}

fn unset_parameter(document: &mut DocumentMut, instance: &str, key: &str) -> Result<(), Error> {
    let mut inner = present(document, "parameters")
        .and_then(|table| table.get_mut(instance)?.as_table_like_mut());
    let mut last = key;
    if let Some((port, key)) = key.split_once('.') {
        inner = inner.and_then(|table| table.get_mut(port)?.as_table_like_mut());
        last = key;
    }
    match inner.and_then(|table| table.remove(last)) {
        Some(_) => Ok(()),
        None => wrong(format!("parameter \"{instance}.{key}\" is not set")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, edited};

    const TEXT: &str = r#"# The shock.
[assembly]
name = "shock" # short
path = ["lib"]

[instances]
driver = "hydro.Driver"   # starts
flux = "hydro.Godunov"
mesh = "hydro.Mesh"

[connections]
# Fluxes.
"driver.flux" = "flux.flux"
"flux.mesh"   = "mesh.mesh" # reads it
"driver.mesh" = "mesh.mesh"

[parameters.mesh]
nx = 96 # cells

[alternatives]
flux = ["hydro.Godunov", "hydro.Efm"]

[go]
port = "driver.go"
"#;

    fn of(json: &str) -> Result<String, Box<dyn std::error::Error>> {
        let edits: Vec<Edit> = serde_json::from_str(json)?;
        Ok(edited(TEXT, &edits)?)
    }

    /// The lines that differ, `-` before the old and `+` before the new ones.
    fn difference(after: &str) -> Vec<String> {
        let before: Vec<_> = TEXT.lines().collect();
        let after: Vec<_> = after.lines().collect();
        let less = before.iter().filter(|line| !after.contains(line));
        let more = after.iter().filter(|line| !before.contains(line));
        let less = less.map(|line| format!("-{line}"));
        less.chain(more.map(|line| format!("+{line}"))).collect()
    }

    #[test]
    fn what_is_not_edited_stays_as_it_was() -> Result<(), Box<dyn std::error::Error>> {
        assert_eq!(of("[]")?, TEXT);
        let cases = [
            (
                r#"[{"edit":"set-class","instance":"flux","class":"hydro.Efm"}]"#,
                vec!["-flux = \"hydro.Godunov\"", "+flux = \"hydro.Efm\""],
            ),
            (
                r#"[{"edit":"add-path","path":"lib"},{"edit":"add-path","path":"b"}]"#,
                vec!["-path = [\"lib\"]", "+path = [\"lib\", \"b\"]"],
            ),
            (
                r#"[{"edit":"set-parameter","instance":"mesh","key":"nx","value":"128"}]"#,
                vec!["-nx = 96 # cells", "+nx = 128 # cells"],
            ),
            (
                r#"[{"edit":"connect","uses":"flux.mesh","provides":"driver.go"}]"#,
                vec![
                    "-\"flux.mesh\"   = \"mesh.mesh\" # reads it",
                    "+\"flux.mesh\"   = \"driver.go\" # reads it",
                ],
            ),
            (
                r#"[{"edit":"add-instance","instance":"out","class":"a.Out"},
                    {"edit":"connect","uses":"out.mesh","provides":"mesh.mesh"}]"#,
                vec!["+out = \"a.Out\"", "+\"out.mesh\" = \"mesh.mesh\""],
            ),
            (
                r#"[{"edit":"set-parameter","instance":"driver","key":"word","value":"on time"}]"#,
                vec!["+[parameters.driver]", "+word = \"on time\""],
            ),
            (
                r#"[{"edit":"rename-instance","instance":"flux","to":"f"}]"#,
                vec![
                    "-flux = \"hydro.Godunov\"",
                    "-\"driver.flux\" = \"flux.flux\"",
                    "-\"flux.mesh\"   = \"mesh.mesh\" # reads it",
                    "-flux = [\"hydro.Godunov\", \"hydro.Efm\"]",
                    "+f = \"hydro.Godunov\"",
                    "+\"driver.flux\" = \"f.flux\"",
                    "+\"f.mesh\"   = \"mesh.mesh\" # reads it",
                    "+f = [\"hydro.Godunov\", \"hydro.Efm\"]",
                ],
            ),
        ];
        for (edits, expected) in cases {
            assert_eq!(difference(&of(edits)?), expected, "{edits}");
        }
        // A renamed key keeps its place.
        let renamed = of(r#"[{"edit":"rename-instance","instance":"driver","to":"main"}]"#)?;
        assert_eq!(
            renamed,
            TEXT.replace("driver.", "main.")
                .replace("driver =", "main =")
        );
        Ok(())
    }

    #[test]
    fn an_instance_goes_with_all_of_it() -> Result<(), Box<dyn std::error::Error>> {
        let after = of(r#"[{"edit":"remove-instance","instance":"mesh"}]"#)?;
        assert!(!after.contains("mesh"), "{after}");
        let after = of(r#"[{"edit":"remove-instance","instance":"driver"}]"#)?;
        assert!(
            !after.contains("driver") && !after.contains("[go]"),
            "{after}"
        );
        Ok(())
    }

    #[test]
    fn an_assembly_begins_empty() -> Result<(), Box<dyn std::error::Error>> {
        let edits: Vec<Edit> = serde_json::from_str(
            r#"[{"edit":"add-instance","instance":"a","class":"x.A"},
                {"edit":"add-instance","instance":"b","class":"x.B"},
                {"edit":"connect","uses":"a.p","provides":"b.q"},
                {"edit":"set-parameter","instance":"a","key":"port.key","value":"1.5"},
                {"edit":"set-alternatives","instance":"b","classes":["x.B","x.C"]},
                {"edit":"set-go","port":"a.go"}]"#,
        )?;
        let text = edited("[assembly]\nname = \"new\"\n", &edits)?;
        let table: toml::Table = text.parse()?;
        assert_eq!(table["connections"]["a.p"].as_str(), Some("b.q"));
        assert_eq!(
            table["parameters"]["a"]["port"]["key"].as_float(),
            Some(1.5)
        );
        assert_eq!(table["go"]["port"].as_str(), Some("a.go"));
        Ok(())
    }

    #[test]
    fn an_edit_of_nothing_is_refused() {
        for bad in [
            r#"[{"edit":"add-instance","instance":"flux","class":"x"}]"#,
            r#"[{"edit":"add-instance","instance":"a.b","class":"x"}]"#,
            r#"[{"edit":"set-class","instance":"no","class":"x"}]"#,
            r#"[{"edit":"connect","uses":"no.flux","provides":"flux.flux"}]"#,
            r#"[{"edit":"connect","uses":"driver","provides":"flux.flux"}]"#,
            r#"[{"edit":"disconnect","uses":"driver.no"}]"#,
            r#"[{"edit":"unset-parameter","instance":"mesh","key":"ny"}]"#,
            r#"[{"edit":"rename-instance","instance":"mesh","to":"flux"}]"#,
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
        assert!(edited("[assembly", &[]).is_err());
    }
}

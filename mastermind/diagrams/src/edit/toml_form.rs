//! Our own TOML form, by its tables.
//!
//! The library `toml_edit` keeps a file as values with the text around them, so a change of one
//! value leaves all others byte for byte. Its blind spot is comments in lists: all text between two
//! elements belongs to the second one, also a comment on the line of the first.
//!
//! ```text
//! flow = [
//!     { action = "a", cost = "ms(1)" },   # slow
//!     # sends
//!     { action = "b", cost = "ms(2)" },
//! ]
//!
//! prefix of b:   "   # slow"  "\n    # sends\n    "
//!                 of a         of b
//! ```
//!
//! `insert`, `take` and `swap` therefore split each prefix at its first line end (`parted`), and
//! move the two parts with the elements that they speak of. In a flow written as tables (`[[…]]`)
//! words can be changed, but elements are not added, moved or removed. Whether the result is a
//! sound program is not checked here: the reader does that.

use toml_edit::{
    Array, ArrayOfTables, DocumentMut, InlineTable, Item as TomlItem, Table, TableLike, Value,
    value,
};

use super::kinds::named;
use super::{
    Declared, Edit, EditError, Form, Item, ItemBranch, Key, Outline, OutlineActivity, Section,
    Word, no_such, number, refused,
};

/// Words of an element that hold others.
const HOLDERS: [&str; 2] = ["body", "branches"];

fn parsed(text: &str) -> Result<DocumentMut, EditError> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| EditError::Form {
            found: error.message().to_owned(),
            expected: "TOML",
        })
}

/// Contents of a text.
pub(super) fn outline(text: &str) -> Result<Outline, EditError> {
    let document = parsed(text)?;
    let mut activities = Vec::new();
    let tables = document.get("activities").and_then(TomlItem::as_table_like);
    // In the file's order, tables by their place.
    for (name, activity) in tables.into_iter().flat_map(|tables| tables.iter()) {
        let flow = activity
            .as_table_like()
            .and_then(|activity| activity.get("flow"));
        activities.push(OutlineActivity {
            key: String::new(),
            name: name.to_owned(),
            flow: flow.map_or_else(Vec::new, items),
        });
    }
    number(&mut activities);
    let mut declared = Vec::new();
    for section in [Section::Globals, Section::Functions] {
        let table = document
            .get(section.name())
            .and_then(TomlItem::as_table_like);
        for (name, entry) in table.into_iter().flat_map(|table| table.iter()) {
            declared.push(declaration(section, name, entry));
        }
    }
    Ok(Outline {
        form: Form::Toml,
        can_rearrange: true,
        activities,
        declared,
    })
}

fn declaration(section: Section, name: &str, entry: &TomlItem) -> Declared {
    let full = entry.as_table_like();
    let parameters = full.and_then(|entry| entry.get("parameters")?.as_array());
    let parameters: Vec<_> = parameters
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let name = match section {
        Section::Globals => name.to_owned(),
        Section::Functions => format!("{name}({})", parameters.join(", ")),
    };
    let value = match full {
        Some(full) => full.get("value").map(written),
        None => Some(written(entry)),
    };
    Declared {
        section,
        name,
        value: value.unwrap_or_default(),
    }
}

/// A value as text; a string without its quotes.
fn written(item: &TomlItem) -> String {
    match item.as_value() {
        Some(Value::String(text)) => text.value().clone(),
        Some(other) => {
            let mut plain = other.clone();
            plain.decor_mut().clear();
            plain.to_string()
        }
        None => String::new(),
    }
}

/// The elements of a flow, which is a list of tables, or tables under `[[…]]`.
fn items(flow: &TomlItem) -> Vec<Item> {
    if let Some(tables) = flow.as_array_of_tables() {
        return tables.iter().map(|table| item(table)).collect();
    }
    let values = flow.as_array().into_iter().flatten();
    values
        .filter_map(Value::as_inline_table)
        .map(|table| item(table))
        .collect()
}

fn item(table: &dyn TableLike) -> Item {
    let of_kind = |(word, _): &(&str, &TomlItem)| named(word).is_some();
    // A cost may have the name of an element type; the type is the word that is no other element's.
    let mut found: Vec<_> = table.iter().filter(of_kind).collect();
    let (kind, name) = found
        .pop()
        .map_or(("", String::new()), |(word, name)| (word, written(name)));
    let words = table
        .iter()
        .filter(|(word, _)| *word != kind && !HOLDERS.contains(word));
    let words = words.map(|(word, text)| Word {
        word: word.to_owned(),
        text: written(text),
    });
    let words = words.collect();
    let mut branches = Vec::new();
    if let Some(body) = table.get("body") {
        branches.push(ItemBranch {
            flow: items(body),
            ..ItemBranch::default()
        });
    }
    if let Some(all) = table.get("branches") {
        branches.extend(each(all).into_iter().map(branch));
    }
    Item {
        kind: kind.to_owned(),
        name,
        words,
        branches,
        ..Item::default()
    }
}

fn branch(table: &dyn TableLike) -> ItemBranch {
    let words = table.get("guard").map(|guard| Word {
        word: "guard".to_owned(),
        text: written(guard),
    });
    let flow = table.get("body").map_or_else(Vec::new, items);
    ItemBranch {
        words: words.into_iter().collect(),
        flow,
        ..ItemBranch::default()
    }
}

/// The tables of a list, in either notation.
fn each(list: &TomlItem) -> Vec<&dyn TableLike> {
    if let Some(tables) = list.as_array_of_tables() {
        return tables.iter().map(|table| table as &dyn TableLike).collect();
    }
    let values = list.as_array().into_iter().flatten();
    values
        .filter_map(Value::as_inline_table)
        .map(|table| table as &dyn TableLike)
        .collect()
}

/// A flow that is changed.
enum Flow<'a> {
    List(&'a mut Array),
    Tables(&'a mut ArrayOfTables),
}

impl<'a> Flow<'a> {
    fn of(item: &'a mut TomlItem) -> Option<Self> {
        match item {
            TomlItem::Value(Value::Array(list)) => Some(Self::List(list)),
            TomlItem::ArrayOfTables(tables) => Some(Self::Tables(tables)),
            _ => None,
        }
    }

    fn get(self, at: usize) -> Option<&'a mut dyn TableLike> {
        match self {
            Self::List(list) => {
                let table: &mut InlineTable = list.get_mut(at)?.as_inline_table_mut()?;
                Some(table)
            }
            Self::Tables(tables) => {
                let table: &mut Table = tables.get_mut(at)?;
                Some(table)
            }
        }
    }
}

/// The flow of a key.
fn flow_of<'a>(document: &'a mut DocumentMut, key: &Key) -> Option<Flow<'a>> {
    let activities = document.get_mut("activities")?.as_table_like_mut()?;
    let (_, activity) = activities.iter_mut().nth(key.activity)?;
    let mut flow = Flow::of(activity.as_table_like_mut()?.get_mut("flow")?)?;
    for (element, branch) in &key.steps {
        flow = Flow::of(held(flow.get(*element)?, (*branch)?)?.get_mut("body")?)?;
    }
    Some(flow)
}

/// The table whose `body` a branch is.
fn held(element: &mut dyn TableLike, branch: usize) -> Option<&mut dyn TableLike> {
    if element.contains_key("branches") {
        return Flow::of(element.get_mut("branches")?)?.get(branch);
    }
    (branch == 0).then_some(element)
}

/// The table that contains the words of a key: an element's, or a branch's.
fn table_of<'a>(document: &'a mut DocumentMut, key: &Key) -> Option<&'a mut dyn TableLike> {
    let (last, before) = key.steps.split_last()?;
    let flow = Key {
        activity: key.activity,
        steps: before.to_vec(),
    };
    let element = flow_of(document, &flow)?.get(last.0)?;
    match last.1 {
        None => Some(element),
        Some(branch) => held(element, branch),
    }
}

/// Replaces the text of a word, and keeps the comment behind the old one. A number or `true` stays a value of its type.
fn set(table: &mut dyn TableLike, word: &str, text: &str) {
    match table.get_mut(word).and_then(TomlItem::as_value_mut) {
        Some(old) => {
            let plain = text
                .parse::<Value>()
                .ok()
                .filter(|new| !old.is_str() && !new.is_str());
            let mut new = plain.unwrap_or_else(|| Value::from(text));
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        None => {
            table.insert(word, value(text));
        }
    }
}

/// A text after one change.
pub(super) fn edited(text: &str, edit: &Edit) -> Result<String, EditError> {
    let mut document = parsed(text)?;
    match edit {
        Edit::SetWord { key, word, text } => {
            let table = table_of(&mut document, &Key::parse(key)?).ok_or_else(|| no_such(key))?;
            if text.trim().is_empty() {
                table.remove(word);
            } else {
                set(table, word, text.trim());
            }
        }
        Edit::Rename { key, to } => {
            let table = table_of(&mut document, &Key::parse(key)?).ok_or_else(|| no_such(key))?;
            let kind = table
                .iter()
                .map(|(word, _)| word.to_owned())
                .find(|word| named(word).is_some());
            let kind = kind.ok_or_else(|| no_such(key))?;
            set(table, &kind, to.trim());
        }
        Edit::Insert {
            key,
            at,
            kind,
            name,
        } => {
            let new = new_element(kind, name)?;
            let flow = flow_of(&mut document, &Key::parse(key)?).ok_or_else(|| no_such(key))?;
            insert(list(flow, "add", name)?, *at, new, key)?;
        }
        Edit::Remove { key } => {
            let (flow, at) = Key::parse(key)?.element().ok_or_else(|| no_such(key))?;
            let flow = flow_of(&mut document, &flow).ok_or_else(|| no_such(key))?;
            take(list(flow, "remove", key)?, at).ok_or_else(|| no_such(key))?;
        }
        Edit::Move { key, down } => {
            let (flow, at) = Key::parse(key)?.element().ok_or_else(|| no_such(key))?;
            let flow = flow_of(&mut document, &flow).ok_or_else(|| no_such(key))?;
            let flow = list(flow, "move", key)?;
            let first = if *down { Some(at) } else { at.checked_sub(1) };
            let first = first.filter(|first| first + 1 < flow.len());
            swap(
                flow,
                first.ok_or_else(|| refused("move", key, "it is at the end of its flow"))?,
            );
        }
        Edit::AddBranch { key, guard } => {
            let table = table_of(&mut document, &Key::parse(key)?).ok_or_else(|| no_such(key))?;
            let branches = table.get_mut("branches").and_then(Flow::of);
            let branches =
                branches.ok_or_else(|| refused("add branch to", key, "it is no decision"))?;
            let branches = list(branches, "add branch to", key)?;
            let has_guard = |branch: &Value| {
                branch
                    .as_inline_table()
                    .is_some_and(|branch| branch.contains_key("guard"))
            };
            // The branch without a guard stays the last.
            let at = branches.iter().position(|branch| !has_guard(branch));
            let mut new = InlineTable::new();
            match (guard.trim(), at) {
                ("", Some(_)) => {
                    return Err(refused(
                        "add branch to",
                        key,
                        "it has one without a condition",
                    ));
                }
                ("", None) => {}
                (guard, _) => drop(new.insert("guard", guard.into())),
            }
            new.insert("body", Value::Array(Array::new()));
            insert(branches, at.unwrap_or(branches.len()), new, key)?;
        }
        Edit::RemoveBranch { key } => {
            let (element, at) = Key::parse(key)?.branch().ok_or_else(|| no_such(key))?;
            let table = table_of(&mut document, &element).ok_or_else(|| no_such(key))?;
            let branches = table.get_mut("branches").and_then(Flow::of);
            let branches =
                branches.ok_or_else(|| refused("remove branch of", key, "it is no decision"))?;
            take(list(branches, "remove branch of", key)?, at).ok_or_else(|| no_such(key))?;
        }
        Edit::AddActivity { name } => {
            let name = name.trim();
            let activities = document.entry("activities").or_insert_with(|| {
                let mut table = Table::new();
                table.set_implicit(true);
                TomlItem::Table(table)
            });
            let activities = activities.as_table_like_mut();
            let activities =
                activities.ok_or_else(|| refused("add", name, "\"activities\" is no table"))?;
            if name.is_empty() || activities.contains_key(name) {
                return Err(refused("add", name, "an activity has a name of its own"));
            }
            let mut table = Table::new();
            table.insert("flow", value(Array::new()));
            activities.insert(name, TomlItem::Table(table));
        }
        Edit::RemoveActivity { key } => {
            let at = Key::parse(key)?.activity;
            let activities = document
                .get_mut("activities")
                .and_then(TomlItem::as_table_like_mut);
            let activities = activities.ok_or_else(|| no_such(key))?;
            let name = activities.iter().nth(at).map(|(name, _)| name.to_owned());
            activities.remove(&name.ok_or_else(|| no_such(key))?);
        }
        Edit::Declare {
            section,
            name,
            value,
        } => declare(&mut document, *section, name, value)?,
    }
    Ok(document.to_string())
}

fn list<'a>(flow: Flow<'a>, act: &'static str, element: &str) -> Result<&'a mut Array, EditError> {
    match flow {
        Flow::List(list) => Ok(list),
        Flow::Tables(_) => Err(refused(
            act,
            element,
            "its flow is written as tables in [[…]]",
        )),
    }
}

/// Text in front of an element: the comment behind the previous one, and the lines after it.
fn parted(before: &str) -> (&str, &str) {
    before.split_at(before.find('\n').unwrap_or(0))
}

/// The line end and the blanks before an element, without comments.
fn indentation(own: &str) -> &str {
    own.rfind('\n').map_or(own, |at| &own[at..])
}

fn prefix(of: &Value) -> String {
    let prefix = of.decor().prefix().and_then(|text| text.as_str());
    prefix.unwrap_or_default().to_owned()
}

fn suffix(of: &Value) -> String {
    let suffix = of.decor().suffix().and_then(|text| text.as_str());
    suffix.unwrap_or_default().to_owned()
}

/// Text in front of an element, or in front of the end of the list.
fn before(flow: &Array, at: usize) -> String {
    match flow.get(at) {
        Some(one) => prefix(one),
        None => flow.trailing().as_str().unwrap_or_default().to_owned(),
    }
}

fn set_before(flow: &mut Array, at: usize, text: &str) {
    match flow.get_mut(at) {
        Some(one) => one.decor_mut().set_prefix(text),
        None => flow.set_trailing(text),
    }
}

fn insert(flow: &mut Array, at: usize, new: InlineTable, key: &str) -> Result<(), EditError> {
    if at > flow.len() {
        return Err(no_such(key));
    }
    let next = before(flow, at);
    let (behind, own) = parted(&next);
    // Indented like the element in its place, or like the last.
    let like = before(flow, at.min(flow.len().saturating_sub(1)));
    let like = indentation(parted(&like).1);
    let like = if like.is_empty() && at > 0 { " " } else { like };
    let mut new = Value::InlineTable(new);
    let begin = format!("{behind}{like}");
    if at < flow.len() {
        set_before(flow, at, if own.is_empty() { " " } else { own });
    } else {
        set_before(flow, at, own);
        // The line end behind a last element without a comma stays behind the last.
        if let Some(last) = at.checked_sub(1).and_then(|last| flow.get_mut(last)) {
            let end = suffix(last);
            last.decor_mut().set_suffix("");
            new.decor_mut().set_suffix(end);
        }
    }
    new.decor_mut().set_prefix(begin);
    flow.insert_formatted(at, new);
    Ok(())
}

fn take(flow: &mut Array, at: usize) -> Option<()> {
    if at >= flow.len() {
        return None;
    }
    let (gone, next) = (before(flow, at), before(flow, at + 1));
    let end = flow.get(at).map(suffix).unwrap_or_default();
    let is_last = at + 1 == flow.len();
    flow.remove(at);
    // The comment behind the one before stays; that behind this one goes.
    let own = parted(&next).1;
    let own = if own.is_empty() && at == 0 {
        parted(&gone).1
    } else {
        own
    };
    let kept = format!("{}{own}", parted(&gone).0);
    set_before(flow, at, &kept);
    if is_last && let Some(last) = at.checked_sub(1).and_then(|last| flow.get_mut(last)) {
        let end = suffix(last) + &end;
        last.decor_mut().set_suffix(end);
    }
    Some(())
}

/// Swaps an element and the next, with the comments above and behind each. Line ends keep their place.
fn swap(flow: &mut Array, first: usize) {
    let (Some(a), Some(b)) = (flow.get(first).cloned(), flow.get(first + 1).cloned()) else {
        return;
    };
    let [at_a, at_b, at_end] = [first, first + 1, first + 2].map(|at| before(flow, at));
    let ((behind_before, own_a), (behind_a, own_b)) = (parted(&at_a), parted(&at_b));
    let (behind_b, own_end) = parted(&at_end);
    // Comments move with their element; without any, blanks stay at their place in the list.
    let has_comment = own_a.contains('#') || own_b.contains('#');
    let (own_a, own_b) = if has_comment {
        (own_a, own_b)
    } else {
        (own_b, own_a)
    };
    let placed = |mut one: Value, prefix: String, suffix: String| {
        one.decor_mut().set_prefix(prefix);
        one.decor_mut().set_suffix(suffix);
        one
    };
    let (end_a, end_b) = (suffix(&a), suffix(&b));
    let b = placed(b, format!("{behind_before}{own_b}"), end_a);
    let a = placed(a, format!("{behind_b}{own_a}"), end_b);
    flow.replace_formatted(first, b);
    flow.replace_formatted(first + 1, a);
    set_before(flow, first + 2, &format!("{behind_a}{own_end}"));
}

/// A new element with its required words.
fn new_element(kind: &str, name: &str) -> Result<InlineTable, EditError> {
    let found =
        named(kind).ok_or_else(|| refused("add", name, format!("no element \"{kind}\"")))?;
    let mut table = InlineTable::new();
    table.insert(kind, name.into());
    for word in found.words.iter().filter(|word| !word.begins.is_empty()) {
        table.insert(word.word, word.begins.into());
    }
    if kind == "decision" {
        let mut first = InlineTable::new();
        first.insert("guard", "process == 0".into());
        first.insert("body", Value::Array(Array::new()));
        let mut other = InlineTable::new();
        other.insert("body", Value::Array(Array::new()));
        let branches = [first, other].into_iter().map(Value::InlineTable);
        table.insert("branches", Value::Array(branches.collect()));
    } else if found.holds {
        table.insert("body", Value::Array(Array::new()));
    }
    Ok(table)
}

fn declare(
    document: &mut DocumentMut,
    section: Section,
    name: &str,
    text: &str,
) -> Result<(), EditError> {
    let wrong = |found: &str| refused("declare", name, found.to_owned());
    let entry = document
        .entry(section.name())
        .or_insert_with(|| TomlItem::Table(Table::new()));
    let table = entry
        .as_table_like_mut()
        .ok_or_else(|| wrong("its section is no table"))?;
    let (plain, parameters) = match (section, name.split_once('(')) {
        (Section::Functions, Some((plain, rest))) => {
            (plain.trim(), rest.trim_end_matches(')').trim())
        }
        _ => (name.trim(), ""),
    };
    if plain.is_empty() {
        return Err(wrong("it has no name"));
    }
    if text.trim().is_empty() {
        table.remove(plain);
        return Ok(());
    }
    let full = table.get_mut(plain).and_then(TomlItem::as_table_like_mut);
    match full {
        Some(full) => set(full, "value", text.trim()),
        None if parameters.is_empty() => set(table, plain, text.trim()),
        None => {
            let mut new = InlineTable::new();
            let names: Array = parameters.split(',').map(str::trim).collect();
            new.insert("parameters", Value::Array(names));
            new.insert("value", text.trim().into());
            table.insert(plain, value(new));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Edit, Form, edited, outline};

    const TEXT: &str = r#"# A ring.
[model]
name = "ring"
main = "Main"

[globals]
rounds = 3 # few

[functions]
work = { parameters = ["n"], value = "us(2) * n" }

[activities.Main]
flow = [
    # All rounds.
    { loop = "rounds", count = "rounds", variable = "i", body = [
        { action = "compute", cost = "work(i + 1)" }, # the work
        { send = "right", to = "(process + 1) % processes", bytes = 1000 },
        { recv = "left", from = "(process - 1) % processes" },
    ] },
    { decision = "d", branches = [{ guard = "process == 0", body = [{ action = "a", cost = 1 }] }, { body = [] }] }
]
"#;

    fn after(json: &str) -> Result<String, Box<dyn std::error::Error>> {
        let edits: Vec<Edit> = serde_json::from_str(json)?;
        Ok(edited(TEXT, Form::Toml, &edits)?)
    }

    fn difference(after: &str) -> Vec<String> {
        let less = TEXT
            .lines()
            .filter(|line| !after.lines().any(|other| other == *line));
        let more = after
            .lines()
            .filter(|line| !TEXT.lines().any(|other| other == *line));
        let less = less.map(|line| format!("-{}", line.trim()));
        less.chain(more.map(|line| format!("+{}", line.trim())))
            .collect()
    }

    #[test]
    fn each_element_has_its_key() -> Result<(), Box<dyn std::error::Error>> {
        let outline = outline(TEXT, Form::Toml)?;
        let rounds = &outline.activities[0].flow[0];
        assert_eq!(
            (
                rounds.key.as_str(),
                rounds.kind.as_str(),
                rounds.name.as_str()
            ),
            ("0.0", "loop", "rounds")
        );
        let send = &rounds.branches[0].flow[1];
        assert_eq!((send.key.as_str(), send.kind.as_str()), ("0.0:0.1", "send"));
        assert_eq!(send.words[1].text, "1000");
        let decision = &outline.activities[0].flow[1];
        assert_eq!(decision.branches[0].words[0].text, "process == 0");
        assert_eq!(decision.branches[0].flow[0].key, "0.1:0.0");
        assert_eq!(outline.declared[1].name, "work(n)");
        Ok(())
    }

    #[test]
    fn what_is_not_edited_stays_as_it_was() -> Result<(), Box<dyn std::error::Error>> {
        assert_eq!(after("[]")?, TEXT);
        let cases = [
            (
                r#"[{"edit":"set-word","key":"0.0:0.0","word":"cost","text":"ms(1)"}]"#,
                vec![
                    "-{ action = \"compute\", cost = \"work(i + 1)\" }, # the work",
                    "+{ action = \"compute\", cost = \"ms(1)\" }, # the work",
                ],
            ),
            (
                r#"[{"edit":"remove","key":"0.0:0.2"}]"#,
                vec!["-{ recv = \"left\", from = \"(process - 1) % processes\" },"],
            ),
            (
                r#"[{"edit":"insert","key":"0.0:0","at":1,"kind":"barrier","name":"b"}]"#,
                vec!["+{ barrier = \"b\" },"],
            ),
            (
                r#"[{"edit":"declare","section":"globals","name":"rounds","value":"4"}]"#,
                vec!["-rounds = 3 # few", "+rounds = 4 # few"],
            ),
            (
                r#"[{"edit":"declare","section":"functions","name":"work(n)","value":"us(n)"}]"#,
                vec![
                    "-work = { parameters = [\"n\"], value = \"us(2) * n\" }",
                    "+work = { parameters = [\"n\"], value = \"us(n)\" }",
                ],
            ),
        ];
        for (json, expected) in cases {
            assert_eq!(difference(&after(json)?), expected, "{json}");
        }
        Ok(())
    }

    #[test]
    fn what_is_rearranged_is_read_again() -> Result<(), Box<dyn std::error::Error>> {
        let names = |text: &str| -> Result<Vec<String>, Box<dyn std::error::Error>> {
            mastermind_programs::read_toml(text)?;
            let outline = outline(text, Form::Toml)?;
            Ok(outline.activities[0]
                .flow
                .iter()
                .map(|item| item.name.clone())
                .collect())
        };
        let cases = [
            (
                r#"[{"edit":"move","key":"0.0","down":true}]"#,
                vec!["d", "rounds"],
            ),
            (
                r#"[{"edit":"move","key":"0.1","down":false}]"#,
                vec!["d", "rounds"],
            ),
            (r#"[{"edit":"remove","key":"0.1"}]"#, vec!["rounds"]),
            (
                r#"[{"edit":"insert","key":"0","at":2,"kind":"action","name":"x"}]"#,
                vec!["rounds", "d", "x"],
            ),
            (
                r#"[{"edit":"insert","key":"0","at":0,"kind":"decision","name":"x"}]"#,
                vec!["x", "rounds", "d"],
            ),
            (
                r#"[{"edit":"rename","key":"0.1","to":"e"}]"#,
                vec!["rounds", "e"],
            ),
            (
                r#"[{"edit":"add-branch","key":"0.1","guard":"process == 1"},{"edit":"insert","key":"0.1:1","at":0,"kind":"wait","name":"w"}]"#,
                vec!["rounds", "d"],
            ),
            (
                r#"[{"edit":"remove-branch","key":"0.1:1"},{"edit":"add-branch","key":"0.1","guard":""}]"#,
                vec!["rounds", "d"],
            ),
            (
                r#"[{"edit":"add-activity","name":"Sub"},{"edit":"insert","key":"0","at":0,"kind":"activity","name":"Sub"}]"#,
                vec!["Sub", "rounds", "d"],
            ),
            (
                r#"[{"edit":"insert","key":"0.1:1","at":0,"kind":"send","name":"x"}]"#,
                vec!["rounds", "d"],
            ),
        ];
        for (json, expected) in cases {
            let text = after(json)?;
            assert_eq!(names(&text)?, expected, "{text}");
            assert!(
                text.contains("# All rounds.") && text.contains("# the work"),
                "{text}"
            );
        }
        assert!(after(r#"[{"edit":"move","key":"0.1","down":true}]"#).is_err());
        assert!(after(r#"[{"edit":"remove","key":"0.7"}]"#).is_err());
        Ok(())
    }
}

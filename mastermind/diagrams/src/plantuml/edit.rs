//! Changes of a PlantUML file in the new syntax: each replaces, adds or removes a piece of the
//! text.
//!
//! `scan` gives the byte ranges of all elements, names and words of a file. An edit is looked up
//! there by its key and becomes one replacement of a range; all other bytes stay, with comments,
//! blanks and line ends. Ranges and keys are valid for one text only, so the text is scanned again
//! for each edit.
//!
//! ```text
//! :flux <<action+>> {cost = ms(1)};
//!  └──┘                     └───┘
//!  Rename                   SetWord "cost"
//! ```
//!
//! New text must be read as what it was meant to be: names with `;` or braces, words with an open
//! bracket and the like are refused. The legacy syntax is refused as a whole; its elements have no
//! lines of their own, being named in arrows.

use std::ops::Range;

use super::legacy;
use super::lines;
use super::scan::{Held, Node, Said, Scan, Way, scan};
use crate::diagram::{Collected, parts};
use crate::edit::{
    Declared, Edit, EditError, Form, Item, ItemBranch, Key, KindOfElement, Outline,
    OutlineActivity, Section, Word, kinds, no_such, number, refused,
};

/// Contents of a text.
pub(crate) fn outline(text: &str) -> Result<Outline, EditError> {
    let scan = scanned(text)?;
    let item = |node: &Node| item(node, text);
    let mut activities: Vec<_> = scan
        .blocks
        .iter()
        .map(|block| OutlineActivity {
            key: String::new(),
            name: block.name.clone(),
            flow: block.flow.iter().map(item).collect(),
        })
        .collect();
    number(&mut activities);
    let declared = scan.entries.iter().map(|entry| Declared {
        section: entry.section,
        name: entry.name.clone(),
        value: text[entry.value.clone()].to_owned(),
    });
    Ok(Outline {
        form: Form::PlantUml,
        can_rearrange: true,
        activities,
        declared: declared.collect(),
    })
}

fn scanned(text: &str) -> Result<Scan, EditError> {
    let blocks = lines::blocks(text, &mut Collected::default());
    if blocks.iter().any(legacy::is_legacy) {
        return Err(EditError::Form {
            found: "PlantUML's legacy syntax".to_owned(),
            expected: "its new syntax; edit it as text",
        });
    }
    Ok(scan(text))
}

fn words(said: &[Said], text: &str) -> Vec<Word> {
    let word = |said: &Said| Word {
        word: said.word.to_owned(),
        text: text[said.text.clone()].to_owned(),
    };
    said.iter().map(word).collect()
}

fn item(node: &Node, text: &str) -> Item {
    let branch = |held: &Held| ItemBranch {
        key: String::new(),
        words: words(&held.words, text),
        flow: held.flow.iter().map(|node| item(node, text)).collect(),
    };
    Item {
        key: String::new(),
        kind: node.kind.clone(),
        name: node.name.clone(),
        words: words(&node.words, text),
        branches: node.branches.iter().map(branch).collect(),
        lines: node.lines,
    }
}

/// A text after one change.
pub(crate) fn edited(text: &str, edit: &Edit) -> Result<String, EditError> {
    let scan = scanned(text)?;
    let replaced = |range: Range<usize>, new: &str| {
        format!("{}{new}{}", &text[..range.start], &text[range.end..])
    };
    match edit {
        Edit::SetWord {
            key,
            word,
            text: new,
        } => {
            let (said, node) = words_of(&scan, key)?;
            let (range, new) = set_word(text, said, node, word, &plain(new))?;
            Ok(replaced(range, &new))
        }
        Edit::Rename { key, to } => {
            let node = node_of(&scan, key)?;
            let at = node.name_at.clone();
            let at = at.ok_or_else(|| {
                refused(
                    "rename",
                    &node.name,
                    "its name goes over several lines, or is a condition",
                )
            })?;
            let to = plain(to);
            if to.is_empty() || to.contains(['{', '}', ';', '"']) || to.contains("<<") {
                return Err(refused(
                    "rename",
                    &node.name,
                    "a name has letters, and none of {, }, ;, \" and <<",
                ));
            }
            Ok(replaced(at, &to))
        }
        Edit::Insert {
            key,
            at,
            kind,
            name,
        } => {
            let (flow, begin, inner) =
                flow_of(&scan, &Key::parse(key)?).ok_or_else(|| no_such(key))?;
            if *at > flow.len() {
                return Err(no_such(key));
            }
            let neighbour = flow.get(*at).or(flow.last());
            let indent =
                neighbour.map_or_else(|| inner.clone(), |node| indent_of(text, node.span.start));
            let place = match (flow.get(*at), flow.last()) {
                (Some(node), _) => node.span.start,
                (None, Some(last)) => last.span.end,
                (None, None) => begin,
            };
            let new = new_element(kind, &plain(name), &indent, line_end(text))?;
            Ok(replaced(place..place, &new))
        }
        Edit::Remove { key } => {
            let node = node_of(&scan, key)?;
            Ok(replaced(node.span.clone(), ""))
        }
        Edit::Move { key, down } => {
            let (flow_key, at) = Key::parse(key)?.element().ok_or_else(|| no_such(key))?;
            let (flow, ..) = flow_of(&scan, &flow_key).ok_or_else(|| no_such(key))?;
            let first = if *down { Some(at) } else { at.checked_sub(1) };
            let pair = first.and_then(|first| Some((flow.get(first)?, flow.get(first + 1)?)));
            let (a, b) =
                pair.ok_or_else(|| refused("move", key, "it is at the end of its flow"))?;
            let (a, b) = (a.span.clone(), b.span.clone());
            // Blank lines and comments that belong to neither.
            let between = &text[a.end..b.start];
            let swapped = format!("{}{between}{}", &text[b.clone()], &text[a.clone()]);
            Ok(replaced(a.start..b.end, &swapped))
        }
        Edit::AddBranch { key, guard } => {
            let node = node_of(&scan, key)?;
            let (place, new) = new_branch(text, node, &plain(guard))?;
            Ok(replaced(place..place, &new))
        }
        Edit::RemoveBranch { key } => {
            let (element, at) = Key::parse(key)?.branch().ok_or_else(|| no_such(key))?;
            let (flow, place) = element.element().ok_or_else(|| no_such(key))?;
            let node = flow_of(&scan, &flow).and_then(|(flow, ..)| flow.get(place));
            let node = node.ok_or_else(|| no_such(key))?;
            let held = node.branches.get(at).ok_or_else(|| no_such(key))?;
            let next = node.branches.get(at + 1).map(|held| held.at).or(node.close);
            match next.filter(|_| at > 0) {
                Some(end) => Ok(replaced(held.at..end, "")),
                None => Err(refused(
                    "remove branch of",
                    &node.name,
                    "it is the first; remove the element",
                )),
            }
        }
        Edit::AddActivity { name } => {
            let name = plain(name);
            let is_taken = scan.blocks.iter().any(|block| block.name == name);
            if name.is_empty() || is_taken || name.contains(['"', '(', ')']) {
                return Err(refused(
                    "add",
                    &name,
                    "an activity has a name of its own, without quotes and brackets",
                ));
            }
            let end = line_end(text);
            let before = if text.ends_with('\n') { "" } else { end };
            Ok(format!(
                "{text}{before}{end}@startuml {name}{end}start{end}stop{end}@enduml{end}"
            ))
        }
        Edit::RemoveActivity { key } => {
            let block = scan
                .blocks
                .get(Key::parse(key)?.activity)
                .ok_or_else(|| no_such(key))?;
            Ok(replaced(block.span.clone(), ""))
        }
        Edit::Declare {
            section,
            name,
            value,
        } => declare(text, &scan, *section, &plain(name), &plain(value)),
    }
}

/// A text on one line.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The blanks that a line begins with.
fn indent_of(text: &str, line: usize) -> String {
    text[line..]
        .chars()
        .take_while(|letter| matches!(letter, ' ' | '\t'))
        .collect()
}

/// The flow of a key, where its first element goes, and the indentation of that.
fn flow_of<'a>(scan: &'a Scan, key: &Key) -> Option<(&'a [Node], usize, String)> {
    let block = scan.blocks.get(key.activity)?;
    let (mut flow, mut begin) = (&block.flow, block.begin);
    let mut depth = 0;
    for (element, branch) in &key.steps {
        let held = flow.get(*element)?.branches.get((*branch)?)?;
        (flow, begin) = (&held.flow, held.begin);
        depth += 1;
    }
    Some((flow, begin, "  ".repeat(depth)))
}

fn node_of<'a>(scan: &'a Scan, key: &str) -> Result<&'a Node, EditError> {
    let (flow, at) = Key::parse(key)?.element().ok_or_else(|| no_such(key))?;
    let found = flow_of(scan, &flow).and_then(|(flow, ..)| flow.get(at));
    found.ok_or_else(|| no_such(key))
}

/// The words at a key, and the element if it is one.
fn words_of<'a>(scan: &'a Scan, key: &str) -> Result<(&'a [Said], Option<&'a Node>), EditError> {
    let parsed = Key::parse(key)?;
    if parsed.element().is_some() {
        let node = node_of(scan, key)?;
        return Ok((&node.words, Some(node)));
    }
    let (last, before) = parsed.steps.split_last().ok_or_else(|| no_such(key))?;
    let flow = Key {
        activity: parsed.activity,
        steps: before.to_vec(),
    };
    let node = flow_of(scan, &flow).and_then(|(flow, ..)| flow.get(last.0));
    let held = node.and_then(|node| node.branches.get(last.1?));
    Ok((&held.ok_or_else(|| no_such(key))?.words, None))
}

/// The range of the text that a word's text replaces, and the replacement.
fn set_word(
    text: &str,
    said: &[Said],
    node: Option<&Node>,
    word: &str,
    new: &str,
) -> Result<(Range<usize>, String), EditError> {
    let name = node.map_or(word, |node| &node.name);
    let wrong = |found: &str| Err(refused("change", name, found.to_owned()));
    let found = said.iter().find(|said| said.word == word);
    let in_braces = found.is_none_or(|said| matches!(said.way, Way::Braces(_)));
    if in_braces && (parts(new).len() > 1 || new.contains('}')) {
        return wrong("a tagged value in braces has no comma outside of brackets, and no }");
    }
    let Some(found) = found else {
        let Some((at, has_braces)) = node.and_then(|node| node.add_at) else {
            return wrong("nothing can be said of it in this form");
        };
        if new.is_empty() {
            return Ok((at..at, String::new()));
        }
        let new = if has_braces {
            format!(", {word} = {new}")
        } else {
            format!(" {{{word} = {new}}}")
        };
        return Ok((at..at, new));
    };
    if !new.is_empty() {
        if found.way == Way::Command && !is_balanced(new) {
            return wrong("its brackets do not match");
        }
        return Ok((found.text.clone(), new.to_owned()));
    }
    match &found.way {
        Way::Command => wrong("a command has a condition"),
        Way::Lines(lines) => Ok((lines.clone(), String::new())),
        Way::Braces(braces) => {
            // One tagged value of several goes: found by its place, since a word may occur in
            // another one's value. `parts` returns slices of `inside`, so their addresses are
            // places in the text.
            let inside = &text[braces.start + 1..braces.end - 1];
            let begin =
                |part: &str| braces.start + 1 + (part.as_ptr() as usize - inside.as_ptr() as usize);
            let kept = parts(inside).into_iter().filter(|part| {
                !(begin(part)..=begin(part) + part.len()).contains(&found.text.start)
            });
            let kept: Vec<_> = kept.collect();
            if kept.is_empty() {
                let blanks =
                    text[..braces.start].len() - text[..braces.start].trim_end_matches(' ').len();
                return Ok((braces.start - blanks..braces.end, String::new()));
            }
            Ok((braces.clone(), format!("{{{}}}", kept.join(", "))))
        }
    }
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0_i32;
    let never_below = text.chars().all(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth >= 0
    });
    never_below && depth == 0
}

/// The lines of a new element.
fn new_element(kind: &str, name: &str, indent: &str, end: &str) -> Result<String, EditError> {
    let found = kinds().iter().find(|one| one.kind == kind);
    let found = found.ok_or_else(|| refused("add", name, format!("no element \"{kind}\"")))?;
    if name.is_empty() || name.contains(['{', '}', ';', '"']) || name.contains("<<") {
        return Err(refused(
            "add",
            name,
            "a name has letters, and none of {, }, ;, \" and <<",
        ));
    }
    let tags = |found: &KindOfElement| {
        let said = found.words.iter().filter(|word| !word.begins.is_empty());
        let said: Vec<_> = said
            .map(|word| format!("{} = {}", word.word, word.begins))
            .collect();
        if said.is_empty() {
            String::new()
        } else {
            format!(" {{{}}}", said.join(", "))
        }
    };
    Ok(match (kind, found.holds) {
        // A model's loop without elements has no form in PlantUML.
        ("decision", _) => {
            format!(
                "{indent}if (process == 0) then (yes){end}{indent}  :{name} <<action+>> {{cost = ms(1)}};{end}{indent}endif{end}"
            )
        }
        (_, true) => format!(
            "{indent}partition \"{name} <<{kind}>>{}\" {{{end}{indent}  :{name} step <<action+>> {{cost = ms(1)}};{end}{indent}}}{end}",
            tags(found)
        ),
        ("action" | "activity", _) => format!("{indent}:{name} <<{kind}+>>{};{end}", tags(found)),
        _ => format!("{indent}:{name} <<{kind}>>{};{end}", tags(found)),
    })
}

/// One more branch: its position, and its line.
fn new_branch(text: &str, node: &Node, guard: &str) -> Result<(usize, String), EditError> {
    let wrong = |found: &str| Err(refused("add branch to", &node.name, found.to_owned()));
    let (Some(close), Some(last)) = (node.close, node.branches.last()) else {
        return wrong("it has no branches");
    };
    let (indent, end) = (indent_of(text, node.span.start), line_end(text));
    if !is_balanced(guard) {
        return wrong("its brackets do not match");
    }
    let is_else = node.branches.len() > 1 && last.words.iter().all(|said| said.word != "guard");
    // `split` is a fork too, with words of its own.
    let first = text[node.span.start..].trim_start();
    match (node.kind.as_str(), guard) {
        ("decision", "") if is_else => wrong("it has one without a condition"),
        ("decision", "") => Ok((close, format!("{indent}else (no){end}"))),
        ("decision", guard) => {
            // `else` stays the last branch.
            let place = if is_else { last.at } else { close };
            Ok((place, format!("{indent}elseif ({guard}) then (yes){end}")))
        }
        ("switch", guard) if !guard.is_empty() => {
            Ok((close, format!("{indent}case ({guard}){end}")))
        }
        ("fork", "") => {
            let word = if first.starts_with("split") {
                "split"
            } else {
                "fork"
            };
            Ok((close, format!("{indent}{word} again{end}")))
        }
        ("fork", _) => wrong("all its branches are taken: none has a condition"),
        _ => wrong("it has one flow alone"),
    }
}

fn declare(
    text: &str,
    scan: &Scan,
    section: Section,
    name: &str,
    value: &str,
) -> Result<String, EditError> {
    let end = line_end(text);
    let bare = |name: &str| name.split('(').next().unwrap_or_default().trim().to_owned();
    if bare(name).is_empty() {
        return Err(refused("declare", name, "it has no name"));
    }
    let found = scan
        .entries
        .iter()
        .find(|entry| entry.section == section && bare(&entry.name) == bare(name));
    if let Some(entry) = found {
        let (range, new) = match (value.is_empty(), entry.value.is_empty()) {
            (true, _) => (entry.line.clone(), String::new()),
            (false, true) => (entry.value.clone(), format!(" = {value}")),
            (false, false) => (entry.value.clone(), value.to_owned()),
        };
        return Ok(format!(
            "{}{new}{}",
            &text[..range.start],
            &text[range.end..]
        ));
    }
    if value.is_empty() {
        return Ok(text.to_owned());
    }
    let name = match section {
        Section::Functions if !name.contains('(') => format!("{name}()"),
        _ => name.to_owned(),
    };
    let open = scan
        .sections
        .iter()
        .rev()
        .find(|(known, _)| *known == section);
    if let Some((_, at)) = open {
        let line = text[..*at]
            .trim_end_matches(['\n', '\r'])
            .rfind('\n')
            .map_or(0, |before| before + 1);
        let indent = indent_of(text, line);
        return Ok(format!(
            "{}{indent}{name} = {value}{end}{}",
            &text[..*at],
            &text[*at..]
        ));
    }
    let at = scan
        .blocks
        .first()
        .map(|block| block.begin)
        .ok_or_else(|| refused("declare", &name, "the file has no diagram"))?;
    let note = format!(
        "floating note left{end}  <<{}>>{end}  {name} = {value}{end}end note{end}",
        section.name()
    );
    Ok(format!("{}{note}{}", &text[..at], &text[at..]))
}

#[cfg(test)]
mod tests {
    use crate::edit::{Edit, Form, Item, edited, outline};
    use crate::read_plantuml;

    const TEXT: &str = "@startuml sample\n\
        title The sample\n\
        floating note left\n  <<globals>>\n  int GV = 0\n  int P = 0\n  <<functions>>\n  F_A1() = 0.000001 * P\nend note\n\
        start\n\
        ' begins\n\
        :A1 <<action+>>;\n\
        note right\n  code: GV = 1; P = 4\n  cost = F_A1()\nend note\n\
        if (GV == 1) then (yes)\n  :SA <<action+>> {id = 3, time = ms(2)};\nelse (no)\n  #pink:A2 {cost = ms(1)};\nendif\n\
        while (i = 1, 3)\n  partition \"threads <<parallel>> {threads = 4}\" {\n    :part\n      of two lines;\n  }\nendwhile\n\
        fork\n  :x {cost = max(1, 2)};\nfork again\n  :to <<send>> {to = 0, bytes = 8};\nend fork\n\
        stop\n@enduml\n";

    fn after(json: &str) -> Result<String, Box<dyn std::error::Error>> {
        let edits: Vec<Edit> = serde_json::from_str(json)?;
        Ok(edited(TEXT, Form::PlantUml, &edits)?)
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
    fn each_element_has_its_place() -> Result<(), Box<dyn std::error::Error>> {
        let outline = outline(TEXT, Form::PlantUml)?;
        let flow = &outline.activities[0].flow;
        let names: Vec<_> = flow
            .iter()
            .map(|item| (item.kind.as_str(), item.name.as_str()))
            .collect();
        assert_eq!(
            names,
            [
                ("action", "A1"),
                ("decision", "GV == 1"),
                ("loop", "i = 1, 3"),
                ("fork", "")
            ]
        );
        let said = |item: &Item| {
            item.words
                .iter()
                .map(|word| format!("{}: {}", word.word, word.text))
                .collect::<Vec<_>>()
        };
        assert_eq!(said(&flow[0]), ["code: GV = 1; P = 4", "cost: F_A1()"]);
        assert_eq!(flow[0].lines, [12, 16]);
        assert_eq!(said(&flow[1].branches[0].flow[0]), ["cost: ms(2)"]);
        assert_eq!(flow[1].branches[1].words[0].text, "no");
        let threads = &flow[2].branches[0].flow[0];
        assert_eq!(
            (threads.kind.as_str(), threads.name.as_str()),
            ("parallel", "threads")
        );
        assert_eq!(threads.branches[0].flow[0].name, "part of two lines");
        assert_eq!(flow[3].branches[1].flow[0].kind, "send");
        let declared: Vec<_> = outline
            .declared
            .iter()
            .map(|one| format!("{} = {}", one.name, one.value))
            .collect();
        assert_eq!(declared, ["GV = 0", "P = 0", "F_A1() = 0.000001 * P"]);
        Ok(())
    }

    #[test]
    fn what_is_not_edited_stays_as_it_was() -> Result<(), Box<dyn std::error::Error>> {
        assert_eq!(after("[]")?, TEXT);
        let cases = [
            (
                r#"[{"edit":"set-word","key":"0.0","word":"cost","text":"ms(3)"}]"#,
                vec!["-cost = F_A1()", "+cost = ms(3)"],
            ),
            (
                r#"[{"edit":"set-word","key":"0.1:0.0","word":"cost","text":""}]"#,
                vec![
                    "-:SA <<action+>> {id = 3, time = ms(2)};",
                    "+:SA <<action+>> {id = 3};",
                ],
            ),
            (
                r#"[{"edit":"set-word","key":"0.1:1.0","word":"cost","text":""}]"#,
                vec!["-#pink:A2 {cost = ms(1)};", "+#pink:A2;"],
            ),
            (
                r#"[{"edit":"set-word","key":"0.1:0","word":"guard","text":"GV == 2"}]"#,
                vec!["-if (GV == 1) then (yes)", "+if (GV == 2) then (yes)"],
            ),
            (
                r#"[{"edit":"set-word","key":"0.2:0.0","word":"threads","text":"8"}]"#,
                vec![
                    "-partition \"threads <<parallel>> {threads = 4}\" {",
                    "+partition \"threads <<parallel>> {threads = 8}\" {",
                ],
            ),
            (
                r#"[{"edit":"set-word","key":"0.2:0.0:0.0","word":"cost","text":"1"}]"#,
                vec!["-of two lines;", "+of two lines {cost = 1};"],
            ),
            (
                r#"[{"edit":"rename","key":"0.0","to":"B"}]"#,
                vec!["-:A1 <<action+>>;", "+:B <<action+>>;"],
            ),
            (
                r#"[{"edit":"insert","key":"0.1:1","at":1,"kind":"recv","name":"r"}]"#,
                vec!["+:r <<recv>> {from = (process + processes - 1) % processes};"],
            ),
            (
                r#"[{"edit":"remove","key":"0.0"}]"#,
                vec![
                    "-:A1 <<action+>>;",
                    "-note right",
                    "-code: GV = 1; P = 4",
                    "-cost = F_A1()",
                ],
            ),
            (
                r#"[{"edit":"add-branch","key":"0.1","guard":"GV == 3"}]"#,
                vec!["+elseif (GV == 3) then (yes)"],
            ),
            (
                r#"[{"edit":"add-branch","key":"0.3","guard":""},{"edit":"insert","key":"0.3:2","at":0,"kind":"wait","name":"w"}]"#,
                vec!["+:w <<wait>>;"],
            ),
            (
                r#"[{"edit":"remove-branch","key":"0.1:1"}]"#,
                vec!["-else (no)", "-#pink:A2 {cost = ms(1)};"],
            ),
            (
                r#"[{"edit":"add-activity","name":"SA"},{"edit":"insert","key":"1","at":0,"kind":"barrier","name":"b"}]"#,
                vec!["+", "+@startuml SA", "+:b <<barrier>>;"],
            ),
            (
                r#"[{"edit":"add-activity","name":"SA"},{"edit":"remove-activity","key":"1"}]"#,
                vec!["+"],
            ),
            (
                r#"[{"edit":"declare","section":"globals","name":"P","value":"5"}]"#,
                vec!["-int P = 0", "+int P = 5"],
            ),
            (
                r#"[{"edit":"declare","section":"functions","name":"g(n)","value":"us(n)"}]"#,
                vec!["+g(n) = us(n)"],
            ),
        ];
        for (json, expected) in cases {
            let text = after(json)?;
            assert_eq!(difference(&text), expected, "{json}");
            read_plantuml(&text).map_err(|error| format!("{json}: {error}: {text}"))?;
        }
        Ok(())
    }

    #[test]
    fn elements_change_places_with_their_notes() -> Result<(), Box<dyn std::error::Error>> {
        let text = after(
            r#"[{"edit":"move","key":"0.0","down":true},{"edit":"move","key":"0.3","down":false}]"#,
        )?;
        let outline = outline(&text, Form::PlantUml)?;
        let names: Vec<_> = outline.activities[0]
            .flow
            .iter()
            .map(|item| item.name.as_str())
            .collect();
        assert_eq!(names, ["GV == 1", "A1", "", "i = 1, 3"]);
        let (mut before, mut now): (Vec<_>, Vec<_>) =
            (TEXT.lines().collect(), text.lines().collect());
        before.sort_unstable();
        now.sort_unstable();
        assert_eq!(before, now);
        Ok(())
    }

    #[test]
    fn what_the_form_does_not_hold_is_refused() {
        for json in [
            r#"[{"edit":"set-word","key":"0.1:0.0","word":"cost","text":"1, 2"}]"#,
            r#"[{"edit":"set-word","key":"0.1:0","word":"guard","text":"(GV"}]"#,
            r#"[{"edit":"set-word","key":"0.3:0","word":"guard","text":"GV"}]"#,
            r#"[{"edit":"rename","key":"0.1","to":"x"}]"#,
            r#"[{"edit":"rename","key":"0.0","to":"x;\nstop"}]"#,
            r#"[{"edit":"insert","key":"0","at":9,"kind":"action","name":"x"}]"#,
            r#"[{"edit":"move","key":"0.0","down":false}]"#,
        ] {
            assert!(after(json).is_err(), "{json}");
        }
    }
}

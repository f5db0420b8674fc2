//! Texts made of the words of both syntaxes, and cut files, are read or refused, never more.

use mastermind_diagrams::edit::{Edit, Form, Item, edited, outline};
use mastermind_diagrams::read_plantuml;
use mastermind_diagrams::read_xmi;
use mastermind_models::ModelSet;
use mastermind_programs::check;
use proptest::prelude::*;

const LINES: [&str; 44] = [
    "start",
    "stop",
    "end",
    "detach",
    "break",
    ":a;",
    ":b <<action+>> {cost = 1};",
    ":c",
    "if (x > 1) then (yes)",
    "if (process == 0) then (no)",
    "elseif (process == 1) then (yes)",
    "else",
    "endif",
    "switch (process)",
    "case (1)",
    "case (else)",
    "endswitch",
    "repeat",
    "repeat while (process < 2) is (yes)",
    "repeat while",
    "backward :d;",
    "while (process < 1) is (no)",
    "while (i = 1, 3)",
    "endwhile",
    "fork",
    "fork again",
    "end fork",
    "split",
    "end split",
    "partition \"p <<parallel>> {threads = 2}\" {",
    "partition q {",
    "}",
    "label l",
    "goto l",
    "(A)",
    "note right: cost = 2",
    "note left",
    "end note",
    "<<globals>>",
    "x = 1",
    "(*) --> \"a\"",
    "--> (*)",
    "===B=== --> \"b\"",
    "if \"x > 1\" then",
];

proptest! {
    #[test]
    fn any_lines_are_read_or_refused(lines in prop::collection::vec(0..LINES.len(), 0..40)) {
        let lines: Vec<_> = lines.into_iter().map(|i| LINES[i]).collect();
        let text = format!("@startuml\n{}\n@enduml\n", lines.join("\n"));
        if let Ok(reading) = read_plantuml(&text) {
            check(&reading.model, &ModelSet::default());
        }
    }

    #[test]
    fn a_file_cut_or_changed_is_read_or_refused(at in 0.0..1.0_f64, byte in 32..127_u8, cut: bool) {
        for name in ["papyrus-sample.uml", "papyrus-loop.uml", "sample.puml", "loops.puml", "legacy-guide.puml"] {
            let mut bytes = super::text(name).into_bytes();
            let at = (at * bytes.len() as f64) as usize;
            bytes[at] = byte;
            if cut {
                bytes.truncate(at);
            }
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let read = if name.ends_with(".puml") { read_plantuml(&text) } else { read_xmi(&text) };
            if let Ok(reading) = read {
                check(&reading.model, &ModelSet::default());
            }
        }
    }
}

/// The keys of elements and branches.
fn keys(flow: &[Item]) -> Vec<String> {
    let of = |item: &Item| {
        let branches = item.branches.iter();
        let inner = branches.flat_map(|branch| [vec![branch.key.clone()], keys(&branch.flow)]);
        [vec![item.key.clone()], inner.flatten().collect()].concat()
    };
    flow.iter().flat_map(of).collect()
}

/// Makes each change at each key; a change that is made gives a text that has an outline again.
fn change_everywhere(text: &str, form: Form) {
    let Ok(found) = outline(text, form) else {
        return;
    };
    assert_eq!(edited(text, form, &[]).expect("no change"), text);
    let mut all = vec!["0".to_owned(), "0.99".to_owned()];
    all.extend(
        found
            .activities
            .iter()
            .flat_map(|activity| keys(&activity.flow)),
    );
    for key in all {
        let word = |word: &str, text: &str| Edit::SetWord {
            key: key.clone(),
            word: word.into(),
            text: text.into(),
        };
        let edits = [
            word("cost", "ms(2) + 1"),
            word("cost", ""),
            word("guard", "x > 2"),
            word("condition", "x > (2"),
            Edit::Rename {
                key: key.clone(),
                to: "é \u{1F600}".into(),
            },
            Edit::Remove { key: key.clone() },
            Edit::Move {
                key: key.clone(),
                down: true,
            },
            Edit::AddBranch {
                key: key.clone(),
                guard: "x == 3".into(),
            },
            Edit::RemoveBranch { key: key.clone() },
            Edit::Insert {
                key: key.clone(),
                at: 0,
                kind: "loop".into(),
                name: "n".into(),
            },
        ];
        for edit in edits {
            if let Ok(text) = edited(text, form, std::slice::from_ref(&edit)) {
                assert!(outline(&text, form).is_ok(), "{edit:?}: {text}");
            }
        }
    }
}

/// Lines of the legacy syntax, which is not edited by elements: the last ones.
const N_LEGACY: usize = 4;

proptest! {
    #[test]
    fn any_lines_are_changed_or_refused(lines in prop::collection::vec(0..LINES.len() - N_LEGACY, 0..14)) {
        let lines: Vec<_> = lines.into_iter().map(|line| LINES[line]).collect();
        change_everywhere(&format!("@startuml\n{}\n@enduml\n", lines.join("\n")), Form::PlantUml);
    }

    #[test]
    fn cut_files_are_changed_or_refused(at in 0_usize..4000) {
        let files = [
            (include_str!("files/sample.puml"), Form::PlantUml),
            (include_str!("files/loops.puml"), Form::PlantUml),
            (include_str!("files/papyrus-sample.uml"), Form::Xmi),
        ];
        for (text, form) in files {
            let end = text.floor_char_boundary(at % (text.len() + 1));
            change_everywhere(&text[..end], form);
        }
    }
}

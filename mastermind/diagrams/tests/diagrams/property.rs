//! Texts made of the words of both syntaxes, and cut files, are read or refused, never more.

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

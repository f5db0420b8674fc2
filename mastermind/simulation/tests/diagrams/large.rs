//! Large files are read, or refused, in bounded time and memory.

use std::fmt::Write;

use mastermind_simulation::diagram::DiagramError;
use mastermind_simulation::plantuml::read_plantuml;
use mastermind_simulation::program::Rule;
use mastermind_simulation::xmi::read_xmi;

/// A chain of actions in the form of Papyrus.
fn chain(n: usize) -> String {
    let mut text = String::from(
        "<xmi:XMI xmlns:xmi=\"http://www.omg.org/spec/XMI/20131001\" xmlns:uml=\"http://www.eclipse.org/uml2/5.0.0/UML\">\
         <packagedElement xmi:type=\"uml:Activity\" xmi:id=\"_act\" name=\"Main\">\n<node xmi:type=\"uml:InitialNode\" xmi:id=\"_0\"/>\n",
    );
    for i in 1..=n {
        let before = i - 1;
        writeln!(text, "<edge xmi:type=\"uml:ControlFlow\" xmi:id=\"_e{i}\" source=\"_{before}\" target=\"_{i}\"/>").expect("text");
        writeln!(
            text,
            "<node xmi:type=\"uml:OpaqueAction\" xmi:id=\"_{i}\" name=\"step {i}\"/>"
        )
        .expect("text");
    }
    text + "</packagedElement></xmi:XMI>"
}

#[test]
fn a_long_chain_is_read_and_a_longer_one_refused() {
    let reading = read_xmi(&chain(20_000)).expect("a model");
    assert_eq!(reading.model.activities["Main"].flow.len(), 20_000);
    let actions = ":a;\n".repeat(200_001);
    let text = format!("@startuml\n{actions}@enduml\n");
    let Err(DiagramError::Findings { findings }) = read_plantuml(&text) else {
        panic!("more nodes than an activity may have");
    };
    assert_eq!(findings[0].rule, Rule::TooLarge);
}

#[test]
fn deep_nesting_is_refused() {
    let deep = "if (process == 0) then (yes)\n".repeat(500);
    let ends = "endif\n".repeat(500);
    let text = format!("@startuml\nstart\n{deep}:a {{cost = 1}};\n{ends}stop\n@enduml\n");
    let Err(DiagramError::Findings { findings }) = read_plantuml(&text) else {
        panic!("500 decisions in each other");
    };
    assert_eq!(findings[0].rule, Rule::Unstructured);
    let deep = "partition \"x <<parallel>> {threads = 2}\" {\n".repeat(500);
    let ends = "}\n".repeat(500);
    let text = format!("@startuml\nstart\n{deep}:a {{cost = 1}};\n{ends}stop\n@enduml\n");
    assert!(matches!(
        read_plantuml(&text),
        Err(DiagramError::Findings { .. })
    ));
    let open = "<node xmi:type=\"uml:StructuredActivityNode\" xmlns:xmi=\"http://www.omg.org/XMI\" xmi:id=\"_x\">";
    let nested: String = (0..500)
        .map(|i| open.replace("_x", &format!("_{i}")))
        .collect();
    let ends = "</node>".repeat(500);
    let text = format!(
        "<a xmlns:xmi=\"http://www.omg.org/XMI\" xmi:type=\"uml:Activity\" xmi:id=\"_act\">{nested}{ends}</a>"
    );
    assert!(matches!(
        read_xmi(&text),
        Err(DiagramError::Findings { .. })
    ));
}

//! Large files are read, or refused, in bounded time and memory.

use std::fmt::Write;

use mastermind_diagrams::DiagramError;
use mastermind_diagrams::read_plantuml;
use mastermind_diagrams::read_xmi;
use mastermind_programs::Rule;

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
fn many_attributes_of_an_element_are_refused() {
    let attributes: String = (0..1001).map(|i| format!(" a{i}='<=\"'")).collect();
    let text = format!(
        "<?xml a=\"1\"?><!-- <a b=\"\" --><xmi:XMI xmlns:xmi=\"http://www.omg.org/spec/XMI/20131001\"><x{attributes}/></xmi:XMI>"
    );
    let Err(DiagramError::Attributes { found, most }) = read_xmi(&text) else {
        panic!("1001 attributes");
    };
    assert_eq!((found, most), (1001, 1000));
}

#[test]
fn many_activities_are_distinguished_and_found() {
    // Activities of one name, each calling the next: an activity that none calls is not the main
    // one.
    let mut text = String::from(
        "<xmi:XMI xmlns:xmi=\"http://www.omg.org/spec/XMI/20131001\" xmlns:uml=\"http://www.eclipse.org/uml2/5.0.0/UML\">\n",
    );
    let n = 50_000;
    for i in 0..n {
        let next = (i + 1) % n;
        let (edge, call) = match next {
            0 => (String::new(), String::new()),
            _ => (
                format!(
                    "<edge xmi:type=\"uml:ControlFlow\" xmi:id=\"_e{i}\" source=\"_i{i}\" target=\"_c{i}\"/>"
                ),
                format!(
                    "<node xmi:type=\"uml:CallBehaviorAction\" xmi:id=\"_c{i}\" name=\"c\" behavior=\"_a{next}\"/>"
                ),
            ),
        };
        writeln!(
            text,
            "<packagedElement xmi:type=\"uml:Activity\" xmi:id=\"_a{i}\" name=\"A\"><node xmi:type=\"uml:InitialNode\" xmi:id=\"_i{i}\"/>{edge}{call}</packagedElement>"
        )
        .expect("text");
    }
    let model = read_xmi(&(text + "</xmi:XMI>")).expect("a model").model;
    assert_eq!((model.main.as_str(), model.activities.len()), ("A", n));
    assert!(model.activities.contains_key(&format!("A {n}")));
}

#[test]
fn an_action_of_many_lines_is_read_once() {
    let lines = "a < b\n".repeat(300_000);
    let text = format!("@startuml\nstart\n:{lines};\nstop\n@enduml\n");
    assert!(read_plantuml(&text).is_ok());
    // Without an end it is one problem, and too long a file another.
    let Err(DiagramError::Findings { findings }) = read_plantuml(&text.replace(';', "")) else {
        panic!("an action without an end");
    };
    assert!(
        findings[0].reason.contains("expected ; at its end"),
        "{}",
        findings[0]
    );
    let Err(DiagramError::TooLong { .. }) = read_plantuml(&" ".repeat((32 << 20) + 1)) else {
        panic!("more than 32 MiB");
    };
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

//! Flowcharts of Mermaid: the meaning of each notation, and the refused ones.

use mastermind_diagrams::{DiagramError, Reading, read_mermaid};
use mastermind_programs::{Element, ElementKind, Finding, Rule};
use proptest::prelude::*;

fn read(text: &str) -> Reading {
    read_mermaid(text, None).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn findings(text: &str) -> Vec<Finding> {
    match read_mermaid(text, None) {
        Err(DiagramError::Findings { findings }) => findings,
        other => panic!("{other:?}\n{text}"),
    }
}

/// Names of the actions of the main activity, in the order of its flow.
fn actions(reading: &Reading) -> Vec<String> {
    fn add(flow: &[Element], names: &mut Vec<String>) {
        for element in flow {
            match &element.kind {
                ElementKind::Decision { branches } => {
                    for branch in branches {
                        add(&branch.flow, names);
                    }
                }
                ElementKind::Loop { flow, .. }
                | ElementKind::While { flow, .. }
                | ElementKind::Parallel { flow, .. }
                | ElementKind::Critical { flow, .. } => add(flow, names),
                ElementKind::Action { cost: None, code } if !code.is_empty() => {}
                _ => names.push(element.name.clone()),
            }
        }
    }
    let mut names = Vec::new();
    add(
        &reading.model.activities[&reading.model.main].flow,
        &mut names,
    );
    names
}

#[test]
fn each_way_of_writing_a_link_is_one() {
    for link in [
        "-->",
        "---",
        "----->",
        "--o",
        "--x",
        "-.->",
        "-..->",
        "==>",
        "====>",
        "<-->",
        "-- text -->",
        "--text-->",
        "-->|text|",
        "--> |\"te|xt\"|",
        "-. text .->",
        "== text ==>",
        "e1@-->",
        "~~~\n a --> ",
    ] {
        let reading = read(&format!("graph TD\n  a {link} b\n"));
        assert_eq!(actions(&reading), ["a", "b"], "{link}");
    }
}

#[test]
fn chains_lists_semicolons_and_lines_are_read() {
    for text in [
        "graph LR; a-->b-->c",
        "flowchart LR\n a --> b\n b\n  --> c",
        "---\ntitle: t\n---\nflowchart TB\n a-->b;b-->c;",
        "%%{init: {\n 'theme': 'base'}}%%\n%% remark\ngraph\na-->b\n%% a --> x\nb-->c\nstyle a fill:#f9f;\nclick b \"x; y\" _blank",
        "flowchart TD\na:::big --> b@{ shape: rect, label: \"b\" } --> c\nclassDef big fill:red\nlinkStyle default stroke:red",
        "flowchart LR\n a e1@--> b --> c\n e1@{ animate: true }\n",
    ] {
        assert_eq!(actions(&read(text)), ["a", "b", "c"], "{text}");
    }
    let reading = read("graph TD\n a & b --> c & d\n");
    assert_eq!(actions(&reading).len(), 4);
}

#[test]
fn texts_are_read_as_pages_show_them() {
    for (node, name) in [
        ("x[plain text]", "plain text"),
        ("x(\"quoted (text)\")", "quoted (text)"),
        ("x[\"two<br/>lines\"]", "two lines"),
        ("x[\"#quot;a#quot; #35;1 &amp; b\"]", "\"a\" #1 & b"),
        ("x[\"`**bold** _it_`\"]", "bold it"),
        ("x[<b>bold</b>]", "bold"),
        (
            "x[[Source: a file<br>time: 5 min]]",
            "Source: a file time: 5 min",
        ),
        ("x[(f\"x\")]", "f\"x\""),
    ] {
        let reading = read(&format!("graph TD\n a --> {node} --> b"));
        assert_eq!(actions(&reading)[1], name, "{node}");
    }
}

#[test]
fn costs_and_stereotypes_are_those_of_the_other_forms() {
    let reading = read(
        "flowchart TD\n  %% <<globals>>\n  %% P = 4\n  %% n = 0\n\n  s([Start]) --> w[\"work {cost = ms(P)}\"]\n  \
         w --> b[\"all <<broadcast>> {bytes = 8}\"] --> c[\"late<br/>cost = 1\"] --> e([End])\n  %% d {cost = 2}\n  c --> d\n",
    );
    assert_eq!(reading.model.globals.len(), 2);
    let text = format!("{:?}", reading.model.activities);
    assert!(text.contains("Broadcast"), "{text}");
    let costs = reading.warnings.iter().filter(|w| w.rule == Rule::NoCost);
    assert_eq!(costs.count(), 0, "{:?}", reading.warnings);
}

#[test]
fn diamonds_decide_and_rings_repeat() {
    let reading = read(
        "flowchart TD\n %% <<globals>>\n %% i = 0\n\n s((go)) --> c{i < 3}\n c -->|yes| w[\"w {cost = 1, code = i = i + 1}\"] --> c\n c -->|no| e((end))\n",
    );
    let flow = &reading.model.activities["Main"].flow;
    let ElementKind::While { condition, .. } = &flow[0].kind else {
        panic!("{flow:?}");
    };
    assert_eq!(condition.to_string(), "(i < 3.0)");
}

#[test]
fn labels_say_shares() {
    let reading = read("flowchart TD\n a --> q{ok?}\n q -->|yes, 30 %| b\n q -->|no| c\n");
    let text = format!("{:?}", reading.model.activities["Main"].flow);
    assert!(text.contains("Number(0.3)"), "{text}");
    let reading = read("flowchart TD\n a -->|hit 90%| b\n a -->|miss| c\n");
    assert!(format!("{:?}", reading.model).contains("Number(0.9)"));
}

#[test]
fn a_subgraph_is_a_partition_or_says_how_it_is_run() {
    let reading = read(
        "flowchart TD\n subgraph one [\"First part\"]\n  direction LR\n  a --> b\n end\n subgraph two\n  c --> d\n end\n one --> two\n",
    );
    assert_eq!(actions(&reading), ["a", "b", "c", "d"]);
    let reading = read(
        "flowchart TD\n x --> a\n subgraph r [\"rounds <<loop>> {count = 5}\"]\n  a --> b\n end\n b --> y\n",
    );
    let flow = &reading.model.activities["Main"].flow;
    assert_eq!(flow.len(), 3, "{flow:?}");
    assert!(matches!(&flow[1].kind, ElementKind::Loop { flow, .. } if flow.len() == 2));
}

#[test]
fn forks_and_joins_are_taken_at_once() {
    let reading = read(
        "flowchart TD\n s --> f@{ shape: fork } --> a[\"a {cost = 1}\"] & b[\"b {cost = 2}\"] --> j@{ shape: join } --> e\n",
    );
    let text = format!("{:?}", reading.model.activities["Main"].flow);
    assert!(text.contains("Parallel"), "{text}");
}

#[test]
fn a_ring_without_a_way_out_is_run_once() {
    for text in [
        "graph TD\n a --> b --> a",
        "graph TD\n s([x]) --> a --> b --> a",
    ] {
        let reading = read(text);
        assert_eq!(actions(&reading), ["a", "b"], "{text}");
        assert!(reading.warnings.iter().any(|w| w.rule == Rule::EndlessLoop));
    }
}

#[test]
fn notes_and_hidden_links_order_nothing() {
    let reading = read(
        "flowchart TD\n a --> b\n n@{ shape: comment, label: \"<<globals>>\nP = 2\" } -.- a\n b ~~~ a\n t@{ shape: text, label: remark }\n",
    );
    assert_eq!(actions(&reading), ["a", "b"]);
    assert_eq!(reading.model.globals.len(), 1);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, place, reason) in [
        ("graph TD\n a[open\n b --> c\n", "line 2", "expected ]"),
        ("graph TD\n a b\n", "line 2", "expected a link"),
        ("graph TD\n a -->\n", "line 2", "expected a node"),
        ("graph TD\n a -->|x b\n", "line 2", "expected |"),
        ("graph TD\n end\n", "line 2", "expected subgraph"),
        ("graph TD\n\n subgraph s\n a\n", "line 3", "expected end"),
        ("graph TD\n a@{ shape: x\n", "line 2", "expected }"),
        (
            "\n\nsequenceDiagram\n a->>b: x\n",
            "line 3",
            "a sequence diagram",
        ),
        ("stateDiagram-v2\n", "line 1", "a state diagram"),
        ("erDiagram\n", "line 1", "entity relationship"),
        ("hello\n", "line 1", "expected graph or flowchart"),
        ("", "line 1", "expected graph or flowchart"),
        (
            "graph TD\n a[\"x {cots = 1}\"]\n",
            "line 2",
            "\"cots\" is no word",
        ),
    ] {
        let found = findings(text);
        assert_eq!(found[0].place, place, "{text}: {found:?}");
        assert!(found[0].reason.contains(reason), "{text}: {found:?}");
    }
}

const PIECES: [&str; 44] = [
    "graph TD\n",
    "flowchart LR;",
    "a",
    "b",
    "c[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "\"",
    "`",
    "-->",
    "---",
    "-.->",
    "==>",
    "~~~",
    "--",
    "-.",
    "==",
    "|",
    "&",
    ";",
    "\n",
    " ",
    "subgraph s\n",
    "subgraph x[\"<<loop>> {count = 2}\"]\n",
    "end\n",
    ":::",
    "@{",
    "%%",
    "%%{",
    "}%%",
    "style a fill:#f00\n",
    "classDef x fill:red\n",
    "é",
    "<br/>",
    "#quot;",
    "---\n",
    "yes",
    "x < 3",
    "{cost = 1}",
    "@{ shape: fork }",
    "direction LR\n",
];

proptest! {
    #[test]
    fn any_pieces_are_read_or_refused(pieces in prop::collection::vec(0..PIECES.len(), 0..40)) {
        let text: String = pieces.into_iter().map(|i| PIECES[i]).collect();
        let _ = read_mermaid(&text, None);
        let _ = read_mermaid(&format!("graph TD\n{text}"), None);
        let _ = mastermind_diagrams::flowchart_of_markdown(&format!("```mermaid\n{text}"), None);
    }
}

//! Mermaid flowcharts, alone and in Markdown, are accepted wherever diagrams are; parts that are not read are named.

use std::fs;

use mastermind_tests::{Scratch, root};
use serde_json::Value;

const PAGE: &str = "# Design\n\n## The flow\n\n```mermaid\nflowchart TD\n  s([Start]) --> a[\"read {cost = ms(3)}\"]\n  \
    a --> b[\"work<br/>cost = ms(1)\"] --> e([End])\n```\n\n## Messages\n\n```mermaid\nsequenceDiagram\n  A->>B: x\n```\n\n\
    ## A draw\n\n```mermaid\ngraph LR\n  q{ok?} -->|yes, 30 %| a[\"a {cost = ms(1)}\"]\n  q -->|no| b[\"b {cost = ms(1)}\"]\n```\n";

fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("a document")
}

#[test]
fn a_flowchart_of_markdown_is_simulated_checked_drawn_and_transformed() {
    let scratch = Scratch::new();
    fs::write(scratch.path("page.md"), PAGE).expect("a file");
    let machine = root()
        .join("examples/sample/machine.toml")
        .display()
        .to_string();
    for part in ["page.md#1", "page.md#The flow", "page.md#the-flow"] {
        let words = [
            "simulate",
            part,
            "--machine",
            &machine,
            "--ranks",
            "2",
            "--json",
        ];
        let report = document(&scratch.mastermind(&words).well());
        assert_eq!(report["makespan_ns"], 4_000_000, "{part}: {report}");
    }
    let words = [
        "simulate",
        "page.md#2",
        "--machine",
        &machine,
        "--ranks",
        "1",
        "--json",
    ];
    let report = document(&scratch.mastermind(&words).well());
    assert_eq!(report["sample"]["repeat"], 1, "{report}");
    let checked = document(&scratch.mastermind(&["check", "page.md#1", "--json"]).well());
    assert_eq!(checked["model"], "The flow", "{checked}");
    let drawn = scratch
        .mastermind(&["graph", "page.md#1", "--format", "svg"])
        .well();
    assert!(drawn.contains("work"), "{drawn}");
    let sources = root().join("mastermind/simulation").display().to_string();
    let words = [
        "convert",
        "page.md#1",
        "-o",
        "made",
        "--simulation",
        &sources,
    ];
    scratch.mastermind(&words).well();
    assert!(scratch.path("made/src/main.rs").is_file());
    // A page with several flowcharts and no choice, and a choice that does not exist: the error lists the flowcharts.
    for part in ["page.md", "page.md#3"] {
        let said = scratch.mastermind(&["check", part]).error();
        assert!(
            said.contains("\"The flow\"") && said.contains("\"A draw\""),
            "{said}"
        );
    }
}

#[test]
fn a_file_of_another_type_is_named_with_those_that_are_read() {
    let scratch = Scratch::new();
    let machine = root()
        .join("examples/sample/machine.toml")
        .display()
        .to_string();
    for (name, text, kind) in [
        ("flow.drawio", "<mxfile/>", "draw.io"),
        ("flow.bpmn", "<definitions/>", "BPMN"),
        ("flow.xml", "<mxfile/>", "draw.io"),
        ("other.xml", "<bpmn:definitions/>", "BPMN"),
        ("notes.txt", "hello", "no kind"),
    ] {
        fs::write(scratch.path(name), text).expect("a file");
        let said = scratch
            .mastermind(&["simulate", name, "--machine", &machine])
            .error();
        for word in [kind, ".puml", ".xmi", ".mmd"] {
            assert!(said.contains(word), "{name}: {said}");
        }
    }
    fs::write(scratch.path("other.mmd"), "sequenceDiagram\n  A->>B: x\n").expect("a file");
    let said = scratch
        .mastermind(&["simulate", "other.mmd", "--machine", &machine])
        .error();
    assert!(
        said.contains("sequence diagram") && said.contains("line 1"),
        "{said}"
    );
}

/// An ending says little: PlantUML is also called `.uml` and `.txt`, and XMI `.emx`.
#[test]
fn diagrams_are_known_by_what_they_begin_with() {
    let scratch = Scratch::new();
    let puml = "@startuml\nstart\n:a {cost = 1};\nstop\n@enduml\n";
    let xmi = root().join("mastermind/diagrams/tests/diagrams/files/papyrus-sample.uml");
    let xmi = fs::read_to_string(xmi).expect("a file");
    for (name, text) in [
        ("a.uml", puml),
        ("a.txt", puml),
        ("a.emx", &xmi),
        ("a.xml", &xmi),
        ("a.flow", "graph TD\n a --> b\n"),
    ] {
        fs::write(scratch.path(name), text).expect("a file");
        scratch.mastermind(&["check", name]).well();
    }
}

/// Labels, titles and colours are the author's; `--compiled` draws the program.
#[test]
fn graph_draws_what_the_author_drew() {
    let scratch = Scratch::new();
    let text = "---\ntitle: All of it\n---\nflowchart LR\n subgraph one [\"First <b>part</b>\"]\n  a[\"read<br/>all\"] --> q{ok?}\n end\n  \
        q -->|yes| b([go on]):::good\n q -. no .-> a\n classDef good fill:#dfd\n";
    fs::write(scratch.path("flow.mmd"), text).expect("a file");
    let draw = |more: &[&str]| {
        let words = ["graph", "flow.mmd", "--format", "svg"];
        scratch.mastermind(&[&words[..], more].concat()).well()
    };
    let drawn = draw(&[]);
    for said in [
        ">All of it<",
        ">read</text>",
        ">all</text>",
        ">yes<",
        ">no<",
        ">ok?<",
        "fill:#dfd",
        "stroke-dasharray",
        ">part<",
    ] {
        assert!(drawn.contains(said), "{said}: {drawn}");
    }
    assert!(!drawn.contains("chance"), "{drawn}");
    assert!(draw(&["--compiled"]).contains("chance"));
}

/// The same holds for PlantUML and XMI files, which may have several diagrams.
#[test]
fn graph_draws_plantuml_and_xmi_as_their_authors_did() {
    let scratch = Scratch::new();
    let text = "@startuml One\ntitle The **order**\n|#AliceBlue|Clerk|\nstart\nif (in stock?) then (yes)\n:ship;\nnote right: //by hand//\n\
        else (no)\n|Buyer|\nwhile (paid?) is (not yet)\n:wait|\nendwhile (paid)\nendif\nstop\n@enduml\n\
        @startuml Two\n(*) --> \"turn **off**\"\n-->[last] (*)\n@enduml\n";
    fs::write(scratch.path("flow.puml"), text).expect("a file");
    let draw = |file: &str, more: &[&str]| {
        let words = ["graph", file, "--format", "svg"];
        scratch.mastermind(&[&words[..], more].concat()).well()
    };
    let drawn = draw("flow.puml", &[]);
    for said in [
        ">order<",
        ">Clerk<",
        ">Buyer<",
        ">in stock?<",
        ">yes<",
        ">no<",
        ">ship<",
        ">by hand<",
        ">not yet<",
        ">paid<",
        ">off<",
        ">last<",
        "aliceblue",
    ] {
        assert!(drawn.contains(said), "{said}: {drawn}");
    }
    assert!(!drawn.contains("chance"), "{drawn}");
    assert!(draw("flow.puml", &["--compiled"]).contains("chance"));
    let second = draw("flow.puml", &["--main", "Two"]);
    assert!(
        second.contains(">last<") && !second.contains(">ship<"),
        "{second}"
    );
    let said = scratch
        .mastermind(&["graph", "flow.puml", "--format", "svg", "--main", "Three"])
        .error();
    assert!(said.contains("\"Three\""), "{said}");
    let file = root().join("examples/sample/sample.uml");
    let drawn = draw(&file.display().to_string(), &[]);
    assert!(drawn.ends_with("</svg>\n"), "{drawn}");
}

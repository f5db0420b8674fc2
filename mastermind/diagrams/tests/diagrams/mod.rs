//! Diagrams as other tools write them load, are sound and run, or are refused with reasons.
//!
//! The files are written by hand in the tools' forms: Papyrus (`papyrus-*.uml`, `broken.uml`, `guards.uml`,
//! `recursion.uml`), Modelio, Gaphor's export, both syntaxes of PlantUML.

mod large;
mod mermaid;
mod property;
mod public;

use std::fs;
use std::path::PathBuf;

use mastermind_diagrams::read_plantuml;
use mastermind_diagrams::{DiagramError, Reading};
use mastermind_diagrams::{read_xmi, read_xmi_from};
use mastermind_models::ModelSet;
use mastermind_programs::{Finding, Rule, System, check, lower};
use mastermind_simulation::engine::{Outcome, simulate};
use mastermind_simulation::machine::Machine;

fn text(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/diagrams/files");
    fs::read_to_string(folder.join(name)).expect("a file")
}

fn read(name: &str) -> Result<Reading, DiagramError> {
    let text = text(name);
    if name.ends_with(".puml") {
        read_plantuml(&text)
    } else {
        read_xmi(&text)
    }
}

fn findings(name: &str) -> Vec<Finding> {
    match read(name) {
        Err(DiagramError::Findings { findings }) => findings,
        Err(error) => panic!("{name}: {error}"),
        Ok(reading) => check(&reading.model, &ModelSet::default()),
    }
}

fn rules(findings: &[Finding]) -> Vec<(Rule, &str)> {
    findings
        .iter()
        .map(|f| (f.rule, f.place.as_str()))
        .collect()
}

/// Runs a sound file on as many processes, each on a node of its own with four processors.
fn run(name: &str, processes: u32) -> Outcome {
    let reading = read(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let found = check(&reading.model, &ModelSet::default());
    assert_eq!(found, [], "{name}");
    let system = System {
        processes,
        nodes: processes,
        processors: 4,
    };
    let program = lower(&reading.model, &ModelSet::default(), system).expect("a machine form");
    let machine = Machine {
        processors: 4,
        ..Machine::default()
    };
    simulate(&program, &machine).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn calls(outcome: &Outcome, name: &str) -> (u64, u64) {
    let all = outcome.elements.iter().enumerate();
    let found = all.filter(|(_, info)| info.name == name);
    found.fold((0, 0), |(calls, ns), (i, _)| {
        let one = outcome.element_of(0, i);
        (calls + one.calls, ns + one.total_ns)
    })
}

#[test]
fn the_sample_is_the_same_in_every_form() {
    // A1 4 µs, SA1 1 ms, SA2 4 µs (pid + 1), A4 1 ms.
    for name in ["sample.puml", "sample-legacy.puml", "papyrus-sample.uml"] {
        let outcome = run(name, 2);
        assert_eq!(outcome.processes[0].finish_ns, 2_008_000, "{name}");
        assert_eq!(outcome.processes[1].finish_ns, 2_012_000, "{name}");
        assert_eq!(calls(&outcome, "A2"), (0, 0), "{name}");
        assert_eq!(calls(&outcome, "SA2"), (1, 4000), "{name}");
    }
}

#[test]
fn every_loop_goes_its_rounds() {
    let outcome = run("loops.puml", 1);
    assert_eq!(calls(&outcome, "counted"), (4, 10_000_000));
    assert_eq!(calls(&outcome, "again"), (3, 3_000_000));
    // `back` goes round twice without time, so that four rounds of `body` are left.
    assert_eq!(calls(&outcome, "body"), (4, 4_000_000));
    assert_eq!(calls(&outcome, "part"), (5, 5_000_000));
    assert_eq!(calls(&outcome, "rest"), (4, 4000));
    assert_eq!(calls(&outcome, "last"), (1, 500_000));
    assert_eq!(calls(&outcome, "two"), (1, 6_000_000));
    assert_eq!(outcome.makespan_ns, 28_504_000);
}

#[test]
fn a_loop_over_a_merge_and_a_decision_is_found() {
    let outcome = run("papyrus-loop.uml", 1);
    assert_eq!(calls(&outcome, "step"), (5, 10_000_000));
    assert_eq!(calls(&outcome, "x"), (1, 3_000_000));
    assert_eq!(calls(&outcome, "inner"), (7, 35_000));
    assert_eq!(outcome.makespan_ns, 14_035_000);
}

/// Eclipse leaves out the type of pins and structured nodes; a group's own pins have edges on both sides.
#[test]
fn flows_of_objects_between_pins_without_a_type_order_actions() {
    let outcome = run("papyrus-pins.uml", 1);
    assert_eq!(calls(&outcome, "sort"), (1, 20_000));
    assert_eq!(calls(&outcome, "write"), (1, 3000));
    assert_eq!(outcome.makespan_ns, 1_023_000);
}

#[test]
fn forks_and_regions_run_side_by_side() {
    // 3 ms for the fork, 1 + 1 + 1 ms for the region (one waits for the lock), 1 ms after it.
    assert_eq!(run("threads.puml", 1).makespan_ns, 7_000_000);
    // 1 + 5 + 3 rounds of 1 + 1 ms.
    assert_eq!(run("legacy-guide.puml", 1).makespan_ns, 10_000_000);
}

#[test]
fn messages_and_collectives_run() {
    let outcome = run("ring.puml", 4);
    assert_eq!(calls(&outcome, "compute"), (1, 10_000));
    let kinds: Vec<_> = outcome.elements.iter().map(|info| info.kind).collect();
    assert_eq!(
        kinds,
        [
            "action",
            "isend",
            "recv",
            "wait",
            "barrier",
            "allreduce",
            "broadcast",
            "reduce",
            "alltoall"
        ]
    );
    let outcome = run("modelio.xmi", 3);
    assert_eq!(outcome.messages, 3);
    // o + L + o + (s - 1) G
    assert_eq!(outcome.makespan_ns, 1500 + 2500 + 1500 + 999);
}

#[test]
fn the_sender_of_a_message_is_known_to_a_diagram() {
    // An answer to another than the sender would leave ranks that wait for ever.
    let outcome = run("any.puml", 3);
    assert_eq!(outcome.messages, 5);
    let kinds: Vec<_> = outcome.elements.iter().map(|info| info.kind).collect();
    assert_eq!(kinds[2], "waitany");
}

#[test]
fn what_takes_no_time_is_said() {
    let reading = read("no-cost.puml").expect("a model");
    let warned = |rule| reading.warnings.iter().filter(|w| w.rule == rule).count();
    assert_eq!(warned(Rule::NoCost), 7);
    assert_eq!(warned(Rule::Ignored), 4);
    assert_eq!(reading.warnings.len(), 11, "{:?}", reading.warnings);
    assert_eq!(run("no-cost.puml", 1).makespan_ns, 0);
}

#[test]
fn what_is_no_model_is_refused_by_line() {
    let prose = read("prose.puml").expect("a model");
    let mut warned = prose.warnings.clone();
    warned.retain(|warning| warning.rule == Rule::Prose);
    assert_eq!(
        rules(&warned),
        [(Rule::Prose, "line 9"), (Rule::Prose, "line 16")]
    );
    assert!(warned[0].element.contains("file is there?"));
    let sequence = findings("sequence.puml");
    assert_eq!(rules(&sequence)[0], (Rule::Syntax, "line 2"));
    let broken = findings("broken.puml");
    assert_eq!(
        rules(&broken),
        [
            (Rule::Annotation, "line 4"),
            (Rule::Syntax, "line 10"),
            (Rule::Syntax, "line 12"),
            (Rule::Syntax, "line 14"),
            (Rule::Syntax, "line 13"),
            (Rule::Syntax, "line 6"),
            (Rule::Expression, "line 5"),
        ]
    );
}

/// Nothing ends its loop, which is entered at two places.
#[test]
fn a_round_of_an_endless_loop_is_run() {
    let reading = read("unstructured.puml").expect("a model");
    let warned = |rule| reading.warnings.iter().filter(|w| w.rule == rule).count();
    assert_eq!(warned(Rule::EndlessLoop), 1, "{:?}", reading.warnings);
    let outcome = run("unstructured.puml", 1);
    assert_eq!(calls(&outcome, "a").0, 1);
}

#[test]
fn broken_graphs_are_refused_by_rule() {
    assert_eq!(
        rules(&findings("broken.uml")),
        [
            (Rule::Annotation, "line 15"),
            (Rule::Syntax, "line 12"),
            (Rule::DanglingEdge, "line 7"),
            (Rule::DanglingEdge, "line 8"),
        ]
    );
    assert_eq!(
        rules(&findings("guards.uml")),
        [
            (Rule::OverlappingGuards, "line 17"),
            (Rule::GuardGap, "line 18"),
        ]
    );
    assert_eq!(
        rules(&findings("recursion.uml")),
        [(Rule::Recursion, "Main/itself")]
    );
    assert_eq!(
        rules(&findings("package-only.xmi")),
        [(Rule::Syntax, "line 1")]
    );
}

#[test]
fn entities_are_refused() {
    for name in ["entity.xmi", "billion-laughs.xmi", "gaphor-export.xmi"] {
        assert!(matches!(read(name), Err(DiagramError::Xml(_))), "{name}");
    }
}

/// A model of a PlantUML text with conditions in prose, on three processes, and the number of executions of each
/// action.
fn people(text: &str) -> (Reading, impl Fn(&str) -> [u64; 3]) {
    let reading = read_plantuml(&format!("@startuml\n{text}\n@enduml\n")).expect("a model");
    assert_eq!(check(&reading.model, &ModelSet::default()), []);
    let system = System {
        processes: 3,
        nodes: 3,
        processors: 1,
    };
    let program = lower(&reading.model, &ModelSet::default(), system).expect("a machine form");
    let outcome = simulate(&program, &Machine::default()).expect("an end");
    let done = move |name: &str| {
        let mut calls = [0; 3];
        for (element, info) in outcome.elements.iter().enumerate() {
            for (process, calls) in calls.iter_mut().enumerate() {
                if info.name == name {
                    *calls += outcome.element_of(process, element).calls;
                }
            }
        }
        calls
    };
    (reading, done)
}

/// Five standard deviations of a binomial count, and the same count on all processes.
fn is_share(calls: [u64; 3], of: f64, share: f64) {
    assert!(calls.iter().all(|n| *n == calls[0]), "{calls:?}");
    let deviation = (of * share * (1.0 - share)).sqrt();
    let off = calls[0] as f64 - of * share;
    assert!(
        off.abs() < 5.0 * deviation,
        "{calls:?} of {of}, expected {share}"
    );
}

/// As people write them: labels before a command, colours, layout.
#[test]
fn labels_and_layout_next_to_commands_are_passed_over() {
    let (_, done) = people(
        "page 2x2
         sprite $mark [2x2/16] {
         FF
         FF
         }
         start
         @pause
         no line of it
         @unpause
         if (process == 7) then (yes)
           :a {cost = us(1)};
         (no) elseif (process < 0) then (yes)
           :b {cost = us(1)};
         else (no)
           :c {cost = us(1)};
         endif
         fork <<#red>>
           :d {cost = us(1)};
         fork again <<#red>>
           :e {cost = us(1)};
         end fork
         repeat
           :f {cost = us(1)};
         (again) backward :g {cost = us(1)}; (on)
         repeat while (i = 1, 3)
         stop",
    );
    for name in ["c", "d", "e", "f"] {
        assert!(done(name)[0] >= 1, "{name}");
    }
}

#[test]
fn conditions_in_prose_are_taken_by_chance() {
    let (reading, done) = people(
        "start
         while (i = 1, 10000)
           if (Is the file\n there (at all)?) then (yes, 30 %)
             :read {cost = us(1)};
           else (no)
             :create {cost = us(1)};
           endif
           if (Approver's decision) then (approve)
             :a {cost = us(1)};
           elseif () then (change)
             :b {cost = us(1)};
           else (reject)
             :c {cost = us(1)};
           endif
           switch (Colour of it?)
           case (red)
             :d {cost = us(1)};
           case (très vert)
             :e {cost = us(1)};
           endswitch
           repeat
             :again {cost = us(1)};
           repeat while (more data?) is (yes)
         endwhile
         stop",
    );
    let n = 1e4;
    is_share(done("read"), n, 0.3);
    is_share(done("create"), n, 0.7);
    for name in ["a", "b", "c"] {
        is_share(done(name), n, 1.0 / 3.0);
    }
    is_share(done("d"), n, 0.5);
    is_share(done("e"), n, 0.5);
    // A geometric number of rounds, 2 in the mean, its variance 2.
    let again = done("again")[0] as f64;
    assert!((again - 2.0 * n).abs() < 5.0 * (2.0 * n).sqrt(), "{again}");
    let prose = reading.warnings.iter().filter(|w| w.rule == Rule::Prose);
    assert_eq!(prose.count(), 6);
}

#[test]
fn what_people_draw_loads() {
    let (reading, done) = people(
        "title: A diagram
         |#pink|p|Somebody
         start
         #palegreen:if (Count > 10 and
           the rest) then (yes)
           :next on
           several lines|
           -> a text that goes
           over lines;
         endif
         note right
           size = list.size();
           remark = none of ours
         end note
         -[#blue]-> a text without an end
         :work {cost = us(1)};
         repeat:first {cost = us(1)};
         backward: back {cost = us(1)};
         repeat while (Done) is (no);
         ->yes;
         if (Valid) then
           :valid {cost = us(1)};
           detach
         else
           kill
         endif
         :never {cost = us(1)};
         stop",
    );
    assert_eq!(done("work"), [1; 3]);
    assert_eq!(done("never"), [0; 3]);
    let warned = |rule| reading.warnings.iter().any(|w| w.rule == rule);
    assert!(warned(Rule::UnreachableElement) && warned(Rule::Prose) && warned(Rule::Ignored));
}

/// If variables are declared, an undeclared name in a condition is an error.
#[test]
fn an_unknown_name_is_an_error_where_there_are_others() {
    let text = "@startuml\nfloating note left\n<<globals>>\nx = 1\nend note\nstart\nif (y > 0) then\n:a;\nendif\nstop\n@enduml\n";
    let reading = read_plantuml(text).expect("a model");
    let found = check(&reading.model, &ModelSet::default());
    assert_eq!(found.len(), 1);
    assert!(found[0].to_string().contains("\"y\""), "{}", found[0]);
    let none = text.replace("<<globals>>\nx = 1\n", "");
    let reading = read_plantuml(&none).expect("a model");
    assert_eq!(check(&reading.model, &ModelSet::default()), []);
}

/// Two initial nodes are two concurrent flows; MARTE's `prob` decides a decision in prose.
#[test]
fn several_beginnings_run_side_by_side() {
    let outcome = run("papyrus-people.uml", 2);
    assert_eq!(calls(&outcome, "a").0, 1);
    assert_eq!(calls(&outcome, "b").0, 1);
    assert_eq!(calls(&outcome, "c").0, 0);
    assert_eq!(outcome.makespan_ns, 2_000_000);
}

/// A loop into an action is a merge; several edges out of one and into one are a fork and a join, as in UML.
#[test]
fn nodes_that_people_leave_out_in_xmi_are_put_in() {
    let outcome = run("staruml-people.xmi", 1);
    let rounds = calls(&outcome, "Enter PIN").0;
    assert!(rounds >= 1, "{rounds}");
    for name in ["Book it", "Write log", "Pay", "Print receipt"] {
        assert_eq!(calls(&outcome, name).0, 1, "{name}");
    }
    // The branches of the fork run concurrently.
    assert_eq!(outcome.makespan_ns, (rounds + 1 + 4 + 2) * 1_000_000);
    let reading = read("staruml-people.xmi").expect("a model");
    let warned = |rule| reading.warnings.iter().filter(|w| w.rule == rule).count();
    assert_eq!(warned(Rule::Prose), 2);
    assert_eq!(warned(Rule::MissingMerge), 2);
    assert_eq!(warned(Rule::MissingDecision), 1);
    // The body in C++, which is no cost function; two activities to begin with.
    assert_eq!(warned(Rule::Ignored), 2, "{:?}", reading.warnings);
}

/// A guard is a value of the decision's input, which nothing computes here: the loop ends, by chance. Without an input the same guard
/// never holds.
#[test]
fn a_guard_that_the_input_of_a_decision_is_compared_with_is_taken_by_chance() {
    run("papyrus-input.uml", 1);
    let prose = |text: &str| {
        let warnings = read_xmi(text).expect("a model").warnings;
        warnings.iter().filter(|w| w.rule == Rule::Prose).count()
    };
    let text = text("papyrus-input.uml");
    let without = text.replace(" decisionInput=\"_b\"", "");
    assert_eq!([prose(&text), prose(&without)], [1, 0]);
}

/// A loop with two entries, branches of an action without a join, and an edge into the initial node.
#[test]
fn tangled_flows_run_node_by_node() {
    let reading = read("staruml-tangled.xmi").expect("a model");
    let warned = |text: &str| reading.warnings.iter().any(|w| w.reason.contains(text));
    assert!(
        warned("node by node") && warned("no join brings together"),
        "{:?}",
        reading.warnings
    );
    assert!(
        warned("comes into the initial node"),
        "{:?}",
        reading.warnings
    );
    let outcome = run("staruml-tangled.xmi", 2);
    let calls = |process: usize, name: &str| -> u64 {
        let all = outcome.elements.iter().enumerate();
        let found = all.filter(|(_, info)| info.name == name && info.kind == "action");
        found
            .map(|(i, _)| outcome.element_of(process, i).calls)
            .sum()
    };
    // Process 0 comes in on the left, so that it is there once more.
    for (process, left) in [(0, 3), (1, 2)] {
        assert_eq!(calls(process, "left"), left, "process {process}");
        assert_eq!(calls(process, "right"), 3);
        assert_eq!(calls(process, "x") + calls(process, "y"), 1);
        assert_eq!(calls(process, "last"), 1);
        assert_eq!(
            outcome.processes[process].finish_ns,
            (left + 3 + 3) * 1_000_000
        );
    }
}

#[test]
fn an_activity_of_the_file_is_chosen_by_its_name() {
    let text = text("staruml-people.xmi");
    let reading = read_xmi_from(&text, Some("Count Money")).expect("a model");
    assert_eq!(reading.model.main, "Count Money");
    assert_eq!(reading.model.activities.len(), 1);
    // No edge leads to either: both begin at once.
    let system = System {
        processes: 1,
        nodes: 1,
        processors: 4,
    };
    let program = lower(&reading.model, &ModelSet::default(), system).expect("a machine form");
    let machine = Machine {
        processors: 4,
        ..Machine::default()
    };
    let outcome = simulate(&program, &machine).expect("an end");
    assert_eq!(outcome.makespan_ns, 3_000_000);
    let error = read_xmi_from(&text, Some("Nothing")).expect_err("no such activity");
    let DiagramError::Findings { findings } = error else {
        panic!("{error}");
    };
    assert_eq!(rules(&findings), [(Rule::UnknownActivity, "file")]);
}

/// Names of the preprocessor, actions in a list, and a fork on a branch of another one, whose branches one
/// thread runs.
#[test]
fn more_of_what_people_draw_loads() {
    let (reading, done) = people(
        "!include style.puml
         !$ready = \"is it\\n ready?\"
         !define ACTION first
         start
         - ACTION {cost = us(1)}
         while ($ready) is (no)
           * wait {cost = us(1)}
         endwhile
         fork
           :left {cost = us(1)};
           fork
             :inner {cost = us(2)};
           fork again
             :other {cost = us(4)};
           end fork
         fork again
           :right {cost = us(1)};
         end fork
         stop",
    );
    for name in ["first", "left", "inner", "other", "right"] {
        assert_eq!(done(name), [1; 3], "{name}");
    }
    let warned = |text: &str| reading.warnings.iter().any(|w| w.reason.contains(text));
    assert!(
        warned("another file") && warned("one after the other"),
        "{:?}",
        reading.warnings
    );
    assert!(reading.warnings.iter().any(|w| w.element.contains("is it")));
}

/// As in PlantUML: the end of the diagram is that of an `if`, and a colour may stand in front of a connector.
#[test]
fn an_if_without_its_end_and_coloured_connectors_load() {
    let (reading, done) = people(
        "start
         :first {cost = us(1)};
         #blue:(B)
         detach
         #green:(B)
         #pink:(optional)
         second {cost = us(1)};
         if (ready?) then
           :last {cost = us(1)};
         else
           :last {cost = us(1)};",
    );
    for name in ["first", "(optional) second", "last"] {
        assert_eq!(done(name), [1; 3], "{name}");
    }
    let warned = |text: &str| reading.warnings.iter().any(|w| w.reason.contains(text));
    assert!(warned("taken to end"), "{:?}", reading.warnings);
}

/// A file of few lines must not make a text of any length.
#[test]
fn names_of_the_preprocessor_do_not_grow_without_bound() {
    let mut text = "@startuml\n!$a0 = \"0123456789012345\"\n".to_owned();
    for i in 1..60 {
        text += &format!("!$a{i} = \"$a{0}$a{0}$a{0}$a{0}\"\n", i - 1);
    }
    text += "start\n:$a59;\nstop\n@enduml\n";
    let Err(DiagramError::Findings { findings }) = read_plantuml(&text) else {
        panic!("expected findings");
    };
    assert_eq!(findings[0].rule, Rule::TooLarge);
}

/// A bar of the legacy syntax at which the branches of a decision meet is a merge if no bar is a
/// fork.
#[test]
fn a_bar_without_a_fork_is_a_merge() {
    let (reading, done) = people(
        "(*) --> \"first {cost = us(1)}\"
         if \"is it ready?\" then
         -->[yes] ===MEET===
         else
         -->[no] \"more {cost = us(1)}\"
         --> ===MEET===
         endif
         --> \"last {cost = us(1)}\"
         --> (*)",
    );
    assert_eq!(done("last"), [1; 3]);
    let warned = reading
        .warnings
        .iter()
        .any(|w| w.rule == Rule::MissingMerge);
    assert!(warned, "{:?}", reading.warnings);
}

/// Arrows of the legacy syntax that leave an action are alternatives, with labels and without; those that come into one again are a
/// loop.
#[test]
fn arrows_that_leave_an_action_are_alternatives() {
    let (reading, done) = people(
        "(*) --> \"choose {cost = us(1)}\" as C
         C -->[done, 25 %] (*)
         C -->[go on] \"move {cost = us(1)}\" as M
         M --> \"left {cost = us(1)}\" as L
         M --> \"right {cost = us(1)}\" as R
         L --> \"last {cost = us(1)}\" as X
         R --> X
         X --> C",
    );
    let [moves, left, right] = [done("move"), done("left"), done("right")];
    assert!(moves.iter().sum::<u64>() > 0, "{moves:?}");
    for process in 0..moves.len() {
        assert_eq!(left[process] + right[process], moves[process]);
        assert_eq!(done("choose")[process], moves[process] + 1);
    }
    let of = |rule| reading.warnings.iter().filter(move |w| w.rule == rule);
    assert_eq!(of(Rule::MissingDecision).count(), 2);
    for share in ["0.250", "0.750"] {
        let has_warning = of(Rule::Prose).any(|w| w.reason.contains(share));
        assert!(has_warning, "{share}: {:?}", reading.warnings);
    }
}

#[test]
fn a_probability_that_is_none_is_refused() {
    for (asked, n) in [("1.5", 1), ("-0.1", 1), ("", 1), ("0.5, 0.5", 1), ("1", 0)] {
        let text = format!(
            "@startuml\nstart\nif (chance({asked})) then\n:a {{cost = us(1)}};\nendif\nstop\n@enduml\n"
        );
        let reading = read_plantuml(&text).expect("a model");
        let found = check(&reading.model, &ModelSet::default());
        assert_eq!(found.len(), n, "{asked}: {found:?}");
    }
}

/// A question of one word, and the label of an `else`, give a probability.
#[test]
fn labels_of_one_word_conditions_say_shares() {
    for (first, second, chance) in [
        ("if (ok?) then (yes, 30 %)", "else (no)", "Number(0.3)"),
        ("if (ok?) then (no, 30 %)", "else", "Number(0.3)"),
        ("if (ok) then (yes)", "else (no, 70 %)", "Number(0.3"),
        (
            "if (is it ok?) then (yes)",
            "else (no, 75 %)",
            "Number(0.25)",
        ),
        ("if (ok?) then (yes)", "else (no)", "Number(0.5)"),
    ] {
        let text = format!("@startuml\nstart\n{first}\n:a;\n{second}\n:b;\nendif\nstop\n@enduml\n");
        let model = read_plantuml(&text).expect("a model").model;
        let flow = format!("{:?}", model.activities["Main"].flow);
        assert!(flow.contains(chance), "{first}: {flow}");
    }
    // The name of a variable is not prose.
    let text = "@startuml\nnote left\n<<globals>>\nok = 1\nend note\nstart\nif (ok) then (yes, 30 %)\n:a;\nendif\nstop\n@enduml\n";
    let model = read_plantuml(text).expect("a model").model;
    let flow = format!("{:?}", model.activities["Main"].flow);
    assert!(
        flow.contains("Name(\"ok\")") && !flow.contains("chance"),
        "{flow}"
    );
}

/// Words that begin a line of layout elsewhere.
#[test]
fn notes_and_actions_hold_any_line() {
    let text = "@startuml\nstart\n:a;\nnote right\n title\n skinparam x {\n cost = 2\n header\nend note\n\
        :set it\nscale by two\ncost = 1;\nstop\n@enduml\n";
    let reading = read_plantuml(text).expect("a model");
    let flow = format!("{:?}", reading.model.activities["Main"].flow);
    assert!(
        flow.contains("Number(2.0)") && flow.contains("set it scale by two"),
        "{flow}"
    );
}

#[test]
fn a_loop_without_a_condition_runs_one_round() {
    let text = "@startuml\nstart\nrepeat\n:a {cost = 1};\nrepeat while ()\n@enduml\n";
    let reading = read_plantuml(text).expect("a model");
    let warned = |rule| reading.warnings.iter().filter(|w| w.rule == rule).count();
    assert_eq!(warned(Rule::EndlessLoop), 1, "{:?}", reading.warnings);
}

const XMI_HEAD: &str = "<?xml version=\"1.0\"?>\n<uml:Model xmlns:xmi=\"http://www.omg.org/spec/XMI/20131001\" \
    xmlns:uml=\"http://www.eclipse.org/uml2/5.0.0/UML\" name=\"M\">\n";

#[test]
fn paths_stand_for_identifiers() {
    let text = format!(
        "{XMI_HEAD}<packagedElement xmi:type=\"uml:Activity\" name=\"A\" node=\"//A/i //A/w //A/@node.2\">\n\
         <edge xmi:type=\"uml:ControlFlow\" source=\"//A/i\" target=\"//A/w\"/>\n\
         <edge xmi:type=\"uml:ControlFlow\" source=\"//A/w\" target=\"//A/@node.2\"/>\n\
         <node xmi:type=\"uml:InitialNode\" name=\"i\"/>\n<node xmi:type=\"uml:OpaqueAction\" name=\"w\"/>\n\
         <node xmi:type=\"uml:ActivityFinalNode\"/>\n</packagedElement>\n</uml:Model>\n"
    );
    let places = text
        .replace("//A/@node", "//@packagedElement.0/@node")
        .replace("//A/i", "//@packagedElement.0/@node.0")
        .replace("//A/w", "//@packagedElement.0/@node.1");
    for text in [text, places] {
        let model = read_xmi(&text).expect("a model").model;
        let flow = &model.activities["A"].flow;
        assert_eq!(flow.len(), 1, "{flow:?}");
        assert_eq!(flow[0].name, "w");
    }
}

/// The edge between the inner nodes is outside their group, and an edge leads right to the first of them.
#[test]
fn edges_of_inner_nodes_are_those_of_their_group() {
    let text = format!(
        "{XMI_HEAD}<packagedElement xmi:type=\"uml:Activity\" xmi:id=\"a\" name=\"A\">\n\
         <edge xmi:type=\"uml:ControlFlow\" xmi:id=\"e1\" source=\"i\" target=\"x\"/>\n\
         <edge xmi:type=\"uml:ControlFlow\" xmi:id=\"e2\" source=\"x\" target=\"y\"/>\n\
         <edge xmi:type=\"uml:ControlFlow\" xmi:id=\"e3\" source=\"g\" target=\"z\"/>\n\
         <node xmi:type=\"uml:InitialNode\" xmi:id=\"i\"/>\n\
         <node xmi:type=\"uml:StructuredActivityNode\" xmi:id=\"g\" name=\"g\">\n\
         <node xmi:type=\"uml:OpaqueAction\" xmi:id=\"x\" name=\"x\"/>\n\
         <node xmi:type=\"uml:OpaqueAction\" xmi:id=\"y\" name=\"y\"/>\n</node>\n\
         <node xmi:type=\"uml:OpaqueAction\" xmi:id=\"z\" name=\"z\"/>\n</packagedElement>\n</uml:Model>\n"
    );
    let model = read_xmi(&text).expect("a model").model;
    let flow = format!("{:?}", model.activities["A"].flow);
    let places: Vec<_> = ["\"x\"", "\"y\"", "\"z\""]
        .map(|name| flow.find(name))
        .into();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{flow}"
    );
}

/// Branches of a fork without a join end separately.
#[test]
fn a_fork_without_a_join_is_run() {
    let node = |kind: &str, id: &str| {
        format!("<node xmi:type=\"uml:{kind}\" xmi:id=\"{id}\" name=\"{id}\"/>\n")
    };
    let edge = |id: &str, from: &str, to: &str| {
        format!(
            "<edge xmi:type=\"uml:ControlFlow\" xmi:id=\"{id}\" source=\"{from}\" target=\"{to}\"/>\n"
        )
    };
    let text = [
        XMI_HEAD.to_owned(),
        "<packagedElement xmi:type=\"uml:Activity\" xmi:id=\"a\" name=\"A\">\n".to_owned(),
        node("InitialNode", "i")
            + &node("ForkNode", "f")
            + &node("OpaqueAction", "x")
            + &node("OpaqueAction", "y"),
        node("FlowFinalNode", "p") + &node("ActivityFinalNode", "q"),
        edge("1", "i", "f")
            + &edge("2", "f", "x")
            + &edge("3", "f", "y")
            + &edge("4", "x", "p")
            + &edge("5", "y", "q"),
        "</packagedElement>\n</uml:Model>\n".to_owned(),
    ];
    let model = read_xmi(&text.concat()).expect("a model").model;
    let flow = format!("{:?}", model.activities["A"].flow);
    assert!(
        flow.contains("Parallel") && flow.contains("\"x\"") && flow.contains("\"y\""),
        "{flow}"
    );
}

//! Models in our own form: valid files, findings of the checker, the machine form.

use mastermind_models::ModelSet;
use mastermind_programs::{
    Operation, Program, ReadError, Rule, System, check, lower, read_json, read_toml,
};

const SYSTEM: System = System {
    processes: 8,
    nodes: 2,
    processors: 4,
};

fn rules(text: &str) -> Vec<Rule> {
    let model = read_toml(text).expect("a model");
    let findings = check(&model, &ModelSet::default());
    findings.iter().map(|finding| finding.rule).collect()
}

fn program(text: &str) -> Program {
    let model = read_toml(text).expect("a model");
    assert_eq!(check(&model, &ModelSet::default()), []);
    lower(&model, &ModelSet::default(), SYSTEM).expect("a machine form")
}

fn main_with(flow: &str) -> String {
    format!("[model]\nname = \"m\"\nmain = \"Main\"\n[activities.Main]\nflow = [\n{flow}\n]\n")
}

#[test]
fn the_sender_of_a_message_is_a_variable_of_a_receive_that_waits() {
    let with = |element: &str| {
        let globals = "[globals]\nwho = 0\nis_one = true\n[activities.Main]";
        let flow = format!("{element}, {{ send = \"s\", to = \"who\", bytes = 1 }}");
        main_with(&flow).replace("[activities.Main]", globals)
    };
    let receive = "{ recv = \"r\", from = \"any\", sender = \"who\" }";
    let program = program(&with(receive));
    let senders = program
        .operations
        .iter()
        .filter_map(|operation| match operation {
            Operation::Receive { sender, .. } => *sender,
            _ => None,
        });
    // The variable is kept, though no code assigns it.
    assert_eq!(senders.count(), 1);
    for name in ["is_one", "process", "nobody"] {
        let found = rules(&with(&receive.replace("who", name)));
        assert_eq!(found, [Rule::Variable], "{name}");
        let found = rules(&with(&format!(
            "{receive}, {{ waitany = \"w\", sender = \"{name}\" }}"
        )));
        assert_eq!(found, [Rule::Variable], "{name}");
    }
    let error = read_toml(&with(&receive.replace("recv", "irecv"))).expect_err("a refusal");
    assert!(
        error
            .to_string()
            .contains("\"sender\", expected only words"),
        "{error}"
    );
}

/// The sample of the second Performance Prophet paper, Figures 7 and 8.
const SAMPLE: &str = r#"
[model]
name = "sample"
main = "Main"
[globals]
GV = 0
P = 0
[functions]
F_A1 = "0.000001 * P"
F_SA2 = { parameters = ["pid_"], value = "F_A1() * (pid_ + 1)" }
[activities.Main]
flow = [
    { action = "A1", code = "GV = 1; P = 4", cost = "F_A1()" },
    { decision = "which", branches = [
        { guard = "GV == 1", body = [{ activity = "SA" }] },
        { body = [{ action = "A2", cost = 1e-3 }] },
    ] },
    { action = "A4", cost = 1e-3 },
]
[activities.SA]
flow = [{ action = "SA1", cost = 1e-3 }, { action = "SA2", cost = "F_SA2(pid)" }]
"#;

#[test]
fn the_sample_of_the_paper_is_sound() {
    let program = program(SAMPLE);
    let names: Vec<_> = program.elements.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["A1", "SA1", "SA2", "A2", "A4"]);
    assert_eq!(program.elements[2].place, "SA");
    assert_eq!(program.slots, 2);
    assert_eq!(program.operations.last(), Some(&Operation::End));
}

#[test]
fn json_is_read_as_toml_is() {
    let table: toml::Table = SAMPLE.parse().expect("TOML");
    let json = serde_json::to_string(&table).expect("JSON");
    let models = (
        read_json(&json).expect("a model"),
        read_toml(SAMPLE).expect("a model"),
    );
    assert_eq!(models.0, models.1);
}

#[test]
fn variables_that_never_change_take_no_place() {
    let text = main_with(r#"{ action = "a", cost = "us(n * 2)" }"#);
    let text = format!("{text}[globals]\nn = \"k + 1\"\nk = \"processes\"\n");
    let program = program(&text);
    assert_eq!(program.slots, 0);
    let Operation::Compute { cost, .. } = &program.operations[0] else {
        panic!("{:?}", program.operations);
    };
    assert_eq!(cost.constant(), Some(18e-6));
}

#[test]
fn collectives_become_messages() {
    for element in [
        r#"{ broadcast = "c", bytes = 100 }"#,
        r#"{ reduce = "c", bytes = 100, root = 3 }"#,
        r#"{ allreduce = "c", bytes = 100 }"#,
        r#"{ alltoall = "c", bytes = 100 }"#,
        r#"{ barrier = "c" }"#,
    ] {
        let program = program(&main_with(element));
        let sends = program
            .operations
            .iter()
            .filter(|o| matches!(o, Operation::Send { .. }))
            .count();
        assert!(sends > 0, "{element}");
        assert_eq!(program.elements.len(), 1, "{element}");
    }
}

#[test]
fn each_rule_finds_what_it_is_for() {
    for (rule, flow) in [
        (Rule::Expression, r#"{ action = "a", cost = "x + 1" }"#),
        (Rule::Expression, r#"{ action = "a", cost = "1 < 2" }"#),
        (Rule::Variable, r#"{ action = "a", code = "x = 1" }"#),
        (Rule::Variable, r#"{ action = "a", code = "process = 1" }"#),
        (Rule::UnknownActivity, r#"{ activity = "B" }"#),
        (Rule::Recursion, r#"{ activity = "Main" }"#),
        (
            Rule::UnreachableElement,
            r#"{ while = "w", condition = "1 > 2", body = [] }"#,
        ),
        (
            Rule::UnreachableElement,
            r#"{ decision = "d", branches = [{ body = [] }, { guard = "process > 1", body = [] }] }"#,
        ),
        (
            Rule::OverlappingGuards,
            r#"{ decision = "d", branches = [{ guard = "process>1", body = [] }, { guard = "process > 1", body = [] }] }"#,
        ),
        (Rule::NegativeCost, r#"{ action = "a", cost = "-1" }"#),
        (Rule::NegativeCost, r#"{ action = "a", cost = "0 / 0" }"#),
        (
            Rule::ParallelBody,
            r#"{ parallel = "p", threads = 2, body = [{ barrier = "b" }] }"#,
        ),
        (Rule::CriticalOutside, r#"{ critical = "c", body = [] }"#),
        (
            Rule::UnmatchedSend,
            r#"{ send = "s", to = 1, bytes = 8, tag = 4 }"#,
        ),
        (
            Rule::UnmatchedReceive,
            r#"{ recv = "r", from = 1, tag = 4 }"#,
        ),
    ] {
        assert_eq!(rules(&main_with(flow)), [rule], "{flow}");
    }
    let unreached = main_with("") + "[activities.B]\nflow = [{ action = \"b\", cost = \"y\" }]\n";
    assert_eq!(
        rules(&unreached),
        [Rule::UnreachableActivity, Rule::Expression]
    );
    let shadow = main_with("") + "[globals]\nprocess = 1\n";
    assert_eq!(rules(&shadow), [Rule::Variable]);
    let circle = main_with("") + "[globals]\na = \"b\"\nb = \"a\"\n";
    assert_eq!(rules(&circle), [Rule::Expression]);
    let function = main_with("") + "[functions]\nf = \"nothing\"\n";
    assert_eq!(rules(&function), [Rule::Expression]);
}

#[test]
fn a_finding_names_its_place() {
    let flow = r#"{ loop = "outer", count = 2, body = [{ action = "a", cost = "x" }] }"#;
    let model = read_toml(&main_with(flow)).expect("a model");
    let findings = check(&model, &ModelSet::default());
    let text = findings[0].to_string();
    assert!(
        text.starts_with("expression: \"a\" of \"Main/outer\": cannot use name \"x\""),
        "{text}"
    );
    let error = lower(&model, &ModelSet::default(), SYSTEM).expect_err("a finding");
    assert!(
        error
            .to_string()
            .starts_with("cannot transform model \"m\": expression")
    );
}

#[test]
fn activities_that_double_one_another_are_refused() {
    let mut text = main_with(r#"{ activity = "A0" }"#);
    for i in 0..40 {
        let next = i + 1;
        text += &format!(
            "[activities.A{i}]\nflow = [{{ activity = \"x\", of = \"A{next}\" }}, {{ activity = \"y\", of = \"A{next}\" }}]\n"
        );
    }
    text += "[activities.A40]\nflow = [{ action = \"a\", cost = 1 }]\n";
    assert_eq!(rules(&text), [Rule::TooLarge]);
}

#[test]
fn what_is_no_model_is_refused_with_its_place() {
    for (flow, part) in [
        (
            r#"{ fly = "a" }"#,
            "cannot read element \"fly\" of \"Main\"",
        ),
        (r#"{ action = "a", send = "b" }"#, "several"),
        (r#"{ action = "a", cots = 1 }"#, "\"cots\""),
        (r#"{ send = "s", to = 1 }"#, "no bytes"),
        (r#"{ loop = "l", count = 1 }"#, "no body"),
        (r#"{ action = "", cost = 1 }"#, "without a name"),
        (
            r#"{ action = "a", cost = "1 +" }"#,
            "cannot read cost of \"Main/a\"",
        ),
        (
            r#"{ action = "a", code = "x + 1" }"#,
            "cannot read code of \"Main/a\"",
        ),
    ] {
        let error = read_toml(&main_with(flow)).expect_err(flow);
        assert!(error.to_string().contains(part), "{flow}: {error}");
    }
    assert!(matches!(read_toml("x = "), Err(ReadError::Toml(_))));
    assert!(matches!(read_json("{"), Err(ReadError::Json(_))));
    let long = " ".repeat(17 << 20);
    assert!(matches!(read_toml(&long), Err(ReadError::TooLong { .. })));
}

#[test]
fn models_of_several_runs_say_which_ranks_they_are_known_for() {
    let text = |ranks: &str| {
        format!(
            "[model]\nname = \"m\"\nmain = \"Main\"\nranks = {ranks}\n[activities.Main]\nflow = []\n"
        )
    };
    let known = |ranks: &str| {
        read_toml(&text(ranks))
            .expect("a model")
            .ranks
            .expect("ranks")
    };
    let has = |ranks: &str| {
        let known = known(ranks);
        (1..=17).filter(|n| known.has(*n)).collect::<Vec<u32>>()
    };
    assert_eq!(has("4"), [4]);
    assert_eq!(has("{ recorded = [2, 4, 9] }"), [2, 4, 9]);
    assert_eq!(has("{ recorded = [2, 3], most = 6 }"), [2, 3, 4, 5, 6]);
    let powers = "{ recorded = [2, 4], most = 16, powers_of_two = true }";
    assert_eq!(has(powers), [2, 4, 8, 16]);
    assert_eq!(known(powers).to_string(), "a power of two from 2 to 16");
    for wrong in [
        "0",
        "{ recorded = [] }",
        "{ recorded = [4, 2] }",
        "{ recorded = [2, 2] }",
        "{ recorded = [2, 4], most = 3 }",
        "{ most = 3 }",
        "{ recorded = [2], least = 1 }",
    ] {
        assert!(read_toml(&text(wrong)).is_err(), "{wrong}");
    }
}

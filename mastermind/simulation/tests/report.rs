//! Charts and traces of a simulation.

use std::collections::BTreeMap;

use mastermind_models::ModelSet;
use mastermind_programs::{Program, System, lower, read_toml};
use mastermind_simulation::engine::{
    EngineChoice, Flight, Limits, Outcome, Slice, simulate, simulate_followed, simulate_traced,
};
use mastermind_simulation::machine::Machine;
use mastermind_simulation::report::{Timeline, TimelineError, html};
use mastermind_simulation::trace::{Perfetto, paje};
use serde_json::Value;

const MODEL: &str = r#"
[model]
name = "a </script> model"
main = "Main"
[activities.Main]
flow = [
    { action = "compute", cost = "us(100) * (process + 1)" },
    { send = "right", to = "(process + 1) % processes", bytes = 1000 },
    { recv = "left", from = "(process - 1) % processes" },
    { parallel = "region", threads = 2, body = [{ action = "part", cost = "us(10)" }] },
    { barrier = "meet" },
]
"#;

fn program(processes: u32) -> Program {
    let model = read_toml(MODEL).expect("a model");
    let system = System {
        processes,
        nodes: processes,
        processors: 2,
    };
    lower(&model, &ModelSet::default(), system).expect("a machine form")
}

fn machine() -> Machine {
    Machine {
        processors: 2,
        ..Machine::default()
    }
}

fn traced(processes: u32) -> (Program, Outcome, Vec<Slice>) {
    let program = program(processes);
    let mut slices = Vec::new();
    let outcome = simulate_traced(
        &program,
        &machine(),
        Limits::default(),
        &mut |_| (),
        &mut |slice| {
            slices.push(slice);
        },
    );
    let outcome = outcome.expect("an end");
    (program, outcome, slices)
}

/// Of more than a thousand processes some have a bar and each a cell of the heat map.
#[test]
fn every_process_has_a_cell_of_the_heat_map() {
    let data = |processes| {
        let outcome = simulate(&program(processes), &machine()).expect("an end");
        let page = html("many", &outcome, &Timeline::default());
        let from = page.find("id=\"data\">").expect("data") + 10;
        let length = page[from..].find("</script>").expect("their end");
        serde_json::from_str::<Value>(&page[from..from + length]).expect("a document")
    };
    assert!(data(1000)["heat"].is_null());
    let many = data(1500);
    let layers = many["heat"]["layers"].as_array().expect("a list");
    for layer in layers {
        assert_eq!(layer[1].as_str().map(str::len), Some(1500), "{}", layer[0]);
    }
    // Each works longer than the one before it: the first waits most, the last works most.
    let of = |layer: usize| {
        layers[layer][1]
            .as_str()
            .expect("cells")
            .as_bytes()
            .to_vec()
    };
    let (work, waiting) = (of(1), of(3));
    let place = |level: u8| {
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY".find(char::from(level))
    };
    assert!(place(work[0]) < place(work[1499]) && place(waiting[0]) > place(waiting[1499]));
}

#[test]
fn a_trace_adds_up_to_the_results() {
    let (program, outcome, slices) = traced(4);
    let mut untraced = simulate(&program, &machine()).expect("an end");
    assert_ne!(untraced.engine, EngineChoice::Traced);
    untraced.engine = EngineChoice::Traced;
    assert_eq!(outcome, untraced);
    let mut sums: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    for slice in &slices {
        *sums.entry((slice.process, slice.element)).or_default() += slice.end_ns - slice.begin_ns;
        let end = ends.entry(slice.process).or_default();
        assert!(slice.begin_ns >= *end, "{slice:?} begins before {end}");
        *end = slice.end_ns;
    }
    for (element, info) in outcome.elements.iter().enumerate() {
        if info.name == "part" {
            continue;
        }
        for process in 0..4 {
            let expected = outcome.element_of(process, element).total_ns;
            let found = sums
                .get(&(process as u32, element as u32))
                .copied()
                .unwrap_or(0);
            assert_eq!(found, expected, "{} of {process}", info.name);
        }
    }
}

#[test]
fn waiting_and_messages_are_those_of_the_results() {
    let program = program(4);
    let (mut slices, mut flights) = (Vec::new(), Vec::new());
    let outcome = simulate_followed(
        &program,
        &machine(),
        Limits::default(),
        &mut |_| (),
        &mut |slice| slices.push(slice),
        Some(&mut |flight| flights.push(flight)),
    );
    let outcome = outcome.expect("an end");
    for (rank, process) in outcome.processes.iter().enumerate() {
        let of_it = slices.iter().filter(|slice| slice.process == rank as u32);
        let waited_ns: u64 = of_it.map(|slice| slice.wait_ns).sum();
        assert_eq!(waited_ns, process.wait_ns(), "of {rank}");
    }
    assert!(slices.iter().any(|slice| slice.wait_ns > 0));
    assert_eq!(flights.len() as u64, outcome.messages);
    assert!(
        flights
            .iter()
            .all(|one| one.leaves_ns < one.arrives_ns && one.arrives_ns <= outcome.makespan_ns)
    );
    let to_the_right = |one: &&Flight| one.bytes == 1000 && one.to == (one.from + 1) % 4;
    assert_eq!(flights.iter().filter(to_the_right).count(), 4);
    let mut timeline = Timeline::new(vec![0, 1], 4).expect("two rows");
    flights
        .iter()
        .for_each(|flight| timeline.add_flight(*flight));
    let between = timeline.flights();
    let between = between["flights"].as_array().expect("a list");
    assert!(
        between.len() >= 5
            && between
                .chunks(5)
                .all(|one| one[0] != one[1] && one[0].as_u64() < Some(2))
    );
}

#[test]
fn a_timeline_has_the_slices_of_its_processes_alone() {
    let (_, outcome, slices) = traced(4);
    let mut timeline = Timeline::new(vec![3, 1, 3], 4).expect("two rows");
    slices.iter().for_each(|slice| timeline.add(*slice));
    let rows = &data(&html("m", &outcome, &timeline))["timeline"];
    for (row, rank) in [1, 3].into_iter().enumerate() {
        assert_eq!(rows[row]["rank"], rank);
        assert!(rows[row]["cut"].is_null());
        let of_rank = slices.iter().filter(|slice| slice.process == rank);
        let expected: Vec<u64> = of_rank
            .filter(|slice| slice.end_ns > slice.begin_ns)
            .flat_map(|slice| [u64::from(slice.element), slice.begin_ns, slice.end_ns])
            .collect();
        assert!(expected.len() >= 9);
        assert_eq!(rows[row]["slices"], Value::from(expected));
    }
    assert_eq!(rows.as_array().map(Vec::len), Some(2));
    let error = Timeline::new(vec![0, 4], 4).expect_err("no such process");
    assert_eq!(
        error.to_string(),
        "cannot draw timeline of process 4: 4 processes, expected one from 0 to 3"
    );
    let error = Timeline::new((0..201).collect(), 1000).expect_err("too many");
    assert_eq!(error, TimelineError::TooManyRows { rows: 201 });
}

#[test]
fn a_timeline_says_from_when_on_it_has_no_more() {
    let (_, outcome, _) = traced(1);
    let mut timeline = Timeline::new(vec![0], 1).expect("a row");
    for i in 0..200_010 {
        timeline.add(Slice {
            process: 0,
            element: 0,
            begin_ns: 2 * i,
            end_ns: 2 * i + 1,
            wait_ns: 0,
        });
    }
    let rows = &data(&html("m", &outcome, &timeline))["timeline"];
    assert_eq!(rows[0]["slices"].as_array().map(Vec::len), Some(600_000));
    assert_eq!(rows[0]["cut"], 400_000);
}

#[test]
fn perfetto_is_json_with_every_slice() {
    let (program, _, slices) = traced(3);
    let mut text = Vec::new();
    let mut writer = Perfetto::new(&mut text, &program.elements, &program.name).expect("text");
    for slice in &slices {
        writer.slice(*slice).expect("text");
    }
    writer.finish().expect("text");
    let json: Value = serde_json::from_slice(&text).expect("JSON");
    let events = json["traceEvents"].as_array().expect("a list");
    assert_eq!(events.len(), slices.len() + 1);
    let compute = events
        .iter()
        .find(|event| event["name"] == "compute" && event["tid"] == 2);
    assert_eq!(compute.expect("a slice")["dur"], 300.0);
}

#[test]
fn paje_is_in_order_and_every_state_ends() {
    let (program, _, slices) = traced(3);
    let mut text = Vec::new();
    paje(&mut text, &program.elements, 3, &slices).expect("text");
    let text = String::from_utf8(text).expect("text");
    let mut last = 0.0;
    let mut open: BTreeMap<&str, i32> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with(['5', '6'])) {
        let words: Vec<_> = line.split(' ').collect();
        let at: f64 = words[1].parse().expect("a time");
        assert!(at >= last, "{line}");
        last = at;
        let depth = open.entry(words[3]).or_default();
        *depth += if words[0] == "5" { 1 } else { -1 };
        assert!((0..=1).contains(depth), "{line}");
    }
    assert_eq!(open.values().copied().collect::<Vec<_>>(), [0, 0, 0]);
}

/// The data of a page.
fn data(page: &str) -> Value {
    let begin = page.find("id=\"data\">").expect("data") + "id=\"data\">".len();
    let end = page[begin..].find("</script>").expect("an end");
    serde_json::from_str(&page[begin..begin + end]).expect("JSON")
}

#[test]
fn the_charts_are_one_file_with_all_data() {
    let (_, outcome, _) = traced(4);
    let page = html("a </script> model", &outcome, &Timeline::default());
    assert!(page.contains("<title>a &lt;/script&gt; model</title>"));
    assert!(
        !page.contains("http://") || page.matches("http://").count() == 1,
        "only SVG's namespace"
    );
    assert!(!page.contains("https://") && !page.contains("src=") && !page.contains("%DATA%"));
    let data = data(&page);
    assert_eq!(data["title"], "a </script> model");
    assert_eq!(data["makespan"], outcome.makespan_ns);
    assert_eq!(data["processes"].as_array().map(Vec::len), Some(4));
    let compute = &data["processes"][3]["elements"][0];
    assert_eq!(
        (&compute[0], &compute[1]),
        (&Value::from(1), &Value::from(400_000))
    );
}

#[test]
fn of_many_processes_some_are_shown_and_the_last_to_finish() {
    let (_, outcome, _) = traced(2500);
    let data = data(&html("m", &outcome, &Timeline::default()));
    let shown = data["processes"].as_array().expect("a list");
    assert!(shown.len() <= 1000 && shown.len() >= 999);
    assert_eq!(data["n_processes"], 2500);
    let finish = |one: &Value| one["finish"].as_u64();
    assert_eq!(
        shown.iter().filter_map(finish).max(),
        Some(outcome.makespan_ns)
    );
}

//! `simulate --records`: the records of the ranks of a simulated run agree with the simulation.

use std::collections::BTreeMap;
use std::fs;

use mastermind_tests::Scratch;
use serde_json::Value;

const MODEL: &str = r#"
[model]
name = "chain"
main = "Main"

[activities.Main]
flow = [
    { action = "read", cost = "ms(2)" },
    { loop = "steps", count = 5, body = [
        { send = "right", to = "process + 1 < processes ? process + 1 : none", bytes = 8000 },
        { recv = "left", from = "process > 0 ? process - 1 : none" },
        { action = "flux", cost = "us(100 + process)" },
    ] },
]
"#;

const RANKS: usize = 70;

fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("a document")
}

/// Calls and time of each element, over all ranks.
type Sums = BTreeMap<String, (u64, u64)>;

fn sums(rows: &Value, name: &str, ns: &str, times: f64) -> Sums {
    let rows = rows.as_array().expect("rows").iter();
    let number =
        |row: &Value, field: &str| (row[field].as_f64().expect(field) * times).round() as u64;
    let sums = rows.map(|row| {
        let name = row[name].as_str().expect("a name");
        let name = name.rsplit('.').next().unwrap_or(name).to_owned();
        (name, (number(row, "calls"), number(row, ns)))
    });
    sums.collect()
}

#[test]
fn ranks_have_the_calls_that_were_simulated() {
    let scratch = Scratch::new();
    scratch.write("chain.toml", MODEL);
    scratch.write("machine.toml", "[nodes]\nprocessors = 16\n");
    let simulate = [
        "simulate",
        "chain.toml",
        "--machine",
        "machine.toml",
        "--ranks",
        "70",
        "--json",
    ];
    let simulated = document(
        &scratch
            .mastermind(&[&simulate[..], &["--records", "records"]].concat())
            .well(),
    );
    let elements = sums(&simulated["elements"], "name", "total_ns", 1.0);
    let profile = scratch.mastermind(&["profile", "records", "--json"]).well();
    let rows = document(&profile);
    assert_eq!(rows["ranks"], RANKS);
    let rows = sums(&rows["rows"], "name", "inclusive_ns", RANKS as f64);
    for (name, (calls, ns)) in &elements {
        assert_eq!(rows[name], (*calls, *ns), "{name}");
    }
    let all_ns: u64 = simulated["processes"]
        .as_array()
        .expect("processes")
        .iter()
        .map(|process| process["finish_ns"].as_u64().expect("a time"))
        .sum();
    assert_eq!(rows["main"], (RANKS as u64, all_ns));
    let info = document(&scratch.mastermind(&["info", "records", "--json"]).well());
    assert_eq!(info["hosts"].as_array().expect("hosts").len(), 5);
    assert_eq!(
        fs::read_dir(scratch.path("records"))
            .expect("a folder")
            .count(),
        2
    );
    scratch
        .mastermind(&["fit", "records", "-o", "models.json"])
        .well();
    scratch
        .mastermind(&["report", "records", "-o", "report.html"])
        .well();
    // Over records nothing is written; the same as logs says the same.
    let error = scratch
        .mastermind(&[&simulate[..], &["--records", "records"]].concat())
        .error();
    assert!(error.contains("of another run"), "{error}");
    fs::remove_dir_all(scratch.path("records")).expect("a folder");
    scratch
        .mastermind(&[&simulate[..], &["--records", "records", "--loose"]].concat())
        .well();
    assert_eq!(
        fs::read_dir(scratch.path("records"))
            .expect("a folder")
            .count(),
        RANKS
    );
    assert_eq!(
        scratch.mastermind(&["profile", "records", "--json"]).well(),
        profile
    );
    scratch.mastermind(&["pack", "records"]).well();
    assert_eq!(
        fs::read_dir(scratch.path("records"))
            .expect("a folder")
            .count(),
        5
    );
    assert_eq!(
        scratch.mastermind(&["profile", "records", "--json"]).well(),
        profile
    );
}

//! The Python package: the notebooks run, the table equals that of the command line, missing parts are reported, wrong
//! use is one clear error.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, thread};

use mastermind_records::Run;
use mastermind_tests::{Scratch, bin_dir, mastermind, mpis_with, python_package, root, succeeds};
use serde_json::Value;

/// Executes the code of a notebook as a kernel would. Tags of a cell name the packages it needs beyond the standard
/// library.
const RUNNER: &str = r#"
import importlib.util, json, subprocess, sys

def shell(command):
    subprocess.run(command, shell=True, check=True)

names = {"shell": shell}
for cell in json.load(open(sys.argv[1]))["cells"]:
    needs = [tag.removeprefix("needs:") for tag in cell["metadata"].get("tags", [])]
    missing = [name for name in needs if importlib.util.find_spec(name) is None]
    if cell["cell_type"] != "code" or missing:
        continue
    code = [f"shell({line[1:].rstrip()!r})\n" if line.startswith("!") else line for line in cell["source"]]
    exec(compile("".join(code), cell["id"], "exec"), names)
"#;

/// A folder with the package and the examples; none where there is no Python.
fn package() -> Option<Scratch> {
    let scratch = Scratch::new();
    symlink(root().join("examples"), scratch.path("examples")).unwrap();
    python_package(&scratch).then_some(scratch)
}

fn python(scratch: &Scratch) -> Command {
    let folder = scratch.path("");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("python3");
    command
        .current_dir(&folder)
        .env("PYTHONPATH", &folder)
        .env("PATH", format!("{}:{path}", bin_dir().display()))
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

/// The output of a script, as JSON.
fn asked(scratch: &Scratch, script: &str) -> Value {
    let script = format!("import json, mastermind\n{script}");
    let output = succeeds(python(scratch).args(["-W", "error", "-c", &script]));
    serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error}: {output}"))
}

fn notebook(name: &str) {
    let Some(scratch) = package() else { return };
    let path = root().join("mastermind/python/notebooks").join(name);
    let needs: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let needs = needs["metadata"]["mastermind"]["needs"].to_string();
    if needs.contains("mpi") && mpis_with("mpicc").is_empty() {
        return;
    }
    succeeds(python(&scratch).args(["-c", RUNNER]).arg(path));
}

#[test]
fn the_notebook_of_the_application_scientist() {
    notebook("application.ipynb");
}

#[test]
fn the_notebook_of_the_component_author() {
    notebook("component.ipynb");
}

#[test]
fn the_notebook_of_the_performance_engineer() {
    notebook("engineer.ipynb");
}

/// A short run of the shock tube, in `records`.
fn recorded(scratch: &Scratch) {
    let run = ["run", "examples/sod/sod.toml", "--records", "records"];
    let short = ["--set", "driver.max_steps=10"];
    mastermind(&[&run[..], &short].concat(), &scratch.path(""));
}

#[test]
fn the_table_is_that_of_the_command_line() {
    let Some(scratch) = package() else { return };
    recorded(&scratch);
    let csv = mastermind(
        &["export", "records", "--format", "csv", "-o", "-"],
        &scratch.path(""),
    );
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let names: Vec<_> = rows.headers().unwrap().iter().map(str::to_owned).collect();
    let rows: Vec<_> = rows.records().map(Result::unwrap).collect();
    let table = asked(
        &scratch,
        "print(json.dumps(mastermind.open('records').records().to_dict()))",
    );
    assert!(rows.len() > 1000);
    for (column, name) in names.iter().enumerate() {
        let values = table[name].as_array().unwrap();
        assert_eq!(values.len(), rows.len(), "{name}");
        for (row, value) in rows.iter().zip(values) {
            let text = match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(row[column], text, "{name}");
        }
    }
    assert_eq!(table.as_object().unwrap().len(), names.len());
}

#[test]
fn columns_methods_and_ranks_that_are_wanted() {
    let Some(scratch) = package() else { return };
    recorded(&scratch);
    let found = asked(
        &scratch,
        "r = mastermind.open('records')
all = r.records(['method', 'axis', 'q', 'wall_ns']).to_dict()
some = r.records(['wall_ns', 'axis'], methods=['flux.compute', 'states.states.compute'], ranks=[0]).to_dict()
wanted = [i for i, m in enumerate(all['method']) if m == 'compute']
print(json.dumps([list(some), some['wall_ns'] == [all['wall_ns'][i] for i in wanted], some['axis'] == [all['axis'][i] for i in wanted],
  len(r.records(ranks=[7]).to_dict()['rank']), r.records().columns == list(r.records().to_dict()), len(some['axis'])]))",
    );
    let expected = serde_json::json!([["wall_ns", "axis"], true, true, 0, true, 320]);
    assert_eq!(found, expected);
}

#[test]
fn rows_that_meet_conditions() {
    let Some(scratch) = package() else { return };
    recorded(&scratch);
    let found = asked(
        &scratch,
        "import operator
r = mastermind.open('records')
names = ['rank', 'method', 'axis', 'q', 'wall_ns', 'mpi_ns', 'parent_seq', 'failed', 'callpath']
all = r.records(names).to_dict()
rows = list(zip(*all.values()))
middle = sorted(all['wall_ns'])[len(rows) // 2]
tests = {'==': operator.eq, '!=': operator.ne, '<': operator.lt, '<=': operator.le, '>': operator.gt, '>=': operator.ge,
         'in': lambda a, b: a in b, 'not in': lambda a, b: a not in b}
asked = [[('wall_ns', '>', middle)], [('wall_ns', '>=', middle + 0.5), ('axis', '==', 'y')], [('q', 'in', [1620, 7])], [('axis', '!=', 'x')],
         [('method', 'not in', ['compute', 'fill'])], [('rank', '>=', 1)], [('parent_seq', '<', 20)], [('failed', '==', False), ('q', '>=', 1620)], [('q', '<=', 1620)],
         [('callpath', '==', all['callpath'][3])], [('mpi_ns', '<', 5)]]
checks = []
for conditions in asked:
    some = list(zip(*r.records(names, where=conditions).to_dict().values()))
    def meets(row, condition):
        value = row[names.index(condition[0])]
        return value is not None and tests[condition[1]](value, condition[2])
    expected = [row for row in rows if not [c for c in conditions if not meets(row, c)]]
    checks.append([some == expected, 0 < len(some) < len(rows)])
print(json.dumps(checks))",
    );
    let found = found.as_array().unwrap();
    assert!(found.iter().all(|checks| checks[0] == true), "{found:?}");
    // Each of them distinguishes rows, with two exceptions: no rank has a higher number than the only one, and nothing
    // was measured in MPI.
    assert_eq!(
        found.iter().filter(|checks| checks[1] == true).count(),
        9,
        "{found:?}"
    );
}

#[test]
fn predictions_are_those_of_the_command_line() {
    let Some(scratch) = package() else { return };
    let run = ["run", "examples/sweep/sweep.toml", "--records", "records"];
    let short = [
        "--set",
        "driver.largest=4000",
        "--set",
        "driver.repetitions=3",
    ];
    mastermind(&[&run[..], &short].concat(), &scratch.path(""));
    mastermind(&["fit", "records", "-o", "models.json"], &scratch.path(""));
    let asked = asked(
        &scratch,
        "m = mastermind.open('records').fit()
m.save('saved.json')
f = m.of('flux.compute')[0]
p = f.predict(q=[1000, 3000.0], **f.mode)
print(json.dumps([p, f.mode, mastermind.load_models('saved.json').to_dict() == mastermind.load_models('models.json').to_dict()]))",
    );
    assert_eq!(asked[2], true);
    for (place, q) in ["1000", "3000"].iter().enumerate() {
        let mode: Vec<_> = asked[1].as_object().unwrap().iter().collect();
        let mode: String = mode
            .iter()
            .map(|(k, v)| format!(",{k}={}", v.as_str().unwrap()))
            .collect();
        let at = format!("q={q}{mode}");
        let words = [
            "predict",
            "models.json",
            "--method",
            "flux.compute",
            "--at",
            &at,
            "--json",
        ];
        let prediction: Value =
            serde_json::from_str(&mastermind(&words, &scratch.path(""))).unwrap();
        for (key, column) in [
            ("value_s", "value"),
            ("lower_s", "lower"),
            ("upper_s", "upper"),
        ] {
            assert_eq!(prediction[key], asked[0][column][place], "{key} at {at}");
        }
    }
}

#[test]
fn what_a_run_lacks_is_a_warning() {
    let Some(scratch) = package() else { return };
    recorded(&scratch);
    let log = fs::read_dir(scratch.path("records")).unwrap().flatten();
    let log = log
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|e| e == "mmr"));
    cut(&log.expect("a log"));
    let script = "import warnings, mastermind
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter('always')
    r = mastermind.open('records')
assert r.missing and len(warned) == len(r.missing) and warned[0].category is mastermind.IncompleteRun, (r.missing, warned)
assert len(r.records(['seq']).to_dict()['seq']) == len(r)";
    succeeds(python(&scratch).args(["-c", script]));
}

#[test]
fn a_run_that_was_killed_says_so() {
    let Some(scratch) = package() else { return };
    let mut run = Command::new(bin_dir().join("mastermind"));
    run.args(["run", "examples/sod/sod.toml", "--records", "records"]);
    run.args(["--set", "driver.end_time=1000", "--set", "mesh.nx=4000"]);
    run.current_dir(scratch.path(""));
    let mut run = run.stdout(Stdio::null()).spawn().unwrap();
    let has_begun = || Run::open(&scratch.path("records")).is_ok_and(|run| run.n_records() > 0);
    while !has_begun() {
        assert_eq!(run.try_wait().unwrap(), None, "the run ended");
        thread::yield_now();
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let script = "import warnings, mastermind
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter('always')
    r = mastermind.open('records')
assert r.missing[-1] == 'the run has not ended, or was killed' and len(warned) == len(r.missing), (r.missing, warned)";
    succeeds(python(&scratch).args(["-c", script]));
}

/// Takes the last tenth of a file away.
fn cut(path: &Path) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    let bytes = file.metadata().unwrap().len();
    file.set_len(bytes - bytes / 10).unwrap();
}

/// Runs of three sizes, two of each, and the same question to both.
#[test]
fn the_choice_is_that_of_the_command_line() {
    let Some(scratch) = package() else { return };
    let folder = scratch.path("");
    for (size, turn) in [(50, 1), (50, 2), (100, 1), (100, 2), (200, 1), (200, 2)] {
        let records = format!("runs/{size}-{turn}");
        let cells = format!("mesh.nx={size}");
        let run = ["run", "examples/sod/sod.toml", "--records", &records];
        let short = ["--set", "driver.max_steps=10", "--set", &cells];
        mastermind(&[&run[..], &short].concat(), &folder);
    }
    let inputs = ["runs/50-1", "runs/100-1", "runs/200-1"];
    let fit = [&["fit"], &inputs[..], &["-o", "models.json"]].concat();
    mastermind(&fit, &folder);
    let choose = "choose examples/sod/sod.toml --models models.json --records runs/200-1 --runs runs --earlier runs --set mesh.nx=400 \
                  --best 2 --json";
    let choose: Vec<&str> = choose.split_whitespace().collect();
    let choice: Value = serde_json::from_str(&mastermind(&choose, &folder)).unwrap();
    let found = asked(
        &scratch,
        "m, r = mastermind.load_models('models.json'), mastermind.open('runs/200-1')
choice = mastermind.choose('examples/sod/sod.toml', m, r, runs='runs', earlier='runs', set={'mesh.nx': 400}, best=2)
errors = []
for options in [dict(set={'mesh.nx': 400}), dict(runs='nowhere'), dict(runs='runs', set={'mesh.n': 4}), dict(runs='runs', ranks=3)]:
    try:
        mastermind.choose('examples/sod/sod.toml', m, r, **options)
        errors.append('no error')
    except ValueError as error:
        errors.append(str(error))
print(json.dumps([choice, errors]))",
    );
    assert_eq!(found[0], choice);
    assert!(choice["interval_s"][0].is_f64(), "{choice}");
    let starts = [
        "cannot scale the workload by mesh.nx: no runs, expected a folder of runs",
        "cannot read runs in \"nowhere\": ",
        "cannot scale the workload by mesh.n: no such number among the run's settings",
        "cannot ",
    ];
    for (error, start) in found[1].as_array().unwrap().iter().zip(starts) {
        assert!(error.as_str().unwrap().starts_with(start), "{error}");
    }
}

#[test]
fn wrong_use_is_one_clear_error() {
    let Some(scratch) = package() else { return };
    recorded(&scratch);
    let errors = asked(
        &scratch,
        "r = mastermind.open('records')
messages = []
for act in [lambda: mastermind.open('nowhere'), lambda: r.records(['nothing']), lambda: r.records(['seq', 'seq']), lambda: r.records(methods=['flx.compute']),
            lambda: r.fit('nothing'), lambda: r.fit(metric='cycles'), lambda: r.fit(statistic='mode'), lambda: r.fit(formula='a *'),
            lambda: r.fit('flux.compute', modes='apart')[0].predict(p=1), lambda: r.fit('flux.compute', modes='apart')[0].predict(q=[1, 2], axis='z'),
            lambda: mastermind.load_models('records'), lambda: mastermind.choose('nowhere.toml', r.fit(), r),
            lambda: r.records(where=[('axis', '<', 'y')]), lambda: r.records(where=[('q', '=>', 1)]), lambda: r.records(where=[('z', '==', 1)])]:
    try:
        act()
        messages.append('no error')
    except (ValueError, OSError) as error:
        messages.append(str(error))
print(json.dumps(messages))",
    );
    let starts = [
        "cannot read records \"nowhere\"",
        "cannot read column \"nothing\": not there, expected one of run, rank",
        "cannot read column \"seq\": asked for twice",
        "cannot read \"flx.compute\": no calls recorded, expected one of",
        "cannot fit \"nothing\": no calls recorded",
        "cannot fit cycles: no counter of that name, expected wall, mpi, compute",
        "cannot take statistic \"mode\": unknown, expected clean, mean, median, min",
        "",
        "cannot predict \"hydro.GodunovFlux::flux.compute\"",
        "cannot predict \"hydro.GodunovFlux::flux.compute\"",
        "",
        "cannot read assembly \"nowhere.toml\"",
        "cannot select by column \"axis\": another comparison, expected equality with texts",
        "cannot take comparison \"=>\": unknown, expected ==, !=",
        "cannot read column \"z\": not there, expected one of run",
    ];
    for (error, start) in errors.as_array().unwrap().iter().zip(starts) {
        let error = error.as_str().unwrap();
        assert!(
            error.starts_with(start) && error != "no error",
            "{error}\nexpected {start}"
        );
    }
}

#[test]
fn a_table_is_fitted_as_by_the_command_line() {
    let Some(scratch) = package() else { return };
    let mut table = "n,rank,time\n".to_owned();
    for n in 1..=8 {
        for rank in 0..3 {
            table += &format!("{},{rank},{}us\n", 1000 * n, 20 * n + rank);
        }
    }
    scratch.write("sort.csv", &table);
    scratch.write("other.csv", table.replace("time", "took"));
    let found = asked(
        &scratch,
        "import warnings
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter('always')
    table = mastermind.open('sort.csv')
    other = mastermind.open('other.csv', time='took', params=['n'])
errors = []
for act in [lambda: mastermind.open('other.csv'), lambda: table.fit('nothing'), lambda: mastermind.open('sort.csv', unit='day')]:
    try:
        act()
    except ValueError as error:
        errors.append(str(error))
print(json.dumps([table.methods, len(warned), table.missing, table.fit('sort')[0].to_dict(), other.missing, errors]))",
    );
    scratch
        .mastermind(&["fit", "sort.csv", "-o", "m.json"])
        .well();
    let models: Value = serde_json::from_str(&scratch.read("m.json")).unwrap();
    assert_eq!(found[0], serde_json::json!(["sort"]));
    assert_eq!(found[1], found[2].as_array().unwrap().len());
    assert_eq!(found[3], models["models"][0]);
    assert_eq!(found[3]["method"], "sort");
    assert_eq!(found[4], serde_json::json!([]));
    let errors: Vec<_> = found[5].as_array().unwrap().iter().collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
}

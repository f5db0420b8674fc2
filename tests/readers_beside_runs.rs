//! A reader of records gets an answer or an error in words while runs write them, end, reach a limit or are killed: no
//! signal, and no number that the committed records do not have.
//!
//! `MASTERMIND_TEST_ROUNDS=200` makes it 200 rounds; a few suffice for each type of run.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mastermind_tests::{Ended, Scratch, bin_dir, mpis};
use serde_json::Value;

/// Calls by method, over all ranks.
type Calls = BTreeMap<String, u64>;

/// How the run of a round comes about and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It ends, having written no more than one chunk of records.
    Short,
    /// It goes from chunk to chunk, and ends.
    RollsOver,
    /// It reaches the limit on the records, and ends.
    Limited,
    /// Its files may not grow, as on a full disk.
    Cut,
    /// It is killed.
    Killed,
    /// It replaces existing records.
    Overwrites,
    /// It has two ranks under MPI, and ends.
    Ranks,
}

const KINDS: [Kind; 7] = [
    Kind::Short,
    Kind::RollsOver,
    Kind::Limited,
    Kind::Cut,
    Kind::Killed,
    Kind::Overwrites,
    Kind::Ranks,
];

impl Kind {
    /// Steps of the case study: some 210 calls each.
    fn steps(self) -> u32 {
        match self {
            Kind::Short | Kind::Overwrites => 10,
            Kind::RollsOver | Kind::Killed => 120,
            Kind::Limited | Kind::Cut | Kind::Ranks => 40,
        }
    }

    /// Whether all calls of an undisturbed run are there at its end.
    fn is_whole(self) -> bool {
        self != Kind::Killed
    }
}

/// The check of a reader's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Text.
    Text,
    /// One JSON document.
    Json,
    /// One JSON document with the calls of each method.
    Calls,
    /// Files of comma-separated values, a row a call.
    Rows,
    /// A file that is one JSON document.
    JsonFile,
    /// A picture.
    Picture,
    /// A file of models, which later readers take.
    Models,
}

/// A reader: its arguments. `R` stands for the records, `O` for an output path of its own, `A` for the assembly, `W`
/// for the records of a run that has ended, and `M` for models fitted to these.
const READERS: &[(Answer, &str)] = &[
    (Answer::Calls, "profile R --json"),
    (Answer::Text, "profile R"),
    (Answer::Text, "profile R --per-rank --top 5"),
    (Answer::Text, "profile R --summary"),
    (Answer::Json, "info R --json"),
    (Answer::Text, "info R"),
    (Answer::Models, "fit R -o O.json"),
    (Answer::Text, "fit R --metric mpi --method flux.compute"),
    (Answer::Text, "fit W R"),
    (Answer::Rows, "export R --format csv -o O"),
    (Answer::Text, "export R --format parquet -o O"),
    (Answer::Text, "export R --format extrap -o O"),
    (Answer::Text, "export R --format extrap-jsonl -o O"),
    (Answer::JsonFile, "export R --format perfetto -o O.json"),
    (
        Answer::Picture,
        "plot R --kind scatter --method flux.compute -o O.svg",
    ),
    (
        Answer::Picture,
        "plot R --kind mean --method flux.compute -o O.svg",
    ),
    (Answer::Picture, "plot R --kind comm -o O.svg"),
    (Answer::Picture, "plot R --kind graph -o O.svg"),
    (Answer::Json, "compare W R --json"),
    (Answer::Text, "compare R W"),
    (Answer::Json, "choose A --models M --records R --json"),
    (Answer::Text, "choose A --models M --records W --runs runs"),
    (Answer::Json, "predict M --against R --json"),
    (Answer::Json, "graph A --records R --format json"),
    (Answer::Picture, "graph A --records R --format svg -o O.svg"),
    (Answer::Text, "graph A --records R --models M"),
    (Answer::Text, "plan A --like R"),
];

/// A folder with an assembly, the records of a run that has ended, and models of these.
struct Workspace {
    scratch: Scratch,
    assembly: PathBuf,
    /// Calls of an undisturbed run, by number of steps.
    whole: BTreeMap<u32, Calls>,
}

impl Workspace {
    fn new() -> Self {
        let scratch = Scratch::new();
        let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 40");
        let assembly = scratch.example("shock/shock.toml", &[], &[edit]);
        let mut place = Workspace {
            scratch,
            assembly,
            whole: BTreeMap::new(),
        };
        fs::create_dir(place.scratch.path("runs")).expect("a folder");
        for steps in [10, 40, 120] {
            let records = format!("runs/whole{steps}");
            place.begin(Kind::Short, steps, &records).finish();
            let calls = place.calls(&records);
            place.whole.insert(steps, calls);
        }
        let fit = ["fit", "runs/whole40", "-o", "models.json"];
        place.scratch.mastermind(&fit).well();
        place
    }

    /// Starts a run that ends like this.
    fn begin(&self, kind: Kind, steps: u32, records: &str) -> Run {
        let limits = match kind {
            // Blocks of 512 bytes.
            Kind::Cut => "ulimit -f 600;",
            _ => "",
        };
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limits} exec \"$@\""), "sh"]);
        command.arg(bin_dir().join("mastermind"));
        command.arg("run").arg(&self.assembly);
        command.args(["--records", records, "--set"]);
        command.arg(format!("driver.max_steps={steps}"));
        match kind {
            Kind::Limited => command.args(["--records-limit", "64K"]),
            Kind::Overwrites => command.arg("--overwrite"),
            Kind::Ranks => command.args(["--ranks", "2"]),
            _ => &mut command,
        };
        let errors = self.scratch.path(&records.replace('/', "-"));
        let child = command
            .current_dir(self.scratch.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&errors).expect("a file"))
            .spawn();
        Run {
            child: child.expect("the binary"),
            errors,
        }
    }

    /// Calls of each method as `profile` has them.
    fn calls(&self, records: &str) -> Calls {
        let profile = self.scratch.mastermind(&["profile", records, "--json"]);
        calls(&serde_json::from_str(&profile.well()).expect("JSON"))
    }
}

struct Run {
    child: Child,
    errors: PathBuf,
}

impl Run {
    fn finish(&mut self) {
        let status = self.child.wait().expect("a child");
        let errors = fs::read_to_string(&self.errors).expect("a file");
        assert!(status.success(), "{status}: {errors}");
    }
}

fn calls(profile: &Value) -> Calls {
    let ranks = profile["ranks"].as_f64().expect("ranks");
    let rows = profile["rows"].as_array().expect("rows");
    let row = |row: &Value| {
        let name = row["name"].as_str().expect("a name").to_owned();
        // A mean over the ranks.
        let calls = row["calls"].as_f64().expect("calls") * ranks;
        (name, calls.round() as u64)
    };
    rows.iter().map(row).filter(|(_, n)| *n > 0).collect()
}

/// Whether no method has fewer calls than in `earlier`.
fn check_goes_on(reader: &str, earlier: &Calls, later: &Calls) {
    for (method, n) in earlier {
        let now = later.get(method).copied().unwrap_or(0);
        assert!(now >= *n, "{reader}: {now} calls of {method}, {n} before");
    }
}

/// Rows of the CSV files of a folder, by instance and method.
fn rows(folder: &Path) -> Calls {
    let mut rows = Calls::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if !name.ends_with(".csv") {
            continue;
        }
        // INSTANCE.PORT.METHOD.RANK.csv
        let parts: Vec<_> = name.split('.').collect();
        let [instance, _, method, ..] = parts[..] else {
            panic!("{name}");
        };
        let mut reader = csv::Reader::from_path(&path).expect("a file");
        for row in reader.records() {
            row.expect("a row");
            *rows.entry(format!("{instance}.{method}")).or_default() += 1;
        }
    }
    rows
}

/// One reader, run once: checks its answer.
///
/// # Returns
/// The calls that it reported, if it reports calls.
fn read(place: &Workspace, records: &str, number: usize) -> Option<Calls> {
    let (answer, words) = READERS[number % READERS.len()];
    let own = format!("out{number}");
    let assembly = place.assembly.display().to_string();
    let word = |word: &str| match word {
        "R" => records.into(),
        "W" => "runs/whole40".into(),
        "M" => "models.json".into(),
        "A" => assembly.clone(),
        other => match other.strip_prefix('O') {
            Some(rest) => own.clone() + rest,
            None => other.to_owned(),
        },
    };
    let words: Vec<String> = words.split(' ').map(word).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = place.scratch.mastermind(&words);
    match ended.code {
        Some(0) => {}
        // There is nothing to read yet, or too little.
        Some(1) => {
            assert!(
                ended.stderr.contains("error: cannot "),
                "{words:?}: {ended:#?}"
            );
            return None;
        }
        _ => panic!("{words:?}: {ended:#?}"),
    }
    let calls = check(answer, &words, &place.scratch.path(&own), &ended);
    for left in ["", ".json", ".svg"] {
        let path = place.scratch.path(&format!("{own}{left}"));
        let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
    }
    calls
}

fn check(answer: Answer, words: &[&str], own: &Path, ended: &Ended) -> Option<Calls> {
    let json = |text: &str| -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"))
    };
    let file = |ending: &str| fs::read_to_string(own.with_extension(ending)).expect("its file");
    match answer {
        Answer::Text => assert!(!ended.stdout.is_empty() || own.exists(), "{words:?}"),
        Answer::Json => drop(json(&ended.stdout)),
        Answer::Calls => return Some(calls(&json(&ended.stdout))),
        Answer::Rows => return Some(rows(own)),
        Answer::JsonFile => drop(json(&file("json"))),
        Answer::Models => drop(json(&file("json"))),
        Answer::Picture => {
            let picture = file("svg");
            assert!(picture.trim_end().ends_with("</svg>"), "{words:?}");
        }
    }
    None
}

/// Readers in a loop until the run has ended, and each once more.
fn round(place: &Workspace, kind: Kind, number: usize, next: &AtomicUsize) {
    let records = match kind {
        Kind::Overwrites => "runs/again".to_owned(),
        _ => format!("runs/r{number}"),
    };
    let mut run = place.begin(kind, kind.steps(), &records);
    let (has_ended, floor) = (AtomicBool::new(false), Mutex::new(Calls::new()));
    let answers = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !has_ended.load(Ordering::Relaxed) {
                    let reader = next.fetch_add(1, Ordering::Relaxed);
                    let before = floor.lock().expect("no panic").clone();
                    let Some(calls) = read(place, &records, reader) else {
                        continue;
                    };
                    if kind != Kind::Overwrites
                        && READERS[reader % READERS.len()].0 == Answer::Calls
                    {
                        check_goes_on("profile", &before, &calls);
                        *floor.lock().expect("no panic") = calls.clone();
                    }
                    answers.lock().expect("no panic").push((reader, calls));
                }
            });
        }
        // Readers end, however this does.
        let _end = End(&has_ended);
        if kind == Kind::Killed {
            let answers = next.load(Ordering::Relaxed) + number % 7;
            let is_read = || !floor.lock().expect("no panic").is_empty();
            wait(|| next.load(Ordering::Relaxed) > answers && is_read());
            run.child.kill().expect("a child");
            run.child.wait().expect("a child");
        } else {
            run.finish();
        }
    });
    let last = place.calls(&records);
    if kind.is_whole() && kind != Kind::Ranks {
        assert_eq!(last, place.whole[&kind.steps()], "round {number}, {kind:?}");
    }
    for (reader, calls) in answers.into_inner().expect("no panic") {
        let reader = READERS[reader % READERS.len()].1;
        if kind != Kind::Overwrites {
            check_goes_on(reader, &calls, &last);
        }
    }
    if kind != Kind::Overwrites {
        fs::remove_dir_all(place.scratch.path(&records)).expect("a folder");
    }
}

/// Sets the flag when it goes out of scope.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns when it is so.
fn wait(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never is");
        thread::yield_now();
    }
}

#[test]
fn readers_answer_while_runs_write_and_end() {
    let rounds = match env::var("MASTERMIND_TEST_ROUNDS") {
        Ok(rounds) => rounds.parse().expect("a number"),
        Err(_) => KINDS.len(),
    };
    let place = Workspace::new();
    let next = AtomicUsize::new(0);
    let has_mpi = !mpis().is_empty();
    for number in 0..rounds {
        let kind = KINDS[number % KINDS.len()];
        if kind != Kind::Ranks || has_mpi {
            round(&place, kind, number, &next);
        }
    }
    let n_read = next.into_inner();
    println!("{rounds} rounds, {n_read} answers");
    // Each at least once.
    for reader in n_read..READERS.len() {
        read(&place, "runs/whole40", reader);
    }
}

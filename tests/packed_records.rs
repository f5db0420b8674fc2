//! `mastermind pack`: every verb prints the same for packed records as for logs, and a damaged container is an error.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mastermind_tests::{Scratch, bin_dir, compile_mpi, mpirun, mpis_with, output, root};
use serde_json::Value;

/// The verbs that read records `R`; `O` is an output, `A` an assembly.
const READERS: &[&str] = &[
    "profile R",
    "profile R --json",
    "profile R --per-rank --json",
    "profile R --mpi",
    "profile R --mpi --json",
    "profile R --matrix --json",
    "profile R --call-sites --json",
    "info R",
    "info R --json",
    "fit R",
    "fit R --metric mpi -o O.json",
    "predict O.json --against R --json",
    "compare R R --json",
    "export R --format csv -o -",
    "export R --format parquet -o O.parquet",
    "export R --format perfetto -o O.json",
    "export R --format extrap -o O.extrap",
    "plot R --kind comm -o O.svg",
    "report R -o O.html",
    "convert R -o O.toml",
    "graph A --records R --format json",
];

/// The exit code, output and files of each verb.
type Said = BTreeMap<String, (Option<i32>, String, String, Vec<(PathBuf, Vec<u8>)>)>;

fn contents(path: &Path, into: &mut Vec<(PathBuf, Vec<u8>)>) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder");
        let mut paths: Vec<_> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        paths.sort();
        paths.iter().for_each(|path| contents(path, into));
    } else {
        into.push((path.into(), fs::read(path).expect("a file")));
    }
}

fn said(scratch: &Scratch, assembly: Option<&str>) -> Said {
    let mut all = Said::new();
    for reader in READERS {
        if reader.contains(" A ") && assembly.is_none() {
            continue;
        }
        let out = scratch.path("out");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).expect("a folder");
        let words = reader.split(' ').map(|word| match word {
            "R" => "records".to_owned(),
            "A" => assembly.unwrap_or_default().to_owned(),
            word => word.replace("O.", "out/o."),
        });
        let words: Vec<_> = words.collect();
        let ended = scratch.mastermind(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let mut written = Vec::new();
        contents(&out, &mut written);
        all.insert(
            (*reader).into(),
            (ended.code, ended.stdout, ended.stderr, written),
        );
    }
    all
}

/// Packs the records of a scratch folder and compares the outputs of the verbs.
fn pack_and_compare(scratch: &Scratch, assembly: Option<&str>) -> Value {
    let before = said(scratch, assembly);
    let profile = &before["profile R --json"];
    assert_eq!(profile.0, Some(0), "{profile:?}");
    let packed = scratch.mastermind(&["pack", "records", "--json"]).well();
    let packed: Value = serde_json::from_str(&packed).expect("a document");
    let names = fs::read_dir(scratch.path("records")).expect("a folder");
    let names = names.map(|entry| {
        entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("UTF-8")
    });
    let records: Vec<_> = names
        .filter(|name| name.ends_with(".mmr") || name.ends_with(".mmp"))
        .collect();
    assert_eq!(records, ["pack-rank0000.mmp"]);
    for (reader, after) in said(scratch, assembly) {
        assert!(
            after == before[&reader],
            "{reader}: {after:#?}\nbefore {:#?}",
            before[&reader]
        );
    }
    packed
}

fn number(document: &Value, field: &str) -> f64 {
    document[field].as_f64().expect(field)
}

#[test]
fn a_run_on_one_rank() {
    let scratch = Scratch::new();
    let assembly = scratch
        .example("sod/sod.toml", &[], &[])
        .display()
        .to_string();
    let run = [
        "run",
        &assembly,
        "--records",
        "records",
        "--set",
        "driver.max_steps=60",
    ];
    scratch.mastermind(&run).well();
    let packed = pack_and_compare(&scratch, Some(&assembly));
    assert!(number(&packed, "records") > 6000.0);
    let error = scratch.mastermind(&run).error();
    assert!(error.contains("of another run there"), "{error}");
    scratch
        .mastermind(&[&run[..], &["--overwrite"]].concat())
        .well();
    assert!(!scratch.path("records/pack-rank0000.mmp").exists());
}

#[test]
fn programs_under_mpi() {
    for mpi in mpis_with("mpicc") {
        for (source, ranks) in [("events.c", 2), ("ring.c", 4), ("killed.c", 2)] {
            let scratch = Scratch::new();
            let program = compile_mpi(mpi, source, &[], &[], &scratch.path(""));
            let mut command = mpirun(mpi, ranks, &scratch.path(""));
            command.arg(bin_dir().join("mastermind"));
            command.args(["wrap", "--mpi-events", "--records", "records", "--"]);
            let ended = scratch.run(command.arg(&program));
            assert_eq!(ended.code == Some(0), source != "killed.c", "{ended:?}");
            pack_and_compare(&scratch, None);
        }
    }
}

/// Records the calls of a program of a C library.
fn record_sums(scratch: &Scratch, program: &Path) {
    let fixture = |name: &str| root().join("tests/fixtures/libraries").join(name);
    let mut cc = Command::new("cc");
    cc.args([
        "-O2",
        "-shared",
        "-fPIC",
        "-DWHOLE",
        "-DNAME=\"one\"",
        "-DFACTOR=1",
        "-o",
    ]);
    output(cc.arg(scratch.path("libsums.so")).arg(fixture("sums.c")));
    let built = scratch.path("program");
    let mut cc = Command::new("cc");
    cc.arg("-o")
        .arg(&built)
        .arg(program)
        .arg("-I")
        .arg(fixture(""));
    cc.arg("-L")
        .arg(scratch.path(""))
        .args(["-lsums", "-Wl,-rpath,$ORIGIN"]);
    output(&mut cc);
    let (header, markup) = (fixture("sums.h"), fixture("sums.toml"));
    let proxy = [
        "proxy",
        &header.display().to_string(),
        "--markup",
        &markup.display().to_string(),
        "-o",
        "proxies",
    ];
    scratch.mastermind(&proxy).well();
    scratch.mastermind(&[
        "wrap",
        "--proxy",
        "proxies/libsums_proxy.so",
        "--records",
        "records",
        "--",
        &built.display().to_string(),
    ]);
}

#[test]
fn a_library_behind_a_proxy() {
    let scratch = Scratch::new();
    record_sums(&scratch, &root().join("tests/fixtures/libraries/program.c"));
    pack_and_compare(&scratch, None);
}

#[test]
fn a_program_that_is_killed_among_its_calls() {
    let scratch = Scratch::new();
    let program = scratch.write(
        "killed.c",
        "#include <signal.h>\n#include \"sums.h\"\n\
         int main(void) {\n\
           double values[64] = {1};\n\
           for (int i = 0; i < 5000; i++) sum_values(1 + i % 64, values);\n\
           raise(SIGKILL);\n\
         }\n",
    );
    record_sums(&scratch, &program);
    let packed = pack_and_compare(&scratch, None);
    assert_eq!(number(&packed, "records"), 5000.0);
}

#[test]
fn a_damaged_container_is_an_error() {
    let scratch = Scratch::new();
    let assembly = scratch
        .example("sod/sod.toml", &[], &[])
        .display()
        .to_string();
    let run = [
        "run",
        &assembly,
        "--records",
        "records",
        "--set",
        "driver.max_steps=2",
    ];
    scratch.mastermind(&run).well();
    scratch.mastermind(&["pack", "records"]).well();
    let path = scratch.path("records/pack-rank0000.mmp");
    let whole = fs::read(&path).expect("a container");
    let cut = whole[..whole.len() / 2].to_vec();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        bytes
    };
    for bytes in [
        cut,
        Vec::new(),
        flipped(0),
        flipped(8),
        flipped(300),
        flipped(whole.len() - 40),
    ] {
        fs::write(&path, bytes).expect("a file");
        for reader in [
            "profile records --json",
            "fit records",
            "info records",
            "pack records",
        ] {
            let words: Vec<_> = reader.split(' ').collect();
            let ended = scratch.mastermind(&words);
            if reader == "pack records" && ended.code == Some(0) {
                // Nothing is loose; logs of a container are checked where they are read.
                continue;
            }
            let error = ended.error();
            assert!(
                error.contains("records/pack-rank0000.mmp"),
                "{reader}: {error}"
            );
        }
    }
}

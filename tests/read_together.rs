//! Verbs that read records under a launcher: the ranks share the logs, and the first one prints the same as one
//! process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mastermind_tests::{Ended, Scratch, bin_dir, compile_mpi, mpirun, mpis_with};

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

/// Makes the records of a simulated run of 70 ranks, with some logs next to the containers as well.
fn simulate(scratch: &Scratch) {
    scratch.write("chain.toml", MODEL);
    scratch.write("machine.toml", "[nodes]\nprocessors = 16\n");
    let simulate = "simulate chain.toml --machine machine.toml --ranks 70 --json --records";
    let simulate: Vec<_> = simulate.split(' ').collect();
    scratch
        .mastermind(&[&simulate[..], &["records"]].concat())
        .well();
    scratch
        .mastermind(&[&simulate[..], &["loose", "--loose"]].concat())
        .well();
    for rank in [0, 31, 64, 69] {
        let name = format!("rank{rank:04}-thread00.mmr");
        let (from, to) = (
            scratch.path("loose").join(&name),
            scratch.path("records").join(&name),
        );
        fs::copy(from, to).expect("a log");
    }
}

fn on_ranks(scratch: &Scratch, mpi: &str, ranks: u32, words: &[&str]) -> Ended {
    let mut command = mpirun(mpi, ranks, &scratch.path(""));
    scratch.run(command.arg(bin_dir().join("mastermind")).args(words))
}

/// Compares the output of verbs on one process and on several, and their files in `out`.
fn check(scratch: &Scratch, mpi: &str, verbs: &[&str]) {
    for verb in verbs {
        let words: Vec<_> = verb.split(' ').collect();
        let out = scratch.path("out");
        let _ = fs::remove_file(&out);
        let alone = scratch.mastermind(&words);
        let written = fs::read(&out).ok();
        for ranks in [2, 3, 4] {
            let _ = fs::remove_file(&out);
            let together = on_ranks(scratch, mpi, ranks, &words);
            // A launcher adds words of its own where a rank fails.
            let is_said = match alone.code {
                Some(0) => together.stderr == alone.stderr,
                _ => together.stderr.contains(alone.stderr.trim_end()),
            };
            assert!(
                together.code == alone.code && together.stdout == alone.stdout && is_said,
                "{verb}, {ranks} ranks of {mpi}: {together:#?}\nalone {alone:#?}"
            );
            assert_eq!(fs::read(&out).ok(), written, "{verb}, {ranks} of {mpi}");
        }
    }
}

#[test]
fn simulated_ranks_packed_and_loose() {
    let scratch = Scratch::new();
    simulate(&scratch);
    for mpi in mpis_with("mpicc") {
        let verbs = [
            "profile records",
            "profile records --json",
            "profile records --per-rank --json",
            "profile records --spread",
            "compare records loose",
            "compare records loose --json",
            "info records",
            "info records --json",
            "fit records",
            "fit records --json --statistic median",
            "fit records loose --metric mpi -o out",
            "fit records --by ranks --json",
            "report records -o out",
        ];
        check(&scratch, mpi, &verbs);
    }
}

#[test]
fn programs_under_mpi() {
    for mpi in mpis_with("mpicc") {
        for source in ["events.c", "killed.c"] {
            let scratch = Scratch::new();
            let program = compile_mpi(mpi, source, &[], &[], &scratch.path(""));
            let program = program.display().to_string();
            let wrap = "wrap --mpi-events --records records --";
            let wrap: Vec<_> = wrap.split(' ').chain([&*program]).collect();
            let ended = on_ranks(&scratch, mpi, 2, &wrap);
            assert_eq!(ended.code == Some(0), source != "killed.c", "{ended:#?}");
            let of_program = format!("profile records:{source} --per-rank");
            let verbs = [
                "profile records --json",
                "info records --json",
                "compare records records",
                &of_program,
                "fit records --metric mpi --json",
                "fit records --metric inclusive --by ranks",
                "report records -o out",
            ];
            check(&scratch, mpi, &verbs);
        }
    }
}

/// Names and contents of the files below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => {
                let contents = fs::read(&path).expect("a file");
                all.insert(path, contents);
            }
        }
    }
    all
}

#[test]
fn exports_by_rank_are_the_same() {
    let scratch = Scratch::new();
    simulate(&scratch);
    for mpi in mpis_with("mpicc") {
        for options in ["--format csv", "--format parquet --by-method"] {
            let line = format!("export records {options} -o tables --force");
            let words: Vec<_> = line.split(' ').collect();
            let printed = scratch.mastermind(&words).well();
            let alone = files(&scratch.path("tables"));
            assert!(alone.len() > 70, "{printed}");
            for ranks in [2, 4] {
                let together = on_ranks(&scratch, mpi, ranks, &words).well();
                assert_eq!(together, printed, "{line}, {ranks} ranks of {mpi}");
                let is_same = files(&scratch.path("tables")) == alone;
                assert!(is_same, "{line}, {ranks} ranks of {mpi}");
            }
            fs::remove_dir_all(scratch.path("tables")).expect("a folder");
        }
        // Into one file: by one rank, which says so.
        let line = ["export", "records", "-o", "calls.csv", "--force"];
        scratch.mastermind(&line).well();
        let alone = fs::read(scratch.path("calls.csv")).expect("a table");
        let together = on_ranks(&scratch, mpi, 2, &line);
        assert_eq!(together.code, Some(0), "{together:#?}");
        assert_eq!(together.stderr.matches("rank 0 of 2 alone").count(), 1);
        let again = fs::read(scratch.path("calls.csv")).expect("a table");
        assert!(again == alone, "{mpi}");
    }
}

#[test]
fn what_is_wrong_is_said_once() {
    let scratch = Scratch::new();
    simulate(&scratch);
    for mpi in mpis_with("mpicc") {
        for verb in [
            "profile nowhere",
            "profile machine.toml",
            "fit records nowhere",
            "fit records --metric cycles",
            "fit records --by nothing",
            "export records --format csv -o chain.toml",
            "report nowhere -o out",
        ] {
            let words: Vec<_> = verb.split(' ').collect();
            let error = scratch.mastermind(&words).error();
            let together = on_ranks(&scratch, mpi, 3, &words).error();
            let found = together.matches(error.trim_end()).count();
            assert_eq!(found, 1, "{verb}, {mpi}: {together}\nalone {error}");
        }
        // A container that cannot be read.
        let name = "records/pack-rank0064.mmp";
        let whole = fs::read(scratch.path(name)).expect("a container");
        fs::write(scratch.path(name), &whole[..whole.len() / 2]).expect("a file");
        check(&scratch, mpi, &["profile records --json", "fit records"]);
        let warned = scratch.mastermind(&["profile", "records"]).stderr;
        assert!(warned.contains("pack-rank0064.mmp"), "{warned}");
        fs::write(scratch.path(name), whole).expect("a file");
    }
}

#[test]
fn a_verb_that_is_not_parallel_runs_on_one_rank() {
    let scratch = Scratch::new();
    simulate(&scratch);
    for mpi in mpis_with("mpicc") {
        for verb in ["list", "profile records --tree --json"] {
            let words: Vec<_> = verb.split(' ').collect();
            let alone = scratch.mastermind(&words);
            let together = on_ranks(&scratch, mpi, 3, &words);
            assert_eq!(together.code, Some(0), "{together:#?}");
            assert_eq!(together.stdout, alone.stdout, "{verb}, {mpi}");
            let notes = together.stderr.matches("rank 0 of 3 alone").count();
            assert_eq!(notes, 1, "{together:#?}");
        }
    }
}

#[test]
fn what_a_script_of_a_rank_starts_reads_alone() {
    let scratch = Scratch::new();
    simulate(&scratch);
    let alone = scratch.mastermind(&["profile", "records", "--json"]).well();
    for mpi in mpis_with("mpicc") {
        let line = format!(
            "{} profile records --json; exit 0",
            bin_dir().join("mastermind").display()
        );
        let mut command = mpirun(mpi, 2, &scratch.path(""));
        let both = scratch.run(command.args(["sh", "-c", &line])).well();
        assert_eq!(both.len(), 2 * alone.len(), "{both}");
    }
}

//! `profile --mpi` of wrapped programs: ranks, functions, sizes, call sites, phases; failed calls and killed programs; under each MPI
//! of this machine.

use std::process::Command;

use mastermind_tests::{Scratch, bin_dir, compile_mpi, mpi_fixture, mpirun, mpis_with};
use serde_json::Value;

fn wrapped(mpi: &str, program: &std::path::Path, options: &[&str], scratch: &Scratch) -> Command {
    let mut command = mpirun(mpi, 2, &scratch.path(""));
    command.arg(bin_dir().join("mastermind"));
    command.arg("wrap").args(options).arg("--").arg(program);
    command
}

fn shown(scratch: &Scratch, arguments: &[&str]) -> Value {
    let arguments = [&["profile"], arguments, &["--json"]].concat();
    serde_json::from_str(&scratch.mastermind(&arguments).well()).expect("JSON")
}

fn rows<'a>(report: &'a Value, table: &str) -> &'a Vec<Value> {
    report[table].as_array().expect("rows")
}

fn named<'a>(rows: &'a [Value], name: &str) -> &'a Value {
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("{name} in {rows:?}"))
}

fn line_of(part: &str) -> usize {
    let source = std::fs::read_to_string(mpi_fixture("phases.c")).expect("a source");
    1 + source
        .lines()
        .position(|line| line.contains(part))
        .expect(part)
}

#[test]
fn each_table_of_a_wrapped_program() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let options = ["-g", "-O1", "-fno-inline"];
        let program = compile_mpi(mpi, "phases.c", &options, &[], &scratch.path(""));
        let call_sites = ["--call-sites", "--records", "sites"];
        scratch
            .run(&mut wrapped(mpi, &program, &call_sites, &scratch))
            .well();
        let report = shown(&scratch, &["sites", "--mpi"]);
        for rank in rows(&report, "ranks") {
            let ns = |name: &str| rank[name].as_u64().expect(name);
            assert!(
                ns("mpi_ns") > 0 && ns("mpi_ns") < ns("application_ns"),
                "{rank}"
            );
            assert!(ns("start_and_end_ns") > 0, "{rank}");
            let percent = 100.0 * ns("mpi_ns") as f64 / ns("application_ns") as f64;
            let reported = rank["mpi_percent"].as_f64().expect("percent");
            assert!((reported - percent).abs() < 1e-9, "{rank}");
            // Seven barriers, six messages, six that fail, the handler, and the start and end.
            assert_eq!((ns("calls"), ns("failed")), (22, 6), "{mpi}: {rank}");
        }
        let times = rows(&report, "ranks").iter();
        let times: Vec<_> = times
            .filter_map(|rank| rank["application_ns"].as_f64())
            .collect();
        let over_ranks = |name: &str| report["application_over_ranks"][name].as_f64().expect(name);
        assert_eq!(
            over_ranks("max_ns"),
            times.iter().copied().fold(0.0, f64::max),
            "{mpi}"
        );
        assert_eq!(
            over_ranks("min_ns"),
            times.iter().copied().fold(f64::INFINITY, f64::min),
            "{mpi}"
        );
        functions(&report, mpi);
        sites(&scratch, &report, mpi);
        stacks(mpi, &program, &scratch);
        phases(&report, mpi);
        let text = scratch.mastermind(&["profile", "sites"]).well();
        let first = text.lines().next().expect("a line");
        assert!(
            first.contains("RANK") && first.contains("APPLICATION ms"),
            "{text}"
        );

        let sizes_of_records = sizes(&report);

        // Without records of calls: the sums.
        let plain = ["--records", "plain"];
        scratch
            .run(&mut wrapped(mpi, &program, &plain, &scratch))
            .well();
        let report = shown(&scratch, &["plain", "--mpi"]);
        assert_eq!(named(rows(&report, "functions"), "MPI_Send")["failed"], 12);
        assert_eq!(
            named(rows(&report, "functions"), "MPI_Barrier")["failed"],
            0
        );
        phases(&report, mpi);
        assert!(!sizes_of_records.is_empty(), "{mpi}");
        assert_eq!(sizes(&report), sizes_of_records, "{mpi}");
        let compared = scratch
            .mastermind(&["compare", "plain", "sites", "--json"])
            .well();
        let compared: Value = serde_json::from_str(&compared).expect("JSON");
        let barrier = named(rows(&compared, "methods"), "MPI_Barrier()").clone();
        assert_eq!(barrier["first"]["calls"], 7.0);
        assert_eq!(barrier["second"]["calls"], 7.0);
    }
}

/// Messages and bytes of each function and class of size, in an order that does not depend on times.
fn sizes(report: &Value) -> Vec<String> {
    let fields = ["name", "from_bytes", "to_bytes", "messages", "bytes"];
    let rows = rows(report, "sizes").iter();
    let mut sizes: Vec<_> = rows
        .map(|row| format!("{:?}", fields.map(|field| &row[field])))
        .collect();
    sizes.sort();
    sizes
}

fn functions(report: &Value, mpi: &str) {
    let functions = rows(report, "functions");
    let send = named(functions, "MPI_Send");
    assert_eq!(send["calls"], 6 + 12, "{mpi}");
    let sizes = &send["sizes"];
    let sum_of = |name: &str| sizes[name].as_u64();
    assert_eq!(sum_of("messages"), Some(6), "{mpi}: {send}");
    assert_eq!(sum_of("bytes"), Some(70_000 + 100 + 1000), "{mpi}");
    assert_eq!(
        (sum_of("least_bytes"), sum_of("greatest_bytes")),
        (Some(10), Some(70_000))
    );
    assert_eq!(send["sent_percent"], 100.0);
    let received = named(functions, "MPI_Recv");
    assert_eq!(received["sizes"]["bytes"], 71_100);
    assert!(received["sent_percent"].is_null());
    // One of two ranks receives: all of the time is there.
    assert_eq!(received["over_ranks"]["imbalance"], 2.0);
    assert_eq!(received["over_ranks"]["cov"], 1.0);
    let times = |name: &str| received["recorded"][name].as_f64().expect(name);
    assert!(times("least_ns") <= times("ns") / 6.0 && times("ns") / 6.0 <= times("greatest_ns"));
    let share: f64 = functions
        .iter()
        .filter(|row| {
            !["MPI_Init", "MPI_Finalize"]
                .iter()
                .any(|name| row["name"] == *name)
        })
        .map(|row| row["mpi_percent"].as_f64().expect("percent"))
        .sum();
    assert!((share - 100.0).abs() < 1e-6, "{mpi}: {share}");
    let classes: Vec<_> = rows(report, "sizes")
        .iter()
        .filter(|row| row["name"] == "MPI_Send")
        .map(|row| {
            ["from_bytes", "to_bytes", "messages", "bytes"]
                .map(|name| row[name].as_u64().expect(name))
        })
        .collect();
    let expected = [
        [8, 15, 1, 10],
        [16, 31, 2, 50],
        [32, 63, 1, 40],
        [512, 1023, 1, 1000],
        [65_536, 131_071, 1, 70_000],
    ];
    assert_eq!(classes, expected, "{mpi}");
}

fn sites(scratch: &Scratch, report: &Value, mpi: &str) {
    let places = |report: &Value, name: &str| {
        let of = rows(report, "call_sites")
            .iter()
            .filter(|row| row["name"] == name);
        let mut places: Vec<_> = of
            .map(|row| {
                format!(
                    "{} {}",
                    row["call_site"].as_str().expect("a place"),
                    row["calls"]
                )
            })
            .collect();
        places.sort();
        places
    };
    let (first, second) = (line_of("/* first */"), line_of("/* second */"));
    let barriers = [
        format!("main (phases.c:{first}) 6"),
        format!("main (phases.c:{second}) 8"),
    ];
    assert_eq!(places(report, "MPI_Barrier"), barriers, "{mpi}");
    let send = line_of("/* send */");
    assert!(
        places(report, "MPI_Send").contains(&format!("exchange (phases.c:{send}) 6")),
        "{mpi}"
    );
    // All sent messages have a source.
    let sent = |report: &Value| -> f64 {
        let of = rows(report, "call_sites").iter();
        of.filter_map(|row| row["sent_percent"].as_f64()).sum()
    };
    assert!((sent(report) - 100.0).abs() < 1e-9, "{mpi}");
    let receive = rows(report, "call_sites")
        .iter()
        .find(|row| row["name"] == "MPI_Recv");
    assert!(
        receive.is_some_and(|row| row["sent_percent"].is_null()),
        "{mpi}"
    );
    let apart = shown(scratch, &["sites", "--mpi", "--per-rank"]);
    assert!((sent(&apart) - 100.0).abs() < 1e-9, "{mpi}");
    let of_rank = |rank: u32| {
        let mut of = rows(&apart, "call_sites").iter();
        of.find(|row| row["name"] == "MPI_Recv" && row["rank"] == rank)
            .map(|row| row["calls"].as_u64())
    };
    assert_eq!((of_rank(0), of_rank(1)), (None, Some(Some(6))), "{mpi}");
}

/// With a depth of two calls, the report of a call includes the caller of its function.
fn stacks(mpi: &str, program: &std::path::Path, scratch: &Scratch) {
    let options = ["--call-sites=2", "--records", "deep"];
    scratch
        .run(&mut wrapped(mpi, program, &options, scratch))
        .well();
    let report = shown(scratch, &["deep", "--mpi"]);
    let calls = |name: &str, begin: &str| -> u64 {
        let of = rows(&report, "call_sites").iter();
        let of = of.filter(|row| row["name"] == name);
        let from = of.filter(|row| {
            let site = row["call_site"].as_str().unwrap_or_default();
            site.starts_with(begin)
        });
        from.filter_map(|row| row["calls"].as_u64()).sum()
    };
    let send = format!(
        "exchange (phases.c:{}) < main (phases.c:",
        line_of("/* send */")
    );
    assert_eq!(calls("MPI_Send", &send), 6, "{mpi}: {report}");
    let barrier = format!("main (phases.c:{}) < ", line_of("/* second */"));
    assert_eq!(calls("MPI_Barrier", &barrier), 8, "{mpi}: {report}");
}

fn phases(report: &Value, mpi: &str) {
    let phases: Vec<_> = rows(report, "phases")
        .iter()
        .map(|row| {
            let number = |name: &str| row[name].as_i64().expect(name);
            [number("level"), number("parts"), number("calls")]
        })
        .collect();
    // On two ranks: barriers, messages, and calls that fail; the first part has the start, the last one the end.
    assert_eq!(
        phases,
        [[0, 2, 8], [1, 4, 2 * (1 + 3 + 7 + 1)], [2, 4, 12]],
        "{mpi}"
    );
    let second = &rows(report, "phases")[2];
    assert!(second["functions"]["MPI_Barrier"].is_null(), "{second}");
    assert_eq!(second["functions"]["MPI_Send"][0], 6, "{second}");
}

#[test]
fn phases_of_a_program_in_fortran() {
    for mpi in mpis_with("mpif90") {
        for interface in [&[][..], &["-DF08"]] {
            let scratch = Scratch::new();
            let program = compile_mpi(mpi, "phases.F90", interface, &[], &scratch.path(""));
            let options = ["--mpi-events", "--records", "records"];
            scratch
                .run(&mut wrapped(mpi, &program, &options, &scratch))
                .well();
            let report = shown(&scratch, &["records", "--mpi"]);
            let levels: Vec<_> = rows(&report, "phases")
                .iter()
                .map(|row| &row["level"])
                .collect();
            assert_eq!(levels, [1, 5], "{mpi} {interface:?}");
            let functions = rows(&report, "functions");
            assert_eq!(
                named(functions, "MPI_Send")["failed"],
                2,
                "{mpi} {interface:?}"
            );
            // 10 numbers were requested from any source, without a status and with one.
            let received = named(functions, "MPI_Recv");
            assert_eq!(received["sizes"]["bytes"], 2 * 12, "{mpi} {interface:?}");
            assert_eq!(
                named(functions, "MPI_Wait")["sizes"]["bytes"],
                16,
                "{mpi} {interface:?}"
            );
        }
    }
}

#[test]
fn a_killed_program_has_its_row() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "killed.c", &[], &[], &scratch.path(""));
        scratch.run(&mut wrapped(
            mpi,
            &program,
            &["--records", "records"],
            &scratch,
        ));
        let profile = shown(&scratch, &["records"]);
        let main = named(rows(&profile, "rows"), "killed.c.main");
        assert_eq!(main["calls"], 1.0, "{mpi}");
        let ns = |name: &str| main[name].as_f64().expect(name);
        let barrier = named(rows(&profile, "rows"), "MPI_Barrier()");
        let init = named(rows(&profile, "rows"), "MPI_Init()");
        let spent = |row: &Value| row["inclusive_ns"].as_f64().expect("a time");
        assert!(
            ns("inclusive_ns") >= spent(barrier) + spent(init),
            "{mpi}: {profile}"
        );
        assert!(
            (ns("mpi_ns") - spent(barrier) - spent(init)).abs() < 10.0,
            "{mpi}: {profile}"
        );
        assert_eq!(main["percent"], 100.0);
        for rank in rows(&profile, "mpi_ranks") {
            assert_eq!(rank["is_open"], true, "{mpi}: {rank}");
            assert_eq!(rank["calls"], 8, "{mpi}: {rank}");
        }
    }
}

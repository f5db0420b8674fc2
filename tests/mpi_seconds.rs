//! Seconds in MPI, compared with a shim of the tests that times the same calls with another clock: programs in C, in
//! Fortran by each of its interfaces, in Rust, and a component, under each MPI of this machine.
//!
//! The programs do little except wait, so that the time between the two clocks does not count.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use cca_abi::Interface;
use cca_ports::GoPort;
use mastermind_tests::{
    Scratch, back_end_library, bin_dir, compile_mpi, mpi_fixture, mpirun, mpis_with, output, root,
    skip,
};

/// Largest difference of the two, relative to the shim's.
const TOLERANCE: f64 = 0.01;

/// Shortest meaningful time in MPI of a rank, seconds: the minimum time that its programs wait.
const SHORTEST_S: f64 = 0.1;

/// Number of runs, one of which must be within the tolerance. The system may take the processor away between the
/// readings of the two clocks, which no run can prevent; an error of the measurement occurs in each run.
const N_RUNS: usize = 3;

/// Calls and seconds by rank and function.
type CallSums = BTreeMap<(u32, String), (u64, f64)>;

/// Parses the lines `WHO RANK NAME CALLS SECONDS`.
fn parsed(text: &str, who: &str) -> CallSums {
    let mut parsed = CallSums::new();
    for line in text.lines() {
        if let [first, rank, name, calls, seconds] = line.split(' ').collect::<Vec<_>>()[..]
            && first == who
        {
            let key = (rank.parse().expect("a rank"), name.to_owned());
            let value = (calls.parse().expect("calls"), seconds.parse().expect("s"));
            assert!(
                parsed.insert(key, value).is_none(),
                "{line} twice in {text}"
            );
        }
    }
    parsed
}

/// The shim, made without any MPI.
fn shim(folder: &Path) -> PathBuf {
    let shim = folder.join("shim.so");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&shim);
    output(cc.arg(mpi_fixture("shim.c")).arg("-ldl"));
    shim
}

/// Checks over the shim's functions that the calls are the same in each run, and the seconds of each rank within the
/// tolerance in one.
fn assert_same(run: impl Fn() -> (CallSums, CallSums)) {
    let mut differing = Vec::new();
    for _ in 0..N_RUNS {
        let (by_shim, by_proxy) = run();
        let differs = [0, 1].map(|rank| difference(rank, &by_shim, &by_proxy));
        if differs.iter().all(|differs| *differs < TOLERANCE) {
            return;
        }
        differing.push((differs, by_shim, by_proxy));
    }
    panic!("{differing:#?}");
}

/// The difference of a rank's seconds, relative to the shim's.
fn difference(rank: u32, by_shim: &CallSums, by_proxy: &CallSums) -> f64 {
    let (mut shim_s, mut proxy_s) = (0.0, 0.0);
    for ((_, name), (calls, s)) in by_shim.iter().filter(|((r, _), _)| *r == rank) {
        let proxy = by_proxy.get(&(rank, name.clone()));
        let (proxy_calls, of_proxy) = proxy.unwrap_or_else(|| panic!("{name}: {by_proxy:?}"));
        assert_eq!(calls, proxy_calls, "{name} on rank {rank}");
        shim_s += s;
        proxy_s += of_proxy;
    }
    println!("rank {rank}: shim {shim_s:.6} s, proxy {proxy_s:.6} s");
    assert!(shim_s > SHORTEST_S, "rank {rank}: {shim_s} s in MPI");
    (proxy_s / shim_s - 1.0).abs()
}

/// Runs a program on two ranks with shim and proxy preloaded, and compares them.
fn compare(mpi: &str, program: &Path, shim: &Path) {
    let proxy = bin_dir().join("libproxy_mpi.so");
    let folder = shim.parent().expect("a folder");
    let preload = format!("LD_PRELOAD={}:{}", shim.display(), proxy.display());
    assert_same(|| {
        let text = output(mpirun(mpi, 2, folder).args(["env", &preload]).arg(program));
        (parsed(&text, "shim"), parsed(&text, "proxy"))
    });
}

#[test]
fn seconds_of_a_program_in_c() {
    for mpi in mpis_with("mpicc") {
        let folder = tempfile::tempdir().expect("a folder");
        let program = compile_mpi(mpi, "waits.c", &[], &[], folder.path());
        compare(mpi, &program, &shim(folder.path()));
    }
}

#[test]
fn seconds_of_a_program_in_fortran() {
    for mpi in mpis_with("mpif90") {
        for interface in [&[][..], &["-DMPIF"], &["-DF08"]] {
            let folder = tempfile::tempdir().expect("a folder");
            let program = compile_mpi(mpi, "waits.F90", interface, &[], folder.path());
            compare(mpi, &program, &shim(folder.path()));
        }
    }
}

#[test]
fn seconds_of_a_program_in_rust() {
    for mpi in mpis_with("mpirun") {
        // Built with the back end, in a target folder of each MPI's own.
        let name = format!("mpi/{mpi}/release/examples/waits");
        let program = bin_dir().parent().expect("a target folder").join(name);
        if !program.exists() {
            skip(mpi, format_args!("no {}", program.display()));
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        compare(mpi, &program, &shim(folder.path()));
    }
}

/// A component in C, as a library of its own.
fn component(mpi: &str, folder: &Path) -> PathBuf {
    let library = folder.join("libwaits.so");
    let go = <dyn GoPort as Interface>::descriptor();
    let mut cc = Command::new(format!("mpicc.{mpi}"));
    cc.args(["-shared", "-fPIC", "-o"]).arg(&library);
    cc.arg("-I").arg(root().join("framework/abi/include"));
    cc.arg(format!("-DGO_NAME=\"{}\"", go.name));
    cc.arg(format!("-DGO_VERSION=\"{}\"", go.version));
    cc.arg(format!("-DGO_HASH=UINT64_C({:#x})", go.hash));
    output(cc.arg(mpi_fixture("waits_component.c")));
    library
}

/// The records of a run, by rank and function.
fn recorded(records: &str) -> CallSums {
    let mut command = Command::new(bin_dir().join("mastermind"));
    let text = output(command.args(["profile", records, "--per-rank", "--json"]));
    let profile: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rows = profile["rows"].as_array().expect("rows");
    let value = |row: &serde_json::Value| {
        let name = row["name"].as_str()?.strip_suffix("()")?.to_owned();
        let (calls, ns) = (row["calls"].as_f64()?, row["inclusive_ns"].as_f64()?);
        Some((
            (row["rank"].as_u64()? as u32, name),
            (calls as u64, ns * 1e-9),
        ))
    };
    rows.iter().filter_map(value).collect()
}

/// A component in a recorded run: the proxy is loaded by the binary, not preloaded.
#[test]
fn seconds_of_a_component() {
    for mpi in mpis_with("mpicc") {
        if back_end_library(mpi).is_none() {
            continue;
        }
        let scratch = Scratch::new();
        let folder = scratch.path("");
        let library = component(mpi, &folder);
        let assembly = format!(
            "[assembly]\nname = \"waits\"\npath = [{library:?}]\n\n\
             [instances]\nwaits = \"test.Waits\"\n\n[go]\nport = \"waits.go\"\n"
        );
        let assembly = scratch.write("waits.toml", assembly);
        let preload = format!("LD_PRELOAD={}", shim(&folder).display());
        assert_same(|| {
            let out = tempfile::tempdir().expect("a folder");
            let records = out.path().join("records").display().to_string();
            let mut command = mpirun(mpi, 2, &folder);
            command.args(["env", &preload]);
            command.arg(bin_dir().join("mastermind"));
            command.arg("run").arg(&assembly);
            let text = output(command.args(["--mpi", mpi, "--records", &records]));
            (parsed(&text, "shim"), recorded(&records))
        });
    }
}

//! Proxies of functions that a recorder calls itself: the program's calls are recorded, and not the recorder's.

use std::path::Path;
use std::process::Command;

use mastermind_tests::{Scratch, bin_dir, mpirun, mpis_with, output};
use serde_json::Value;

const HEADER: &str = "long read(int file, void *bytes, unsigned long n);
long write(int file, const void *bytes, unsigned long n);
int close(int file);
unsigned long strlen(const char *text);
";

/// Functions that a library of MPI calls, too, are counted without MPI only.
const PROGRAM: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

int main(int n, char **words) {
#ifdef WITH_MPI
    MPI_Init(&n, &words);
#endif
    char bytes[64];
    long sum = 0;
    for (int i = 0; i < 50; i++) {
        int file = open("/dev/zero", O_RDWR);
        for (int k = 0; k < 10; k++) sum += read(file, bytes, sizeof bytes);
        sum += write(file, bytes, sizeof bytes);
        close(file);
    }
#ifdef WITH_MPI
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
#endif
    printf("%ld bytes\n", sum);
    return 3;
}
"#;

fn proxy(scratch: &Scratch) -> String {
    let header = scratch.write("files.h", HEADER);
    let mut command = Command::new(bin_dir().join("mastermind"));
    output(
        command
            .arg("proxy")
            .arg(header)
            .arg("-o")
            .arg(scratch.path("proxies")),
    );
    scratch.text("proxies/libfiles_proxy.so")
}

fn compile(scratch: &Scratch, compiler: &str, flags: &[&str]) -> std::path::PathBuf {
    let (source, program) = (scratch.write("files.c", PROGRAM), scratch.path("files"));
    let mut command = Command::new(compiler);
    output(command.args(flags).arg("-o").arg(&program).arg(source));
    program
}

fn calls(records: &Path, function: &str) -> f64 {
    let mut command = Command::new(bin_dir().join("mastermind"));
    let text = output(command.arg("profile").arg(records).arg("--json"));
    let profile: Value = serde_json::from_str(&text).expect("JSON");
    let rows = profile["rows"].as_array().expect("rows");
    let is_meant = |row: &&Value| {
        let name = row["name"].as_str().unwrap_or_default();
        name.trim_end_matches("()").rsplit('.').next() == Some(function)
    };
    rows.iter()
        .find(is_meant)
        .map_or(0.0, |row| row["calls"].as_f64().expect("calls"))
}

#[test]
fn calls_of_the_c_library_are_the_programs_alone() {
    let scratch = Scratch::new();
    let (proxy, program) = (proxy(&scratch), compile(&scratch, "cc", &[]));
    let records = scratch.path("records");
    let mut wrap = Command::new(bin_dir().join("mastermind"));
    wrap.args(["wrap", "--proxy", &proxy, "--records"]);
    let ended = scratch.run(wrap.arg(&records).arg("--").arg(program));
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(3), "35200 bytes\n")
    );
    for (function, expected) in [("read", 500.0), ("write", 50.0), ("close", 50.0)] {
        assert_eq!(calls(&records, function), expected, "{function}");
    }
}

/// In earlier code this did not end: the recorder's thread came to the proxy, and waited for itself.
#[test]
fn under_mpi_the_program_ends() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let proxy = proxy(&scratch);
        let program = compile(&scratch, &format!("mpicc.{mpi}"), &["-DWITH_MPI"]);
        let records = scratch.path("records");
        let mut launch = mpirun(mpi, 2, &scratch.path(""));
        launch.arg(bin_dir().join("mastermind"));
        launch
            .args(["wrap", "--proxy", &proxy, "--records"])
            .arg(&records);
        let ended = scratch.run(launch.arg("--").arg(program));
        assert_eq!(ended.stdout.matches("35200 bytes").count(), 2, "{ended:?}");
        assert!(calls(&records, "read") >= 500.0, "{mpi}");
        assert_eq!(calls(&records, "MPI_Barrier"), 1.0, "{mpi}");
    }
}

/// glibc declares these functions in a file that `math.h` includes.
#[test]
fn functions_of_the_mathematical_library_have_a_proxy() {
    let scratch = Scratch::new();
    let mastermind = || Command::new(bin_dir().join("mastermind"));
    let proxies = scratch.path("proxies");
    output(mastermind().args(["proxy", "math.h", "-o"]).arg(&proxies));
    let source = scratch.write(
        "sines.c",
        "#include <math.h>\n#include <stdio.h>\nint main(int n, char **words) {\n double sum = 0;\n \
         for (int i = 0; i < 1000; i++) sum += sin(n + i);\n printf(\"%.17g\\n\", sum);\n return 0;\n}\n",
    );
    let program = scratch.path("sines");
    output(
        Command::new("cc")
            .arg("-o")
            .arg(&program)
            .arg(source)
            .arg("-lm"),
    );
    let alone = output(&mut Command::new(&program));
    let records = scratch.path("records");
    let mut wrap = mastermind();
    wrap.args(["wrap", "--proxy"])
        .arg(proxies.join("libmath_proxy.so"));
    let ended = scratch.run(wrap.arg("--records").arg(&records).arg("--").arg(program));
    assert_eq!((ended.code, ended.stdout), (Some(0), alone));
    assert_eq!(calls(&records, "sin"), 1000.0);
}

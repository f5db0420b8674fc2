//! A report is one page that contains everything, requests nothing from other servers, and is safe against names in the
//! records.

use mastermind_tests::{Scratch, compile_mpi, mpi_fixture, mpirun, mpis_with, output};

/// Requirements on every report, and the sections that some have.
fn check(html: &str, sections: &[&str]) {
    assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"));
    for outside in ["src=", "href=\"http", "@import", "url(", "<link", "<iframe"] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.contains("default-src 'none'"));
    for tag in ["table", "tr", "figure", "details", "svg", "h2", "pre"] {
        let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
        let opened =
            html.matches(&format!("{open}>")).count() + html.matches(&format!("{open} ")).count();
        assert_eq!(opened, html.matches(&close).count(), "{tag}");
    }
    let all = ["time", "ranks", "models", "next", "swap", "run"];
    for anchor in all.iter().chain(sections) {
        assert!(html.contains(&format!("<h2 id=\"{anchor}\">")), "{anchor}");
        assert!(html.contains(&format!("href=\"#{anchor}\"")), "{anchor}");
    }
    assert_eq!(html.matches("<script>").count(), 1);
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
}

#[test]
fn a_run_is_one_page() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let short = ["--set", "driver.max_steps=10", "--records", "records"];
    scratch.verb("run", &assembly, &short).well();
    scratch
        .mastermind(&["report", "records", "-o", "report.html"])
        .well();
    let html = scratch.read("report.html");
    check(&html, &["calls"]);
    for part in [
        "hydro.GodunovFlux",
        "flux.flux.compute",
        "mastermind profile records",
        "mastermind info records",
        "mastermind choose ASSEMBLY",
        "class=\"wire\"",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(html.matches("<svg").count() >= 3);
    // Swaps to consider, with an assembly that has alternatives and models of them.
    let other = [
        "--set",
        "driver.max_steps=10",
        "--records",
        "efm",
        "--replace",
        "flux=hydro.EfmFlux",
    ];
    scratch.verb("run", &assembly, &other).well();
    scratch
        .mastermind(&["fit", "records", "efm", "-o", "models.json"])
        .well();
    let text = scratch.read("sod.toml");
    let text = match text.contains("[alternatives]") {
        true => text,
        false => text + "\n[alternatives]\nflux = [\"hydro.GodunovFlux\", \"hydro.EfmFlux\"]\n",
    };
    scratch.write("sod.toml", text);
    let words = [
        "report",
        "records",
        "--assembly",
        "sod.toml",
        "--models",
        "models.json",
        "-o",
        "-",
    ];
    let html = scratch.mastermind(&words).well();
    check(&html, &["calls"]);
    assert!(
        html.contains("take this") && html.contains("hydro.EfmFlux"),
        "no choice"
    );
}

#[test]
fn a_report_notes_that_calls_have_no_record() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let html = |records: &str, more: &[&str]| {
        let short = ["--set", "driver.max_steps=40", "--records", records];
        scratch
            .verb("run", &assembly, &[&short[..], more].concat())
            .well();
        scratch.mastermind(&["report", records, "-o", "-"])
    };
    let note = "calls have no record: times and numbers of calls are sums over all of them";
    assert!(!html("whole", &[]).well().contains(note));
    assert!(
        html("part", &["--records-limit", "64K"])
            .well()
            .contains(note)
    );
}

#[test]
fn names_are_text_in_a_report() {
    let scratch = Scratch::new();
    let name = "<script>alert(1)</script>&\\u202e";
    let edit = ("name = \"sod", format!("name = \"{name}sod"));
    let assembly = scratch.example("sod/sod.toml", &[], &[(edit.0, &edit.1)]);
    let short = ["--set", "driver.max_steps=2", "--records", "records"];
    scratch.verb("run", &assembly, &short).well();
    scratch
        .mastermind(&["report", "records", "-o", "report.html"])
        .well();
    let html = scratch.read("report.html");
    check(&html, &["calls"]);
    assert!(!html.contains("<script>alert") && !html.contains('\u{202e}'));
    assert!(
        html.contains("&lt;script&gt;alert(1)"),
        "the name is not there"
    );
}

#[test]
fn a_wrapped_program_has_a_report() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let report = scratch.path("report.o");
        let mut cc = std::process::Command::new("cc");
        cc.args(["-c", "-o"])
            .arg(&report)
            .arg(mpi_fixture("report.c"));
        output(&mut cc);
        let program = compile_mpi(mpi, "calls.c", &[], &[report], &scratch.path(""));
        let mut command = mpirun(mpi, 2, &scratch.path(""));
        command.arg(mastermind_tests::bin_dir().join("mastermind"));
        command
            .args(["wrap", "--call-sites", "--records", "records", "--"])
            .arg(program);
        scratch.run(&mut command).well();
        scratch
            .mastermind(&["report", "records", "-o", "report.html"])
            .well();
        let html = scratch.read("report.html");
        check(&html, &["mpi"]);
        assert!(
            html.contains("MPI_Allreduce()") && html.contains("calls.c"),
            "{mpi}"
        );
        // There are no calls between instances, and the ranks have sent to one another.
        assert!(!html.contains("<h2 id=\"calls\">"));
        let mpi_part = html.split("<h2 id=\"mpi\">").nth(1).expect("a section");
        let mpi_part = mpi_part.split("<h2").next().expect("its end");
        for part in [
            "Functions",
            "Who sent to whom",
            "Call sites",
            "<svg",
            "(calls.c+",
        ] {
            assert!(mpi_part.contains(part), "{part}: {mpi_part}");
        }
        // Time in MPI is the program's and is not counted again for its recorded calls: a header and one row.
        let time = html.split("<h2 id=\"time\">").nth(1).expect("a section");
        let components = time.split("<h3>").next().expect("a table");
        assert_eq!(components.matches("<tr>").count(), 2, "{components}");
    }
}

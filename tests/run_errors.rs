//! A run that cannot go on reports the place and the reason.

use mastermind_tests::{Application, RankComm, example, on_ranks};

fn error(file: &str, changes: &[&str]) -> String {
    let application = Application::new(RankComm::alone());
    application.assemble(&example(file, changes));
    application.go().expect_err("an error").to_string()
}

#[test]
fn a_vacuum_names_step_patch_face_and_states() {
    let changes = ["ic.left_u=-20", "ic.right_u=20"];
    let error = error("sod/sod.toml", &changes);
    let start = "step 1 from time 0: patch 1 of level 0, first cell \"(50, 0)\": instance \"flux\": cannot compute flux of X face";
    assert!(error.starts_with(start), "{error}");
    assert!(
        error.contains("vacuum") && error.contains("-20.0"),
        "{error}"
    );
}

#[test]
fn more_ranks_than_patches_is_said_on_every_rank() {
    let assembly = example(
        "shock/shock.toml",
        &["mesh.patches_x=2", "mesh.patches_y=1"],
    );
    let errors = on_ranks(3, |comm| {
        let application = Application::new(comm);
        application.assemble(&assembly);
        application.go().expect_err("too many ranks").to_string()
    });
    for error in errors {
        let wanted = "instance \"mesh\": cannot split mesh \"96 x 32\": 2 patches for 3 ranks, expected at least one a rank";
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn output_that_cannot_be_written_names_the_file() {
    let changes = [
        "output.csv=no-such-folder/field-{step}.csv",
        "driver.max_steps=1",
    ];
    let error = error("sod/sod.toml", &changes);
    assert!(error.contains("no-such-folder/field-1.csv"), "{error}");
}

#[test]
fn files_appear_where_the_parameters_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let changes = [
        format!("output.csv={}", path("field-{step}.csv").display()),
        format!("output.png={}", path("rho.png").display()),
        format!("statistics.csv={}", path("flow.csv").display()),
        "driver.max_steps=5".into(),
        "driver.output_every=2".into(),
        "driver.statistics_every=1".into(),
    ];
    let assembly = example("shock/shock.toml", &changes.each_ref().map(|c| &c[..]));
    on_ranks(2, |comm| drop(Application::run(&assembly, comm)));
    for step in [0, 2, 4, 5] {
        let table = std::fs::read_to_string(path(&format!("field-{step}.csv"))).expect("a table");
        assert_eq!(table.lines().count(), 1 + 96 * 32);
        assert!(!table.contains("NaN"));
    }
    assert!(path("rho.png").is_file());
    let flow = std::fs::read_to_string(path("flow.csv")).expect("a table");
    assert_eq!(flow.lines().count(), 1 + 6);
    assert!(flow.starts_with("step,time,mass"));
}

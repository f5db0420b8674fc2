//! The size of the files that a rank of a small program leaves behind is in proportion to its records.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use mastermind_tests::{Scratch, bin_dir, mpirun, mpis_with, output, root};

/// Bytes of one unit of `st_blocks`; `stat(2)`.
const BLOCK: u64 = 512;

/// Most room that the files of a rank may take.
const MAX_BYTES_A_RANK: u64 = 64 << 10;

/// On the code before, 4.2 MB.
#[test]
fn a_rank_leaves_no_more_than_it_has_recorded() {
    const RANKS: u32 = 8;
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let (program, records) = (scratch.path("plain"), scratch.path("records"));
        let fixtures = root().join("tests/fixtures");
        let mut command = Command::new(format!("mpicc.{mpi}"));
        command.arg("-o").arg(&program);
        command.arg(fixtures.join("guest/small_ranks.c"));
        output(&mut command);
        let launch = mpirun(mpi, RANKS, &scratch.path(""));
        for way in ["returns", "killed"] {
            let records = records.with_extension(way);
            // Before the launcher, which may end a `wrap` with its program.
            let mut wrap = Command::new(bin_dir().join("mastermind"));
            wrap.args(["wrap", "--records"]).arg(&records).arg("--");
            wrap.arg(launch.get_program()).args(launch.get_args());
            let variables = launch.get_envs();
            wrap.envs(variables.filter_map(|(name, value)| Some((name, value?))));
            scratch.run(wrap.arg(&program).arg(way));
            let files = fs::read_dir(&records).expect("a folder");
            let room = |file: std::io::Result<fs::DirEntry>| {
                file.and_then(|file| file.metadata())
                    .expect("a file")
                    .blocks()
                    * BLOCK
            };
            let bytes: u64 = files.map(room).sum();
            let most = MAX_BYTES_A_RANK * u64::from(RANKS);
            assert!(
                bytes > 0 && bytes <= most,
                "{mpi}, {way}: {bytes} bytes of {RANKS} ranks"
            );
        }
    }
}

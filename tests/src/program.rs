//! The real binary, run on assemblies of a folder of its own.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{bin_dir, root};

/// Longest time that a program of a test may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// The libraries of the examples' classes: named one by one, so that messages that list classes stay as they are when the
/// folder gets others.
const LIBRARIES: [&str; 13] = [
    "boundary_conditions",
    "characteristics",
    "efm_flux",
    "efm_flux_c",
    "field_output",
    "flow_statistics",
    "godunov_flux",
    "initial_condition",
    "inviscid_flux",
    "rk2",
    "shock_driver",
    "states_constructor",
    "uniform_mesh",
];

/// A folder of a test's own, gone with it.
pub struct Scratch {
    folder: tempfile::TempDir,
}

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error, with paths replaced by `<dir>`, `<bin>`, `<root>`.
    pub stderr: String,
}

impl Scratch {
    /// A new, empty folder.
    ///
    /// # Panics
    /// If there can be none.
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Scratch { folder }
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        // As the programs under test see it: libraries are named by their canonical paths.
        self.folder
            .path()
            .canonicalize()
            .expect("the folder")
            .join(name)
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes a file.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        path
    }

    /// Reads a file.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Writes an assembly of `examples/` over the libraries under test.
    ///
    /// # Arguments
    /// * `libraries` - paths of further libraries
    /// * `edits` - a part of its text and what takes its place, once
    ///
    /// # Panics
    /// If a part is not there.
    pub fn example(&self, file: &str, libraries: &[&Path], edits: &[(&str, &str)]) -> PathBuf {
        let text = fs::read_to_string(root().join("examples").join(file)).expect("an example");
        let own = LIBRARIES.map(|name| bin_dir().join(format!("libhydro_{name}.so")));
        // Where there is no C compiler, there is no component in C.
        let own = own
            .iter()
            .filter(|path| path.exists() || !path.ends_with("libhydro_efm_flux_c.so"));
        let paths: Vec<_> = own
            .map(PathBuf::as_path)
            .chain(libraries.iter().copied())
            .collect();
        let path = (
            "path = [\"../../target/release\"]",
            format!("path = {paths:?}"),
        );
        let path = [(path.0, path.1.as_str())];
        let edited = path.iter().chain(edits).fold(text, |text, (from, to)| {
            assert!(text.contains(from), "no {from:?} in {text}");
            text.replacen(from, to, 1)
        });
        let name = file.rsplit('/').next().expect("a name");
        self.write(name, edited)
    }

    /// Runs the `mastermind` under test in this folder.
    ///
    /// # Panics
    /// If it cannot be started, or takes too long.
    pub fn mastermind(&self, arguments: &[&str]) -> Ended {
        self.run(Command::new(bin_dir().join("mastermind")).args(arguments))
    }

    /// Runs a verb on an assembly.
    ///
    /// # Panics
    /// As [`Scratch::mastermind`].
    pub fn verb(&self, verb: &str, assembly: &Path, arguments: &[&str]) -> Ended {
        let assembly = assembly.display().to_string();
        self.mastermind(&[&[verb, &assembly], arguments].concat())
    }

    /// Runs a program in this folder.
    ///
    /// # Panics
    /// As [`Scratch::mastermind`].
    pub fn run(&self, command: &mut Command) -> Ended {
        // Files, not pipes: a launcher's helpers may keep these open.
        let place = tempfile::tempdir().expect("a folder");
        let file = |name| File::create(place.path().join(name)).expect("a file");
        command
            .current_dir(self.folder.path())
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"));
        let started = Instant::now();
        let mut child = loop {
            match command.spawn() {
                Ok(child) => break child,
                // A copy of the binary, as long as a child that another test has just forked holds the file it was written to.
                Err(error)
                    if error.kind() == ErrorKind::ExecutableFileBusy
                        && started.elapsed() < PATIENCE =>
                {
                    thread::yield_now();
                }
                Err(error) => panic!("{command:?}: {error}"),
            }
        };
        let text = |name| {
            let bytes = fs::read(place.path().join(name)).expect("output");
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            if started.elapsed() > PATIENCE {
                child.kill().expect("a child");
                child.wait().expect("a child");
                panic!("{command:?} hangs: {} {}", text("stdout"), text("stderr"));
            }
            thread::sleep(Duration::from_millis(5));
        };
        let ended = Ended {
            code: status.code(),
            stdout: text("stdout"),
            stderr: self.stable(&text("stderr")),
        };
        println!("{command:?}: {ended:#?}");
        ended
    }

    fn stable(&self, text: &str) -> String {
        let path = |path: &Path| path.canonicalize().unwrap_or(path.into());
        let places = [
            (path(self.folder.path()), "<dir>"),
            (path(&bin_dir()), "<bin>"),
            (path(root()), "<root>"),
        ];
        places.iter().fold(text.to_owned(), |text, (path, name)| {
            text.replace(&path.display().to_string(), name)
        })
    }
}

impl Ended {
    /// Checks that it succeeded, and returns its output.
    ///
    /// # Panics
    /// If it failed.
    #[track_caller]
    pub fn well(self) -> String {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.stdout
    }

    /// Checks that it ended with an error, nothing printed, and returns the error.
    ///
    /// # Panics
    /// If it did not.
    #[track_caller]
    pub fn error(self) -> String {
        assert_eq!(self.code, Some(1), "{self:#?}");
        assert!(self.stderr.contains("error: "), "{self:#?}");
        self.stderr
    }
}

/// The numbers of a table that the case study's output writes, header left out.
///
/// # Panics
/// If there is another thing in it.
pub fn field(table: &str) -> Vec<f64> {
    let lines = table.lines().skip(1);
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{text}"));
    lines.flat_map(|line| line.split(',').map(number)).collect()
}

/// Whether a line warns that a run had little of a processor, as where the tests themselves keep them all busy.
pub fn is_of_waiting(line: &str) -> bool {
    line.contains("of the processor time that it was ready for")
}

//! The line that starts ranks under an MPI launcher.

use std::fmt;
use std::process::{Command, Stdio};

/// An implementation of MPI, as far as its launcher and its library go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpiKind {
    /// Open MPI.
    OpenMpi,
    /// MPICH, and those that share its launcher: Intel MPI, MVAPICH.
    Mpich,
}

impl MpiKind {
    /// Both, in the order they are tried.
    pub const ALL: [Self; 2] = [Self::OpenMpi, Self::Mpich];

    /// Name in paths and on the command line: `openmpi`, `mpich`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "openmpi",
            Self::Mpich => "mpich",
        }
    }

    /// Which one a version text is from: a launcher's `--version`, or the library's own.
    pub fn of_version(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["open mpi", "open-mpi", "openrte"]) {
            Some(Self::OpenMpi)
        } else if has(&["hydra", "mpich", "intel(r) mpi", "mvapich"]) {
            Some(Self::Mpich)
        } else {
            None
        }
    }
}

impl fmt::Display for MpiKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
        })
    }
}

/// Finds the launcher of one MPI: by the name Debian gives it, else the plain `mpirun` or `mpiexec`
/// whose version names this MPI.
///
/// # Arguments
/// * `version` - output of a program for `--version`, `None` if there is no such program;
///   [`version_of`] outside tests
pub fn find_launcher(kind: MpiKind, version: impl Fn(&str) -> Option<String>) -> Option<String> {
    let named = ["mpirun", "mpiexec"].map(|program| format!("{program}.{}", kind.name()));
    let plain = ["mpirun", "mpiexec", "mpiexec.hydra"].map(str::to_owned);
    named.into_iter().chain(plain).find(|program| {
        version(program).is_some_and(|text| MpiKind::of_version(&text) == Some(kind))
    })
}

/// Output of `program --version`, `None` if it cannot be started.
pub fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The words that go before a program and its arguments to start it on `ranks` ranks.
///
/// # Arguments
/// * `program` - the launcher, as [`find_launcher`] gives it
/// * `ranks` - how many to start, at least 1
/// * `as_root` - whether this process is root's, which Open MPI refuses without a flag or variable
/// * `cores` - cores of this machine; with more ranks than that they share, and are not bound
pub fn launch_command(
    program: &str,
    kind: MpiKind,
    ranks: usize,
    as_root: bool,
    cores: usize,
) -> Vec<String> {
    let mut words = vec![program];
    if kind == MpiKind::OpenMpi {
        if as_root {
            words.push("--allow-run-as-root");
        }
        // Open MPI counts whole cores where the caller may have counted hardware threads, so it
        // is always allowed more ranks than it sees places.
        words.push("--oversubscribe");
        if ranks > cores {
            words.extend(["--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]);
        }
    }
    let ranks = ranks.to_string();
    words.extend(["-n", &ranks]);
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN_MPI: &str = "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/";
    const HYDRA: &str =
        "HYDRA build details:\n    Version:                                 4.0.2\n";

    fn found(kind: MpiKind, programs: &[(&str, &str)]) -> Option<String> {
        find_launcher(kind, |name| {
            programs
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn the_launcher_is_found_by_name_or_by_version() {
        let debian = [
            ("mpirun", OPEN_MPI),
            ("mpirun.openmpi", OPEN_MPI),
            ("mpirun.mpich", HYDRA),
        ];
        assert_eq!(
            found(MpiKind::OpenMpi, &debian).as_deref(),
            Some("mpirun.openmpi")
        );
        assert_eq!(
            found(MpiKind::Mpich, &debian).as_deref(),
            Some("mpirun.mpich")
        );
        let cluster = [(
            "mpirun",
            "Intel(R) MPI Library for Linux* OS, Version 2021.8",
        )];
        assert_eq!(found(MpiKind::OpenMpi, &cluster), None);
        assert_eq!(found(MpiKind::Mpich, &cluster).as_deref(), Some("mpirun"));
        let both = [("mpirun", OPEN_MPI), ("mpiexec", HYDRA)];
        assert_eq!(found(MpiKind::Mpich, &both).as_deref(), Some("mpiexec"));
        assert_eq!(found(MpiKind::OpenMpi, &[("mpirun", "mpirun 1.0")]), None);
    }

    #[test]
    fn the_line_fits_the_launcher() {
        let line = |kind, ranks, as_root, cores| {
            launch_command("mpirun", kind, ranks, as_root, cores).join(" ")
        };
        let table = [
            (
                line(MpiKind::OpenMpi, 2, false, 2),
                "mpirun --oversubscribe -n 2",
            ),
            (
                line(MpiKind::OpenMpi, 2, true, 4),
                "mpirun --allow-run-as-root --oversubscribe -n 2",
            ),
            (
                line(MpiKind::OpenMpi, 3, true, 2),
                "mpirun --allow-run-as-root --oversubscribe --bind-to none \
                 --mca mpi_yield_when_idle 1 -n 3",
            ),
            (line(MpiKind::Mpich, 3, true, 2), "mpirun -n 3"),
        ];
        for (found, expected) in table {
            assert_eq!(found, expected);
        }
    }
}

//! Detects the tools of this machine that the build can use, and installs missing ones.
//!
//! Nothing here is required: without MPI the framework runs one rank. On Debian and Ubuntu missing
//! packages are installed as root or through password-less sudo; elsewhere the command line is
//! printed.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::steps::{StepError, output_of, run_step};

/// The MPI implementations that have a back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpiKind {
    /// Open MPI.
    OpenMpi,
    /// MPICH and those with its launcher and ABI (Intel MPI, MVAPICH).
    Mpich,
}

impl MpiKind {
    /// All of them, in the order of the search.
    pub const ALL: [Self; 2] = [Self::OpenMpi, Self::Mpich];

    /// Name in paths and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "openmpi",
            Self::Mpich => "mpich",
        }
    }

    /// Debian and Ubuntu packages with launcher, library and headers.
    fn packages(self) -> [&'static str; 2] {
        match self {
            Self::OpenMpi => ["openmpi-bin", "libopenmpi-dev"],
            Self::Mpich => ["mpich", "libmpich-dev"],
        }
    }

    /// Which implementation a launcher's `--version` text is from.
    fn of_version(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        if text.contains("open mpi") || text.contains("open-mpi") || text.contains("openrte") {
            Some(Self::OpenMpi)
        } else if ["hydra", "mpich", "intel(r) mpi", "mvapich"]
            .iter()
            .any(|w| text.contains(w))
        {
            Some(Self::Mpich)
        } else {
            None
        }
    }
}

/// An MPI that can be compiled against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mpi {
    /// Which implementation.
    pub kind: MpiKind,
    /// Its compiler wrapper.
    pub mpicc: String,
}

impl Mpi {
    /// As Debian and Ubuntu install it.
    pub fn of_packages(kind: MpiKind) -> Self {
        let mpicc = format!("mpicc.{}", kind.name());
        Self { kind, mpicc }
    }
}

/// Debian and Ubuntu packages of the libraries that `examples/fft` and `examples/sparse` are over; nothing else needs them.
const OF_EXAMPLES: [&str; 5] = [
    "libfftw3-dev",
    "libgsl-dev",
    "libsuitesparse-dev",
    "libsuperlu-dev",
    "liblapack-dev",
];

/// Requirements of some tests, by the tests' name: a file that shows that it is installed, and its package in Debian
/// and Ubuntu.
const OF_TESTS: [(&str, &str, &str); 9] = [
    (
        "jemalloc",
        "/usr/include/jemalloc/jemalloc.h",
        "libjemalloc-dev",
    ),
    (
        "mimalloc",
        "/usr/lib/x86_64-linux-gnu/libmimalloc.so",
        "libmimalloc-dev",
    ),
    (
        "tcmalloc",
        "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",
        "libtcmalloc-minimal4",
    ),
    ("clang", "/usr/bin/clang", "clang"),
    (
        "clang sanitizers",
        "/usr/share/doc/libclang-rt-dev/copyright",
        "libclang-rt-dev",
    ),
    (
        "libomp",
        "/usr/lib/x86_64-linux-gnu/libomp5.so",
        "libomp-dev",
    ),
    ("chromium", "/usr/bin/chromium", "chromium"),
    ("chromedriver", "/usr/bin/chromedriver", "chromium-driver"),
    ("valgrind", "/usr/bin/valgrind", "valgrind"),
];

/// Headers by which a machine with the packages of `examples/fft` is known.
const TRANSFORMS: [&str; 2] = ["/usr/include/fftw3.h", "/usr/include/gsl/gsl_fft_complex.h"];

/// The tools found on this machine.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// The implementations of MPI for which a back end can be built.
    pub mpis: Vec<Mpi>,
    /// Whether there is a C compiler named `cc`.
    pub c_compiler: bool,
    /// Whether there is a C++ compiler named `c++`: the tests of components in C++ need it.
    pub cpp_compiler: bool,
    /// Whether there is gfortran: the tests of components in Fortran need it.
    pub fortran_compiler: bool,
    /// Whether there is make, which builds the output of `new component` in C, C++ and Fortran.
    pub make: bool,
    /// Whether there is python3: the tests of the Python package need it.
    pub python: bool,
    /// Whether there are FFTW and the GNU Scientific Library: the test of `examples/fft` needs them.
    pub transforms: bool,
    /// Which of [`OF_TESTS`] there are, by name: a test each needs them.
    pub of_tests: Vec<&'static str>,
    /// Whether bindgen finds libclang and the headers that belong to it.
    pub libclang: bool,
}

impl System {
    /// Detects the tools of this machine.
    fn look() -> Self {
        Self {
            mpis: MpiKind::ALL.into_iter().filter_map(find_mpi).collect(),
            c_compiler: on_path("cc"),
            cpp_compiler: on_path("c++"),
            fortran_compiler: on_path("gfortran"),
            make: on_path("make"),
            python: on_path("python3"),
            transforms: TRANSFORMS.iter().all(|header| Path::new(header).is_file()),
            of_tests: OF_TESTS
                .iter()
                .filter(|(_, file, _)| Path::new(file).is_file())
                .map(|(name, ..)| *name)
                .collect(),
            libclang: has_libclang(),
        }
    }

    /// Names of requirements of some tests that this machine lacks.
    pub fn lacks_of_tests(&self) -> impl Iterator<Item = &'static str> + '_ {
        let names = OF_TESTS.iter().map(|(name, ..)| *name);
        names.filter(|name| !self.of_tests.contains(name))
    }

    /// The packages of requirements of some tests that this machine lacks.
    fn packages_of_tests(&self) -> impl Iterator<Item = &'static str> + '_ {
        let lacking = OF_TESTS
            .iter()
            .filter(|(name, ..)| !self.of_tests.contains(name));
        lacking.map(|(.., package)| *package)
    }

    /// The implementations of MPI for which there is no compiler wrapper or no launcher.
    fn missing_mpis(&self) -> impl Iterator<Item = MpiKind> + '_ {
        MpiKind::ALL
            .into_iter()
            .filter(|kind| !self.mpis.iter().any(|mpi| mpi.kind == *kind))
    }

    /// Names of the packages that are missing, `libclang` being the packages that give it.
    fn missing(&self, libclang: &[String]) -> Vec<String> {
        let mut packages = Vec::new();
        if !self.c_compiler {
            packages.extend(["gcc", "libc6-dev"].map(str::to_owned));
        }
        if !self.cpp_compiler {
            packages.push("g++".to_owned());
        }
        if !self.fortran_compiler {
            packages.push("gfortran".to_owned());
        }
        if !self.make {
            packages.push("make".to_owned());
        }
        if !self.python {
            packages.push("python3".to_owned());
        }
        packages.extend(
            self.missing_mpis()
                .flat_map(MpiKind::packages)
                .map(str::to_owned),
        );
        if !self.libclang {
            packages.extend_from_slice(libclang);
        }
        packages
    }
}

/// Finds the tools that the build can use and, with `install`, installs missing ones if possible.
///
/// # Errors
/// Never for a missing package: a failed installation is reported, and the package left out of the
/// result.
pub fn prepare(install: bool) -> Result<System, StepError> {
    prepare_during(install, || ())
}

/// As [`prepare`], and runs `other` while packages are being installed; does not run it if none are.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_during(install: bool, other: impl FnOnce() + Send) -> Result<System, StepError> {
    let mut system = System::look();
    let missing = system.missing(&["libclang-dev".to_owned()]);
    if !missing.is_empty() {
        println!("missing system packages: {}", missing.join(" "));
        match administrator() {
            Some(prefix) if install => {
                std::thread::scope(|scope| {
                    scope.spawn(other);
                    if let Err(error) = install_missing(&system, &prefix) {
                        println!("note: {error}");
                    }
                });
                system = System::look();
            }
            _ if is_debian() => {
                let sudo = if is_root() { "" } else { "sudo " };
                println!(
                    "to install them: {sudo}apt-get install -y --no-install-recommends {}",
                    missing.join(" ")
                );
            }
            _ => println!(
                "to install them: use this system's packages (or modules) for Open MPI or MPICH, \
                 libclang, make, gfortran, python3, and compilers of C and C++ named cc and c++"
            ),
        }
    }
    report(&system);
    Ok(system)
}

/// As [`prepare`], with requirements of tests: other allocators, a browser.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_tests(install_missing: bool) -> Result<System, StepError> {
    let system = prepare(install_missing)?;
    let packages: Vec<_> = system.packages_of_tests().collect();
    if packages.is_empty() {
        return Ok(system);
    }
    println!("missing packages of tests: {}", packages.join(" "));
    match administrator() {
        Some(prefix) if install_missing => {
            // A package that a distribution lacks does not prevent the others.
            for package in packages {
                if let Err(error) = install(&[package], &prefix) {
                    println!("note: {error}");
                }
            }
            Ok(System::look())
        }
        _ => {
            println!("note: the tests that need them are passed over");
            Ok(system)
        }
    }
}

/// Installs the libraries that the examples wrap, or prints how.
///
/// # Errors
/// apt-get's.
pub fn prepare_examples() -> Result<(), StepError> {
    match administrator() {
        Some(prefix) => install(&OF_EXAMPLES, &prefix),
        None => {
            println!(
                "to install the libraries of examples/fft and examples/sparse, on Debian: apt-get install -y --no-install-recommends {}",
                OF_EXAMPLES.join(" ")
            );
            Ok(())
        }
    }
}

/// Reports the effect of the tools found on the rest of the command.
fn report(system: &System) {
    for mpi in &system.mpis {
        println!("MPI: {} ({})", mpi.kind.name(), mpi.mpicc);
    }
    if system.mpis.is_empty() {
        println!("note: no MPI found; going on with one rank");
    } else if !system.libclang {
        println!(
            "note: no libclang found, so no MPI back end can be built; going on with one rank"
        );
    }
    if !system.transforms {
        println!(
            "note: no FFTW or no GNU Scientific Library found; the test of examples/fft is passed over (cargo xtask examples installs them)"
        );
    }
    if !system.c_compiler {
        println!("note: no C compiler found; going on without the components written in C");
    }
}

/// Installs what `system` lacks; `prefix` is empty for root, `sudo -n` otherwise.
fn install_missing(system: &System, prefix: &[&str]) -> Result<(), StepError> {
    let packages = system.missing(&libclang_packages());
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    install(&packages, prefix)
}

fn install(packages: &[&str], prefix: &[&str]) -> Result<(), StepError> {
    let apt = |arguments: &[&str]| {
        let words: Vec<&str> = [
            prefix,
            &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"],
            arguments,
        ]
        .concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command
    };
    run_step("apt-get update", &mut apt(&["update"]))?;
    let mut words = vec!["install", "-y", "--no-install-recommends"];
    words.extend(packages);
    run_step(
        &format!("apt-get install {}", packages.join(" ")),
        &mut apt(&words),
    )
}

/// The smallest packages bindgen can work with: the library and its own headers (51 MB in Debian
/// 12, where `libclang-dev` is 299), named after the version that `libclang-dev` depends on.
fn libclang_packages() -> Vec<String> {
    output_of("apt-cache", &["depends", "libclang-dev"])
        .and_then(|text| clang_version(&text))
        .map_or_else(
            || vec!["libclang-dev".to_owned()],
            |version| {
                vec![
                    format!("libclang1-{version}"),
                    format!("libclang-common-{version}-dev"),
                ]
            },
        )
}

/// The `14` of a line `Depends: libclang-14-dev`.
fn clang_version(depends: &str) -> Option<String> {
    depends.split_whitespace().find_map(|word| {
        let version = word.strip_prefix("libclang-")?.strip_suffix("-dev")?;
        (!version.is_empty() && version.bytes().all(|b| b.is_ascii_digit()))
            .then(|| version.to_owned())
    })
}

/// Command prefix for installing: no words for root, `sudo -n` if it needs no password, `None` if
/// neither works or there is no apt.
fn administrator() -> Option<Vec<&'static str>> {
    if !is_debian() || !on_path("apt-get") {
        None
    } else if is_root() {
        Some(vec![])
    } else {
        output_of("sudo", &["-n", "true"]).map(|_| vec!["sudo", "-n"])
    }
}

fn is_root() -> bool {
    output_of("id", &["-u"]).is_some_and(|text| text.trim() == "0")
}

fn is_debian() -> bool {
    fs::read_to_string("/etc/os-release").is_ok_and(|text| names_debian(&text))
}

/// Whether an os-release text names Debian or Ubuntu, or a system made from them.
fn names_debian(os_release: &str) -> bool {
    os_release
        .lines()
        .filter_map(|line| {
            line.strip_prefix("ID=")
                .or_else(|| line.strip_prefix("ID_LIKE="))
        })
        .flat_map(|value| value.trim_matches(['"', '\'']).split(' '))
        .any(|id| id == "debian" || id == "ubuntu")
}

/// The compiler wrapper of one implementation, with its launcher: by Debian's name, or by the plain
/// name if the launcher's version names this implementation.
fn find_mpi(kind: MpiKind) -> Option<Mpi> {
    let of_packages = Mpi::of_packages(kind);
    if on_path(&of_packages.mpicc) && on_path(&format!("mpirun.{}", kind.name())) {
        return Some(of_packages);
    }
    let is_kind = |launcher: &&str| {
        output_of(launcher, &["--version"]).and_then(|text| MpiKind::of_version(&text))
            == Some(kind)
    };
    let plain = on_path("mpicc") && ["mpirun", "mpiexec"].iter().any(is_kind);
    plain.then(|| Mpi {
        kind,
        mpicc: "mpicc".to_owned(),
    })
}

/// Whether a program of this name is on PATH.
pub fn on_path(program: &str) -> bool {
    env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// Whether bindgen would find libclang, and libclang the headers of its own (`stddef.h`).
fn has_libclang() -> bool {
    let mut folders: Vec<_> = ["LIBCLANG_PATH", "LD_LIBRARY_PATH"]
        .into_iter()
        .filter_map(env::var_os)
        .flat_map(|paths| env::split_paths(&paths).collect::<Vec<_>>())
        .collect();
    let llvm: Vec<_> = entries("/usr/lib")
        .filter(|p| file_name(p).starts_with("llvm-"))
        .collect();
    folders.extend(llvm.iter().map(|p| p.join("lib")));
    folders.extend(entries("/usr/lib").filter(|p| file_name(p).ends_with("-linux-gnu")));
    folders.extend(["/usr/lib64", "/usr/lib", "/usr/local/lib"].map(Into::into));
    if let Some(folder) = output_of("llvm-config", &["--libdir"]) {
        folders.push(folder.trim().into());
    }
    let library = folders
        .iter()
        .flat_map(entries)
        .any(|p| is_libclang(&file_name(&p)));
    let headers = folders
        .iter()
        .flat_map(|folder| entries(folder.join("clang")))
        .any(|version| version.join("include/stddef.h").is_file());
    library && (headers || on_path("clang"))
}

/// `libclang.so`, `libclang-14.so.1` and the like, but not the C++ library `libclang-cpp.so.14`.
fn is_libclang(name: &str) -> bool {
    (name.starts_with("libclang.so") || name.starts_with("libclang-"))
        && name.contains(".so")
        && !name.contains("-cpp.")
}

fn entries(folder: impl AsRef<Path>) -> impl Iterator<Item = std::path::PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_which_mpi_they_are() {
        let table = [
            (
                "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org",
                Some(MpiKind::OpenMpi),
            ),
            (
                "HYDRA build details:\n    Version:  4.0.2",
                Some(MpiKind::Mpich),
            ),
            (
                "Intel(R) MPI Library for Linux* OS, Version 2021.8",
                Some(MpiKind::Mpich),
            ),
            ("mpirun 1.0", None),
        ];
        for (text, kind) in table {
            assert_eq!(MpiKind::of_version(text), kind, "{text}");
        }
    }

    #[test]
    fn debian_and_what_is_made_from_it() {
        assert!(names_debian(
            "PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n"
        ));
        assert!(names_debian("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"));
        assert!(!names_debian(
            "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"
        ));
    }

    #[test]
    fn clang_version_comes_from_the_meta_package() {
        let text = "libclang-dev\n  Depends: libclang-14-dev\n";
        assert_eq!(clang_version(text).as_deref(), Some("14"));
        assert_eq!(
            clang_version("libclang-dev\n  Depends: libclang-common-dev\n"),
            None
        );
    }

    #[test]
    fn the_cxx_library_is_not_libclang() {
        for name in [
            "libclang.so",
            "libclang-14.so.1",
            "libclang.so.1",
            "libclang-14.so",
        ] {
            assert!(is_libclang(name), "{name}");
        }
        for name in [
            "libclang-cpp.so.14",
            "libclang-cpp.so",
            "libclang-14.a",
            "libclangAST.so",
        ] {
            assert!(!is_libclang(name), "{name}");
        }
    }

    #[test]
    fn only_what_is_missing_is_asked_for() {
        let system = System {
            mpis: vec![Mpi {
                kind: MpiKind::OpenMpi,
                mpicc: "mpicc".to_owned(),
            }],
            c_compiler: true,
            cpp_compiler: true,
            fortran_compiler: true,
            make: true,
            python: true,
            transforms: false,
            of_tests: vec!["jemalloc", "tcmalloc"],
            libclang: false,
        };
        let libclang = ["libclang1-14".to_owned()];
        assert_eq!(
            system.missing(&libclang),
            ["mpich", "libmpich-dev", "libclang1-14"]
        );
        let lacking: Vec<_> = system.packages_of_tests().collect();
        assert_eq!(
            lacking,
            [
                "libmimalloc-dev",
                "clang",
                "libclang-rt-dev",
                "libomp-dev",
                "chromium",
                "chromium-driver",
                "valgrind"
            ]
        );
    }
}

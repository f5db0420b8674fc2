//! Our own valgrind tool: compiled with the installed valgrind's headers and libraries, and run together with a reader
//! of its output.
//!
//! It is compiled anew for each command, in a second, into a temporary folder: a tool fits one version of valgrind
//! only, and an installed valgrind may be exchanged at any time. This program contains the source; the compiled tool is
//! never distributed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use anyhow::{Context, bail};
use mastermind_machine::signature::trace::{self, Trace};
use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;

/// The source of the tool.
const SOURCE: &str = include_str!("../../../../machine/valgrind/distances.c");

/// Its name, and the platform of its file name.
const TOOL: &str = "distances";
const PLATFORM: &str = "amd64-linux";

/// Folders below the prefix of valgrind that may contain its tools and its libraries: Debian, Fedora and openSUSE, from
/// source.
const FOLDERS: [&str; 4] = [
    "libexec/valgrind",
    "lib/x86_64-linux-gnu/valgrind",
    "lib64/valgrind",
    "lib/valgrind",
];

/// The options with which valgrind's own build compiles and links tools of this platform (`Makefile.all.am`,
/// `link_tool_exe_linux.in` of 3.19).
const OPTIONS: [&str; 18] = [
    "-m64",
    "-O2",
    "-w",
    "-fno-stack-protector",
    "-fno-strict-aliasing",
    "-fno-builtin",
    "-fno-pie",
    "-DVGO_linux=1",
    "-DVGA_amd64=1",
    "-DVGP_amd64_linux=1",
    "-DVGPV_amd64_linux_vanilla=1",
    "-static",
    "-no-pie",
    "-nodefaultlibs",
    "-nostartfiles",
    "-Wl,-u,_start",
    "-Wl,--build-id=none",
    "-Wl,-Ttext-segment=0x58000000",
];

/// The tool, where valgrind finds it.
pub struct Tool {
    folder: TempDir,
}

impl Tool {
    /// Compiles it.
    ///
    /// # Errors
    /// The processor is another one; valgrind, its headers or a compiler are missing, or do not fit.
    pub fn build() -> anyhow::Result<Self> {
        let act = "cannot build the valgrind tool that counts distances";
        if !cfg!(target_arch = "x86_64") {
            bail!("{act}: processor of another architecture, expected x86_64");
        }
        let prefix = prefix().context(act)?;
        let header = prefix.join("include/valgrind/pub_tool_basics.h");
        if !header.exists() {
            bail!(
                "{act}: no header \"{}\", expected those of valgrind's core; install the package valgrind, or valgrind-devel",
                header.display()
            );
        }
        let library = |name: &str| folder_with(&prefix, name).context(act);
        let libraries = library(&format!("libcoregrind-{PLATFORM}.a"))?;
        let preload = format!("vgpreload_core-{PLATFORM}.so");
        let tools = library(&preload)?;
        let folder = tempfile::tempdir().context(act)?;
        let source = folder.path().join("distances.c");
        fs::write(&source, SOURCE).context(act)?;
        let include = prefix.join("include/valgrind");
        let mut compiler = Command::new("cc");
        compiler.args(OPTIONS).arg("-I").arg(include).arg(&source);
        compiler
            .arg("-o")
            .arg(folder.path().join(format!("{TOOL}-{PLATFORM}")));
        for name in ["coregrind", "vex", "gcc-sup"] {
            compiler.arg(libraries.join(format!("lib{name}-{PLATFORM}.a")));
        }
        let ended = match compiler.arg("-lgcc").output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("{act}: no program cc, expected a compiler of C; install gcc")
            }
            ended => ended.context(act)?,
        };
        if !ended.status.success() {
            let said = String::from_utf8_lossy(&ended.stderr);
            let first = said.lines().find(|line| line.contains("error"));
            bail!(
                "{act}: cc failed: {}",
                first.or(said.lines().next()).unwrap_or_default()
            );
        }
        for name in [preload.as_str(), "default.supp"] {
            symlink(tools.join(name), folder.path().join(name)).context(act)?;
        }
        Ok(Self { folder })
    }

    /// Runs a program under it.
    ///
    /// # Arguments
    /// * `method` - symbol of the function, with wildcards
    ///
    /// # Returns
    /// How the program ended, and its trace as far as it was written.
    ///
    /// # Errors
    /// Valgrind cannot be started.
    pub fn run(
        &self,
        method: &str,
        program: &[String],
    ) -> anyhow::Result<(Output, io::Result<Trace>)> {
        let pipe = self.folder.path().join("trace");
        let _ = fs::remove_file(&pipe);
        mkfifoat(CWD, &pipe, Mode::from_raw_mode(0o600)).context("cannot make a pipe")?;
        let reader = {
            let pipe = pipe.clone();
            thread::spawn(move || trace::read(File::open(pipe)?))
        };
        let ended = Command::new("valgrind")
            .env("VALGRIND_LIB", self.folder.path())
            .arg(format!("--tool={TOOL}"))
            .args(["--quiet", "--vex-guest-chase=no"])
            .arg(format!("--method={method}"))
            .arg(format!("--trace={}", pipe.display()))
            .args(program)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .output();
        // If nobody has opened the pipe for writing, the reader still waits for that.
        let mut options = OpenOptions::new();
        let _ = options
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&pipe);
        let trace = reader.join();
        let trace =
            trace.unwrap_or_else(|_| Err(io::Error::other("the reader of the trace ended")));
        Ok((ended.context("cannot start valgrind")?, trace))
    }
}

/// A hint if valgrind ended a program for an unknown instruction.
pub fn hint(ended: &Output) -> &'static str {
    match ended.status.signal() {
        Some(libc::SIGILL) => {
            "; valgrind has no AVX-512 and no other new instructions: build the program for x86-64-v3, without -march=native"
        }
        _ => "",
    }
}

/// Where valgrind is installed.
fn prefix() -> anyhow::Result<PathBuf> {
    let found = Command::new("sh")
        .args(["-c", "command -v valgrind"])
        .output()?;
    let path = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let path = fs::canonicalize(Path::new(&path)).ok();
    match path
        .as_deref()
        .and_then(Path::parent)
        .and_then(Path::parent)
    {
        Some(prefix) => Ok(prefix.to_owned()),
        None => bail!("no program valgrind, expected one; install the package valgrind"),
    }
}

/// The first of [`FOLDERS`] with a file.
fn folder_with(prefix: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let mut folders = FOLDERS.iter().map(|folder| prefix.join(folder));
    let found = folders.find(|folder| folder.join(name).exists());
    found.with_context(|| {
        format!(
            "no file \"{name}\" in {} of \"{}\", expected it; it is of the package valgrind, or valgrind-tools-devel",
            FOLDERS.join(", "),
            prefix.display()
        )
    })
}

//! `mastermind proxy`: a proxy of a C library, from its header; ports, from SIDL (`proxy/sidl.rs`).
//!
//! The generator (crate `proxy-generate`) takes preprocessed text and returns source; it starts no
//! program and reads no file. This file is the part that depends on the machine: it runs the C
//! compiler to preprocess the header and to build the result, finds headers that the header needs
//! but does not include, and reads the mark-up.
//!
//! ```text
//! zlib.h ── cc -E ──▶ text ──┐
//!        ── cc -E -dM ▶ macros ├─ generate ─▶ zlib_proxy.c ── cc -shared ─▶ libzlib_proxy.so
//! zlib.toml (mark-up) ────────┘
//! ```
//!
//! A header that declares no function of its own is a cover for others. Then the headers that it
//! includes count as its parts, and if these have none either, the headers next to it with the same
//! name prefix (`read`).

mod includes;
mod sidl;
mod structs;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use proxy_generate::{
    GenerateError, Header, Interface, Markup, Treatment, generate, struct_ports, suggest_markup,
};
use serde::Serialize;

use includes::{included_by, including};

use crate::destination::{Force, is_standard_output};
use crate::errors::WrongUse;
use crate::output;

/// Headers that generated source includes, in addition to the header.
const HEADERS: [(&str, &str); 3] = [
    (
        "cca_expression.h",
        include_str!("../../../../framework/abi/include/cca_expression.h"),
    ),
    (
        "cca_proxy.h",
        include_str!("../../../../framework/abi/include/cca_proxy.h"),
    ),
    (
        "cca_recording.h",
        include_str!("../../../../framework/abi/include/cca_recording.h"),
    ),
];

/// Maximum number of functions that are named with a reason in the text; `--json` has all.
const MAX_NAMED: usize = 12;

/// Options that apply to reading both the source and the header.
const LANGUAGE: [&str; 4] = ["-std=gnu11", "-D_GNU_SOURCE", "-U_FORTIFY_SOURCE", "-w"];

/// Make a proxy of a C library from its header, or ports with their proxies from SIDL.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind proxy zlib.h --suggest-markup > zlib.toml\n         \
                        mastermind proxy zlib.h --markup zlib.toml -o proxies\n         \
                        mastermind wrap --proxy proxies/libzlib_proxy.so -- PROGRAM\n         \
                        mastermind proxy solver.sidl -o solver-ports"
)]
pub struct Proxy {
    /// The header: a file, or a name that the C compiler finds; or a file of SIDL, whose name ends in .sidl
    header: String,
    /// Which arguments are performance parameters, which functions to skip [default: all functions, no parameters]
    #[arg(long, value_name = "F.toml")]
    markup: Option<PathBuf>,
    /// The folder for source and library; with --suggest-markup the file for the mark-up
    #[arg(short, long, value_name = "DIR", default_value = "-")]
    output: PathBuf,
    /// Write a first mark-up instead
    #[arg(long)]
    suggest_markup: bool,
    /// A folder with headers, or with the files of SIDL that define what this one uses
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    include: Vec<PathBuf>,
    /// A macro that the header needs, NAME or NAME=VALUE
    #[arg(short = 'D', long = "define", value_name = "NAME")]
    define: Vec<String>,
    /// The C compiler
    #[arg(long, value_name = "PROGRAM", default_value = "cc")]
    compiler: String,
    /// For SIDL: the ports in Rust (a crate), C (a header and a source) or Fortran (a module over those) only [default: all]
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<sidl::Language>,
    /// For SIDL: the folder `framework` of the sources, for Rust [default: the one that this program was built from]
    #[arg(long, value_name = "DIR")]
    framework: Option<PathBuf>,
    /// Write the source, and do not build it
    #[arg(long)]
    source_only: bool,
    #[command(flatten)]
    force: Force,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A header as it was read.
#[derive(Default)]
struct HeaderText {
    include: String,
    folders: Vec<PathBuf>,
    before: Vec<String>,
    parts: Vec<String>,
    preprocessed: String,
    macros: BTreeSet<String>,
}

impl HeaderText {
    fn header(&self) -> Header<'_> {
        Header {
            include: &self.include,
            before: &self.before,
            parts: &self.parts,
            file: file_of(&self.preprocessed, &self.include),
            preprocessed: &self.preprocessed,
            macros: &self.macros,
        }
    }
}

/// Whether a header has neither functions nor structs of functions to make a proxy or ports of.
fn has_nothing(header: &Header<'_>, markup: &Markup) -> bool {
    let has_functions = !matches!(
        generate(header, markup),
        Err(GenerateError::NoFunctions { .. })
    );
    !has_functions && matches!(struct_ports(header, markup), Ok(None))
}

/// The generated files, for `--json`.
#[derive(Serialize)]
struct GeneratedFiles<'a> {
    interface: &'a str,
    source: PathBuf,
    library: Option<PathBuf>,
    recorded: Vec<&'a str>,
    forwarded: Vec<Reason<'a>>,
    left_alone: Vec<Reason<'a>>,
    passed_over: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    struct_ports: Option<structs::MadePorts>,
}

#[derive(Serialize)]
struct Reason<'a> {
    function: &'a str,
    reason: &'a str,
}

impl Proxy {
    /// Writes the proxy, or a mark-up.
    ///
    /// # Errors
    /// The header cannot be read; the mark-up does not fit it; there is no C compiler; the files cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        if sidl::is_sidl(&self.header) {
            return self.make_ports();
        }
        if self.language.is_some() || self.framework.is_some() {
            bail!(WrongUse(
                "cannot choose a language: the proxy of a C library is in C, expected a file of SIDL (.sidl)"
            ));
        }
        if self.suggest_markup {
            self.force.check([Some(&*self.output)], self.json)?;
        }
        let (include, folders) = self.named()?;
        let markup = match self.suggest_markup {
            true => Markup::default(),
            false => self.read_markup()?,
        };
        let read = self.read(&include, folders, &markup)?;
        let (header, folders) = (read.header(), &read.folders);
        if self.suggest_markup {
            let markup = suggest_markup(&header)?;
            self.force.write("mark-up", &self.output, markup)?;
            return Ok(ExitCode::SUCCESS);
        }
        if is_standard_output(&self.output) {
            bail!(
                "cannot make a proxy of \"{}\": no folder, expected one; use -o DIR",
                self.header
            );
        }
        let mut ports = struct_ports(&header, &markup)?
            .map(|ports| self.write_struct_ports(ports, folders))
            .transpose()?;
        let generated = generate(&header, &markup);
        if let (Err(GenerateError::NoFunctions { passed_over, .. }), Some(ports)) =
            (&generated, &mut ports)
        {
            // It has only structs of functions.
            ports.passed_over.clone_from(passed_over);
            if self.json {
                output::json(ports)?;
            } else {
                ports.show();
            }
            return Ok(ExitCode::SUCCESS);
        }
        let (interface, source) = generated?;
        let mut made = self.write(&interface, &source, folders)?;
        made.struct_ports = ports;
        self.show(&made)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The name by which the header is included, and the folders to search for it.
    fn named(&self) -> anyhow::Result<(String, Vec<PathBuf>)> {
        let mut folders = Vec::new();
        for folder in &self.include {
            let act = || format!("cannot read folder \"{}\"", folder.display());
            folders.push(folder.canonicalize().with_context(act)?);
        }
        let path = Path::new(&self.header);
        if !path.is_file() {
            return Ok((self.header.clone(), folders));
        }
        let act = || format!("cannot read header \"{}\"", self.header);
        let path = path.canonicalize().with_context(act)?;
        let name = path
            .file_name()
            .with_context(act)?
            .to_string_lossy()
            .into_owned();
        folders.insert(0, path.parent().unwrap_or(Path::new("/")).to_owned());
        Ok((name, folders))
    }

    fn compiler(&self, folders: &[PathBuf]) -> Command {
        let mut command = Command::new(&self.compiler);
        // Its messages say which header is missing.
        command.args(LANGUAGE).env("LC_ALL", "C");
        command.args(self.define.iter().map(|define| format!("-D{define}")));
        for folder in folders {
            command.arg("-I").arg(folder);
        }
        command
    }

    /// Reads a header with all that it needs. A header that declares no functions is replaced by the headers that it
    /// includes, or if these have none, by the headers of its name prefix next to it.
    fn read(
        &self,
        include: &str,
        folders: Vec<PathBuf>,
        markup: &Markup,
    ) -> anyhow::Result<HeaderText> {
        let needs = self.needs(include, &folders);
        let mut text = HeaderText {
            include: include.into(),
            folders: [folders, needs.folders].concat(),
            before: needs.before,
            ..HeaderText::default()
        };
        self.read_text(&mut text)?;
        if !has_nothing(&text.header(), markup) {
            return Ok(text);
        }
        let own = text.header().file.to_owned();
        // Headers of C itself are no parts of another library, whoever includes them.
        let of_c = self.files_of_c(&text.folders);
        let included = included_by(&text.preprocessed, &own);
        let others = included.iter().filter(|file| !of_c.contains(*file));
        text.parts = others.cloned().collect();
        if !has_nothing(&text.header(), markup) {
            return Ok(text);
        }
        // glibc declares the functions of some headers, such as math.h, in files that these include.
        if of_c.contains(&own) {
            text.parts = included;
            return Ok(text);
        }
        let family = self.family(include, &text.folders);
        if !family.before.is_empty() {
            text.folders.extend(family.folders);
            text.parts.clone_from(&family.before);
            text.before.extend(family.before);
            self.read_text(&mut text)?;
        }
        Ok(text)
    }

    fn read_text(&self, text: &mut HeaderText) -> anyhow::Result<()> {
        let read =
            |options: &[&str]| self.preprocess(&text.before, &text.include, &text.folders, options);
        // Macros are needed since one with the name of a function would replace its definition in
        // the proxy.
        (text.preprocessed, text.macros) = (read(&[])?, macros(&read(&["-dM"])?));
        Ok(())
    }

    fn preprocess(
        &self,
        before: &[String],
        include: &str,
        folders: &[PathBuf],
        options: &[&str],
    ) -> anyhow::Result<String> {
        if include.contains(['\n', '>', '"']) {
            bail!("cannot read header \"{include}\": bad name, expected that of a file");
        }
        let mut command = self.compiler(folders);
        command.args(["-x", "c", "-E"]).args(options).arg("-");
        let text = run(&mut command, &including(before, include))
            .with_context(|| format!("cannot read header \"{include}\""))?;
        String::from_utf8(text)
            .map_err(|_| anyhow!("cannot read header \"{include}\": not UTF-8, expected UTF-8"))
    }

    fn read_markup(&self) -> anyhow::Result<Markup> {
        let Some(path) = &self.markup else {
            return Ok(Markup::default());
        };
        let act = || format!("cannot read mark-up \"{}\"", path.display());
        let text = fs::read_to_string(path).with_context(act)?;
        Markup::read(&text).with_context(act)
    }

    fn write<'a>(
        &self,
        interface: &'a Interface,
        source: &str,
        folders: &[PathBuf],
    ) -> anyhow::Result<GeneratedFiles<'a>> {
        let folder = &self.output;
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make folder \"{}\"", folder.display()))?;
        let file = folder.join(format!("{}_proxy.c", interface.name));
        let library = folder.join(format!("lib{}_proxy.so", interface.name));
        self.force.write("file", &file, source)?;
        for (name, text) in HEADERS {
            let path = folder.join(name);
            // The same for all proxies of a folder.
            if fs::read_to_string(&path).ok().as_deref() != Some(text) {
                self.force.write("file", &path, text)?;
            }
        }
        if !self.source_only {
            self.force.check([Some(&*library)], false)?;
            self.build(&file, &library, folders)?;
        }
        let reasons = |function: &'a proxy_generate::Function| match &function.treatment {
            Treatment::Forwarded(reason) => Some(Reason {
                function: &function.name,
                reason,
            }),
            Treatment::Recorded { .. } => None,
        };
        let is_first = |function: &&proxy_generate::Function| function.definition == 1;
        let is_recorded = |function: &&proxy_generate::Function| {
            is_first(function) && matches!(function.treatment, Treatment::Recorded { .. })
        };
        Ok(GeneratedFiles {
            interface: &interface.name,
            source: file,
            library: (!self.source_only).then_some(library),
            recorded: interface
                .functions
                .iter()
                .filter(is_recorded)
                .map(|f| f.name.as_str())
                .collect(),
            forwarded: interface
                .functions
                .iter()
                .filter(is_first)
                .filter_map(reasons)
                .collect(),
            left_alone: interface
                .left_alone
                .iter()
                .map(|(function, reason)| Reason { function, reason })
                .collect(),
            passed_over: &interface.passed_over,
            struct_ports: None,
        })
    }

    fn build(&self, source: &Path, library: &Path, folders: &[PathBuf]) -> anyhow::Result<()> {
        let mut command = self.compiler(folders);
        command.args([
            "-O2",
            "-g1",
            "-fPIC",
            "-shared",
            "-fvisibility=hidden",
            "-fexceptions",
            "-fwrapv",
            "-fno-lto",
        ]);
        command.arg("-o").arg(library).arg(source).arg("-ldl");
        let act = || {
            format!(
                "cannot build proxy \"{}\"; skip in the mark-up what does not compile",
                source.display()
            )
        };
        run(&mut command, "").map(drop).with_context(act)
    }

    fn show(&self, made: &GeneratedFiles<'_>) -> anyhow::Result<()> {
        if self.json {
            return output::json(made);
        }
        if let Some(ports) = &made.struct_ports {
            ports.show();
        }
        let written = made.library.as_ref().unwrap_or(&made.source);
        output::line(format!(
            "{}: {} functions recorded, {} forwarded only, {} left alone",
            written.display(),
            made.recorded.len(),
            made.forwarded.len(),
            made.left_alone.len()
        ));
        for (what, reasons) in [
            ("forwarded", &made.forwarded),
            ("left alone", &made.left_alone),
        ] {
            for (reason, functions) in by_reason(reasons) {
                output::line(format!("  {what}: {functions}: {reason}"));
            }
        }
        print_passed_over(made.passed_over);
        Ok(())
    }
}

/// Reasons in order, each with its functions; for many functions, the first ones and their number.
fn by_reason<'a>(reasons: &[Reason<'a>]) -> Vec<(&'a str, String)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for Reason { function, reason } in reasons {
        match found.iter_mut().find(|(known, _)| known == reason) {
            Some((_, functions)) => functions.push(function),
            None => found.push((reason, vec![function])),
        }
    }
    let lines = found.into_iter().map(|(reason, functions)| {
        let named = &functions[..functions.len().min(MAX_NAMED)];
        let more = match functions.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (reason, named.join(", ") + &more)
    });
    lines.collect()
}

/// Prints the places of declarations that are not understood, `FILE:LINE`.
fn print_passed_over(places: &[String]) {
    for place in places {
        output::line(format!("  passed over: {place}: not understood"));
    }
}

/// Runs a compiler, and returns its output.
fn run(command: &mut Command, input: &str) -> anyhow::Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let act = || format!("cannot run C compiler \"{name}\"");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().with_context(act)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A compiler that does not read it reports why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().with_context(act)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let is_error = |line: &&str| line.contains("error");
    let lines: Vec<_> = text.lines().filter(is_error).take(5).collect();
    if lines.is_empty() {
        bail!("the C compiler says: {}", text.trim());
    }
    bail!("the C compiler says: {}", lines.join("; "))
}

/// Names of the macros in the output of `-dM`.
fn macros(text: &str) -> BTreeSet<String> {
    let names = text
        .lines()
        .filter_map(|line| line.strip_prefix("#define "));
    names
        .filter_map(|rest| rest.split([' ', '(']).next())
        .map(str::to_owned)
        .collect()
}

/// The file that the preprocessor found for an include: by its name, or the first that it entered if that is a link.
fn file_of<'a>(preprocessed: &'a str, include: &'a str) -> &'a str {
    let markers = preprocessed.lines().filter(|line| line.starts_with("# "));
    let files = || markers.clone().filter_map(|line| line.split('"').nth(1));
    let named = files().find(|file| Path::new(file).ends_with(include));
    let is_entered = |file: &&str| file.starts_with('/') && !file.ends_with("/stdc-predef.h");
    named
        .or_else(|| files().find(is_entered))
        .unwrap_or(include)
}

#[cfg(test)]
mod tests {
    use super::{MAX_NAMED, Reason, by_reason};

    #[test]
    fn functions_left_alone_for_one_reason_are_one_line() {
        let names: Vec<_> = (0..MAX_NAMED + 2).map(|i| format!("f{i}")).collect();
        let of = |function, reason| Reason { function, reason };
        let mut reasons = vec![of("g", "variadic")];
        reasons.extend(names.iter().map(|name| of(name, "inline")));
        let lines = by_reason(&reasons);
        assert_eq!(lines[0], ("variadic", "g".to_owned()));
        let named = names[..MAX_NAMED].join(", ");
        assert_eq!(lines[1], ("inline", format!("{named} and 2 more")));
        assert_eq!(lines.len(), 2);
    }
}

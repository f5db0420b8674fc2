//! The manners of the sources that no lint knows: how a file opens, how long it may be, where the
//! program may end itself, print or read the environment, and that each `unsafe` gives its reason.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "tidy/figures.rs"]
mod figures;

/// The folders with sources.
const ROOMS: [&str; 8] = [
    "framework",
    "mastermind",
    "proxies",
    "components",
    "benches",
    "examples",
    "tests",
    "xtask",
];

/// Generated files, compared by tests of their own.
const GENERATED: &str = "tests/golden";

/// Longest file, in lines.
const LONGEST: usize = 800;

/// Lines above an `unsafe` that are searched for its reason.
const REASON_WITHIN: usize = 10;

/// Lines that break a rule with reason: file, part of the line, why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "proxies/mpi/build.rs",
        "env::var_os(\"OUT_DIR\")",
        "cargo tells a build script by it where to write",
    ),
    (
        "mastermind/preload/src/lib.rs",
        "env::var(name)",
        "`wrap` reaches a library that it preloads in no other way",
    ),
    (
        "proxies/audit/src/trace.rs",
        "libc::getenv(VARIABLE",
        "`wrap` reaches a library that the dynamic linker loads in no other way",
    ),
    (
        "proxies/audit/src/lib.rs",
        "libc::getenv(c\"LD_PRELOAD",
        "Valgrind is known by nothing else that early",
    ),
    (
        "proxies/openmp/src/ompt.rs",
        "libc::getenv(c\"OMP_TOOL_LIBRARIES",
        "a tool that the user has asked for keeps its place",
    ),
];

/// A line of source.
struct Line {
    /// From 1.
    number: usize,
    text: String,
    is_comment: bool,
    is_test: bool,
}

struct Source {
    /// From the root of the workspace.
    path: String,
    lines: Vec<Line>,
}

/// The root of the workspace.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

impl Source {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a source");
        let path = path.strip_prefix(root()).expect("a path in the workspace");
        Self::parse(&path.to_string_lossy(), &text)
    }

    fn parse(path: &str, text: &str) -> Self {
        let in_test_folder = ["tests/", "/tests/", "/benches/", "/examples/"]
            .iter()
            .any(|folder| path.contains(folder))
            || path.ends_with("/tests.rs");
        let mut lines: Vec<Line> = text
            .lines()
            .zip(1..)
            .map(|(text, number)| Line {
                number,
                text: text.to_owned(),
                is_comment: text.trim_start().starts_with("//"),
                is_test: in_test_folder,
            })
            .collect();
        mark_test_modules(&mut lines);
        Self {
            path: path.to_owned(),
            lines,
        }
    }

    /// Whether this belongs to a crate for which a rule does not hold.
    fn is_in(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| self.path.starts_with(folder))
    }

    /// Lines of code outside tests in which one of `words` stands.
    fn code_with(&self, words: &[&str]) -> Vec<String> {
        self.lines
            .iter()
            .filter(|line| !line.is_comment && !line.is_test)
            .filter(|line| words.iter().any(|word| has_word(&line.text, word)))
            .filter(|line| !self.is_exception(line))
            .map(|line| self.place(line))
            .collect()
    }

    fn is_exception(&self, line: &Line) -> bool {
        EXCEPTIONS
            .iter()
            .any(|(path, part, _)| self.path == *path && line.text.contains(part))
    }

    fn place(&self, line: &Line) -> String {
        format!("{}:{}: {}", self.path, line.number, line.text.trim())
    }

    /// Each `unsafe` block and implementation without a reason above it.
    fn unsafe_without_reason(&self) -> Vec<String> {
        let has_reason = |at: usize| {
            self.lines[at.saturating_sub(REASON_WITHIN)..=at]
                .iter()
                .any(|line| line.text.contains("SAFETY:"))
        };
        self.lines
            .iter()
            .enumerate()
            .filter(|(at, line)| !line.is_comment && is_unsafe(&line.text) && !has_reason(*at))
            .map(|(_, line)| self.place(line))
            .collect()
    }
}

/// Marks the lines of modules that are compiled for tests alone. In formatted sources such a module
/// ends with the first closing brace as far left as its `mod`.
fn mark_test_modules(lines: &mut [Line]) {
    let mut at = 0;
    while at < lines.len() {
        let attribute = lines[at].text.trim_start();
        let is_test = attribute.starts_with("#[cfg(") && attribute.contains("test");
        let opens = lines[at + 1..]
            .iter()
            .position(|line| !line.text.trim_start().starts_with("#["))
            .map(|offset| at + 1 + offset)
            .filter(|module| {
                let text = lines[*module].text.trim_start();
                text.starts_with("mod ") && text.ends_with('{')
            });
        let (true, Some(module)) = (is_test, opens) else {
            at += 1;
            continue;
        };
        let text = &lines[module].text;
        let end = format!("{}}}", &text[..text.len() - text.trim_start().len()]);
        let last = lines[module..].iter().position(|line| line.text == end);
        let last = last.map_or(lines.len() - 1, |offset| module + offset);
        lines[at..=last]
            .iter_mut()
            .for_each(|line| line.is_test = true);
        at = last + 1;
    }
}

/// Whether `word` stands in `text`, not as the end of a longer name.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !word.starts_with(char::is_alphanumeric)
            || !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Whether an `unsafe` block or implementation begins on this line.
fn is_unsafe(text: &str) -> bool {
    ["unsafe {", "unsafe impl"]
        .iter()
        .any(|word| has_word(text, word) && !text.contains(&format!("\"{word}")))
}

fn sources() -> Vec<Source> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("target") && !path.ends_with(GENERATED) {
                collect(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    ROOMS
        .iter()
        .for_each(|room| collect(&root().join(room), &mut found));
    found.sort();
    assert!(found.len() > 10, "sources in {}", root().display());
    found.iter().map(|path| Source::read(path)).collect()
}

/// Fails with the places that `check` finds in any source.
fn none(rule: &str, check: impl Fn(&Source) -> Vec<String>) {
    let places: Vec<String> = sources().iter().flat_map(check).collect();
    assert!(places.is_empty(), "{rule}:\n{}", places.join("\n"));
}

#[test]
fn files_open_by_saying_what_they_are_for() {
    none("files that do not open with //!", |source| {
        let first = source
            .lines
            .iter()
            .find(|line| !line.text.trim().is_empty());
        let opens = first.is_some_and(|line| line.text.starts_with("//!"));
        if opens {
            vec![]
        } else {
            vec![source.path.clone()]
        }
    });
}

/// A file that is neither a module of a program of tests nor a program of its own would never run.
#[test]
fn every_test_is_run() {
    let (mut missing, mut packages) = (Vec::new(), 0);
    for manifest in manifests() {
        let text = fs::read_to_string(&manifest).expect("a manifest");
        if !text.lines().any(|line| line == "autotests = false") {
            continue;
        }
        packages += 1;
        let folder = manifest.parent().expect("a package");
        let paths = text
            .lines()
            .filter_map(|line| line.strip_prefix("path = \"")?.strip_suffix('"'));
        let programs: Vec<PathBuf> = paths.map(|path| folder.join(path)).collect();
        let read = |program: &PathBuf| fs::read_to_string(program).expect("a program");
        let modules: String = programs.iter().map(read).collect();
        let tests = if folder.ends_with("tests") {
            folder.to_owned()
        } else {
            folder.join("tests")
        };
        for path in files_in(&tests) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let is_folder = path.join("mod.rs").exists();
            let is_source = path.extension().is_some_and(|ending| ending == "rs");
            let line = format!("mod {name};");
            let is_run = programs.contains(&path) || modules.lines().any(|found| found == line);
            if (is_source || is_folder) && !is_run {
                missing.push(path.display().to_string());
            }
        }
    }
    assert!(packages > 5, "{packages} packages");
    assert!(missing.is_empty(), "tests that never run: {missing:?}");
}

/// The manifests of the packages of the workspace.
fn manifests() -> Vec<PathBuf> {
    let folders = ROOMS.iter().map(|room| root().join(room));
    let inner = folders.clone().flat_map(|folder| files_in(&folder));
    let manifests = folders.chain(inner).map(|folder| folder.join("Cargo.toml"));
    manifests.filter(|manifest| manifest.exists()).collect()
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

#[test]
fn files_are_short_enough_to_read() {
    none("files of more than 800 lines", |source| {
        let length = source.lines.len();
        if length > LONGEST {
            vec![format!("{}: {length}", source.path)]
        } else {
            vec![]
        }
    });
}

#[test]
fn errors_are_returned_not_unwrapped() {
    none("unwrap or expect outside tests", |source| {
        source.code_with(&[".unwrap()", ".expect(", ".unwrap_err()", ".expect_err("])
    });
}

#[test]
fn only_the_binaries_print() {
    none(
        "printing outside the command line, xtask and benches",
        |source| {
            // A build script communicates with Cargo by its output.
            let is_build_script = source.path.ends_with("/build.rs");
            if is_build_script || source.is_in(&["mastermind/cli/", "xtask/", "benches/"]) {
                return vec![];
            }
            source.code_with(&["println!", "eprintln!", "print!", "eprint!", "dbg!"])
        },
    );
}

#[test]
fn only_the_binaries_read_the_environment() {
    none(
        "reading the environment outside the command line and xtask",
        |source| {
            if source.is_in(&["mastermind/cli/", "xtask/"]) {
                return vec![];
            }
            source.code_with(&["env::var", "env::vars", "env::set_var", "getenv", "setenv"])
        },
    );
}

#[test]
fn private_words_become_fewer() {
    let sources = sources();
    for (word, most) in figures::PRIVATE_WORDS {
        let found = figures::lines_with(word, &sources);
        assert!(
            found <= most,
            "\"{word}\" in {found} lines, expected at most {most}: see \"What to write instead\" in CONTRIBUTING.md"
        );
    }
    for (word, most) in figures::PRIVATE_NAMES {
        let found = figures::lines_with_name(word, &sources);
        assert!(
            found <= most,
            "names with \"{word}\" in {found} lines, expected at most {most}: name a thing by what it is"
        );
    }
}

/// For `cargo xtask tidy --figures`.
#[test]
#[ignore = "prints figures, and decides nothing"]
fn print_figures() {
    let sources = sources();
    for line in figures::figures(&sources) {
        println!("{line}");
    }
    for (word, most) in figures::PRIVATE_WORDS {
        let found = figures::lines_with(word, &sources);
        println!(
            "lines with {:<25} {found} of at most {most}",
            format!("\"{word}\"")
        );
    }
    for (word, most) in figures::PRIVATE_NAMES {
        let found = figures::lines_with_name(word, &sources);
        println!(
            "lines with names of {:<16} {found} of at most {most}",
            format!("\"{word}\"")
        );
    }
}

#[test]
fn each_unsafe_gives_its_reason() {
    none(
        "unsafe without a SAFETY comment",
        Source::unsafe_without_reason,
    );
}

#[test]
fn exceptions_are_still_needed() {
    let sources = sources();
    for (path, part, reason) in EXCEPTIONS {
        let source = sources.iter().find(|source| source.path == *path);
        let needed = source.is_some_and(|s| s.lines.iter().any(|line| line.text.contains(part)));
        assert!(needed, "no line with {part} in {path} any more: {reason}");
    }
}

#[test]
fn the_rules_see_code_and_pass_over_the_rest() {
    let text = "//! Opens.\n\
                fn f() {\n    a.unwrap();\n    // b.unwrap();\n    println!();\n    sprintln!();\n}\n\
                #[cfg(test)]\nmod tests {\n    fn g() {\n        c.unwrap();\n    }\n}\n\
                fn h() {\n    d.expect(\"d\");\n}\n";
    let source = Source::parse("framework/x/src/lib.rs", text);
    let found = source.code_with(&[".unwrap()", ".expect("]);
    let expected = [
        "framework/x/src/lib.rs:3: a.unwrap();",
        "framework/x/src/lib.rs:15: d.expect(\"d\");",
    ];
    assert_eq!(found, expected);
    assert_eq!(source.code_with(&["println!"]).len(), 1);
    let test = Source::parse("framework/x/tests/y.rs", text);
    assert_eq!(test.code_with(&[".unwrap()"]), [""; 0]);
    let text = "// SAFETY: fine.\nlet a = unsafe { f() };\n".to_owned()
        + &"\n".repeat(REASON_WITHIN)
        + "unsafe impl Send for A {}\n";
    let reasons = Source::parse("framework/x/src/lib.rs", &text).unsafe_without_reason();
    assert_eq!(
        reasons,
        ["framework/x/src/lib.rs:13: unsafe impl Send for A {}"]
    );
}

//! The generated source of a small header, kept as a golden file: it is read by people. `BLESS=1` writes it anew.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{env, fs};

use proxy_generate::{
    GenerateError, Header, Markup, Treatment, generate, struct_ports, suggest_markup,
};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/libraries")
        .join(name)
}

/// The header as a preprocessor would output it, without its included files.
fn preprocessed() -> String {
    let before = "# 1 \"/usr/include/stddef.h\"\ntypedef unsigned long size_t;\n\
                  typedef __builtin_va_list __gnuc_va_list;\ntypedef __gnuc_va_list va_list;\nint other(int n);\n";
    format!("{before}{}", without_directives("sums.h"))
}

/// A header of the fixtures without comments and directives.
fn without_directives(name: &str) -> String {
    let text = fs::read_to_string(fixture(name)).expect("the header");
    let kept = text.lines().map(|line| {
        if line.starts_with('#') {
            ""
        } else {
            without_comment(line)
        }
    });
    let kept: Vec<_> = kept.collect();
    format!("# 1 \"/project/{name}\"\n{}\n", kept.join("\n"))
}

fn without_comment(line: &str) -> &str {
    line.split("/*").next().unwrap_or(line)
}

fn with_header<T>(preprocessed: &str, act: impl FnOnce(&Header<'_>) -> T) -> T {
    act(&Header {
        include: "sums.h",
        before: &[],
        parts: &[],
        file: "/project/sums.h",
        preprocessed,
        macros: &BTreeSet::from(["sum_values".to_owned()]),
    })
}

fn compare(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("the golden file");
    }
    let golden = fs::read_to_string(&path).expect("the golden file");
    assert!(
        golden == text,
        "{name} differs; BLESS=1 writes it anew:\n{text}"
    );
}

#[test]
fn the_source_is_as_it_was() {
    let markup = Markup::read(&fs::read_to_string(fixture("sums.toml")).expect("the mark-up"))
        .expect("a mark-up");
    let (interface, source) =
        with_header(&preprocessed(), |header| generate(header, &markup)).expect("a proxy");
    assert_eq!(interface.functions.len(), 15);
    compare("sums_proxy.c", &source);
}

fn of_model<T>(act: impl FnOnce(&Header<'_>) -> T) -> T {
    act(&Header {
        include: "model.h",
        before: &[],
        parts: &[],
        file: "/project/model.h",
        preprocessed: &without_directives("model.h"),
        macros: &BTreeSet::new(),
    })
}

#[test]
fn the_ports_of_a_struct_are_as_they_were() {
    let markup = Markup::read(&fs::read_to_string(fixture("model.toml")).expect("the mark-up"))
        .expect("a mark-up");
    let ports = of_model(|header| struct_ports(header, &markup)).expect("ports");
    let ports = ports.expect("a port");
    assert_eq!(ports.ports, [("model.Model".to_owned(), 6)]);
    compare("model_ports.h", &ports.header);
    compare("model_ports.c", &ports.source);
    compare("model_component.c", &ports.component);
    let suggested = of_model(suggest_markup).expect("a mark-up");
    compare("model.toml", &suggested);
    let markup = Markup::read(&suggested).expect("a mark-up");
    let again = of_model(|header| struct_ports(header, &markup)).expect("ports");
    assert_eq!(again.map(|ports| ports.ports), Some(ports.ports));
}

#[test]
fn a_mark_up_of_a_struct_that_does_not_fit_is_refused() {
    for (markup, words) in [
        ("[interfaces.Nothing]", "no such struct, expected a struct"),
        (
            "[interfaces.Model]\nfunctions.updat = {}",
            "cannot mark up function \"Model.updat\": not declared",
        ),
        (
            "[interfaces.Model]\nfunctions.update = { parameters = { n = \"self\" } }",
            "has the name \"self\", expected no argument",
        ),
        (
            "[interfaces.Model]\nclasses.\"a b\" = {}",
            "cannot use \"a b\"",
        ),
        (
            "[interfaces.Model]\nfunctions.finalize = { failed = \"result\" }",
            "has no result to look at",
        ),
    ] {
        let markup = Markup::read(markup).expect("a mark-up");
        let refused = of_model(|header| struct_ports(header, &markup));
        let error = refused.expect_err("no ports").to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn the_first_mark_up_fits_its_header() {
    let text = preprocessed();
    let suggested = with_header(&text, suggest_markup).expect("a mark-up");
    compare("sums.toml", &suggested);
    // Values behind a pointer, if nothing else gives the amount of work.
    let behind =
        "parameters = { matrix_rows = \"matrix->rows\", matrix_columns = \"matrix->columns\" }";
    assert!(suggested.contains(behind), "{suggested}");
    let markup = Markup::read(&suggested).expect("a mark-up");
    with_header(&text, |header| generate(header, &markup)).expect("a proxy");
}

/// The suggestion of a header of one function.
fn suggested(declarations: &str) -> String {
    let text = format!("# 1 \"/project/sums.h\"\n{declarations}\n");
    let text = with_header(&text, suggest_markup).expect("a mark-up");
    let parameters = text.lines().find(|line| line.starts_with("parameters"));
    parameters.expect("a function").to_owned()
}

#[test]
fn sizes_behind_pointers_are_suggested() {
    // As MUMPS has them, in a structure of many.
    let structure = "typedef struct { int sym, par, job; int n; int nblk; long nnz, nnz_loc; int nz, nz_loc, nrhs, lrhs; int instance_number; } S;\n";
    assert_eq!(
        suggested(&format!("{structure}void solve(S *par);")),
        "parameters = { par_n = \"par->n\", par_nblk = \"par->nblk\", par_nnz = \"par->nnz\", par_nz = \"par->nz\" }"
    );
    // As METIS has them: numbers by reference, and arrays that may be null.
    assert_eq!(
        suggested("int part(long *nvtxs, long *ncon, long *xadj, long *vsize, long *nparts);"),
        "parameters = { nvtxs = \"*nvtxs\", ncon = \"*ncon\", nparts = \"*nparts\" }"
    );
}

fn recorded(declarations: &str, markup: &str) -> Result<Vec<String>, GenerateError> {
    let text = format!(
        "# 1 \"/usr/include/other.h\"\nint other(int n);\nint third(int n);\n# 1 \"/project/sums.h\"\n{declarations}\n"
    );
    let markup = Markup::read(markup)?;
    let (interface, _) = with_header(&text, |header| generate(header, &markup))?;
    let recorded = interface
        .functions
        .into_iter()
        .filter(|function| matches!(function.treatment, Treatment::Recorded { .. }));
    Ok(recorded.map(|function| function.declaration).collect())
}

#[test]
fn a_mark_up_says_what_empty_parentheses_mean() {
    let text = "int f();\nint g();\nint h(int n);";
    let only = |markup| recorded(text, markup).expect("a proxy");
    assert_eq!(only(""), ["int h(int n)"]);
    assert_eq!(
        only("[functions.f]\narguments = \"void\""),
        ["int f(void)", "int h(int n)"]
    );
    let all = ["int f(void)", "int g(void)", "int h(int n)"];
    assert_eq!(only("[proxy]\narguments = \"void\""), all);
    let wrong = recorded(text, "[functions.h]\narguments = \"void\"").expect_err("no proxy");
    assert!(
        matches!(wrong, GenerateError::HasArguments { .. }),
        "{wrong}"
    );
}

#[test]
fn a_function_of_another_header_is_wrapped_once_it_is_named() {
    let markup = "[functions.other]\nparameters = { n = \"n\" }";
    let found = recorded("int own(int n);", markup).expect("a proxy");
    assert_eq!(found, ["int other(int n)", "int own(int n)"]);
}

#[test]
fn what_is_too_deep_is_refused_and_what_is_deep_is_read() {
    let pointers = |n: usize| format!("int f(int {}p);", "*".repeat(n));
    let parentheses = |n: usize| format!("int f(int {}p{});", "(".repeat(n), ")".repeat(n));
    let sum = |n: usize| format!("enum e {{ A = {}1 }};\nint f(int n);", "1+".repeat(n));
    for text in [pointers(100_000), parentheses(100_000), sum(100_000)] {
        let refused = recorded(&text, "").expect_err("no proxy");
        let GenerateError::TooDeep { place, found } = refused else {
            panic!("{refused}");
        };
        assert_eq!((place.line, found / 1000), (1, 100), "{}", place.file);
    }
    for text in [pointers(200), parentheses(200), sum(200)] {
        assert_eq!(recorded(&text, "").expect("a proxy").len(), 1);
    }
}

fn refused(markup: &str) -> GenerateError {
    let markup = match Markup::read(markup) {
        Ok(markup) => markup,
        Err(error) => return error,
    };
    with_header(&preprocessed(), |header| generate(header, &markup)).expect_err("no proxy")
}

#[test]
fn a_mark_up_that_does_not_fit_is_refused() {
    for (markup, words) in [
        (
            "[functions.sum_value]\n",
            "not declared in the header, expected one that is; do you mean \"sum_values\"?",
        ),
        (
            "[skip]\nfunctions = [\"nothing\"]",
            "cannot mark up function \"nothing\"",
        ),
        (
            "[functions.sum_values]\nparameters = { n = \"m\" }",
            "has the name \"m\", expected one of n, values",
        ),
        (
            "[functions.sum_values]\nparameters = { \"1\" = \"n\" }",
            "cannot use \"1\" as the name of a parameter",
        ),
        (
            "[functions.sum_values]\nparameters = { n = [1] }",
            "is of type array, expected an expression in quotes",
        ),
        (
            "[functions.sum_fortran_]\nfailed = \"result\"",
            "has no result to look at",
        ),
        (
            "[functions.sum_values]\nparameter = 3",
            "unknown field `parameter`",
        ),
        (
            "[proxy]\ninterface = \"a-b\"",
            "cannot use \"a-b\" as the name of an interface",
        ),
        (
            "[proxy]\nfunctions = \"named\"",
            "0 functions declared, expected at least 1",
        ),
    ] {
        let error = refused(markup).to_string();
        assert!(error.contains(words), "{markup}: {error}");
    }
}

#[test]
fn what_is_no_c_is_passed_over_and_named() {
    let text = preprocessed() + "template <class T> T f(T x);\nint after(int n);\n";
    let (interface, _) =
        with_header(&text, |header| generate(header, &Markup::default())).expect("a proxy");
    let last_line = text
        .lines()
        .skip_while(|line| *line != "# 1 \"/project/sums.h\"")
        .count()
        - 2;
    assert_eq!(
        interface.passed_over,
        [format!("/project/sums.h:{last_line}")]
    );
    assert!(
        interface
            .functions
            .iter()
            .any(|function| function.name == "after")
    );
    let text = preprocessed() + "int cut(int n, \n# 2 \"<stdin>\" 2\n";
    let (interface, _) =
        with_header(&text, |header| generate(header, &Markup::default())).expect("a proxy");
    assert_eq!(
        interface.passed_over,
        [format!("/project/sums.h:{last_line}")],
        "where it begins, since it has no end"
    );
    let nothing = with_header("}}}} <<<<", |header| generate(header, &Markup::default()));
    assert!(nothing.is_err(), "{nothing:?}");
}

/// Functions that a proxy, the dynamic linker or the recorder itself needs are skipped by name, and refused if a
/// mark-up names them.
#[test]
fn what_can_have_no_proxy_is_left_alone_with_the_reason() {
    let text = "# 1 \"/project/sums.h\"\nvoid *malloc(unsigned long n);\nint setjmp(void *at);\nint sum(int n);\n";
    let made = |text: &str, markup: &str| {
        let markup = Markup::read(markup).expect("a mark-up");
        with_header(text, |header| generate(header, &markup))
    };
    let (interface, _) = made(text, "").expect("a proxy");
    let names: Vec<_> = interface.functions.iter().map(|f| &*f.name).collect();
    assert_eq!(names, ["sum"]);
    let left: Vec<_> = interface
        .left_alone
        .iter()
        .map(|(name, _)| &**name)
        .collect();
    assert_eq!(left, ["malloc", "setjmp"]);
    let asked = made(text, "[functions.malloc]\nparameters = { n = \"n\" }\n");
    let alone = made(
        "# 1 \"/project/sums.h\"\nvoid *malloc(unsigned long n);\n",
        "",
    );
    for error in [asked, alone] {
        let error = error.expect_err("no proxy");
        assert!(
            matches!(error, GenerateError::NeverProxied { .. }),
            "{error}"
        );
    }
}

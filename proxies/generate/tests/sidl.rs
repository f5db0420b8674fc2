//! SIDL becomes ports: the output for an example is kept as golden files, which people read (`BLESS=1` writes them
//! anew); forms of the language; the parts that are left out or refused, and why.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proxy_generate::sidl::{Library, SidlError, SidlFile, read};

fn library(text: &str) -> Result<Library, SidlError> {
    read(
        SidlFile {
            name: "x.sidl",
            text,
        },
        &[],
    )
}

/// Reads the text as the contents of a package.
fn within(text: &str) -> Result<Library, SidlError> {
    library(&format!("package p version 1.0 {{ {text} }}"))
}

fn rust(text: &str) -> String {
    within(text).expect("ports").rust()
}

/// Fails unless the trait has these lines, in this order, with any lines in between.
fn has(source: &str, lines: &[&str]) {
    let mut rest = source.lines().map(str::trim);
    for line in lines {
        assert!(rest.any(|found| found == *line), "no `{line}` in\n{source}");
    }
}

fn error(text: &str) -> String {
    within(text).expect_err("an error").to_string()
}

fn reasons(text: &str) -> Vec<String> {
    let left = within(text).expect("ports").left;
    left.iter()
        .map(|left| format!("{}: {}", left.name, left.reason))
        .collect()
}

fn compare(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let path: PathBuf = folder.join(name);
    if env::var_os("BLESS").is_some() {
        fs::write(&path, text).expect("the golden file");
    }
    let golden = fs::read_to_string(&path).expect("the golden file");
    assert!(
        golden == text,
        "{name} differs; BLESS=1 writes it anew:\n{text}"
    );
}

#[test]
fn the_ports_of_the_example_are_as_they_were() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sidl/solver.sidl");
    let text = fs::read_to_string(path).expect("the example");
    let file = SidlFile {
        name: "solver.sidl",
        text: &text,
    };
    let library = read(file, &[]).expect("ports");
    let c = library.c("solver");
    assert_eq!(c.file_stem, "solver");
    // Not named as a source of this project, because its layout is the generator's.
    compare("solver_ports.rs.txt", &library.rust());
    compare("solver_ports.h", &c.header);
    compare("solver_ports.c", &c.source);
    compare("solver_ports.f90", &library.fortran("solver"));
    assert_eq!(library.left, []);
}

#[test]
fn arguments_are_lent_and_results_are_given() {
    let source = rust(
        "enum Mode { on, off }; enum Odd { one = 1, two };
         interface A {
           void plain(in bool b, in char c, in int i, in long l, in float f, in double d, in opaque o);
           void complex(in fcomplex f, in dcomplex d);
           string text(in string a, inout string b, out string c);
           void arrays(in array<int> a, inout array<float,1> b, out array<string> c, in array<double,3,row-major> d);
           void raw(in int m, in int n, in rarray<double,2> a(m,n+1), inout rarray<dcomplex> b(n));
           Mode modes(in Mode m, inout Odd n, out array<Mode> all);
           A objects(in A a, in sidl.Unknown b, out B c);
         }; interface B {};",
    );
    has(
        &source,
        &[
            "fn plain(&self, b: bool, c: u8, i: i32, l: i64, f: f32, d: f64, o: usize) -> Result<(), PortError>;",
            "fn complex(&self, f: FComplex, d: DComplex) -> Result<(), PortError>;",
            "fn text(&self, a: RStr<'_>, b: RStr<'_>) -> Result<ATextResult, PortError>;",
            "#[perf(a: i64 = a.len() as i64, b: i64 = b.len() as i64, d: i64 = d.len() as i64, c: i64 = result.len() as i64)]",
            "fn arrays(&self, a: RSlice<'_, i32>, b: RSliceMut<'_, f32>, d: LentArray<'_, f64, 3>) -> Result<OwnedArray<OwnedText>, PortError>;",
            "#[perf(m: i64 = i64::from(m), n: i64 = i64::from(n))]",
            "fn raw(&self, m: i32, n: i32, a: RSlice<'_, f64>, b: RSliceMut<'_, DComplex>) -> Result<(), PortError>;",
            "#[perf(m = m, all: i64 = result.all.len() as i64)]",
            "fn modes(&self, m: Mode, n: i64) -> Result<AModesResult, PortError>;",
            "fn objects(&self, a: OwnedPort, b: OwnedPort) -> Result<AObjectsResult, PortError>;",
        ],
    );
    has(
        &source,
        &[
            "pub struct ATextResult {",
            "pub result: OwnedText,",
            "pub b: OwnedText,",
            "pub c: OwnedText,",
        ],
    );
    has(
        &source,
        &["pub type Odd = i64;", "pub const ODD_TWO: Odd = 2;"],
    );
}

#[test]
fn marks_name_the_parameters_instead() {
    let source = rust(
        "interface A {
           /** Works.
            * @perf q=len(a)*2-n/3 half=x/2, mode=b
            * @perf out=result */
           double f(in array<double> a, in int n, in double x, in bool b);
           /** @perf */
           void g(in array<double> a);
         };",
    );
    has(
        &source,
        &[
            "/// Works.",
            "#[perf(q: i64 = ((a.len() as i64).wrapping_mul(2_i64)).wrapping_sub((i64::from(n)).checked_div(3_i64).unwrap_or(0)), half: f64 = (x) / (2.0), mode = b, out: f64 = *result)]",
        ],
    );
    // An empty mark: none.
    assert_eq!(source.matches("#[perf").count(), 1);
    for (mark, found) in [
        ("@perf q", "@perf q"),
        ("@perf q=nothing", "@perf nothing"),
        ("@perf q=len(n)", "@perf len(n)"),
        ("@perf q=n*", "@perf n*"),
        ("@perf q=(((((((((((((((((((((((n", "((n"),
        ("@perf q=n q=n", "two parameters \"q\""),
    ] {
        let said = error(&format!(
            "interface A {{ /** {mark} */ void f(in int n); }};"
        ));
        assert!(
            said.starts_with("cannot make ports of \"p.A.f\": ") && said.contains(found),
            "{said}"
        );
    }
}

#[test]
fn what_is_inherited_comes_first_and_once() {
    let source = rust(
        "interface Top { void top(); };
         interface Left extends Top { void left(); };
         interface Right extends Top { void right(); };
         interface Named { void take(in Top t); };
         class Both extends Left implements-all Right, Named { void top(); static void own(); void take(in p.Top other); };",
    );
    let both = source
        .split("pub trait BothPort")
        .nth(1)
        .expect("the class");
    has(
        both,
        &[
            "fn top(&self) -> Result<(), PortError>;",
            "fn left(&self) -> Result<(), PortError>;",
            "fn right(&self) -> Result<(), PortError>;",
            "fn own(&self) -> Result<(), PortError>;",
        ],
    );
    assert_eq!(both.matches("fn top").count(), 1);
    assert!(
        error("interface A extends B { void f(); }; interface B extends A {};")
            .contains("inherits of itself")
    );
    assert!(error("interface A { void f(in int n); void f(); };").contains("overload extension"));
    assert!(error("interface A { void f(in int n, in int N); };").contains("two arguments"));
    let reasons = reasons("interface A extends q.Missing { void f(); };");
    assert_eq!(
        reasons,
        ["p.A: what it has of \"q.Missing\" is missing: no file defines it (-I DIR)"]
    );
}

#[test]
fn packages_nest_and_other_files_are_found() {
    let text = "require other version 2.0; import other.deep;
        package p version 1.5.2 { package q { interface A extends Base { E f(in S s, in deep.D d); }; }; enum E { a } }";
    let other =
        "package other { package deep { interface Base { void base(); }; struct D { int a; } } }
        package p { struct S { double x; } }";
    let file = SidlFile {
        name: "a.sidl",
        text,
    };
    let others = [SidlFile {
        name: "b.sidl",
        text: other,
    }];
    let library = read(file, &others).expect("ports");
    let names: Vec<_> = library
        .ports
        .iter()
        .map(|port| (port.name.as_str(), port.version.as_str()))
        .collect();
    assert_eq!(names, [("p.q.A", "1.5.2")]);
    has(
        &library.rust(),
        &[
            "fn base(&self) -> Result<(), PortError>;",
            "fn f(&self, s: S, d: D) -> Result<i64, PortError>;",
        ],
    );
    let twice = error("interface A { void f(); }; interface A { void g(); };");
    assert!(twice.contains("defined twice"), "{twice}");
}

/// Names that are equal in C, and names of the generated functions' own variables.
#[test]
fn names_do_not_meet() {
    let text = "package a { interface BC { void f(in int target, in int status, out int table, in string error); };
        package b { interface C { void f(in array<int> words, in int slot, in int object, in int call); }; } }";
    let made = library(text).expect("ports").c("x");
    for name in ["a_bc_vtable;", "a_b_c_vtable;"] {
        assert_eq!(
            made.header.matches(&format!("}} {name}")).count(),
            1,
            "{name}"
        );
    }
    let text = "package a { interface BC { void f(); }; package BC { interface D { void f(); }; } interface BC_D { void f(); }; }";
    let made = library(text).expect("ports").c("x");
    assert_eq!(made.header.matches("} a_bc_d_vtable;").count(), 1);
    assert_eq!(made.header.matches("} a_bc_d_port_vtable;").count(), 1);
}

#[test]
fn contracts_and_old_forms_are_passed_over() {
    let source = rust(
        "class Later;
         /** Never changes. */
         abstract class A {
           invariant
             one : size() > 0; two : is pure;
           oneway void f[All](in int n) throws E, q.F;
             require n_positive : n > 0; not is_null(n) implies dimen(n) == 1;
             ensure no_side_effects : is pure;
           copy int g[]() from h[x];
           nonblocking int i(copy in int n) throws;
         };",
    );
    has(
        &source,
        &[
            "/// Never changes.",
            "/// SIDL: throws E, q.F.",
            "/// SIDL: require n\\_positive: n \\> 0.",
            "fn f_all(&self, n: i32) -> Result<(), PortError>;",
            "fn g(&self) -> Result<i32, PortError>;",
            "fn i(&self, n: i32) -> Result<i32, PortError>;",
        ],
    );
}

#[test]
fn what_cannot_cross_is_left_out_with_its_reason() {
    let left = reasons(
        "struct T { string s; }; struct N {}; interface Empty {}; interface One { void only(in array<> a); };
         interface A {
           void ok();
           void a(in array<> a); void b(in array<A> a); void c(in T t); void d(inout array<string> a);
           void e(out rarray<int> a(n)); iterator<int> f(); void g(in array<array<int>> a);
         };",
    );
    let expected = [
        "p.T: \"s\" is not a number, and a struct is passed by value",
        "p.N: it has no members",
        "p.Empty: it has no methods",
        "p.One.only: \"a\" is an array of any type",
        "p.One: none of its methods is left",
        "p.A.a: \"a\" is an array of any type",
        "p.A.b: \"a\" is an array of A",
        "p.A.c: \"t\" is the struct p.T, which holds more than numbers",
        "p.A.d: \"a\" is an array of texts to be written to",
        "p.A.e: \"a\" is a raw array that is given",
        "p.A.f: returns of type iterator",
        "p.A.g: \"a\" is an array of arrays",
    ];
    assert_eq!(left, expected);
}

#[test]
fn what_is_not_sidl_is_an_error_with_its_line() {
    for (text, expected) in [
        (
            "interface A {",
            "line 1 has \"interface\", expected package, import or require",
        ),
        (
            "package p {\n interface A {\n void f(int n);",
            "line 3 has \"int\", expected in, out or inout",
        ),
        (
            "package p {\n interface A { void f() }",
            "line 2 has \"}\", expected \";\"",
        ),
        (
            "package p { enum E { a b } }",
            "has \"b\", expected \",\" or \"}\"",
        ),
        (
            "package p { interface A { void f(in rarray<int,2> a(n)); } }",
            "expected 2 extents of \"a\"",
        ),
        (
            "package p { interface A { void f(in array<int,9> a); } }",
            "expected 1 to 7 dimensions",
        ),
        ("package p {", "has the end"),
        (
            "package p { interface A { void f(); require x",
            "expected \";\" behind what is asserted",
        ),
        ("package p { /* ", "a comment without an end"),
    ] {
        let error = library(text).expect_err(text).to_string();
        assert!(
            error.starts_with("cannot read SIDL \"x.sidl\": ") && error.contains(expected),
            "{error}"
        );
    }
    let deep = "package p { ".repeat(1000);
    assert!(library(&deep).is_err());
    let deep = format!("package p {{ interface A {{ {}", "array<".repeat(100_000));
    assert!(library(&deep).is_err());
}

proptest! {
    /// Any input gives ports or an error, and the ports can be written.
    #[test]
    fn words_in_any_order_are_read_or_refused(words in prop::collection::vec(prop::sample::select(vec![
        "package", "p", "version", "1.0", "{", "}", "interface", "class", "A", "B", "extends", "implements-all", "enum",
        "struct", "(", ")", ";", ",", "in", "out", "inout", "int", "double", "string", "array", "rarray", "<", ">", "2",
        "n", "=", "-", "throws", "require", "ensure", ":", "import", "/** @perf q=n */", "void", "f", "[", "]", "x.y",
    ]), 0..60)) {
        let text = format!("package p {{ interface A {{ {} }} }}", words.join(" "));
        for text in [words.join(" "), text] {
            if let Ok(library) = library(&text) {
                library.rust();
                library.c("x");
            }
        }
    }
}

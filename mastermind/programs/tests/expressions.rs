//! Expressions: valid and refused ones, and that compiling changes no value.

use std::collections::BTreeMap;

use mastermind_models::{
    Coordinate, Formula, Metric, ModelSet, Parameter, SampleSet, fit, predict,
};
use mastermind_programs::expression::{
    Binary, Context, CostFunction, Expression, ExpressionError, Kind, Resolver, Scope, Symbol,
    SyntaxError, SystemProperty, Typed, Unary, parse, parse_assignments,
};
use proptest::prelude::*;

/// Place of variable `x`, a number, and of `t`, a truth value.
fn scope() -> Scope {
    Scope::from([
        ("x".into(), Symbol::Slot(0, Kind::Number)),
        ("t".into(), Symbol::Slot(1, Kind::Truth)),
        ("process".into(), Symbol::Property(SystemProperty::Process)),
        ("n".into(), Symbol::Value(4.0, Kind::Number)),
    ])
}

fn compile(text: &str, functions: &[(&str, &[&str], &str)]) -> Result<Typed, ExpressionError> {
    let functions: BTreeMap<_, _> = functions
        .iter()
        .map(|(name, parameters, value)| {
            let parameters = parameters.iter().map(|p| (*p).to_owned()).collect();
            let value = parse(value).expect("a function");
            ((*name).to_owned(), CostFunction { parameters, value })
        })
        .collect();
    let (scope, models) = (scope(), models());
    let resolver = Resolver {
        globals: &scope,
        functions: &functions,
        models: &models,
    };
    resolver.compile(&parse(text)?, &scope)
}

fn models() -> ModelSet {
    let mut set = SampleSet::new(Metric::Wall);
    let parameters = [
        Parameter::integer("q", "double"),
        Parameter::enumeration("axis", &["x", "y"]),
    ];
    let method = set.declare("Flux::flux.compute", &parameters).expect("new");
    for (axis, slope) in [(0.0, 1e-9), (1.0, 3e-9)] {
        for q in [1000.0, 2000.0, 4000.0, 8000.0] {
            set.push(method, &[q, axis], 2e-6 + slope * q)
                .expect("a call");
        }
    }
    let mut models: Vec<_> = set
        .finish()
        .iter()
        .flat_map(|s| fit(s).expect("a fit"))
        .collect();
    // As if calls had been set aside.
    for model in &mut models {
        (model.total_ratio, model.sigma) = (1.5, None);
    }
    ModelSet { models }
}

fn value(text: &str) -> f64 {
    let typed = compile(text, &[]).expect(text);
    typed.code.evaluate(&context(&[3.0, 1.0]))
}

fn context(slots: &[f64]) -> Context<'_> {
    Context {
        slots,
        process: 7.0,
        thread: 0.0,
        threads: 1.0,
        node: 0.0,
    }
}

#[test]
fn operators_bind_as_in_mathematics() {
    for (text, expected) in [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("2 ^ 3 ^ 2", 512.0),
        ("-2 ^ 2", -4.0),
        ("2 ^ -1", 0.5),
        ("7 - 2 - 1", 4.0),
        ("-1 % 4", -1.0 + 4.0),
        ("div(7, 2)", 3.0),
        ("process % n", 3.0),
        ("x > 2 && t ? x : 0 - x", 3.0),
        ("!(x == 3) || !t ? 1 : 2", 2.0),
        ("xor(5, 1) + bits(6, 3)", 6.0),
        ("min(x, 2) + max(x, 2)", 5.0),
        ("ms(3) + us(2) + ns(1)", 0.003_002_001),
        ("1_000.5e-1", 100.05),
        (".5", 0.5),
        ("log2(8) + ln(exp(1)) + log10(100)", 6.0),
        (
            "abs(-1) + floor(1.5) + ceil(1.5) + round(2.5) + sqrt(9)",
            10.0,
        ),
    ] {
        assert!((value(text) - expected).abs() < 1e-12, "{text}");
    }
}

#[test]
fn a_side_that_is_not_chosen_is_not_evaluated() {
    assert_eq!(value("x == 3 ? 1 : 1 / 0"), 1.0);
    assert_eq!(value("t || 1 / 0 > 0 ? 1 : 0"), 1.0);
}

#[test]
fn constants_are_folded() {
    let typed = compile("n * 2 + (n > 3 ? 1 : x)", &[]).expect("an expression");
    assert_eq!(typed.code.constant(), Some(9.0));
}

#[test]
fn cost_functions_call_one_another() {
    let functions: &[(&str, &[&str], &str)] = &[
        ("f", &["a"], "g(a, 2) + n"),
        ("g", &["a", "b"], "a * b + process"),
    ];
    let typed = compile("f(x + 1)", functions).expect("an expression");
    assert_eq!(typed.code.evaluate(&context(&[3.0, 1.0])), 19.0);
}

#[test]
fn a_fitted_model_is_a_cost() {
    let text = "2 * model(\"Flux::flux.compute\", q = x * 1000, axis = \"y\")";
    let set = models();
    let coordinate = Coordinate::new().with("q", 3000.0).with("axis", "y");
    let model = set
        .find("Flux::flux.compute", Metric::Wall, &coordinate)
        .expect("a model");
    // A simulation sums over calls: those that were set aside count.
    let expected = 2.0 * (1.5 * predict(model, &coordinate).expect("a time").value_s);
    assert_eq!(value(text), expected);
}

#[test]
fn calls_of_a_fitted_model_vary_about_their_mean() {
    let (scope, functions, mut models) = (scope(), BTreeMap::new(), models());
    let constant = |value: f64| Some(Formula::new(value, Vec::new()));
    let text = "model(\"Flux::flux.compute\", q = 1000, axis = \"y\")";
    let drawn = |models: &ModelSet, n: u32| -> Vec<f64> {
        let resolver = Resolver {
            globals: &scope,
            functions: &functions,
            models,
        };
        let typed = resolver
            .compile(&parse(text).expect("text"), &scope)
            .expect("an expression");
        (0..n)
            .map(|call| typed.code.evaluate(&context(&[f64::from(call), 1.0])))
            .collect()
    };
    let mean = 1.5 * 5e-6;
    for model in &mut models.models {
        model.sigma = constant(1e-6);
    }
    let calls = drawn(&models, 20_000);
    let n = calls.len() as f64;
    let found = calls.iter().sum::<f64>() / n;
    let square = calls.iter().map(|s| (s - found) * (s - found)).sum::<f64>() / n;
    assert!((found / mean - 1.0).abs() < 0.01, "{found}");
    assert!((square.sqrt() / 1.5e-6 - 1.0).abs() < 0.03, "{square}");
    assert_eq!(drawn(&models, 10), calls[..10]);
    // However wide, none is below 0, and the mean stays.
    for model in &mut models.models {
        model.sigma = constant(1.0);
    }
    let calls = drawn(&models, 20_000);
    assert!(calls.iter().all(|s| *s >= 0.0));
    let found = calls.iter().sum::<f64>() / n;
    assert!((found / mean - 1.0).abs() < 0.03, "{found}");
}

#[test]
fn what_is_wrong_is_named() {
    type Check = fn(&ExpressionError) -> bool;
    type Functions<'a> = &'a [(&'a str, &'a [&'a str], &'a str)];
    let circle: &[(&str, &[&str], &str)] = &[("f", &[], "g()"), ("g", &[], "1 + f()")];
    let doubling: Vec<(String, String)> = (0..40)
        .map(|i| (format!("d{i}"), format!("d{0}() + d{0}()", i + 1)))
        .chain([("d40".to_owned(), "x".to_owned())])
        .collect();
    let doubling: Vec<(&str, &[&str], &str)> = doubling
        .iter()
        .map(|(name, value)| (name.as_str(), &[] as &[&str], value.as_str()))
        .collect();
    let cases: [(&str, Functions<'_>, Check); 16] = [
        ("1 +", &[], |e| {
            matches!(
                e,
                ExpressionError::Syntax(SyntaxError::Nothing { at: 4, .. })
            )
        }),
        ("1 2", &[], |e| {
            matches!(
                e,
                ExpressionError::Syntax(SyntaxError::Nothing { at: 3, .. })
            )
        }),
        ("", &[], |e| {
            matches!(
                e,
                ExpressionError::Syntax(SyntaxError::Nothing { at: 1, .. })
            )
        }),
        ("1e999", &[], |e| {
            matches!(e, ExpressionError::Syntax(SyntaxError::Nothing { .. }))
        }),
        ("1 < 2 < 3", &[], |e| {
            matches!(e, ExpressionError::Syntax(SyntaxError::Nothing { .. }))
        }),
        (
            "y + 1",
            &[],
            |e| matches!(e, ExpressionError::UnknownName { name, .. } if name == "y"),
        ),
        ("fly(1)", &[], |e| {
            matches!(e, ExpressionError::UnknownFunction { .. })
        }),
        ("min(1)", &[], |e| {
            matches!(
                e,
                ExpressionError::Arguments {
                    found: 1,
                    expected: 2,
                    ..
                }
            )
        }),
        ("1 + t", &[], |e| {
            matches!(
                e,
                ExpressionError::Kind {
                    found: Kind::Truth,
                    ..
                }
            )
        }),
        ("x ? 1 : 2", &[], |e| {
            matches!(
                e,
                ExpressionError::Kind {
                    found: Kind::Number,
                    ..
                }
            )
        }),
        ("t == 1", &[], |e| matches!(e, ExpressionError::Kind { .. })),
        (
            "f()",
            circle,
            |e| matches!(e, ExpressionError::Recursion { circle, .. } if circle == "f -> g -> f"),
        ),
        ("d0()", &doubling, |e| {
            matches!(e, ExpressionError::TooLarge { .. })
        }),
        ("model(\"None\", q = 1)", &[], |e| {
            matches!(e, ExpressionError::UnknownModel { .. })
        }),
        ("model(\"Flux::flux.compute\", axis = \"x\")", &[], |e| {
            matches!(e, ExpressionError::ModelParameters { .. })
        }),
        (
            "model(\"Flux::flux.compute\", q = 1, axis = \"z\")",
            &[],
            |e| matches!(e, ExpressionError::UnknownModel { .. }),
        ),
    ];
    for (text, functions, check) in cases {
        let error = compile(text, functions).expect_err(text);
        assert!(check(&error), "{text}: {error:?}");
        assert!(error.to_string().starts_with("cannot "), "{error}");
    }
}

#[test]
fn depth_and_length_are_bounded() {
    for text in [
        "(".repeat(8000),
        "-".repeat(8000),
        "t?".repeat(4000),
        "2^".repeat(4000),
        "abs(".repeat(2000),
        "1+".repeat(100_000),
    ] {
        assert!(parse(&text).is_err());
    }
    let long = format!("1{}", "+1".repeat(4000));
    assert!(parse(&long).is_ok());
}

#[test]
fn assignments_are_a_list() {
    let found = parse_assignments("a = 1; b = a + 1;").expect("assignments");
    let names: Vec<_> = found.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(parse_assignments("  ").expect("none").is_empty());
    assert!(parse_assignments("a = ").is_err());
}

/// Numbers of the variables `x` and `process` alone.
fn expressions() -> impl Strategy<Value = Expression> {
    let leaf = prop_oneof![
        (0..50_u32).prop_map(|n| Expression::Number(f64::from(n) / 4.0)),
        Just(Expression::Name("x".into())),
        Just(Expression::Name("process".into())),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let arithmetic = prop_oneof![
            Just(Binary::Add),
            Just(Binary::Subtract),
            Just(Binary::Multiply),
            Just(Binary::Divide),
            Just(Binary::Modulo),
        ];
        let one = inner.clone();
        prop_oneof![
            one.prop_map(|x| Expression::Unary(Unary::Minus, Box::new(x))),
            (arithmetic, inner.clone(), inner.clone()).prop_map(|(o, a, b)| Expression::Binary(
                o,
                Box::new(a),
                Box::new(b)
            )),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| {
                let condition =
                    Expression::Binary(Binary::Less, Box::new(a.clone()), Box::new(b.clone()));
                Expression::Choice(Box::new([condition, a, b]))
            }),
            (inner.clone(), inner).prop_map(|(a, b)| Expression::Call("max".into(), vec![a, b])),
        ]
    })
}

/// The value by walking the expression as written.
fn naive(expression: &Expression, x: f64) -> f64 {
    match expression {
        Expression::Number(n) => *n,
        Expression::Name(name) if name == "x" => x,
        Expression::Name(_) => 7.0,
        Expression::Unary(_, a) => -naive(a, x),
        Expression::Binary(operator, a, b) => {
            let (a, b) = (naive(a, x), naive(b, x));
            match operator {
                Binary::Add => a + b,
                Binary::Subtract => a - b,
                Binary::Multiply => a * b,
                Binary::Divide => a / b,
                Binary::Modulo => a - b * (a / b).floor(),
                _ => f64::from(u8::from(a < b)),
            }
        }
        Expression::Choice(p) if naive(&p[0], x) != 0.0 => naive(&p[1], x),
        Expression::Choice(p) => naive(&p[2], x),
        Expression::Call(_, a) => naive(&a[0], x).max(naive(&a[1], x)),
        other => panic!("not generated: {other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_written_is_read_back(expression in expressions()) {
        prop_assert_eq!(parse(&expression.to_string()).expect("its text"), expression);
    }

    #[test]
    fn compiling_changes_no_value(expression in expressions(), x in -9..9_i32) {
        let x = f64::from(x);
        let typed = compile(&expression.to_string(), &[]).expect("an expression");
        let (found, expected) = (typed.code.evaluate(&context(&[x, 0.0])), naive(&expression, x));
        prop_assert!(found == expected || found.is_nan() && expected.is_nan());
    }

    #[test]
    fn no_text_makes_the_reader_fall_over(text in "[-+*/%^!?:()a-c0-9.e,=<>&|;\" ]{0,60}") {
        let _ = parse(&text);
        let _ = parse_assignments(&text);
    }

    #[test]
    fn nor_does_any_other(text in any::<String>()) {
        let _ = parse(&text);
    }
}

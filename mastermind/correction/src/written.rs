//! Corrected models as formulas, and as models like any other.
//!
//! A correction is evaluated during the search as columns and trees, which no other crate can read.
//! This file writes it as a formula of the language of models, so that `predict`, `choose` and a
//! reader need not know how it was found. Such a formula must give the times that
//! [`Corrected::predict`] gives, so the limits of the ratio and the damping outside the training
//! points are part of it.
//!
//! ```text
//! shown      0.97*t_comm + T*(2.1e-5 + 3e-7*np^1.2)        for people: the term alone, four digits
//! formula    t_comm * max(low, min(high, (…)/t_comm)) ^ (share / (1 + ln(D)/ln(16)))
//!                                                          whole: clipped and damped, all digits
//! model      a Model of the family `Written` with that formula, an interval and a range
//! ```
//!
//! `t_comm` is the base: a name in `shown`, and put in as a whole expression in `formula`. Its
//! unknowns keep their names there, and get their values from the coefficients of the model.

use std::collections::BTreeMap;

use mastermind_models::expression::{Expression, Unary};
use mastermind_models::{
    Coefficient, Covariance, Family, Formula, Freedom, Metric, Model, Written,
};

use crate::case::Case;
use crate::correction::{Corrected, MIN_RATIO, Source, Terminal, relative_error};
use crate::error::Error;
use crate::formula_text::{
    add, call, divide, exact, magnitude, multiply, name, number, power, shown, subtract,
};
use crate::search::tree::Node;
use crate::semi_empirical::SemiEmpirical;
use crate::specification::Specification;
use crate::table::Table;

/// Name of the base in a displayed term.
const BASE: &str = "t_comm";

impl Corrected {
    /// The corrected time for people, with `t_comm` for the base: `0.97*t_comm + T*(2.1e-5 + 3e-7*np^1.2)`; a mean is a
    /// product of such formulas to the power of their weights, in each of which `t_comm` has the parameters found with
    /// its term.
    pub fn shown(&self, specification: &Specification) -> String {
        let one = |member: &Self| shown(&member.raw(specification, &name(BASE)));
        match self.others.is_empty() {
            true => one(self),
            false => {
                let weighted = |member: &Self| format!("({})^{:.3}", one(member), member.weight);
                self.members().map(weighted).collect::<Vec<_>>().join(" * ")
            }
        }
    }

    /// The term alone for people, which is added to the base, or to its multiple; for a mean each term, the fittest
    /// first.
    pub fn term(&self, specification: &Specification) -> String {
        let one = |member: &Self| shown(&member.term_of(specification, &name(BASE)));
        self.members().map(one).collect::<Vec<_>>().join("; ")
    }

    /// The whole formula: clipped, and damped outside the range of the training points.
    ///
    /// Its unknowns are those of the base, so that a reader recognises them.
    pub fn formula(&self, specification: &Specification) -> String {
        let base = with_constants(specification.expression(), specification);
        let fitted = self.with_unknowns(&base, specification, &self.fitted);
        let factors = self.members().map(|member| {
            let base = self.with_unknowns(&base, specification, &member.unknowns);
            let share = self.share * member.weight;
            member.factor_of(specification, base, &fitted, share)
        });
        exact(&factors.fold(fitted.clone(), multiply))
    }

    /// Factor of the fitted base due to a share of this candidate's correction.
    fn factor_of(
        &self,
        specification: &Specification,
        base: Expression,
        fitted: &Expression,
        share: f64,
    ) -> Expression {
        let ratio = held(
            self.ratio,
            divide(self.raw(specification, &base), base.clone()),
        );
        let distance = self.distance(specification);
        let damped = add(
            number(1.0),
            divide(call("ln", vec![distance]), number(self.reach.ln())),
        );
        if !self.is_moved() {
            // One power does for both exponents; with moved parameters the limits come in between.
            return power(ratio, divide(number(share), damped));
        }
        let ratio = power(ratio, divide(number(1.0), damped));
        let whole = divide(multiply(base, ratio), fitted.clone());
        power(held([MIN_RATIO, 1.0 / MIN_RATIO], whole), number(share))
    }

    /// The base with this candidate's values of its unknowns.
    fn with_unknowns(
        &self,
        base: &Expression,
        specification: &Specification,
        unknowns: &[f64],
    ) -> Expression {
        let names = specification.unknown_names();
        substituted(base, &|known| {
            let place = names.iter().position(|name| *name == known)?;
            // The model has one value for a name, that of `self`; a member's own is written as a
            // multiple of it.
            let factor = unknowns[place] / self.unknowns[place];
            if factor == 1.0 {
                return None;
            }
            Some(match factor.is_finite() {
                true => multiply(number(factor), name(known)),
                false => number(unknowns[place]),
            })
        })
    }

    fn raw(&self, specification: &Specification, base: &Expression) -> Expression {
        let of_base = multiply(number(self.linear.of_base), base.clone());
        add(of_base, self.term_of(specification, base))
    }

    fn term_of(&self, specification: &Specification, base: &Expression) -> Expression {
        let scale = self.scale(specification);
        let mut nodes = self.tree.iter();
        let tree = self.node(specification, base, &mut nodes);
        let inner = add(
            number(self.linear.constant),
            multiply(number(self.linear.factor), tree),
        );
        multiply(scale, inner)
    }

    fn scale(&self, specification: &Specification) -> Expression {
        let factors = self.scalings.iter().map(|scaling| {
            let input = name(&specification.inputs[scaling.input]);
            power(input, number(scaling.power))
        });
        factors.fold(number(1.0), multiply)
    }

    fn node(
        &self,
        specification: &Specification,
        base: &Expression,
        nodes: &mut std::slice::Iter<'_, Node>,
    ) -> Expression {
        let Some(node) = nodes.next() else {
            return number(f64::NAN);
        };
        let mut operand = || self.node(specification, base, nodes);
        match *node {
            Node::Number(value) => number(value),
            Node::Input(place) => match self.terminals.get(usize::from(place)) {
                Some(Terminal { source, unit }) => {
                    let source = match source {
                        Source::Input(input) => name(&specification.inputs[*input]),
                        Source::Slope(slope) => slope.clone(),
                    };
                    divide(source, number(*unit))
                }
                None => {
                    let unit = multiply(number(self.base_unit), self.scale(specification));
                    divide(base.clone(), unit)
                }
            },
            Node::Add => add(operand(), operand()),
            Node::Subtract => subtract(operand(), operand()),
            Node::Multiply => multiply(operand(), operand()),
            Node::Divide => divide(operand(), operand()),
            Node::Power => power(magnitude(operand()), operand()),
            Node::Log => call("ln", vec![magnitude(operand())]),
            Node::Exp => call("exp", vec![operand()]),
            Node::Ramp => call("max", vec![number(0.0), operand()]),
        }
    }

    /// How far outside the range of the training points: a product of factors of at least 1.
    fn distance(&self, specification: &Specification) -> Expression {
        let mut product = number(1.0);
        for (input, [low, high]) in self.damped_inputs() {
            let x = || name(&specification.inputs[input]);
            let factor = if low > 0.0 {
                let beyond = call(
                    "max",
                    vec![divide(x(), number(high)), divide(number(low), x())],
                );
                call("max", vec![number(1.0), beyond])
            } else {
                let beyond = call(
                    "max",
                    vec![subtract(x(), number(high)), subtract(number(low), x())],
                );
                let beyond = call("max", vec![number(0.0), beyond]);
                add(
                    number(1.0),
                    divide(beyond, number((high - low).max(1e-300))),
                )
            };
            product = multiply(product, factor);
        }
        product
    }

    /// A model like any other, which `predict` and `choose` take.
    ///
    /// Its `sigma` is the larger of the root mean square relative errors at the training points, corrected for the
    /// degrees of freedom, and at points held out of the search; it covers the uncertainty of the parameters as well.
    /// Beyond the points the interval grows as the held-out error did beyond the points of the fit.
    ///
    /// # Errors
    /// [`Error::Unwritable`] if the formula is longer or deeper than formulas may be.
    pub fn model(&self, specification: &Specification, train: &Table) -> Result<Model, Error> {
        let n_terms = self
            .tree
            .iter()
            .filter(|node| matches!(node, Node::Number(_)));
        // The linear constants `a` and `c`; in the first case also `d`.
        let n_linear = if self.case == Case::One { 3 } else { 2 };
        let n_free = specification.unknowns.len() + n_terms.count() + n_linear;
        let fitted = self.predict(specification, train);
        let (error, drift) = self.held_out.map_or((0.0, 0.0), |held_out| {
            let error = match self.others.is_empty() {
                true => held_out.within.single,
                false => held_out.within.corrected,
            };
            (error, held_out.drift)
        });
        let model = model_of(
            specification,
            train,
            &self.formula(specification),
            &self.unknowns,
            (&fitted, n_free, error),
        )?;
        Ok(Model { drift, ..model })
    }
}

impl SemiEmpirical {
    /// The fitted formula as a model like any other.
    ///
    /// # Errors
    /// [`Error::Unwritable`] if the formula is longer or deeper than formulas may be.
    pub fn model(&self, specification: &Specification, train: &Table) -> Result<Model, Error> {
        let fitted = specification.evaluate(train, &self.values);
        let text = exact(&with_constants(specification.expression(), specification));
        let n_free = self.values.len();
        let of = (&fitted[..], n_free, 0.0);
        let mut model = model_of(specification, train, &text, &self.values, of)?;
        for (coefficient, std_error) in model.coefficients.iter_mut().zip(&self.std_errors) {
            coefficient.std_error = *std_error;
        }
        Ok(model)
    }
}

fn model_of(
    specification: &Specification,
    train: &Table,
    text: &str,
    unknowns: &[f64],
    (fitted, n_free, least): (&[f64], usize, f64),
) -> Result<Model, Error> {
    let unwritable = |source| Error::Unwritable {
        model: specification.name.clone(),
        source,
    };
    let names = specification.unknowns.keys().cloned();
    let values: BTreeMap<String, f64> = names.zip(unknowns.iter().copied()).collect();
    let n = train.len() as f64;
    let freedom = (n - n_free as f64).max(1.0);
    let share = (relative_error(&train.observed, fitted) * (n / freedom).sqrt()).max(least);
    // A relative error: the interval is a fixed share of the predicted time.
    let sigma = Formula {
        written: Some(
            Written::new(&format!("{share:?}*abs({text})"), values.clone()).map_err(unwritable)?,
        ),
        ..Formula::default()
    };
    let formula = Formula {
        written: Some(Written::new(text, values).map_err(unwritable)?),
        ..Formula::default()
    };
    let pairs = specification.unknowns.iter().zip(unknowns);
    let coefficients = pairs.map(|((name, unknown), value)| Coefficient {
        name: name.clone(),
        value: *value,
        std_error: None,
        unit: unknown.unit.clone(),
    });
    let columns = specification.inputs.iter().zip(&train.inputs);
    let range = columns.map(|(name, column)| {
        let low = column.iter().copied().fold(f64::INFINITY, f64::min);
        let high = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (name.clone(), [low, high])
    });
    let size = unknowns.len();
    let pairs = || train.observed.iter().zip(fitted);
    let smape = pairs().map(|(y, t)| 200.0 * (y - t).abs() / (y.abs() + t.abs()));
    let mean = train.observed.iter().sum::<f64>() / n;
    let total: f64 = train.observed.iter().map(|y| (y - mean).powi(2)).sum();
    let rest: f64 = pairs().map(|(y, t)| (y - t).powi(2)).sum();
    Ok(Model {
        method: specification.method.clone(),
        metric: Metric::Wall,
        mode: BTreeMap::new(),
        shared: BTreeMap::new(),
        family: Family::Written,
        params: specification.inputs.clone(),
        expression: formula.to_string(),
        formula,
        coefficients: coefficients.collect(),
        // `sigma` covers the uncertainty of the unknowns too.
        covariance: Some(Covariance::new(size, |_, _| 0.0)),
        smape: smape.sum::<f64>() / n,
        r2: (total > 0.0).then(|| 1.0 - rest / total),
        r2_adjusted: None,
        aicc: None,
        bic: None,
        cv_smape: None,
        range: range.collect(),
        sigma: Some(sigma),
        sigma_family: Some(Family::Written),
        interval_ratio: 1.0,
        total_ratio: 1.0,
        design_effect: 1.0,
        drift: 0.0,
        gaps: BTreeMap::new(),
        held_up: None,
        freedom: Freedom {
            coefficients: freedom,
            sigma: freedom,
        },
        alternatives: Vec::new(),
        n_points: train.len(),
        n_records: train.len() as u64,
        n_refused: 0,
        carried: None,
        notes: Vec::new(),
    })
}

/// An expression clipped to limits, in the order in which it is never NaN.
fn held([low, high]: [f64; 2], expression: Expression) -> Expression {
    let capped = call("min", vec![number(high), expression]);
    call("max", vec![number(low), capped])
}

/// An expression with the constants of the specification inserted.
fn with_constants(expression: &Expression, specification: &Specification) -> Expression {
    substituted(expression, &|known| {
        specification.constants.get(known).copied().map(number)
    })
}

/// An expression with other expressions in the place of names.
fn substituted(
    expression: &Expression,
    of_name: &dyn Fn(&str) -> Option<Expression>,
) -> Expression {
    let of = |part: &Expression| substituted(part, of_name);
    match expression {
        Expression::Name(known) => of_name(known).unwrap_or_else(|| expression.clone()),
        Expression::Unary(Unary::Minus, x) => Expression::Unary(Unary::Minus, Box::new(of(x))),
        Expression::Binary(operator, a, b) => {
            Expression::Binary(*operator, Box::new(of(a)), Box::new(of(b)))
        }
        Expression::Call(function, arguments) => {
            Expression::Call(function.clone(), arguments.iter().map(of).collect())
        }
        other => other.clone(),
    }
}

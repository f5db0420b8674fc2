//! Compiles expressions: resolves names, checks types, inlines cost functions, folds constants.
//!
//! An expression of a model is evaluated millions of times in a simulation, each time with other
//! values of few variables. Everything that does not depend on these is done here, once: a name
//! becomes the place of a variable or a constant, a call of a cost function is replaced by its
//! value with the arguments inserted, and parts that are constant become numbers. Errors are found
//! here as well, with the names that are known, so that evaluation cannot fail.
//!
//! ```text
//! functions:  f(n) = 2 * n * cell          globals: cell = 3 (never assigned), k in slot 0
//! text:       f(k) + f(10)
//! compiled:   (2 * slot[0]) * 3 + 60
//! ```
//!
//! Inlining may blow up, so the number of operations is bounded (`LARGEST`). A cost function may
//! not call itself, which is found by the stack of calls.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mastermind_models::{Coordinate, Metric, ModelSet, Predictor};

use super::builtin::Builtin;
use super::contention::Contention;
use super::error::{ExpressionError, list};
use super::evaluate::{Compiled, Fitted};
use mastermind_models::expression::{Argument, Binary, Expression, Unary};

/// Maximum number of operations of one expression with its cost functions inlined.
const LARGEST: usize = 20_000;

/// Deepest chain of cost functions.
const DEEPEST: usize = 64;

/// Type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// True or false.
    Truth,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Number => "number",
            Self::Truth => "truth value",
        })
    }
}

/// A property of the system that differs from process to process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemProperty {
    /// Rank of the process.
    Process,
    /// Index of the thread.
    Thread,
    /// Threads of the parallel region.
    Threads,
    /// Index of the node.
    Node,
}

/// The meaning of a name in an expression: a variable at its place, a value, a property of the
/// system, or an argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Symbol {
    /// A variable that changes, at its place.
    Slot(u32, Kind),
    /// A value that never changes.
    Value(f64, Kind),
    /// A property of the system.
    Property(SystemProperty),
    /// An argument of a cost function.
    Argument(Typed),
}

/// Names and their meanings.
pub type Scope = BTreeMap<String, Symbol>;

/// A cost function: a named expression of its parameters, the globals and the system. It is inlined
/// wherever it is called.
#[derive(Debug, Clone, PartialEq)]
pub struct CostFunction {
    /// Names of its parameters.
    pub parameters: Vec<String>,
    /// Its value.
    pub value: Expression,
}

/// A compiled expression and its type.
#[derive(Debug, Clone, PartialEq)]
pub struct Typed {
    /// The expression.
    pub code: Compiled,
    /// Type of its value.
    pub kind: Kind,
}

/// The tables in which the names of expressions are looked up, and the compiler over them.
#[derive(Debug, Clone, Copy)]
pub struct Resolver<'a> {
    /// Names in cost functions: globals and the system.
    pub globals: &'a Scope,
    /// Cost functions.
    pub functions: &'a BTreeMap<String, CostFunction>,
    /// Fitted models.
    pub models: &'a ModelSet,
}

impl Resolver<'_> {
    /// Compiles an expression with the names of `scope`.
    ///
    /// # Errors
    /// Every [`ExpressionError`] but the errors of reading.
    pub fn compile(&self, text: &Expression, scope: &Scope) -> Result<Typed, ExpressionError> {
        let mut compiler = Compiler {
            resolver: self,
            operations: 0,
            calls: Vec::new(),
        };
        compiler.expression(text, scope)
    }

    /// Compiles an expression that must be of one type.
    ///
    /// # Errors
    /// As [`Resolver::compile`], and [`ExpressionError::Kind`].
    pub fn compile_as(
        &self,
        kind: Kind,
        text: &Expression,
        scope: &Scope,
    ) -> Result<Compiled, ExpressionError> {
        of_kind(kind, text, self.compile(text, scope)?)
    }
}

fn of_kind(kind: Kind, part: &Expression, typed: Typed) -> Result<Compiled, ExpressionError> {
    if typed.kind == kind {
        return Ok(typed.code);
    }
    Err(ExpressionError::Kind {
        part: part.to_string(),
        found: typed.kind,
        expected: kind,
    })
}

struct Compiler<'a> {
    resolver: &'a Resolver<'a>,
    operations: usize,
    calls: Vec<String>,
}

impl Compiler<'_> {
    fn expression(&mut self, text: &Expression, scope: &Scope) -> Result<Typed, ExpressionError> {
        self.operations += 1;
        if self.operations > LARGEST {
            return Err(ExpressionError::TooLarge { most: LARGEST });
        }
        let (code, kind) = match text {
            Expression::Number(number) => (Compiled::Constant(*number), Kind::Number),
            Expression::Truth(truth) => {
                (Compiled::Constant(f64::from(u8::from(*truth))), Kind::Truth)
            }
            Expression::Name(name) => return named(name, scope),
            Expression::Unary(Unary::Minus, x) => (
                Compiled::Minus(Box::new(self.operand(Kind::Number, x, scope)?)),
                Kind::Number,
            ),
            Expression::Unary(Unary::Not, x) => (
                Compiled::Not(Box::new(self.operand(Kind::Truth, x, scope)?)),
                Kind::Truth,
            ),
            Expression::Binary(operator, a, b) => return self.binary(*operator, a, b, scope),
            Expression::Choice(parts) => {
                let condition = self.operand(Kind::Truth, &parts[0], scope)?;
                let then = self.expression(&parts[1], scope)?;
                let otherwise = self.operand(then.kind, &parts[2], scope)?;
                let parts = Box::new([condition, then.code, otherwise]);
                (Compiled::Choice(parts), then.kind)
            }
            Expression::Call(name, arguments) => return self.call(name, arguments, scope),
            Expression::Fitted(method, arguments) => {
                (self.fitted(method, arguments, scope)?, Kind::Number)
            }
        };
        // Operands are folded already, so one level is enough.
        let code = code.folded();
        Ok(Typed { code, kind })
    }

    fn operand(
        &mut self,
        kind: Kind,
        text: &Expression,
        scope: &Scope,
    ) -> Result<Compiled, ExpressionError> {
        of_kind(kind, text, self.expression(text, scope)?)
    }

    fn binary(
        &mut self,
        operator: Binary,
        a: &Expression,
        b: &Expression,
        scope: &Scope,
    ) -> Result<Typed, ExpressionError> {
        use Binary::{
            Add, And, AtLeast, AtMost, Divide, Equal, Greater, Less, Modulo, Multiply, Or, Power,
            Subtract, Unequal,
        };
        let kind = match operator {
            Add | Subtract | Multiply | Divide | Modulo | Power => Kind::Number,
            Equal | Unequal | Less | AtMost | Greater | AtLeast | And | Or => Kind::Truth,
        };
        let left = self.expression(a, scope)?;
        let operands = match operator {
            And | Or => Kind::Truth,
            // Truth values may be compared with each other as well.
            Equal | Unequal => left.kind,
            _ => Kind::Number,
        };
        let left = of_kind(operands, a, left)?;
        let right = self.operand(operands, b, scope)?;
        let code = Compiled::Binary(operator, Box::new([left, right])).folded();
        Ok(Typed { code, kind })
    }

    fn call(
        &mut self,
        name: &str,
        arguments: &[Expression],
        scope: &Scope,
    ) -> Result<Typed, ExpressionError> {
        let counted = |expected: usize| {
            if arguments.len() == expected {
                return Ok(());
            }
            let (function, found) = (name.to_owned(), arguments.len());
            Err(ExpressionError::Arguments {
                function,
                found,
                expected,
            })
        };
        if let Some(function) = self.resolver.functions.get(name) {
            counted(function.parameters.len())?;
            return self.cost_function(name, function, arguments, scope);
        }
        if let Some(function) = Contention::named(name) {
            counted(Contention::ARGUMENTS)?;
            let operand = |at: usize| self.operand(Kind::Number, &arguments[at], scope);
            let [a, b, c, d] = [0, 1, 2, 3].map(operand);
            let code = Compiled::Contention(function, Box::new([a?, b?, c?, d?])).folded();
            let kind = Kind::Number;
            return Ok(Typed { code, kind });
        }
        let Some((builtin, n)) = Builtin::named(name) else {
            let own = self.resolver.functions.keys().map(String::as_str);
            let built_in = Builtin::ALL.iter().map(|(name, ..)| *name);
            let contention = Contention::ALL.iter().map(|(name, _)| *name);
            let known = list(own.chain(built_in).chain(contention));
            let name = name.into();
            return Err(ExpressionError::UnknownFunction { name, known });
        };
        counted(n)?;
        let first = self.operand(Kind::Number, &arguments[0], scope)?;
        let code = match arguments.get(1) {
            None => Compiled::One(builtin, Box::new(first)),
            Some(second) => {
                let second = self.operand(Kind::Number, second, scope)?;
                Compiled::Two(builtin, Box::new([first, second]))
            }
        };
        let (code, kind) = (code.folded(), Kind::Number);
        Ok(Typed { code, kind })
    }

    fn cost_function(
        &mut self,
        name: &str,
        function: &CostFunction,
        arguments: &[Expression],
        scope: &Scope,
    ) -> Result<Typed, ExpressionError> {
        if self.calls.iter().any(|call| call == name) || self.calls.len() >= DEEPEST {
            let circle = self.calls.iter().map(String::as_str).chain([name]);
            return Err(ExpressionError::Recursion {
                function: name.into(),
                circle: circle.collect::<Vec<_>>().join(" -> "),
            });
        }
        // The body sees globals and its own parameters, not the names where it is called. Arguments
        // are compiled in the caller's scope first, so that a parameter cannot capture a name of
        // theirs.
        let mut inside = self.resolver.globals.clone();
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let argument = self.expression(argument, scope)?;
            inside.insert(parameter.clone(), Symbol::Argument(argument));
        }
        self.calls.push(name.into());
        let value = self.expression(&function.value, &inside)?;
        self.calls.pop();
        Ok(value)
    }

    fn fitted(
        &mut self,
        method: &str,
        arguments: &[(String, Argument)],
        scope: &Scope,
    ) -> Result<Compiled, ExpressionError> {
        let mut coordinate = Coordinate::new();
        let (mut parameters, mut values) = (Vec::new(), Vec::new());
        for (name, argument) in arguments {
            match argument {
                Argument::Label(label) => coordinate = coordinate.with(name, label.as_str()),
                Argument::Value(value) => {
                    parameters.push(name.clone());
                    values.push(self.operand(Kind::Number, value, scope)?);
                }
            }
        }
        let models = self.resolver.models;
        let model = models.find(method, Metric::Wall, &coordinate);
        let model = model.map_err(|error| {
            let known = models.models.iter().map(|model| model.method.as_str());
            ExpressionError::UnknownModel {
                method: method.into(),
                found: error.to_string(),
                known: list(known),
            }
        })?;
        let wrong = |found: String| ExpressionError::ModelParameters {
            method: method.into(),
            found,
            known: list(model.params.iter().map(String::as_str)),
        };
        let given = |name: &str| parameters.iter().any(|given| given == name);
        if let Some(name) = model.formula.params().into_iter().find(|name| !given(name)) {
            return Err(wrong(format!("parameter \"{name}\" is missing")));
        }
        if let Some(name) = parameters.iter().find(|name| !model.params.contains(name)) {
            return Err(wrong(format!("parameter \"{name}\" is not its own")));
        }
        let fitted = Fitted {
            mean: Predictor::new(model, given),
            parameters,
            total_ratio: model.total_ratio,
            held_up: model.held_up,
            sigma: model.sigma.clone(),
        };
        Ok(Compiled::Fitted(Arc::new(fitted), values))
    }
}

fn named(name: &str, scope: &Scope) -> Result<Typed, ExpressionError> {
    let (code, kind) = match scope.get(name) {
        Some(Symbol::Slot(slot, kind)) => (Compiled::Slot(*slot), *kind),
        Some(Symbol::Value(value, kind)) => (Compiled::Constant(*value), *kind),
        Some(Symbol::Property(property)) => {
            let code = match property {
                SystemProperty::Process => Compiled::Process,
                SystemProperty::Thread => Compiled::Thread,
                SystemProperty::Threads => Compiled::Threads,
                SystemProperty::Node => Compiled::Node,
            };
            (code, Kind::Number)
        }
        Some(Symbol::Argument(typed)) => return Ok(typed.clone()),
        None => {
            return Err(ExpressionError::UnknownName {
                name: name.into(),
                known: list(scope.keys().map(String::as_str)),
            });
        }
    };
    Ok(Typed { code, kind })
}

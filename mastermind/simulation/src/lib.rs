//! Predicts what cannot be run: a program as activities with costs, on a machine of nodes and links.
//!
//! Activities take the time that a formula says; waiting is found by discrete events. Pure functions;
//! nothing here prints, reads a file or the environment, or knows a component.
//!
//! ```
//! use std::collections::BTreeMap;
//! use mastermind_models::ModelSet;
//! use mastermind_simulation::expression::{Resolver, Scope, parse};
//!
//! let (scope, functions, models) = (Scope::new(), BTreeMap::new(), ModelSet::default());
//! let resolver = Resolver { globals: &scope, functions: &functions, models: &models };
//! let typed = resolver.compile(&parse("2 + 3 * 4 ^ 2")?, &scope)?;
//! assert_eq!(typed.code.constant(), Some(50.0));
//! # Ok::<(), mastermind_simulation::expression::ExpressionError>(())
//! ```

pub mod analytic;
pub mod calibration;
pub mod diagram;
pub mod engine;
pub mod expression;
pub mod goal;
pub mod machine;
pub mod plantuml;
pub mod program;
pub mod report;
pub mod trace;
pub mod transform;
pub mod xmi;

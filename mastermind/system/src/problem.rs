//! Problems of a system, all of which are reported.

use crate::formula::FormulaError;
use crate::tools::ToolError;

/// Something that keeps a system from being evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A selector holds of nothing.
    #[error(
        "cannot match request \"{request}\" of \"{owner}\": no component with {selector}, expected 1{nearest}"
    )]
    NoMatch {
        /// The request.
        request: String,
        /// Its owner.
        owner: String,
        /// Its conditions.
        selector: String,
        /// Values of the component that fails the fewest conditions.
        nearest: String,
    },
    /// A selector holds of more than one component.
    #[error(
        "cannot match request \"{request}\" of \"{owner}\": {found} all have {selector}, expected 1"
    )]
    SeveralMatches {
        /// The request.
        request: String,
        /// Its owner.
        owner: String,
        /// Its conditions.
        selector: String,
        /// The components that match.
        found: String,
    },
    /// A request leads to a domain that does not implement its own.
    #[error(
        "cannot match request \"{request}\" of \"{owner}\": {found}, expected for {protocol} from {own} a component of its own domain{}",
        if *protocol == "call-return" { " or one that implements it" } else { "" }
    )]
    Domain {
        /// The request.
        request: String,
        /// Its owner.
        owner: String,
        /// How it continues.
        protocol: &'static str,
        /// The domain of its owner.
        own: &'static str,
        /// The component found.
        found: String,
    },
    /// Requests go round.
    #[error("cannot order components: {circle}, expected an end")]
    Circle {
        /// `a -> b -> a`.
        circle: String,
    },
    /// The component whose time is the system's is not determined.
    #[error("cannot find the total: {found}, expected {known}")]
    NoTotal {
        /// The candidates found.
        found: String,
        /// The known components.
        known: String,
    },
    /// No parameter has that name.
    #[error("cannot set parameter \"{name}\": no such parameter, expected one of {known}")]
    NoParameter {
        /// The name.
        name: String,
        /// Those there are.
        known: String,
    },
    /// Nothing evaluates a component.
    #[error("cannot evaluate \"{owner}\": no method, expected at least 1")]
    NoMethod {
        /// The component.
        owner: String,
    },
    /// A parameter and a request have one name.
    #[error(
        "cannot evaluate \"{owner}\": parameter and request \"{name}\" have one name, expected two"
    )]
    TwoMeanings {
        /// The name.
        name: String,
        /// The component.
        owner: String,
    },
    /// A request lacks a parameter.
    #[error(
        "cannot match {place}: no {parameter}, expected one in {unit}, since \"{target}\" accepts it"
    )]
    Missing {
        /// The request.
        place: String,
        /// The parameter.
        parameter: String,
        /// Its unit.
        unit: String,
        /// The accepting component.
        target: String,
    },
    /// A request passes a parameter that is not accepted.
    #[error("cannot match {place}: \"{target}\" accepts no {parameter}, expected {known}")]
    Unaccepted {
        /// The request.
        place: String,
        /// The parameter.
        parameter: String,
        /// The component that does not accept it.
        target: String,
        /// The parameters it accepts.
        known: String,
    },
    /// A formula has no value.
    #[error("cannot evaluate {place}")]
    Formula {
        /// Its position.
        place: String,
        /// Why.
        source: FormulaError,
    },
    /// A value is not in the unit that is meant.
    #[error(
        "cannot convert units of {place}: {found}, expected {expected}; a rule in [units] may lead from one to the other"
    )]
    Units {
        /// Its position.
        place: String,
        /// The dimension it has.
        found: String,
        /// That it must have.
        expected: String,
    },
    /// A method has no machine to run on.
    #[error(
        "cannot evaluate {place}: {found}, expected on = to name a request whose component has machine = "
    )]
    NoMachine {
        /// The method.
        place: String,
        /// The value found.
        found: String,
    },
    /// A tool cannot do its work.
    #[error("cannot evaluate {place}")]
    Tool {
        /// The method.
        place: String,
        /// Why.
        source: ToolError,
    },
    /// A value is invalid.
    #[error("cannot evaluate {place}: {found}, expected {expected}")]
    Value {
        /// The method.
        place: String,
        /// The value.
        found: String,
        /// The expected value.
        expected: &'static str,
    },
    /// A network has no solution.
    #[error("cannot evaluate {place}")]
    Network {
        /// The method.
        place: String,
        /// Why.
        source: mastermind_queueing::NetworkError,
    },
    /// A walk over the requests does not end soon.
    #[error("cannot evaluate system: more than {most} requests, expected at most so many")]
    TooMany {
        /// The bound.
        most: usize,
    },
}

//! Requirements on an assembly, such as `flux.order >= 2`.
//!
//! A [`Requirement`] is a condition on attributes that the classes at one or two instances declare ([`Attributes`]). A
//! choice forbids every class, or pair of classes, that violates one, so a condition on three instances is not
//! accepted. [`Requirement::parse`] reads the text and rejects other expressions; [`Requirement::is_met`] evaluates it
//! for the classes of an assembly.
//!
//! ```text
//! flux.order >= 2                        flux may only have classes with order 2 or more
//! flux.memory + states.memory <= 2e9     forbids pairs of classes that need more than 2 GB together
//! ```

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::expression::{Expression, Unary, parse};

use crate::workload::Assembly;

/// Attributes that the authors of classes declare, class to attribute to value: order of accuracy, residual, memory in
/// bytes.
pub type Attributes = BTreeMap<String, BTreeMap<String, f64>>;

/// A condition on the attributes of the classes at one or two instances.
///
/// The syntax is that of [`mastermind_models::expression`], with `INSTANCE.ATTRIBUTE` for the value that the class at
/// the instance declares.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    text: String,
    expression: Expression,
    /// Instance and attribute of each name in the expression.
    names: Vec<(String, String)>,
}

/// Why a requirement cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot require \"{text}\": {found}, expected {expected}")]
pub struct RequirementError {
    /// The requirement as written.
    pub text: String,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

impl Requirement {
    /// Parses a requirement.
    ///
    /// # Errors
    /// [`RequirementError`] if the text is not a condition, or names no instance or more than two.
    pub fn parse(text: &str) -> Result<Self, RequirementError> {
        let wrong = |found: String, expected: &str| RequirementError {
            text: text.into(),
            found,
            expected: expected.into(),
        };
        let (plain, names) = without_dots(text);
        let expression = parse(&plain).map_err(|_| {
            let expected = "a condition on INSTANCE.ATTRIBUTE, such as flux.order >= 2";
            wrong("not a condition".into(), expected)
        })?;
        let requirement = Self {
            text: text.into(),
            expression,
            names,
        };
        let zeros = |_: usize| Some(0.0);
        value(&requirement.expression, &zeros)
            .map_err(|found| wrong(found, "INSTANCE.ATTRIBUTE, numbers and operators"))?;
        match requirement.instances().len() {
            1 | 2 => Ok(requirement),
            0 => Err(wrong("no instance".into(), "INSTANCE.ATTRIBUTE in it")),
            n => Err(wrong(
                format!("{n} instances"),
                "one or two; write a requirement for each two of them",
            )),
        }
    }

    /// The requirement as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The one or two instances that it names.
    pub fn instances(&self) -> BTreeSet<&str> {
        self.names
            .iter()
            .map(|(instance, _)| instance.as_str())
            .collect()
    }

    /// Whether an assembly meets it.
    ///
    /// # Arguments
    /// * `assembly` - the class at each instance named
    ///
    /// # Errors
    /// [`RequirementError`] with the class that does not declare the attribute.
    pub fn is_met(
        &self,
        assembly: &Assembly,
        attributes: &Attributes,
    ) -> Result<bool, RequirementError> {
        let declared = |at: usize| {
            let (instance, attribute) = &self.names[at];
            attributes
                .get(assembly.get(instance)?)?
                .get(attribute)
                .copied()
        };
        if let Some(at) = (0..self.names.len()).find(|&at| declared(at).is_none()) {
            let (instance, attribute) = &self.names[at];
            let class = assembly.get(instance).map_or("", String::as_str);
            return Err(RequirementError {
                text: self.text.clone(),
                found: format!("class \"{class}\" of \"{instance}\" declares no {attribute}"),
                expected: format!(
                    "{attribute} = NUMBER under [attributes.\"{class}\"] in the assembly"
                ),
            });
        }
        let met = value(&self.expression, &declared).map_err(|found| RequirementError {
            text: self.text.clone(),
            found,
            expected: "INSTANCE.ATTRIBUTE, numbers and operators".into(),
        })?;
        Ok(met != 0.0)
    }
}

/// The text with a plain name in place of each `INSTANCE.ATTRIBUTE`, and the replaced names in the order of their first
/// use.
fn without_dots(text: &str) -> (String, Vec<(String, String)>) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut plain = String::new();
    let mut names: Vec<(String, String)> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length.max(first.len_utf8()));
        let begins_name = first.is_ascii_alphabetic() || first == '_';
        match word
            .split_once('.')
            .filter(|(_, attribute)| begins_name && !attribute.is_empty())
        {
            Some((instance, attribute)) => {
                let name = (instance.to_owned(), attribute.to_owned());
                let at = names.iter().position(|known| *known == name);
                let at = at.unwrap_or_else(|| {
                    names.push(name);
                    names.len() - 1
                });
                plain.push_str(&format!("{PLACE}{at}"));
            }
            None => plain.push_str(word),
        }
        rest = after;
    }
    (plain, names)
}

/// Prefix of the plain names.
const PLACE: &str = "attribute_";

/// The value of an expression; a truth value counts as 0 or 1.
fn value(expression: &Expression, declared: &impl Fn(usize) -> Option<f64>) -> Result<f64, String> {
    Ok(match expression {
        Expression::Number(number) => *number,
        Expression::Truth(truth) => f64::from(u8::from(*truth)),
        Expression::Name(name) => {
            let place = name.strip_prefix(PLACE).and_then(|at| at.parse().ok());
            place
                .and_then(declared)
                .ok_or_else(|| format!("name \"{name}\""))?
        }
        Expression::Unary(Unary::Minus, x) => -value(x, declared)?,
        Expression::Unary(Unary::Not, x) => f64::from(u8::from(value(x, declared)? == 0.0)),
        Expression::Binary(operator, a, b) => {
            operator.apply(value(a, declared)?, value(b, declared)?)
        }
        Expression::Choice(parts) => {
            let [condition, then, otherwise] = &**parts;
            let chosen = if value(condition, declared)? != 0.0 {
                then
            } else {
                otherwise
            };
            value(chosen, declared)?
        }
        Expression::Call(name, _) => return Err(format!("function \"{name}\"")),
        Expression::Fitted(method, _) => return Err(format!("model \"{method}\"")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes() -> Attributes {
        let of = |order: f64, memory: f64| {
            BTreeMap::from([("order".to_owned(), order), ("memory".to_owned(), memory)])
        };
        BTreeMap::from([("A".into(), of(1.0, 5e6)), ("B".into(), of(2.0, 1e6))])
    }

    fn met(text: &str, flux: &str, states: &str) -> bool {
        let assembly = [("flux", flux), ("states", states)];
        let assembly = assembly.map(|(i, c)| (i.to_owned(), c.to_owned())).into();
        Requirement::parse(text)
            .unwrap()
            .is_met(&assembly, &attributes())
            .unwrap()
    }

    #[test]
    fn conditions_are_met_or_not() {
        assert!(met("flux.order >= 2", "B", "A") && !met("flux.order >= 2", "A", "B"));
        assert!(met("flux.order <= states.order", "A", "B"));
        assert!(!met("flux.memory + states.memory < 2.5e6", "A", "B"));
        assert!(met(
            "flux.memory + states.memory < 2.5e6 || !(flux.order > 1.5)",
            "A",
            "A"
        ));
        assert!(met("flux.order == 2 ? states.order == 1 : true", "B", "A"));
    }

    #[test]
    fn what_is_no_condition_is_an_error() {
        for (text, message) in [
            (
                "flux.order >=",
                "cannot require \"flux.order >=\": not a condition, expected a condition on INSTANCE.ATTRIBUTE, such as flux.order >= 2",
            ),
            (
                "2 > 1",
                "cannot require \"2 > 1\": no instance, expected INSTANCE.ATTRIBUTE in it",
            ),
            (
                "order > 1",
                "cannot require \"order > 1\": name \"order\", expected INSTANCE.ATTRIBUTE, numbers and operators",
            ),
            (
                "max(a.x, 1) > 1",
                "cannot require \"max(a.x, 1) > 1\": function \"max\", expected INSTANCE.ATTRIBUTE, numbers and operators",
            ),
            (
                "a.x + b.x + c.x > 1",
                "cannot require \"a.x + b.x + c.x > 1\": 3 instances, expected one or two; write a requirement for each two of them",
            ),
        ] {
            assert_eq!(Requirement::parse(text).unwrap_err().to_string(), message);
        }
        let assembly = BTreeMap::from([("flux".to_owned(), "A".to_owned())]);
        let requirement = Requirement::parse("flux.residual < 1").unwrap();
        assert_eq!(
            requirement
                .is_met(&assembly, &attributes())
                .unwrap_err()
                .to_string(),
            "cannot require \"flux.residual < 1\": class \"A\" of \"flux\" declares no residual, expected residual = NUMBER under [attributes.\"A\"] in the assembly"
        );
    }
}

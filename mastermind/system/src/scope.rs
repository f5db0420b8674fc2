//! Meanings of names: parameters and units of a file, and the names of a component.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::formula::{FormulaError, Names, evaluate};
use crate::quantity::{Dimension, Quantity, Unit};
use crate::system::{Given, System, UnitRule};

/// Parameters and units of a system, each evaluated once.
pub struct Scope<'a> {
    system: &'a System,
    set: BTreeMap<String, Given>,
    /// `None` while it is being evaluated: a use of it then is a cycle.
    found: RefCell<BTreeMap<String, Option<Quantity>>>,
}

impl<'a> Scope<'a> {
    /// # Arguments
    /// * `set` - values that take the place of those in the file
    pub fn new(system: &'a System, set: BTreeMap<String, Given>) -> Self {
        let found = RefCell::default();
        Self { system, set, found }
    }

    /// The value that a file or an option gives.
    ///
    /// # Errors
    /// It has no value.
    pub fn given(&self, given: &Given) -> Result<Quantity, FormulaError> {
        match given {
            Given::Quantity(value, unit) => {
                let mut one = match unit {
                    Some(unit) => self.unit(unit)?,
                    None => Quantity::plain(1.0),
                };
                one.value *= value;
                Ok(one)
            }
            Given::Formula(formula) => evaluate(formula, self),
        }
    }

    /// One of a unit.
    ///
    /// # Errors
    /// There is no rule for it.
    pub fn unit(&self, unit: &Unit) -> Result<Quantity, FormulaError> {
        unit.quantity(&mut |name| self.declared_unit(name))
    }

    fn declared_unit(&self, name: &str) -> Result<Option<Quantity>, FormulaError> {
        let Some(rule) = self.system.units.get(name) else {
            return Ok(None);
        };
        let find = || match rule {
            UnitRule::Base => Ok(Quantity {
                value: 1.0,
                dimension: Dimension::of(name),
            }),
            UnitRule::Converted { count, of } => {
                let count_of = evaluate(count, self)?;
                if !count_of.dimension.is_none() {
                    return Err(FormulaError::Units {
                        part: count.to_string(),
                        found: count_of.dimension.to_string(),
                        expected: Dimension::none().to_string(),
                    });
                }
                let mut one = self.unit(of)?;
                one.value *= count_of.value;
                Ok(one)
            }
        };
        self.once(&format!("unit {name}"), name, find).map(Some)
    }

    /// A value that is found once.
    fn once(
        &self,
        key: &str,
        name: &str,
        find: impl FnOnce() -> Result<Quantity, FormulaError>,
    ) -> Result<Quantity, FormulaError> {
        let known = self.found.borrow().get(key).cloned();
        match known {
            Some(Some(quantity)) => return Ok(quantity),
            Some(None) => return Err(FormulaError::Circle { name: name.into() }),
            None => {}
        }
        self.found.borrow_mut().insert(key.into(), None);
        let quantity = find();
        let mut found = self.found.borrow_mut();
        match &quantity {
            Ok(quantity) => found.insert(key.into(), Some(quantity.clone())),
            Err(_) => found.remove(key),
        };
        quantity
    }

    /// Names of all parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.system.parameters.keys().map(String::as_str)
    }
}

impl Names for Scope<'_> {
    fn name(&self, name: &str) -> Result<Quantity, FormulaError> {
        let given = self.set.get(name);
        if let Some(given) = given.or_else(|| self.system.parameters.get(name)) {
            return self.once(name, name, || self.given(given));
        }
        let unit = Unit::read(name).map(|unit| self.unit(&unit));
        match unit {
            Some(Err(FormulaError::Unit(_))) | None => Err(FormulaError::Name {
                name: name.into(),
                known: listed(self.parameters()),
            }),
            Some(found) => found,
        }
    }

    fn attribute(&self, attribute: &str, request: &str) -> Result<Quantity, FormulaError> {
        Err(FormulaError::Attribute {
            attribute: format!("{attribute}({request})"),
            known: "no attributes here, since nothing was requested".into(),
        })
    }
}

/// Attributes of a profile that are numbers, by name.
pub type Attributes = BTreeMap<String, Quantity>;

/// Names in the formulas of a component: its accepted parameters, the results of its requests, and attributes of the
/// components found.
pub struct Locals<'a> {
    /// Of the whole file.
    pub scope: &'a Scope<'a>,
    /// Accepted parameters, and results of requests.
    pub values: BTreeMap<String, Quantity>,
    /// By request.
    pub attributes: BTreeMap<String, &'a Attributes>,
}

impl Names for Locals<'_> {
    fn name(&self, name: &str) -> Result<Quantity, FormulaError> {
        if let Some(value) = self.values.get(name) {
            return Ok(value.clone());
        }
        self.scope.name(name).map_err(|error| match error {
            FormulaError::Name { name: unknown, .. } if unknown == name => FormulaError::Name {
                name: unknown,
                known: listed(
                    self.values
                        .keys()
                        .map(String::as_str)
                        .chain(self.scope.parameters()),
                ),
            },
            other => other,
        })
    }

    fn attribute(&self, attribute: &str, request: &str) -> Result<Quantity, FormulaError> {
        let wrong = |known: String| FormulaError::Attribute {
            attribute: format!("{attribute}({request})"),
            known,
        };
        let Some(attributes) = self.attributes.get(request) else {
            return Err(wrong(format!(
                "a request, one of {}",
                listed(self.attributes.keys().map(String::as_str))
            )));
        };
        attributes.get(attribute).cloned().ok_or_else(|| {
            let known = listed(attributes.keys().map(String::as_str));
            wrong(format!("one of {known}"))
        })
    }
}

/// A comma list; "none" for none.
pub fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    match names.is_empty() {
        true => "none".into(),
        false => names.join(", "),
    }
}

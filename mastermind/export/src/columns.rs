//! The columns of the one table of a run, the same in each format.

use std::collections::HashMap;

use mastermind_records::definition::{MethodDefinition, ParameterKind};
use mastermind_records::{Log, Run};
use serde_json::{Value, json};

use crate::cell::Shape;
#[cfg(feature = "parquet")]
use crate::error::ExportError;
use crate::names::distinct;

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    /// Whether a row may have no value.
    pub(crate) is_nullable: bool,
    /// Empty for text and pure numbers; those of several methods apart by semicolons.
    pub(crate) unit: String,
    /// What it holds.
    pub(crate) about: &'static str,
}

/// What every table begins with.
const FIRST: [(&str, Shape, bool, &str, &str); 12] = [
    (
        "run",
        Shape::Text,
        false,
        "",
        "name of the record directory",
    ),
    ("rank", Shape::Few, false, "", "rank"),
    ("thread", Shape::Few, false, "", "thread of the rank"),
    (
        "instance",
        Shape::Text,
        false,
        "",
        "component instance called",
    ),
    ("class", Shape::Text, false, "", "class of the instance"),
    ("port", Shape::Text, false, "", "provides port called"),
    ("method", Shape::Text, false, "", "method called"),
    (
        "seq",
        Shape::Delta,
        false,
        "",
        "order of entry within the rank",
    ),
    (
        "start_ns",
        Shape::Delta,
        false,
        "ns",
        "start, since the start of the run",
    ),
    (
        "wall_ns",
        Shape::Delta,
        false,
        "ns",
        "wall time, calls made from it included",
    ),
    ("mpi_ns", Shape::Delta, true, "ns", "time inside MPI"),
    (
        "compute_ns",
        Shape::Delta,
        true,
        "ns",
        "wall time without that inside MPI",
    ),
];

/// What every table ends with.
const LAST: [(&str, Shape, bool, &str, &str); 3] = [
    (
        "callpath",
        Shape::Text,
        false,
        "",
        "methods from the outermost call to this one",
    ),
    (
        "parent_seq",
        Shape::Delta,
        true,
        "",
        "seq of the call that this one was made from",
    ),
    (
        "failed",
        Shape::Flag,
        false,
        "",
        "whether the call ended with an error",
    ),
];

/// Place of the first parameter.
pub(crate) const N_FIRST: usize = FIRST.len();

/// Number of columns behind the last parameter or counter.
#[cfg(feature = "parquet")]
pub(crate) const N_LAST: usize = LAST.len();

/// The columns, and where the parameters and counters of each method go.
pub(crate) struct Columns {
    pub(crate) columns: Vec<Column>,
    /// Name and shape of a parameter or counter → its column.
    places: HashMap<(String, Shape), usize>,
}

impl Columns {
    /// The columns of all methods of a run: parameters in the order in which methods define them, then counters.
    /// Parameters of the same name and shape share a column. If a name occurs with several shapes, or is that of
    /// another column, `_2` is appended.
    pub(crate) fn of(run: &Run) -> Self {
        let mut wanted: Vec<((String, Shape), String, &'static str)> = Vec::new();
        let mut add = |key: (String, Shape), unit: &str, about| match wanted
            .iter_mut()
            .find(|(known, ..)| *known == key)
        {
            None => wanted.push((key, unit.to_owned(), about)),
            Some((_, units, _)) if !units.split("; ").any(|known| known == unit) => {
                *units += "; ";
                *units += unit;
            }
            Some(_) => {}
        };
        let methods = || {
            run.logs()
                .iter()
                .map(Log::definitions)
                .flat_map(|d| d.methods())
        };
        for parameter in methods().flat_map(|method| &method.parameters) {
            let key = (parameter.name.clone(), shape(parameter.kind));
            add(key, &parameter.unit, "parameter");
        }
        for counter in methods().flat_map(|method| &method.counters) {
            add((counter.name.clone(), Shape::Few), &counter.unit, "counter");
        }
        let plain = |&(name, shape, is_nullable, unit, about): &(&str, _, _, &str, _)| Column {
            name: name.into(),
            shape,
            is_nullable,
            unit: unit.into(),
            about,
        };
        let mut columns: Vec<Column> = FIRST.iter().map(plain).collect();
        let places = wanted.iter().enumerate();
        let places = places
            .map(|(place, (key, ..))| (key.clone(), N_FIRST + place))
            .collect();
        columns.extend(
            wanted
                .into_iter()
                .map(|((name, shape), unit, about)| Column {
                    name,
                    shape,
                    is_nullable: true,
                    unit,
                    about,
                }),
        );
        columns.extend(LAST.iter().map(plain));
        // The names of the table's own columns are taken first.
        let own = |column: &&mut Column| !["parameter", "counter"].contains(&column.about);
        let names = columns
            .iter_mut()
            .filter(own)
            .map(|column| column.name.clone());
        let n_own = FIRST.len() + LAST.len();
        let own_names: Vec<_> = names.collect();
        let others = columns[N_FIRST..columns.len() - LAST.len()].iter();
        let others = others.map(|column| column.name.clone());
        let names = distinct(own_names.into_iter().chain(others));
        for (column, name) in columns[N_FIRST..].iter_mut().zip(&names[n_own..]) {
            column.name.clone_from(name);
        }
        Columns { columns, places }
    }

    /// The place of a column.
    ///
    /// # Errors
    /// [`ExportError::NoColumn`].
    #[cfg(feature = "parquet")]
    pub(crate) fn place(&self, name: &str) -> Result<usize, ExportError> {
        let known = || self.columns.iter().map(|column| column.name.as_str());
        let place = known().position(|known| known == name);
        place.ok_or_else(|| ExportError::NoColumn {
            name: name.into(),
            known: known().collect::<Vec<_>>().join(", "),
        })
    }

    /// Columns of a method's parameters, and of its counters.
    pub(crate) fn places_of(&self, method: &MethodDefinition) -> Vec<usize> {
        let parameters = method.parameters.iter();
        let parameters = parameters.map(|p| (p.name.clone(), shape(p.kind)));
        let counters = method.counters.iter().map(|c| (c.name.clone(), Shape::Few));
        let keys = parameters.chain(counters);
        keys.filter_map(|key| self.places.get(&key).copied())
            .collect()
    }

    /// Unit and meaning of each column.
    pub(crate) fn described(&self) -> Value {
        let column = |column: &Column| {
            let Column {
                name, unit, about, ..
            } = column;
            (name.clone(), json!({"unit": unit, "about": about}))
        };
        Value::Object(self.columns.iter().map(column).collect())
    }
}

fn shape(kind: ParameterKind) -> Shape {
    match kind {
        ParameterKind::Integer => Shape::Few,
        ParameterKind::Real => Shape::Real,
        ParameterKind::Enumeration => Shape::Text,
    }
}

//! Observed times and the input values at which they were observed.

use std::io::Read;

use crate::error::Error;
use crate::specification::Specification;

/// Column that marks the points for training.
const TRAIN: &str = "train";

/// Column with the weight of each point.
const WEIGHT: &str = "weight";

/// Points: the inputs, the observed time, and which are for training.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Columns of the inputs in the order of the specification, shape `[n_inputs][n_points]`.
    pub inputs: Vec<Vec<f64>>,
    /// Observed times, shape `[n_points]`, seconds.
    pub observed: Vec<f64>,
    /// Weights of the squared residuals, shape `[n_points]`, > 0.
    pub weights: Vec<f64>,
    /// Whether a point is for training; the others are for testing.
    pub is_train: Vec<bool>,
    /// Line of each point in the file, from 1.
    pub lines: Vec<usize>,
}

impl Table {
    /// Reads a table with a header line.
    ///
    /// Columns that the specification does not name are passed over. Without a column `train` all points are for
    /// training; without a column `weight` all weigh the same.
    ///
    /// # Errors
    /// [`Error::Csv`], [`Error::NoColumn`], [`Error::Field`].
    pub fn from_csv(source: impl Read, specification: &Specification) -> Result<Self, Error> {
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .from_reader(source);
        let header = reader.headers()?.clone();
        let place = |name: &str| header.iter().position(|column| column == name);
        let required = |name: &str| {
            place(name).ok_or_else(|| Error::NoColumn {
                name: name.into(),
                known: header.iter().collect::<Vec<_>>().join(", "),
            })
        };
        let inputs = specification.inputs.iter().map(|name| required(name));
        let inputs: Vec<usize> = inputs.collect::<Result<_, _>>()?;
        let observation = required(&specification.observation)?;
        let (train, weight) = (place(TRAIN), place(WEIGHT));
        let mut table = Self {
            inputs: vec![Vec::new(); inputs.len()],
            ..Self::default()
        };
        for record in reader.records() {
            let record = record?;
            let line = record.position().map_or(0, csv::Position::line);
            let field = |column: usize, wanted, is_right: fn(f64) -> bool| {
                let found = record.get(column).unwrap_or("");
                let value = found.parse().ok().filter(|x: &f64| x.is_finite());
                value.filter(|x| is_right(*x)).ok_or_else(|| Error::Field {
                    found: found.into(),
                    column: header.get(column).unwrap_or("").into(),
                    line,
                    wanted,
                })
            };
            for (values, column) in table.inputs.iter_mut().zip(&inputs) {
                values.push(field(*column, "a finite number", |_| true)?);
            }
            let observed = field(observation, "a finite number", |_| true)?;
            table.observed.push(observed);
            table.is_train.push(match train {
                Some(column) => field(column, "1 or 0", |x| x == 0.0 || x == 1.0)? == 1.0,
                None => true,
            });
            table.weights.push(match weight {
                Some(column) => field(column, "a number above 0", |x| x > 0.0)?,
                None => 1.0,
            });
            table.lines.push(line as usize);
        }
        Ok(table)
    }

    /// Points.
    pub fn len(&self) -> usize {
        self.observed.len()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.observed.is_empty()
    }

    /// The points of these places, in their order.
    pub fn at(&self, places: &[usize]) -> Self {
        let of = |column: &Vec<f64>| places.iter().map(|i| column[*i]).collect();
        Self {
            inputs: self.inputs.iter().map(of).collect(),
            observed: of(&self.observed),
            weights: of(&self.weights),
            is_train: places.iter().map(|i| self.is_train[*i]).collect(),
            lines: places.iter().map(|i| self.lines[*i]).collect(),
        }
    }

    /// The points for training, or those for testing.
    pub fn part(&self, is_train: bool) -> Self {
        let places = (0..self.len()).filter(|i| self.is_train[*i] == is_train);
        self.at(&places.collect::<Vec<_>>())
    }

    /// Values of the inputs at one point, shape `[n_inputs]`.
    pub fn point(&self, i: usize) -> Vec<f64> {
        self.inputs.iter().map(|column| column[i]).collect()
    }

    /// A point as text: `nx = 256, np = 4`.
    pub fn describe(&self, i: usize, specification: &Specification) -> String {
        let pairs = specification.inputs.iter().zip(&self.inputs);
        let pairs = pairs.map(|(name, column)| format!("{name} = {}", column[i]));
        pairs.collect::<Vec<_>>().join(", ")
    }
}

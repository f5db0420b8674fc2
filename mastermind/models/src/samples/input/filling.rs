//! Passes the values of one input to the samples.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::error::{InputError, Place};
use super::survey::{Kind, SetAside, Survey, Why};
use super::{Call, Row};
use crate::samples::call_sink::CallSink;

/// Passes the values of one input to a sink, one after the other.
pub(super) struct Filling<'a, S> {
    survey: &'a Survey,
    name: &'a str,
    sink: &'a mut S,
    inner_ns: Option<&'a HashMap<u64, u64>>,
    methods: HashMap<String, Filled, RandomState>,
    coordinate: Vec<f64>,
}

/// The values of one method in one input.
struct Filled {
    number: usize,
    n_values: u64,
    aside: HashMap<Why, (u64, u64)>,
}

impl<'a, S: CallSink> Filling<'a, S> {
    /// # Arguments
    /// * `inner_ns` - wall time of the calls made from each call of this input's rank, nanoseconds, by the number of the calling call
    pub(super) fn new(
        survey: &'a Survey,
        name: &'a str,
        sink: &'a mut S,
        inner_ns: Option<&'a HashMap<u64, u64>>,
    ) -> Self {
        Filling {
            survey,
            name,
            sink,
            inner_ns,
            methods: HashMap::default(),
            coordinate: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, row: &Row<'_>) -> Result<(), InputError> {
        let changed = || {
            let place = Place::line(row.line);
            InputError::content(self.name, place, "another content", "that of a moment ago")
        };
        let known = self.survey.methods.get(row.method).ok_or_else(changed)?;
        let filled = match self.methods.get_mut(row.method) {
            Some(filled) => filled,
            None => {
                let filled = Filled {
                    number: self.sink.declare(row.method, &known.parameters())?,
                    n_values: 0,
                    aside: HashMap::new(),
                };
                self.methods.entry(row.method.into()).or_insert(filled)
            }
        };
        self.coordinate.clear();
        let mut is_complete = true;
        for (place, (named, kind)) in known.names.iter().zip(&known.kinds).enumerate() {
            if *kind == Kind::Nothing {
                continue;
            }
            let at = match row.names.get(place) {
                Some(here) if here == named => Some(place),
                _ => row.names.iter().position(|here| here == named),
            };
            let value = at.and_then(|at| kind.value(&row.cells[at]));
            is_complete &= value.is_some();
            self.coordinate.push(value.unwrap_or(f64::NAN));
        }
        for &value_s in row.values_s {
            let why = match value_s {
                _ if !is_complete => Some(Why::Parameter),
                v if v.is_nan() => Some(Why::NoTime),
                v if v.is_infinite() => Some(Why::Infinite),
                v if v < 0.0 => Some(Why::Negative),
                _ => None,
            };
            let taken_s = match row.call {
                Some(call) if why.is_none() => own_s(call, self.inner_ns),
                _ => value_s,
            };
            // The sink refuses and counts the values for which a reason was noted here.
            let _ = self.sink.take(filled.number, &self.coordinate, taken_s);
            filled.n_values += 1;
            if let Some(why) = why {
                filled.aside.entry(why).or_insert((0, row.line)).0 += 1;
            }
        }
        Ok(())
    }

    pub(super) fn set_aside(self) -> Vec<SetAside> {
        let mut list = Vec::new();
        for (method, filled) in self.methods {
            for (why, (count, line)) in filled.aside {
                list.push(SetAside {
                    input: self.name.into(),
                    method: method.clone(),
                    why,
                    count,
                    line,
                    of: filled.n_values,
                });
            }
        }
        list.sort_by(|a, b| (a.line, &a.method, a.why).cmp(&(b.line, &b.method, b.why)));
        list
    }
}

/// Wall time of a call without that of the calls made from it, seconds.
fn own_s(call: Call, inner_ns: Option<&HashMap<u64, u64>>) -> f64 {
    let inner_ns = inner_ns.and_then(|inner| inner.get(&call.seq));
    // Rounded in the same way as times of records.
    call.wall_ns.saturating_sub(inner_ns.copied().unwrap_or(0)) as f64 * 1e-9
}

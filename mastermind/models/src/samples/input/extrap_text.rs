//! Extra-P's text format.

use std::io::BufRead;

use super::error::{InputError, Place, quoted};
use super::json_lines::plain;
use super::wanted::Wanted;
use super::{Cell, Named, Row, stem};

const SECTIONS: &str = "PARAMETER, POINTS, REGION, METRIC or DATA";

/// Passes each `DATA` line to `sink`.
///
/// # Source
/// Extra-P 4, `docs/file-formats.md`, "Text file format". Unlike there, any number of parameters is taken, and a region
/// with fewer `DATA` lines than points is an error.
pub(super) fn rows(
    name: &str,
    input: impl BufRead,
    wanted: &Wanted,
    sink: &mut dyn FnMut(&Row<'_>) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let mut reading = Reading {
        name,
        wanted,
        names: Vec::new(),
        points: Vec::new(),
        region: None,
        metric: None,
        next: 0,
        n_rows: 0,
    };
    let mut number = 0;
    for line in input.lines() {
        number += 1;
        let line = line.map_err(InputError::io(name))?;
        let line = line.trim_start_matches('\u{feff}').trim();
        if !line.is_empty() && !line.starts_with('#') {
            reading.line(number, line, sink)?;
        }
    }
    reading.end_region(number)?;
    if reading.n_rows == 0 {
        return Err(InputError::Empty {
            input: name.into(),
            expected: "the sections PARAMETER, POINTS, REGION and DATA",
        });
    }
    Ok(())
}

struct Reading<'a> {
    name: &'a str,
    wanted: &'a Wanted,
    names: Vec<Named>,
    points: Vec<Vec<f64>>,
    region: Option<String>,
    metric: Option<String>,
    /// Index of the point of the next `DATA` line.
    next: usize,
    n_rows: usize,
}

impl Reading<'_> {
    fn line(
        &mut self,
        number: u64,
        line: &str,
        sink: &mut dyn FnMut(&Row<'_>) -> Result<(), InputError>,
    ) -> Result<(), InputError> {
        let (section, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match section {
            "PARAMETER" => self.parameters(number, rest),
            "POINTS" => self.add_points(number, rest),
            "REGION" => {
                self.end_region(number)?;
                self.region = Some(rest.to_owned()).filter(|region| !region.is_empty());
                Ok(())
            }
            "METRIC" => {
                self.end_region(number)?;
                self.metric = Some(rest.to_owned());
                Ok(())
            }
            "DATA" => self.data(number, rest, sink),
            _ => Err(self.wrong(number, quoted(section), SECTIONS)),
        }
    }

    fn wrong(
        &self,
        line: u64,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> InputError {
        InputError::content(self.name, Place::line(line), found, expected)
    }

    fn parameters(&mut self, number: u64, rest: &str) -> Result<(), InputError> {
        if !self.points.is_empty() {
            return Err(self.wrong(number, "PARAMETER below POINTS", "all parameters above"));
        }
        for name in rest.split_whitespace() {
            if self.names.iter().any(|known| known.name == name) {
                let found = format!("parameter {} again", quoted(name));
                return Err(self.wrong(number, found, "each once"));
            }
            self.names.push(plain(name));
        }
        Ok(())
    }

    fn add_points(&mut self, number: u64, rest: &str) -> Result<(), InputError> {
        if self.names.is_empty() {
            return Err(self.wrong(number, "POINTS without a parameter", "PARAMETER above"));
        }
        for group in self.groups(number, rest)? {
            if group.len() != self.names.len() {
                let found = format!("a point of {} coordinates", group.len());
                let expected = format!("{}, one a parameter", self.names.len());
                return Err(self.wrong(number, found, expected));
            }
            self.points.push(group);
        }
        Ok(())
    }

    /// The groups of numbers between the outermost parentheses; without parentheses, each number is a group.
    fn groups(&self, number: u64, rest: &str) -> Result<Vec<Vec<f64>>, InputError> {
        let spaced = rest.replace('(', " ( ").replace(')', " ) ");
        let (mut groups, mut depth) = (Vec::<Vec<f64>>::new(), 0_u32);
        for word in spaced.split_whitespace() {
            match word {
                "(" => {
                    depth += 1;
                    if depth == 1 {
                        groups.push(Vec::new());
                    }
                }
                ")" if depth == 0 => return Err(self.wrong(number, "\")\"", "\"(\" before it")),
                ")" => depth -= 1,
                _ => {
                    let value = self.number(number, word)?;
                    match groups.last_mut() {
                        Some(group) if depth > 0 => group.push(value),
                        _ => groups.push(vec![value]),
                    }
                }
            }
        }
        if depth > 0 {
            return Err(self.wrong(number, "a point without end", "\")\""));
        }
        Ok(groups)
    }

    fn number(&self, line: u64, word: &str) -> Result<f64, InputError> {
        word.parse()
            .map_err(|_| self.wrong(line, quoted(word), "a number"))
    }

    fn data(
        &mut self,
        number: u64,
        rest: &str,
        sink: &mut dyn FnMut(&Row<'_>) -> Result<(), InputError>,
    ) -> Result<(), InputError> {
        let values = rest.split_whitespace().map(|word| {
            let value = self.number(number, word)?;
            Ok(self.wanted.value(value))
        });
        let values_s: Vec<f64> = values.collect::<Result<_, InputError>>()?;
        if values_s.is_empty() {
            return Err(self.wrong(number, "DATA without a value", "one at least"));
        }
        let Some(point) = self.points.get(self.next) else {
            let found = format!("DATA line {}", self.next + 1);
            let expected = format!("{}, one a point", self.points.len());
            return Err(self.wrong(number, found, expected));
        };
        let cells: Vec<_> = point.iter().map(|&value| Cell::Number(value)).collect();
        sink(&Row {
            line: number,
            method: self.region.as_deref().unwrap_or_else(|| stem(self.name)),
            metric: self.metric.as_deref(),
            names: &self.names,
            cells: &cells,
            values_s: &values_s,
            call: None,
        })?;
        self.next += 1;
        self.n_rows += 1;
        Ok(())
    }

    /// Checks that the present region has a value at each point.
    fn end_region(&mut self, number: u64) -> Result<(), InputError> {
        let found = std::mem::take(&mut self.next);
        if found > 0 && found < self.points.len() {
            let of = self.region.as_deref().unwrap_or_default();
            let found = format!("{found} DATA lines of {}", quoted(of));
            let expected = format!("{}, one a point", self.points.len());
            return Err(self.wrong(number, found, expected));
        }
        Ok(())
    }
}

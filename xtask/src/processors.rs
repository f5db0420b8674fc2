//! Figures of `cargo xtask bench` by processor: for each the oldest and the newest, in `benches/processors.tsv`, since
//! a machine of the cloud is seldom the same one twice.
//!
//! ```text
//! PROCESSOR                       DATE        VERDICT  FIGURE                              VALUE
//! AMD EPYC, family 25, model 17   2026-11-28  reached  recorded call / (two rdtsc + ...)   1.12, at most 1.35
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::steps::StepError;
use crate::workspace::Workspace;

/// First line of the file.
const HEAD: &str = "processor\tfigure\tdate\tverdict\tvalue";

/// Date, verdict and value of a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Measured {
    date: String,
    verdict: String,
    value: String,
}

/// The oldest and the newest by processor and figure.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures(BTreeMap<(String, String), (Measured, Measured)>);

impl Figures {
    /// Parses a file; lines of another form are left out.
    fn read(text: &str) -> Self {
        let mut figures = Self::default();
        for line in text.lines().skip(1) {
            if let [processor, figure, date, verdict, value] =
                line.split('\t').collect::<Vec<_>>()[..]
            {
                let [date, verdict, value] = [date, verdict, value].map(str::to_owned);
                let measured = Measured {
                    date,
                    verdict,
                    value,
                };
                figures.add(processor, figure, measured);
            }
        }
        figures
    }

    /// Adds a measurement; of several on one day the last counts.
    fn add(&mut self, processor: &str, figure: &str, measured: Measured) {
        let key = (processor.to_owned(), figure.to_owned());
        let (oldest, newest) = self
            .0
            .entry(key)
            .or_insert_with(|| (measured.clone(), measured.clone()));
        if measured.date <= oldest.date {
            *oldest = measured.clone();
        }
        if measured.date >= newest.date {
            *newest = measured;
        }
    }

    /// The file's text.
    fn text(&self) -> String {
        let mut lines = vec![HEAD.to_owned()];
        for ((processor, figure), (oldest, newest)) in &self.0 {
            let of_both = [oldest, newest].into_iter();
            for measured in of_both.take(if oldest == newest { 1 } else { 2 }) {
                let Measured {
                    date,
                    verdict,
                    value,
                } = measured;
                lines.push(
                    [processor, figure, date, verdict, value]
                        .map(String::as_str)
                        .join("\t"),
                );
            }
        }
        lines.join("\n") + "\n"
    }
}

/// A figure as a benchmark prints it: `reached  WHAT: 1.12, at most 1.35; tries ...` to verdict, figure and value.
fn parts(line: &str) -> Option<[&str; 3]> {
    let (verdict, rest) = line.split_once(' ')?;
    let (figure, value) = rest.trim_start().split_once(": ")?;
    let value = value.split("; ").next().unwrap_or(value);
    (verdict != "unknown").then_some([verdict, figure, value])
}

/// Stores the figures under the processor's name, and prints for each one that was measured on several days or
/// processors the oldest and the newest.
///
/// # Errors
/// The file cannot be read or written.
pub fn keep(workspace: &Workspace, lines: &[String]) -> Result<(), StepError> {
    let path = workspace.root.join("benches/processors.tsv");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(failed("read", &path, source)),
    };
    let mut figures = Figures::read(&text);
    let (processor, date) = (processor(), today());
    for [verdict, figure, value] in lines.iter().filter_map(|line| parts(line)) {
        let [verdict, value] = [verdict, value].map(str::to_owned);
        let date = date.clone();
        let measured = Measured {
            date,
            verdict,
            value,
        };
        figures.add(&processor, figure, measured);
    }
    fs::write(&path, figures.text()).map_err(|source| failed("write", &path, source))?;
    println!("\n==> the figures of all processors, in {}", path.display());
    figures.text().lines().skip(1).for_each(|line| {
        println!("    {}", line.replace('\t', "  "));
    });
    Ok(())
}

fn failed(act: &'static str, path: &Path, source: std::io::Error) -> StepError {
    let path = path.display().to_string();
    StepError::File { act, path, source }
}

/// The processor by its name, family and model: some clouds give all of a maker's the same name.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of = |key: &str| {
        let mut values = text.lines().filter_map(|line| line.split_once(':'));
        let found = values.find(|(name, _)| name.trim() == key);
        found.map(|(_, value)| value.trim().to_owned())
    };
    let name = of("model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    match (of("cpu family"), of("model")) {
        (Some(family), Some(model)) => format!("{name}, family {family}, model {model}"),
        _ => name,
    }
}

fn today() -> String {
    let output = Command::new("date").args(["-u", "+%F"]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(date: &str, value: &str) -> Measured {
        let [date, value] = [date, value].map(str::to_owned);
        let verdict = "reached".to_owned();
        Measured {
            date,
            verdict,
            value,
        }
    }

    #[test]
    fn a_line_of_a_benchmark_has_verdict_figure_and_value() {
        let line = "reached  record of MPI_Send, more a call: 17.95ns, at most 30ns; tries 17.95, 17.99; 120 of 2106 rounds disturbed";
        let expected = [
            "reached",
            "record of MPI_Send, more a call",
            "17.95ns, at most 30ns",
        ];
        assert_eq!(parts(line), Some(expected));
        assert_eq!(
            parts("MISSED   t: 3.00 s, at most 2 s"),
            Some(["MISSED", "t", "3.00 s, at most 2 s"])
        );
        assert_eq!(
            parts("unknown  memory of a rank: the system does not tell"),
            None
        );
    }

    #[test]
    fn of_each_figure_the_oldest_and_the_newest_stay() {
        let mut figures = Figures::default();
        for (date, value) in [
            ("2026-11-02", "2"),
            ("2026-11-01", "1"),
            ("2026-11-03", "3"),
            ("2026-11-03", "4"),
        ] {
            figures.add("P", "f", measured(date, value));
        }
        figures.add("Q", "f", measured("2026-11-05", "5"));
        let text = figures.text();
        let lines: Vec<_> = text.lines().skip(1).collect();
        let expected = [
            "P\tf\t2026-11-01\treached\t1",
            "P\tf\t2026-11-03\treached\t4",
            "Q\tf\t2026-11-05\treached\t5",
        ];
        assert_eq!(lines, expected);
        assert_eq!(Figures::read(&text), figures);
    }
}

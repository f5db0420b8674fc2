//! Figures with a target: measured in up to three tries, one printed line each, and the exit code of the benchmark.
//! `cargo xtask bench` repeats the lines at its end.
//!
//! ```text
//! must reach: reached  recorded call / floor: 1.31, at most 1.35; tries 1.42, 1.31; 2 of 84 rounds disturbed
//! must reach: MISSED   calls not recorded: 12, at most 0
//! must reach: unknown  memory of a rank: the system does not tell
//! ```

use std::fs;
use std::ops::{Bound, RangeBounds};
use std::process::ExitCode;

/// How the lines begin.
pub const MUST_REACH: &str = "must reach: ";

/// Most tries, where another may help: a figure that is a matter of time depends on what else the machine does.
const TRIES: usize = 3;

/// The figures of a benchmark.
#[derive(Debug, Default)]
pub struct Figures {
    figures: Vec<Figure>,
    /// Rounds of measurements, and those during which the processor was taken away.
    n_rounds: u64,
    n_disturbed: u64,
}

#[derive(Debug)]
struct Figure {
    what: String,
    range: (Bound<f64>, Bound<f64>),
    unit: String,
    /// Whether it may be another in another try.
    is_time: bool,
    /// One a try that measured it.
    values: Vec<f64>,
    /// Why it could not be measured.
    unknown: Option<String>,
}

/// The verdict on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// In its range, in one try at least.
    Reached,
    /// Outside, in all tries.
    Missed,
    /// Not measured, so neither.
    Unknown,
}

/// Measures, once more where a figure that depends on timing is missed, and prints the lines.
///
/// # Arguments
/// * `measure` - one try: measures everything, in rounds that take turns, and reports each figure
///
/// # Returns
/// Failure if a figure is missed, or if none was measured.
pub fn judge(mut measure: impl FnMut(&mut Figures)) -> ExitCode {
    let mut figures = Figures::default();
    for nth in 1..=TRIES {
        measure(&mut figures);
        if !figures.another_try_may_help() {
            break;
        }
        if nth < TRIES {
            println!(
                "a figure is missed, which is a matter of time, or none was measured: once more"
            );
        }
    }
    figures.lines().iter().for_each(|line| println!("{line}"));
    if figures.count(Verdict::Missed) > 0 {
        return ExitCode::FAILURE;
    }
    if figures.has_measured_nothing() {
        println!("nothing was measured, so that nothing is known to be reached");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

impl Figures {
    /// Reports a figure that depends on timing: the value nearest to its range over the tries counts.
    pub fn time(&mut self, what: &str, value: f64, range: impl RangeBounds<f64>, unit: &str) {
        self.put(what, value, range, unit, true);
    }

    /// Reports a figure that is the same in each try: the first value outside its range counts.
    pub fn fact(&mut self, what: &str, value: f64, range: impl RangeBounds<f64>, unit: &str) {
        self.put(what, value, range, unit, false);
    }

    /// Reports that a figure could not be measured.
    pub fn unknown(&mut self, what: &str, why: &str) {
        let figure = self.figure(what, (Bound::Unbounded, Bound::Unbounded), "", false);
        figure.unknown = Some(why.into());
    }

    /// Counts rounds of measurements, and the disturbed ones among them, for a benchmark that detects those by itself.
    pub fn rounds(&mut self, n: usize, n_disturbed: usize) {
        self.n_rounds += n as u64;
        self.n_disturbed += n_disturbed as u64;
    }

    /// Takes a round of measurements, and counts it as disturbed where the processor was taken away meanwhile.
    pub fn round<T>(&mut self, body: impl FnOnce() -> T) -> T {
        let before = interruptions();
        let value = body();
        self.n_rounds += 1;
        self.n_disturbed += u64::from(interruptions() != before);
        value
    }

    fn put(
        &mut self,
        what: &str,
        value: f64,
        range: impl RangeBounds<f64>,
        unit: &str,
        is_time: bool,
    ) {
        let range = (range.start_bound().cloned(), range.end_bound().cloned());
        let figure = self.figure(what, range, unit, is_time);
        if value.is_nan() {
            figure.unknown = Some("no number".into());
        } else {
            figure.values.push(value);
        }
    }

    fn figure(
        &mut self,
        what: &str,
        range: (Bound<f64>, Bound<f64>),
        unit: &str,
        is_time: bool,
    ) -> &mut Figure {
        let at = match self.figures.iter().position(|known| known.what == what) {
            Some(at) => at,
            None => {
                self.figures.push(Figure {
                    what: what.into(),
                    range,
                    unit: unit.into(),
                    is_time,
                    values: Vec::new(),
                    unknown: None,
                });
                self.figures.len() - 1
            }
        };
        &mut self.figures[at]
    }

    fn another_try_may_help(&self) -> bool {
        let missed = |figure: &&Figure| figure.verdict() == Verdict::Missed;
        let mut missed = self.figures.iter().filter(missed).peekable();
        self.has_measured_nothing()
            || missed.peek().is_some() && missed.all(|figure| figure.is_time)
    }

    /// Whether no figure comes to a verdict.
    pub fn has_measured_nothing(&self) -> bool {
        self.count(Verdict::Unknown) == self.figures.len()
    }

    /// How many figures come to a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        let verdicts = self.figures.iter().map(Figure::verdict);
        verdicts.filter(|found| *found == verdict).count()
    }

    /// A line for each figure.
    pub fn lines(&self) -> Vec<String> {
        let rounds = match self.n_rounds {
            0 => String::new(),
            n => format!("; {} of {n} rounds disturbed", self.n_disturbed),
        };
        let line = |figure: &Figure| {
            let rounds = if figure.is_time { &rounds } else { "" };
            format!("{MUST_REACH}{}{rounds}", figure.line())
        };
        self.figures.iter().map(line).collect()
    }
}

impl Figure {
    /// How far a value lies outside the range; 0 inside.
    fn beyond(&self, value: f64) -> f64 {
        if self.range.contains(&value) {
            return 0.0;
        }
        let apart = |bound| match bound {
            Bound::Included(limit) | Bound::Excluded(limit) => f64::abs(value - limit),
            Bound::Unbounded => f64::INFINITY,
        };
        apart(self.range.0).min(apart(self.range.1))
    }

    /// The value that counts.
    fn value(&self) -> Option<f64> {
        let values = self.values.iter().copied();
        let nearer = |a: &f64, b: &f64| self.beyond(*a).total_cmp(&self.beyond(*b));
        if self.is_time {
            values.min_by(nearer)
        } else {
            values.max_by(nearer)
        }
    }

    fn verdict(&self) -> Verdict {
        match self.value() {
            None => Verdict::Unknown,
            Some(value) if self.range.contains(&value) => Verdict::Reached,
            Some(_) => Verdict::Missed,
        }
    }

    fn line(&self) -> String {
        let what = &self.what;
        let Some(value) = self.value() else {
            let why = self.unknown.as_deref().unwrap_or("not measured");
            return format!("unknown  {what}: {why}");
        };
        let verdict = match self.verdict() {
            Verdict::Reached => "reached",
            _ => "MISSED",
        };
        let unit = &self.unit;
        let shown = |word, bound| match bound {
            Bound::Included(limit) | Bound::Excluded(limit) => format!(", {word} {limit}{unit}"),
            Bound::Unbounded => String::new(),
        };
        let (least, most) = (
            shown("at least", self.range.0),
            shown("at most", self.range.1),
        );
        let tries = match self.values.as_slice() {
            [_] => String::new(),
            values => {
                let values: Vec<_> = values.iter().map(|value| format!("{value:.2}")).collect();
                format!("; tries {}", values.join(", "))
            }
        };
        format!("{verdict:8} {what}: {value:.2}{unit}{least}{most}{tries}")
    }
}

/// A round is undisturbed if no row of plain calls takes longer in it than this times its shortest.
const UNDISTURBED: f64 = 1.1;

/// The rounds in which plain calls took their best time.
///
/// On a virtual machine another tenant may have the other hardware thread of the core for a while, for seconds at a
/// time. Plain instructions then take half as long again, and no counter of the system shows it.
///
/// # Arguments
/// * `rounds` - the time of each row in each of them
/// * `plain` - for each call without the measured part, its rows: the same call at several moments
pub fn undisturbed<const N: usize>(rounds: &[[f64; N]], plain: &[&[usize]]) -> Vec<[f64; N]> {
    let shortest = |rows: &[usize]| {
        let values = rounds
            .iter()
            .flat_map(|round| rows.iter().map(|row| round[*row]));
        values.fold(f64::MAX, f64::min)
    };
    let limits: Vec<f64> = plain
        .iter()
        .map(|rows| UNDISTURBED * shortest(rows))
        .collect();
    let is_undisturbed = |round: &&[f64; N]| {
        let mut calls = plain.iter().zip(&limits);
        calls.all(|(rows, limit)| rows.iter().all(|row| round[*row] <= *limit))
    };
    rounds.iter().filter(is_undisturbed).copied().collect()
}

/// The median of each row over rounds; not a number without any.
pub fn medians<const N: usize>(rounds: &[[f64; N]]) -> [f64; N] {
    std::array::from_fn(|row| {
        let mut values: Vec<f64> = rounds.iter().map(|round| round[row]).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    })
}

/// How often the system has taken the processor away from this thread, and the machine beneath it from the system.
fn interruptions() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let taken = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    let taken: Option<u64> = taken.and_then(|n| n.trim().parse().ok());
    // user, nice, system, idle, iowait, irq, softirq, steal
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let stolen = stat.split_whitespace().nth(8).and_then(|n| n.parse().ok());
    taken.unwrap_or(0) + stolen.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges a time by what it is in each try; the number of tries and the lines.
    fn judged(tries: &[f64]) -> (usize, Vec<String>) {
        let (mut n, mut lines) = (0, Vec::new());
        let ended = judge(|figures| {
            figures.time("t", tries[n], ..=2.0, " s");
            figures.unknown("u", "no such thing");
            n += 1;
            lines = figures.lines();
        });
        let is_missed = lines[0].contains("MISSED");
        assert_eq!(ended == ExitCode::FAILURE, is_missed);
        (n, lines)
    }

    #[test]
    fn a_time_has_three_tries_and_a_miss_is_a_failure() {
        let (n, lines) = judged(&[1.0]);
        assert_eq!(
            (n, &*lines[0]),
            (1, "must reach: reached  t: 1.00 s, at most 2 s")
        );
        assert_eq!(lines[1], "must reach: unknown  u: no such thing");
        let (n, lines) = judged(&[3.0, 1.5]);
        let expected = "must reach: reached  t: 1.50 s, at most 2 s; tries 3.00, 1.50";
        assert_eq!((n, &*lines[0]), (2, expected));
        let (n, lines) = judged(&[3.0, 2.5, 4.0]);
        let expected = "must reach: MISSED   t: 2.50 s, at most 2 s; tries 3.00, 2.50, 4.00";
        assert_eq!((n, &*lines[0]), (3, expected));
    }

    #[test]
    fn a_fact_has_one_try_and_what_is_not_measured_no_verdict() {
        let mut n = 0;
        let ended = judge(|figures| {
            figures.fact("lost", 12.0, ..=0.0, "");
            figures.time("t", f64::NAN, ..=2.0, " s");
            n += 1;
        });
        assert_eq!((n, ended), (1, ExitCode::FAILURE));
        let ended = judge(|figures| {
            figures.fact("found", 12.0, 12.0..=12.0, "");
            figures.time("t", f64::NAN, ..=2.0, " s");
        });
        assert_eq!(ended, ExitCode::SUCCESS);
    }

    #[test]
    fn who_measured_nothing_tries_again_and_is_no_success() {
        let mut n = 0;
        let ended = judge(|figures| {
            n += 1;
            figures.unknown("t", "too few undisturbed rounds");
        });
        assert_eq!((n, ended), (3, ExitCode::FAILURE));
        let mut n = 0;
        let ended = judge(|figures| {
            n += 1;
            match n {
                1 => figures.unknown("t", "too few undisturbed rounds"),
                _ => figures.time("t", 1.0, ..=2.0, " s"),
            }
        });
        assert_eq!((n, ended), (2, ExitCode::SUCCESS));
    }

    #[test]
    fn rounds_next_to_a_busy_neighbour_are_set_aside() {
        let quiet = [2.0, 3.0, 2.1];
        let rounds = [
            quiet,
            [2.0, 9.0, 2.9],
            quiet,
            [2.9, 3.0, 2.0],
            [2.05, 3.1, 2.2],
        ];
        let same = undisturbed(&rounds, &[&[0, 2]]);
        assert_eq!(same, [quiet, quiet, [2.05, 3.1, 2.2]]);
        assert_eq!(undisturbed(&rounds, &[&[0], &[1]]).len(), 3);
        assert_eq!(medians(&same), [2.0, 3.0, 2.1]);
        assert!(medians::<1>(&[])[0].is_nan());
    }

    #[test]
    fn rounds_are_counted() {
        let mut figures = Figures::default();
        figures.round(|| ());
        figures.time("t", 1.0, .., "");
        assert!(figures.lines()[0].ends_with(" of 1 rounds disturbed"));
    }
}

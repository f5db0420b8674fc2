//! `mastermind signature`: what a call does at some sizes, counted by valgrind's callgrind, and over the size.
//!
//! Callgrind collects while a function runs (`--toggle-collect`) and writes what it has collected after each call of it (`--dump-after`), so
//! that the last call is seen alone, with caches that the calls before it have filled.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use clap::Args;
use mastermind_machine::Level;
use mastermind_machine::processor::{Cache, identify};
use mastermind_machine::signature::{MIN_SIZES, Quantity, Signature as Found, Traced};

use crate::destination::Force;
use crate::{machine_file, output};

/// What instructions are called in a signature.
const INSTRUCTIONS: &str = "instructions";

/// Names of the quantities, and callgrind's events that add up to them.
const QUANTITIES: [(&str, &[&str]); 7] = [
    (INSTRUCTIONS, &["Ir"]),
    ("loads", &["Dr"]),
    ("stores", &["Dw"]),
    ("branches", &["Bc", "Bi"]),
    ("mispredictions", &["Bcm", "Bim"]),
    ("misses of the first cache", &["D1mr", "D1mw"]),
    ("misses of the second cache", &["DLmr", "DLmw"]),
];

/// Counts below this part of the instructions take no time worth it: a miss costs up to some hundred instructions.
const WORTH: f64 = 1e-4;

/// How far off a left-out size may be predicted before a warning, as a part of it. Arbitrary: forms that hold are within 0.03, those across a
/// cache's edge beyond 0.7 (the kernels of `benches/machines`).
const VAGUE: f64 = 0.2;

/// By how much calls of one size differ at most, as a part of their instructions.
const ALIKE: f64 = 0.01;

/// Count what a call does at several sizes, under valgrind.
///
/// Instructions, loads, stores, branches, and the misses of the two nearest caches of data, of the last call of a function, for each
/// size; then each of them as a function of the size. The program runs once a size, some 50 to 100 times slower than natively. It should call
/// the function at least twice with the size, so that the caches are filled.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind signature --method dgemm --at n=64,128,256 -o dgemm.json -- ./multiply {n}\n\
                  Example: mastermind signature --method stencil --at n=100,200,400 --machine there.toml -- ./stencil --size {n}"
)]
pub struct Signature {
    /// The function, by its symbol; * stands for any letters, as in the names of C++ with their arguments
    #[arg(long, value_name = "SYMBOL")]
    method: String,
    /// Name and values of the size
    #[arg(long, value_name = "NAME=N,N,N", value_parser = sizes)]
    at: Sizes,
    /// The machine file whose [processor] says what the caches are [default: those of this machine]
    #[arg(long, value_name = "M.toml")]
    machine: Option<PathBuf>,
    /// Where the signature goes, as JSON
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// The program and its arguments, with {NAME} where the size stands
    #[arg(last = true, required = true, value_name = "PROGRAM ARGUMENTS")]
    program: Vec<String>,
}

/// A parameter and its values.
#[derive(Clone, Debug)]
struct Sizes {
    name: String,
    values: Vec<String>,
}

/// `n=64,128,256`.
fn sizes(text: &str) -> Result<Sizes, String> {
    let expected = || format!("\"{text}\", expected NAME=N,N,N with numbers above 0");
    let (name, values) = text.split_once('=').ok_or_else(expected)?;
    let values: Vec<String> = values.split(',').map(|one| one.trim().to_owned()).collect();
    let number = |text: &String| {
        text.parse::<f64>()
            .ok()
            .filter(|n| n.is_finite() && *n > 0.0)
    };
    if name.is_empty() || values.iter().any(|text| number(text).is_none()) {
        return Err(expected());
    }
    Ok(Sizes {
        name: name.to_owned(),
        values,
    })
}

impl Signature {
    /// Counts.
    ///
    /// # Errors
    /// Valgrind is not there; the program fails, or never calls the function; there are too few sizes.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        self.force.check([self.output.as_deref()], self.json)?;
        let act = || format!("cannot count calls of \"{}\"", self.method);
        let distinct: BTreeSet<_> = self.at.values.iter().collect();
        if distinct.len() < MIN_SIZES {
            bail!(
                "{}: {} sizes, expected at least {MIN_SIZES}, since one is left out to see how well the others predict it",
                act(),
                distinct.len()
            );
        }
        let place = format!("{{{}}}", self.at.name);
        if !self.program.iter().any(|word| word.contains(&place)) {
            bail!(
                "{}: no {place} in the arguments of the program, expected it where the size stands",
                act()
            );
        }
        let caches = self.caches()?;
        let mut sizes = Vec::new();
        for value in &self.at.values {
            sizes.push(self.traced(value, &place, &caches).with_context(act)?);
        }
        sizes.sort_by(|one, other| one.n.total_cmp(&other.n));
        if sizes.iter().any(|size| !size.warm) {
            crate::output::complain!(
                "warning: the program calls \"{}\" once: misses are those of empty caches; let it call the function twice",
                self.method
            );
        }
        if identify().level == Some(Level::Avx512) {
            crate::output::complain!(
                "note: valgrind has no AVX-512: libraries that choose their code by the processor run other code in it than natively"
            );
        }
        let found = Found {
            quantities: quantities(&sizes),
            method: self.method.clone(),
            parameter: self.at.name.clone(),
            caches,
            sizes,
        };
        if let Some(path) = &self.output {
            let text = serde_json::to_string_pretty(&found)? + "\n";
            self.force.write("signature", path, text)?;
        }
        let is_vague = |name: &str| {
            let quantity = found.quantities.get(name);
            quantity.is_none_or(|of| of.left_out > VAGUE)
        };
        let vague = QUANTITIES.iter().map(|(name, _)| *name);
        let vague: Vec<_> = vague.filter(|name| is_vague(name)).collect();
        if !vague.is_empty() {
            crate::output::complain!(
                "warning: a size that is left out is predicted far off in {}: what a cache holds of the working set changes between the sizes, \
                 so that no form goes on beyond them",
                vague.join(", ")
            );
        }
        match self.json {
            true => output::json(&found)?,
            false => output::line(table(&found)),
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The two nearest caches of data.
    fn caches(&self) -> anyhow::Result<Vec<Cache>> {
        let identity = match &self.machine {
            Some(path) => machine_file::read(path)?.identity,
            None => identify(),
        };
        let mut caches = identity.caches;
        caches.retain(|cache| cache.level <= 2 && cache.ways.is_some());
        if caches.len() != 2 {
            bail!(
                "cannot count misses: {} caches with a number of ways are known, expected the first and the second; name a machine file \
                 with --machine",
                caches.len()
            );
        }
        Ok(caches)
    }

    /// The last call at a size.
    fn traced(&self, value: &str, place: &str, caches: &[Cache]) -> anyhow::Result<Traced> {
        let folder = tempfile::tempdir().context("cannot make a folder for callgrind")?;
        let out = folder.path().join("callgrind");
        let geometry = |of: &Cache| {
            let (ways, line) = (of.ways.unwrap_or(8), of.line_bytes.unwrap_or(64));
            format!("{},{ways},{line}", of.bytes)
        };
        let mut valgrind = Command::new("valgrind");
        valgrind
            .args([
                "--tool=callgrind",
                "--quiet",
                "--cache-sim=yes",
                "--branch-sim=yes",
            ])
            .arg(format!("--D1={}", geometry(&caches[0])))
            .arg(format!("--LL={}", geometry(&caches[1])))
            .arg(format!("--toggle-collect={}", self.method))
            .arg(format!("--dump-after={}", self.method))
            .arg(format!("--callgrind-out-file={}", out.display()))
            .args(self.program.iter().map(|word| word.replace(place, value)))
            .stdout(Stdio::null());
        let ended = match valgrind.output() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("no program valgrind, expected one; install the package valgrind")
            }
            ended => ended.context("cannot start valgrind")?,
        };
        if !ended.status.success() {
            let said = String::from_utf8_lossy(&ended.stderr);
            let last = said.lines().last().unwrap_or_default().to_owned();
            bail!(
                "with {}={value} the program ended with {}, expected success: {last}",
                self.at.name,
                ended.status
            );
        }
        let calls = calls(&out)?;
        let Some((last, before)) = calls.split_last() else {
            bail!(
                "with {}={value} the program made no call of it, expected some; `nm -C` lists the symbols of a library, and a function that \
                 was inlined has none",
                self.at.name
            );
        };
        let of = |counts: &BTreeMap<String, f64>| counts[INSTRUCTIONS];
        let is_other =
            |counts: &BTreeMap<String, f64>| (of(counts) - of(last)).abs() > ALIKE * of(last);
        if before.iter().any(is_other) {
            crate::output::complain!(
                "warning: with {}={value} calls of \"{}\" take from {} to {} instructions: the last one is taken, which may be of another size",
                self.at.name,
                self.method,
                calls.iter().map(of).fold(f64::INFINITY, f64::min),
                calls.iter().map(of).fold(0.0, f64::max)
            );
        }
        Ok(Traced {
            n: value.parse()?,
            counts: last.clone(),
            warm: !before.is_empty(),
        })
    }
}

/// The counts of each call: callgrind writes a file after each, with a number at its end, and one at the end of the program.
fn calls(out: &Path) -> anyhow::Result<Vec<BTreeMap<String, f64>>> {
    let mut all = Vec::new();
    for number in 1.. {
        let path = PathBuf::from(format!("{}.{number}", out.display()));
        let Ok(text) = fs::read_to_string(&path) else {
            break;
        };
        let counts = counts(&text);
        let counts =
            counts.with_context(|| format!("cannot read what callgrind wrote into {path:?}"))?;
        if counts[INSTRUCTIONS] > 0.0 {
            all.push(counts);
        }
    }
    Ok(all)
}

/// The totals of a file of callgrind's, by our names.
fn counts(text: &str) -> Option<BTreeMap<String, f64>> {
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let totals = line("totals:").or_else(|| line("summary:"))?;
    let totals: Vec<f64> = totals
        .split_whitespace()
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    // Zeros at the end are left out.
    let events = line("events:")?.split_whitespace().enumerate();
    let events: BTreeMap<&str, f64> = events
        .map(|(place, name)| (name, totals.get(place).copied().unwrap_or(0.0)))
        .collect();
    let quantities = QUANTITIES.iter().map(|(name, parts)| {
        let parts: Option<Vec<f64>> = parts.iter().map(|part| events.get(part).copied()).collect();
        Some(((*name).to_owned(), parts?.iter().sum()))
    });
    quantities.collect()
}

/// Each quantity over the size, where one of the forms fits.
fn quantities(sizes: &[Traced]) -> BTreeMap<String, Quantity> {
    let worth: Vec<f64> = sizes
        .iter()
        .map(|size| (WORTH * size.counts[INSTRUCTIONS]).max(1.0))
        .collect();
    let over = |(name, _): &(&str, &[&str])| {
        let points: Vec<(f64, f64)> = sizes
            .iter()
            .map(|size| (size.n, size.counts[*name]))
            .collect();
        Some(((*name).to_owned(), Quantity::over(&points, &worth)?))
    };
    QUANTITIES.iter().filter_map(over).collect()
}

fn table(found: &Found) -> String {
    let n = &found.parameter;
    let rows = QUANTITIES.iter().map(|(name, _)| {
        let mut row = vec![(*name).to_owned()];
        row.extend(
            found
                .sizes
                .iter()
                .map(|size| format!("{}", size.counts[*name])),
        );
        let quantity = found.quantities.get(*name);
        row.push(quantity.map_or_else(String::new, |of| format!("{:.2}", 100.0 * of.left_out)));
        row.push(quantity.map_or_else(|| "no form fits".into(), |of| formula(of, n)));
        row
    });
    let sizes: Vec<String> = found
        .sizes
        .iter()
        .map(|size| format!("{n}={}", size.n))
        .collect();
    let mut header = vec!["QUANTITY"];
    header.extend(sizes.iter().map(String::as_str));
    header.extend(["LEFT OUT %", "FORMULA"]);
    let numbers: Vec<usize> = (1..=sizes.len() + 1).collect();
    output::table(&header, &numbers, rows)
}

/// `7 n^3 + 900 n^2` of a parameter.
fn formula(quantity: &Quantity, parameter: &str) -> String {
    if quantity.terms.is_empty() {
        return "0".into();
    }
    let terms = quantity.terms.iter().rev().map(|(growth, by)| {
        let name = growth
            .name()
            .replacen('n', parameter, 1)
            .replace("(n)", &format!("({parameter})"));
        let digits = if *by >= 1000.0 { 0 } else { 3 };
        match growth.name() {
            "1" => format!("{by:.digits$}"),
            _ => format!("{by:.digits$} {name}"),
        }
    });
    Vec::from_iter(terms).join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_without_zeros_at_their_end_are_read() {
        let text = "events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim\n\ntotals: 100 20 10 0 3 1\n";
        let found = counts(text).unwrap();
        assert_eq!(found["instructions"], 100.0);
        assert_eq!(found["misses of the first cache"], 4.0);
        assert_eq!(found["branches"], 0.0);
        assert_eq!(counts("events: Ir\ntotals: 1\n"), None);
        assert!(sizes("n=1,2").is_ok() && sizes("n=0").is_err() && sizes("n").is_err());
    }
}

//! `mastermind signature`: the operations of a call at some sizes, counted by valgrind's callgrind, and as functions of
//! the size.
//!
//! Callgrind collects while a function runs (`--toggle-collect`) and writes its counts after each call of it
//! (`--dump-after`). So the last call is counted alone, with caches that the calls before it have filled. With
//! `--distances` the program runs once more at each size, under a tool of our own (`tool`), which reports where the
//! call reads and writes.

pub mod hits;
mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use clap::Args;
use mastermind_machine::Level;
use mastermind_machine::processor::{Cache, identify};
use mastermind_machine::signature::time::{DIVISIONS, INSTRUCTIONS, MISPREDICTIONS};
use mastermind_machine::signature::{MIN_SIZES, Quantity, Signature as Found, Traced};

use crate::destination::Force;
use crate::{machine_file, output};
use tool::Tool;

/// Names of the quantities, and callgrind's events that add up to each.
const QUANTITIES: [(&str, &[&str]); 7] = [
    (INSTRUCTIONS, &["Ir"]),
    ("loads", &["Dr"]),
    ("stores", &["Dw"]),
    ("branches", &["Bc", "Bi"]),
    (MISPREDICTIONS, &["Bcm", "Bim"]),
    ("misses of the first cache", &["D1mr", "D1mw"]),
    ("misses of the second cache", &["DLmr", "DLmw"]),
];

/// Counts of the tool, and their names in a signature.
const COUNTS: [(&str, &str); 3] = [
    ("scalar", "floating-point operations, scalar"),
    ("vector", "floating-point operations, vector"),
    ("divisions", DIVISIONS),
];

/// Counts below this fraction of the instructions are ignored: a miss costs up to some hundred instructions.
const WORTH: f64 = 1e-4;

/// Relative error of a left-out size from which there is a warning. Arbitrary: forms that hold are within 0.03, forms
/// across a cache's edge beyond 0.7 (the kernels of `benches/machines`).
const VAGUE: f64 = 0.2;

/// Maximum difference between calls of one size, relative to their instructions.
const ALIKE: f64 = 0.01;

/// Count what a call does at several sizes, under valgrind.
///
/// Instructions, loads, stores, branches, and the misses of the two nearest caches of data, of the last call of a function, for each
/// size; then each of them as a function of the size. The program runs once a size, some 50 to 100 times slower than natively. It should call
/// the function at least twice with the size, so that the caches are filled.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind signature --method dgemm --at n=64,128,256 -o dgemm.json -- ./multiply {n}\n\
                  Example: mastermind signature --method stencil --at n=100,200,400 --distances -o stencil.json -- ./stencil --size {n}\n\
                  Example: mastermind signature --read stencil.json --at n=300,1600 --cache 48K,12 --cache 2M,16"
)]
pub struct Signature {
    /// The function, by its symbol; * stands for any letters, as in the names of C++ with their arguments
    #[arg(
        long,
        value_name = "SYMBOL",
        required_unless_present = "read",
        default_value = "",
        hide_default_value = true
    )]
    method: String,
    /// Count stack distances and strides by instruction as well: hits of any cache, and misses at other sizes, follow from them
    #[arg(long)]
    distances: bool,
    /// Compute hits at the sizes from a signature with distances, and run nothing
    #[arg(long, value_name = "S.json", conflicts_with_all = ["method", "distances", "machine", "output", "program"])]
    read: Option<PathBuf>,
    /// A cache to compute hits of, of lines of 64 bytes [default: those of the signature]
    #[arg(long, value_name = "BYTES,WAYS", value_parser = hits::cache, requires = "read")]
    cache: Vec<hits::RequestedCache>,
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
    #[arg(
        trailing_var_arg = true,
        required_unless_present = "read",
        value_name = "PROGRAM ARGUMENTS"
    )]
    program: Vec<String>,
}

/// A parameter and its values.
#[derive(Clone, Debug)]
pub struct Sizes {
    name: String,
    values: Vec<String>,
}

impl Sizes {
    /// The values.
    pub fn numbers(&self) -> impl Iterator<Item = f64> {
        self.values.iter().filter_map(|text| text.parse().ok())
    }
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
    /// Counts the operations.
    ///
    /// # Errors
    /// Valgrind is not installed; the program fails, or never calls the function; there are too few sizes.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        if let Some(path) = &self.read {
            hits::print(path, &self.at, &self.cache, self.json)?;
            return Ok(ExitCode::SUCCESS);
        }
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
        let tool = self.distances.then(Tool::build).transpose()?;
        for value in &self.at.values {
            let mut size = self.traced(value, &place, &caches).with_context(act)?;
            if let Some(tool) = &tool {
                self.add_distances(tool, value, &place, &mut size)
                    .with_context(act)?;
            }
            sizes.push(size);
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
        let is_known = |name: &str| self.distances && name.starts_with("misses");
        let is_vague = |name: &str| {
            let quantity = found.quantities.get(name);
            quantity.is_none_or(|of| of.left_out > VAGUE)
        };
        let vague = QUANTITIES.iter().map(|(name, _)| *name);
        let vague = vague.filter(|name| !is_known(name) && is_vague(name));
        let vague: Vec<_> = vague.collect();
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
                "with {}={value} the program ended with {}, expected success: {last}{}",
                self.at.name,
                ended.status,
                tool::hint(&ended)
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
            memory: None,
        })
    }

    /// Adds the memory accesses of the last call at a size, and the types of its instructions.
    fn add_distances(
        &self,
        tool: &Tool,
        value: &str,
        place: &str,
        size: &mut Traced,
    ) -> anyhow::Result<()> {
        let words = self.program.iter().map(|word| word.replace(place, value));
        let (ended, trace) = tool.run(&self.method, &Vec::from_iter(words))?;
        if !ended.status.success() {
            bail!(
                "with {}={value} the program ended with {} while its accesses were traced, expected success",
                self.at.name,
                ended.status
            );
        }
        let trace = trace.context("cannot read the trace of the valgrind tool")?;
        if trace.n_calls == 0 {
            bail!(
                "with {}={value} no call of it was traced, expected some; the pattern is of the whole name as `nm -C` shows it",
                self.at.name
            );
        }
        for (name, ours) in COUNTS {
            let count = trace.counts.get(name).copied().unwrap_or(0.0);
            size.counts.insert(ours.to_owned(), count);
        }
        size.memory = Some(trace.memory);
        Ok(())
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

/// Each quantity as a function of the size, if one of the forms fits.
fn quantities(sizes: &[Traced]) -> BTreeMap<String, Quantity> {
    let worth: Vec<f64> = sizes
        .iter()
        .map(|size| (WORTH * size.counts[INSTRUCTIONS]).max(1.0))
        .collect();
    let over = |name: &String| {
        let points = sizes.iter();
        let points = points.map(|size| Some((size.n, *size.counts.get(name)?)));
        let points: Vec<(f64, f64)> = points.collect::<Option<_>>()?;
        Some((name.clone(), Quantity::over(&points, &worth)?))
    };
    let names = sizes.first().map(|size| size.counts.keys());
    names.into_iter().flatten().filter_map(over).collect()
}

fn table(found: &Found) -> String {
    let n = &found.parameter;
    let counts = COUNTS.iter().map(|(_, name)| *name);
    let names = QUANTITIES.iter().map(|(name, _)| *name).chain(counts);
    let is_counted = |name: &&str| {
        found
            .sizes
            .iter()
            .all(|size| size.counts.contains_key(*name))
    };
    let rows = names.filter(is_counted).map(|name| {
        let mut row = vec![name.to_owned()];
        row.extend(
            found
                .sizes
                .iter()
                .map(|size| format!("{}", size.counts[name])),
        );
        let quantity = found.quantities.get(name);
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

//! Several runs of one program on different numbers of ranks, as the input of one program model.

use std::path::PathBuf;

use anyhow::bail;
use mastermind_records::Run;
use mastermind_replay::{RecordedProgram, program_of_runs};

use crate::commands::profile;
use crate::recorded_run::RecordedRun;

/// Runs of one program.
pub struct RecordedRuns {
    runs: Vec<RecordedRun>,
}

/// The program of a run, and its circumstances.
struct Identity {
    program: String,
    /// Parameters of an assembly, or numbered arguments of a program.
    settings: Vec<(String, String)>,
    is_assembly: bool,
    ranks: u32,
}

impl Identity {
    fn of(run: &Run) -> Self {
        let definitions = run.logs().iter().map(mastermind_records::Log::definitions);
        let mut all = definitions.filter(|definitions| definitions.run.forked_from.is_none());
        let Some(first) = all.next() else {
            return Self {
                program: String::new(),
                settings: Vec::new(),
                is_assembly: true,
                ranks: 0,
            };
        };
        let parameters = first.run.parameters.iter();
        let mut settings: Vec<_> = parameters
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let is_assembly = !first.run.classes.is_empty();
        if !is_assembly {
            let arguments = first
                .circumstances
                .as_ref()
                .map(|found| found.arguments())
                .unwrap_or_default();
            settings.extend(
                arguments
                    .iter()
                    .zip(1..)
                    .map(|(value, n)| (format!("argument {n}"), value.clone())),
            );
        }
        Self {
            program: first.run.assembly.clone(),
            settings,
            is_assembly,
            ranks: first.run.ranks,
        }
    }

    /// Why another run is not of the same program with the same settings.
    fn differs(&self, other: &Self) -> Option<(String, String)> {
        let named = |one: &Self| format!("program \"{}\"", one.program);
        if self.program != other.program {
            return Some((named(other), named(self)));
        }
        if self.settings.len() != other.settings.len() {
            let counted = |one: &Self| format!("{} settings", one.settings.len());
            return Some((counted(other), counted(self)));
        }
        let pairs = self
            .settings
            .iter()
            .zip(&other.settings)
            .filter(|(own, other)| own != other);
        let pairs: Vec<_> = pairs.collect();
        let text = |settings: Vec<&(String, String)>| {
            let each = settings
                .iter()
                .map(|(name, value)| format!("{name} = \"{value}\""));
            each.collect::<Vec<_>>().join(", ")
        };
        let (own, others): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let is_same = own.is_empty() || !self.is_assembly && self.lays_out(other, &own, &others);
        (!is_same).then(|| (text(others), text(own)))
    }

    /// Whether arguments define the layout of the ranks, as `-i 2 -j 4` does on 8: their product is proportional to the
    /// number of ranks.
    fn lays_out(
        &self,
        other: &Self,
        own: &[&(String, String)],
        others: &[&(String, String)],
    ) -> bool {
        let product = |settings: &[&(String, String)]| {
            let mut numbers = settings.iter().map(|(_, value)| value.parse::<u64>().ok());
            numbers.try_fold(1_u64, |product, number| product.checked_mul(number?))
        };
        let of_other = product(own).and_then(|n| n.checked_mul(u64::from(other.ranks)));
        let of_own = product(others).and_then(|n| n.checked_mul(u64::from(self.ranks)));
        of_own.is_some() && of_own == of_other
    }
}

impl RecordedRuns {
    /// Reads runs.
    ///
    /// # Errors
    /// As [`RecordedRun::read`]; a run was killed, or is of another program or of other settings than the first one.
    pub fn read(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let mut first: Option<Identity> = None;
        let mut runs = Vec::new();
        for path in paths {
            let act = || {
                format!(
                    "cannot write runs as one program: run \"{}\"",
                    path.display()
                )
            };
            let identity = Identity::of(&profile::open(path)?);
            if let Some((found, expected)) =
                first.as_ref().and_then(|first| first.differs(&identity))
            {
                bail!(
                    "{} has {found}, expected {expected} as in \"{}\"",
                    act(),
                    paths[0].display()
                );
            }
            first.get_or_insert(identity);
            let run = RecordedRun::read(path)?;
            if let Some(rank) = run.ranks.iter().position(|rank| rank.is_cut) {
                bail!(
                    "{} was killed or is still going on: the records of rank {rank} end before the program does, expected whole runs; record again",
                    act()
                );
            }
            runs.push(run);
        }
        Ok(Self { runs })
    }

    /// The model of all of them; missing parts are reported.
    ///
    /// # Errors
    /// As [`program_of_runs`].
    pub fn program(&self, name: &str) -> anyhow::Result<RecordedProgram> {
        let runs: Vec<_> = self.runs.iter().map(|run| &run.ranks[..]).collect();
        let program = program_of_runs(name, &runs)?;
        for note in &program.notes {
            crate::output::complain!("warning: {note}");
        }
        Ok(program)
    }
}

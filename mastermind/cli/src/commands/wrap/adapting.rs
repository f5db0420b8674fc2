//! `wrap --adapt`: the choice of libraries while the program runs, and the report on it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cca_comm::Launched;
use cca_loader::LibraryProxy;
use clap::Args;
use mastermind_component::{
    LibraryAdaptConfig, NOTE_EXTENSION, UseConfig, WrapConfig, decisions_file, is_decisions_file,
};
use mastermind_composition::adapt::Decision;

use crate::commands::predict::read_models;
use crate::commands::run::percent;
use crate::output;

/// What a user asks for.
#[derive(Args)]
pub struct AdaptArguments {
    /// Choose between the program's own library and those of --use while the program runs, by models that `fit` made, if
    /// there are, and by what is seen: calls go to whichever is faster for them. The mark-up of each proxy must say `stateless = true`. Ranks of MPI
    /// choose together, in calls of MPI_COMM_WORLD that all wait for one another in (MPI_Barrier, MPI_Allreduce and the like)
    #[arg(long, value_name = "MODELS")]
    adapt: Option<Option<PathBuf>>,
    /// Part of the run's seconds that trying other libraries may cost
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = percent, requires = "adapt")]
    explore: f64,
}

impl AdaptArguments {
    /// The choice for a program, between libraries that its calls may be sent to; `None` without `--adapt`.
    ///
    /// # Errors
    /// The models cannot be read; there is no library to send calls to.
    pub fn config(
        &self,
        program: &str,
        uses: &[UseConfig],
    ) -> anyhow::Result<Option<LibraryAdaptConfig>> {
        let Some(models) = &self.adapt else {
            return Ok(None);
        };
        if uses.is_empty() {
            bail!(
                "cannot adapt \"{program}\": no library that calls may be sent to, expected at least one --use INTERFACE=LIB"
            );
        }
        if let Some(models) = models {
            let known = read_models(models, false)?;
            for UseConfig { library, .. } in uses {
                let class = library.file_name().unwrap_or_default().to_string_lossy();
                let prefix = format!("{class}::");
                if !known.models.iter().any(|m| m.method.starts_with(&prefix)) {
                    output::complain!(
                        "warning: no model of {class} in \"{}\": what it takes is learnt in the run",
                        models.display()
                    );
                }
            }
        }
        // The program may go elsewhere.
        let absolute = |models: &PathBuf| {
            let act = || format!("cannot read models \"{}\"", models.display());
            models.canonicalize().with_context(act)
        };
        Ok(Some(LibraryAdaptConfig {
            models: models.as_ref().map(absolute).transpose()?,
            explore: self.explore,
            alternatives: uses.to_vec(),
        }))
    }
}

/// Whether calls of an interface may be sent to a library at any time.
///
/// # Errors
/// The mark-up does not say so; the library lacks functions.
pub fn check(proxy: &LibraryProxy, library: &Path, missing: &[String]) -> anyhow::Result<()> {
    let interface = proxy.interface();
    if !proxy.is_stateless() {
        bail!(
            "cannot adapt interface \"{interface}\": its proxy does not say that nothing is kept between calls, expected \
             `stateless = true` under [proxy] of the mark-up that it is generated with, where that is so"
        );
    }
    if !missing.is_empty() {
        bail!(
            "cannot adapt interface \"{interface}\": \"{}\" lacks {} of {} functions: {}, expected all; leave them out of the \
             proxy ([skip] of its mark-up)",
            library.display(),
            missing.len(),
            proxy.functions().len(),
            missing.join(" ")
        );
    }
    Ok(())
}

/// Removes the decisions of an earlier run, by the ranks that this process starts.
pub fn forget(config: &WrapConfig, launched: Option<&Launched>) -> anyhow::Result<()> {
    for path in of_ranks(config, launched, true)? {
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// The files of the ranks that this process starts: notes why nothing is chosen, and with `with_decisions` the
/// decisions.
fn of_ranks(
    config: &WrapConfig,
    launched: Option<&Launched>,
    with_decisions: bool,
) -> anyhow::Result<Vec<PathBuf>> {
    let rank = launched.map(|launched| launched.rank as u32);
    let is_meant = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_note = path.extension().is_some_and(|e| e == NOTE_EXTENSION);
        let is_own = rank.is_none_or(|rank| {
            *path == config.note_file(rank) || *path == decisions_file(&config.directory, rank)
        });
        is_own && (is_note || (with_decisions && is_decisions_file(&name)))
    };
    let mut paths = super::logs(&config.directory, is_meant)?;
    paths.sort();
    Ok(paths)
}

/// Prints the decisions; of several ranks, the first does.
pub fn print_decisions(config: &WrapConfig, launched: Option<&Launched>) {
    if config.adapt.is_none() {
        return;
    }
    let rank = launched.map_or(0, |launched| launched.rank as u32);
    let path = decisions_file(&config.directory, rank);
    let text = fs::read_to_string(&path).unwrap_or_default();
    let decisions = text.lines().map(serde_json::from_str::<Decision>);
    let decisions: Vec<_> = decisions.filter_map(Result::ok).collect();
    let what = if decisions.is_empty() {
        "nothing was"
    } else {
        "not all is"
    };
    let notes = of_ranks(config, launched, false).unwrap_or_default();
    for note in &notes {
        let text = fs::read_to_string(note).unwrap_or_default();
        let _ = fs::remove_file(note);
        output::complain!("warning: {what} adapted: {text}");
    }
    if rank > 0 || (decisions.is_empty() && !notes.is_empty()) {
        return;
    }
    for decision in &decisions {
        output::complain!("{decision}");
    }
    let n_swaps = decisions
        .iter()
        .filter(|decision| decision.is_swap())
        .count();
    output::complain!(
        "adapted: {} decisions, of which {n_swaps} swap; {}",
        decisions.len(),
        path.display()
    );
}

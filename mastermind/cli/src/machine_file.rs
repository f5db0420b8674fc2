//! The table `[processor]` of machine files, which `machine` writes.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use mastermind_machine::processor::{Processor, Ratio};
use mastermind_models::NamedMachine;
use serde::Deserialize;

/// The table.
pub const TABLE: &str = "processor";

#[derive(Deserialize)]
struct Document {
    processor: Option<Processor>,
}

/// The processor in the text of a machine file; `None` if it has none.
///
/// # Errors
/// It is no TOML, or the table was not written by `machine`.
pub fn processor(text: &str) -> anyhow::Result<Option<Processor>> {
    Ok(toml::from_str::<Document>(text)?.processor)
}

/// Reads a machine file that must have the table.
///
/// # Errors
/// It cannot be read, or does not have the table.
pub fn read(path: &Path) -> anyhow::Result<Processor> {
    let act = || format!("cannot read machine \"{}\"", path.display());
    let text = fs::read_to_string(path).with_context(act)?;
    let Some(processor) = processor(&text).with_context(act)? else {
        bail!(
            "{}: no table [{TABLE}], expected one; `mastermind machine -o {}` on that machine measures it",
            act(),
            path.display()
        );
    };
    if processor.is_of_busy_machine() {
        crate::output::complain!(
            "warning: most numbers of \"{}\" are unstable: the machine was busy as they were measured; measure again",
            path.display()
        );
    }
    Ok(processor)
}

/// A machine by the name of its file and its processor.
pub fn named(path: &Path, processor: &Processor) -> NamedMachine {
    let file = path.file_name().unwrap_or(path.as_os_str());
    NamedMachine {
        file: file.to_string_lossy().into_owned(),
        processor: processor.identity.model.clone(),
    }
}

/// Times of the second processor relative to the first.
///
/// # Errors
/// They have no stable number in common.
pub fn ratio(machines: [(&Path, &Processor); 2]) -> anyhow::Result<Ratio> {
    let [(from, one), (to, other)] = machines;
    one.ratio_to(other).with_context(|| {
        format!(
            "cannot compare processors of \"{}\" and \"{}\": no number that both have and that is stable, expected some; measure again, \
             with nothing else running",
            from.display(),
            to.display()
        )
    })
}

//! Messages about models that were fitted on another machine than the one they are used for.

use std::path::Path;

use mastermind_models::{Carried, KnownBy, ModelSet, NamedMachine};

/// Methods that a note names.
const MAX_NAMED: usize = 4;

/// Notes the origin of models from another machine.
pub fn note(path: &Path, models: &ModelSet) {
    let mut all = models.models.iter().filter_map(|model| {
        let carried = model.carried.as_ref()?;
        Some((model.method.as_str(), carried))
    });
    let Some((_, first)) = all.next() else {
        return;
    };
    let all = || {
        let all = models.models.iter();
        all.filter_map(|model| Some((model.method.as_str(), model.carried.as_ref()?)))
    };
    let with = |known: &[KnownBy]| -> Vec<(&str, &Carried)> {
        all()
            .filter(|(_, of)| known.contains(&of.known_by))
            .collect()
    };
    let common = with(&[
        KnownBy::CommonFactor,
        KnownBy::OtherMethods,
        KnownBy::Processors,
        KnownBy::Nothing,
    ]);
    let mut parts = Vec::new();
    if let Some((_, of)) = common.first() {
        let by = match with(&[KnownBy::Processors]).is_empty() {
            true => "by calls there",
            false => "by what was measured of the processors",
        };
        let n = common.len();
        let models = if n == 1 { "model" } else { "models" };
        parts.push(format!("{n} {models} by {} ({by})", factor(of)));
    }
    let own = with(&[KnownBy::OwnCalls, KnownBy::Class]);
    let named = own.iter().take(MAX_NAMED);
    parts.extend(named.map(|(method, of)| format!("{method} by {}", factor(of))));
    if own.len() > MAX_NAMED {
        parts.push(format!(
            "{} more by factors of their own",
            own.len() - MAX_NAMED
        ));
    }
    crate::output::complain!(
        "note: models of \"{}\" are of {}, carried to {}, their times multiplied: {}",
        path.display(),
        machine(&first.from),
        machine(&first.to),
        parts.join(", ")
    );
    let unknown = with(&[KnownBy::Nothing]);
    if let Some((method, _)) = unknown.first() {
        let others = match unknown.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        crate::output::complain!(
            "note: nothing bounds the times of {method}{others}: libraries run other code there, and no call was measured"
        );
    }
}

/// The message about one model.
pub fn line(of: &Carried) -> String {
    let how = match of.known_by {
        KnownBy::OwnCalls => "its own calls there, which the common factor is too far from",
        KnownBy::CommonFactor => "the common factor, which its own calls there agree with",
        KnownBy::Class => "calls of its class there",
        KnownBy::OtherMethods => "calls of other methods there",
        KnownBy::Processors => "what was measured of the two processors",
        KnownBy::Nothing => {
            "calls of other methods there, and libraries run other code: nothing bounds the time"
        }
    };
    format!(
        "fitted on {}, carried to {} by the factor {}, from {how}",
        machine(&of.from),
        machine(&of.to),
        factor(of)
    )
}

fn machine(of: &NamedMachine) -> String {
    match of.processor.as_str() {
        "" => of.file.clone(),
        processor => format!("{} ({processor})", of.file),
    }
}

/// Three digits.
fn factor(of: &Carried) -> String {
    format!("{:.3}", of.factor)
}

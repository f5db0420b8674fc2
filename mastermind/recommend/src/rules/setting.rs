//! Another value of a setting, or another number of ranks.

use crate::facts::{Facts, SettingFacts};
use crate::order::{Carried, Kind, Recommendation};
use crate::rules::seconds;
use crate::saving::Saving;

/// Name of the setting that is the number of ranks.
const RANKS: &str = "ranks";

/// The value of least predicted time, of a model of whole runs over the setting.
pub(super) fn other_values(facts: &Facts) -> Vec<Recommendation> {
    let differing = facts
        .settings
        .iter()
        .filter(|setting| setting.best != setting.now);
    differing.map(other_value).collect()
}

fn other_value(setting: &SettingFacts) -> Recommendation {
    let SettingFacts {
        name,
        now,
        best,
        runs,
        ..
    } = setting;
    let (kind, action) = match name.as_str() {
        RANKS => (Kind::Ranks, format!("run {best} ranks in place of {now}")),
        _ => (
            Kind::Setting,
            format!("set {name} to {best} in place of {now}"),
        ),
    };
    let mut found = Recommendation::new(
        kind,
        action,
        Some(Saving::of_difference(setting.now_s, setting.best_s)),
    );
    found.evidence = vec![format!(
        "{runs} runs over {name}: {} now and {} then",
        seconds(setting.now_s.0),
        seconds(setting.best_s.0)
    )];
    if !setting.was_run {
        found.evidence.push(format!(
            "no run had {name} = {best}: the value lies between those that were run"
        ));
    }
    found.change = Carried::Set(name.clone(), *best);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recommend;

    #[test]
    fn the_value_of_least_predicted_time_is_recommended() {
        let setting = |name: &str, best: f64| SettingFacts {
            name: name.into(),
            now: 4.0,
            best,
            now_s: (2.0, [1.9, 2.1]),
            best_s: (1.0, [0.9, 1.1]),
            runs: 9,
            was_run: true,
        };
        let facts = Facts {
            elapsed_s: 2.0,
            settings: vec![
                setting("arg:2", 32.0),
                setting("ranks", 2.0),
                setting("n", 4.0),
            ],
            ..Facts::default()
        };
        let all = recommend(&facts);
        let kinds: Vec<Kind> = all.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [Kind::Setting, Kind::Ranks]);
        assert_eq!(all[0].change, Carried::Set("arg:2".into(), 32.0));
        assert!(
            all[0]
                .saving
                .is_some_and(|saving| (saving.seconds - 1.0).abs() < 1e-12)
        );
    }
}

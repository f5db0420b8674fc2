//! Other classes in the assembly.

use crate::facts::{ChoiceFacts, Facts};
use crate::order::{Carried, Kind, Recommendation};
use crate::rules::seconds;
use crate::saving::Saving;

/// The best assembly in place of the present one.
///
/// Its saving is the difference of two predicted times; how sure that is, runs show that were repeated, or else, in part, the models alone.
pub(super) fn best(facts: &Facts) -> Vec<Recommendation> {
    let Some(choice) = facts
        .choice
        .as_ref()
        .filter(|choice| !choice.changes.is_empty())
    else {
        return Vec::new();
    };
    let saved_s = choice.current_s - choice.best_s;
    let saving = match choice.saved_interval_s {
        Some(interval_s) => Saving::predicted(saved_s, interval_s),
        None => Saving::normal(saved_s, choice.models_deviation_s),
    };
    let changes = choice.changes.iter();
    let words = changes.clone().map(|change| {
        format!(
            "{} in place of {} as \"{}\"",
            change.to, change.from, change.instance
        )
    });
    let mut found = Recommendation::new(
        Kind::Implementation,
        format!("take {}", Vec::from_iter(words).join(", ")),
        Some(saving),
    );
    found.change = Carried::Replace(
        changes
            .map(|change| (change.instance.clone(), change.to.clone()))
            .collect(),
    );
    found.evidence = evidence(choice);
    vec![found]
}

fn evidence(choice: &ChoiceFacts) -> Vec<String> {
    let mut lines = vec![format!(
        "models predict {} for the components of the present assembly, {} for the best of {}",
        seconds(choice.current_s),
        seconds(choice.best_s),
        choice.assemblies
    )];
    if choice.saved_interval_s.is_none() {
        lines.push(
            "no runs show how much runs differ: the interval is that of the models alone".into(),
        );
    }
    lines
}

/// More runs, if it matters which of two assemblies is better and the facts do not decide.
pub(super) fn runs(facts: &Facts) -> Vec<Recommendation> {
    let choice = facts.choice.as_ref();
    let Some(open) = choice.and_then(|choice| choice.open.as_ref()) else {
        return Vec::new();
    };
    let (instance, [a, b]) = &open.run;
    let classes = match a == b {
        true => a.clone(),
        false => format!("{a} and as {b}"),
    };
    let mut found = Recommendation::new(
        Kind::Measure,
        format!("run \"{instance}\" as {classes} some times more"),
        open.regret_s.map(Saving::up_to),
    );
    found.evidence = vec![match open.regret_s {
        Some(regret_s) => format!(
            "the two best assemblies are not distinguished; choosing now risks {} on average",
            seconds(regret_s)
        ),
        None => {
            "the two best assemblies are not distinguished, and no runs show how much runs differ"
                .into()
        }
    }];
    found.change = Carried::Measure(instance.clone(), open.run.1.clone());
    vec![found]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Change, OpenQuestion};
    use crate::recommend;

    fn choice() -> ChoiceFacts {
        ChoiceFacts {
            changes: vec![Change {
                instance: "flux".into(),
                from: "Godunov".into(),
                to: "Efm".into(),
            }],
            current_s: 2.0,
            best_s: 1.5,
            saved_interval_s: Some([0.3, 0.7]),
            models_deviation_s: 0.01,
            assemblies: "6".into(),
            open: None,
        }
    }

    fn facts(choice: ChoiceFacts) -> Facts {
        Facts {
            elapsed_s: 3.0,
            choice: Some(choice),
            ..Facts::default()
        }
    }

    #[test]
    fn a_better_class_is_recommended_with_what_it_saves() {
        let all = recommend(&facts(choice()));
        let saving = all[0].saving.expect("models predict both");
        assert!((saving.seconds - 0.5).abs() < 1e-12);
        assert_eq!(saving.interval_s, [0.3, 0.7]);
        assert_eq!(
            all[0].change,
            Carried::Replace(vec![("flux".into(), "Efm".into())])
        );
        assert!(!all[0].may_slow_down);
    }

    #[test]
    fn an_action_that_may_slow_the_run_down_says_so() {
        let unsure = ChoiceFacts {
            saved_interval_s: Some([-0.3, 1.3]),
            ..choice()
        };
        assert!(recommend(&facts(unsure))[0].may_slow_down);
    }

    #[test]
    fn the_best_assembly_needs_no_change() {
        let none = ChoiceFacts {
            changes: Vec::new(),
            ..choice()
        };
        assert!(recommend(&facts(none)).is_empty());
    }

    #[test]
    fn runs_are_recommended_where_they_are_worth_more_than_a_choice() {
        let mut open = choice();
        open.best_s = 1.95;
        open.open = Some(OpenQuestion {
            run: ("flux".into(), ["Efm".into(), "Godunov".into()]),
            regret_s: Some(0.3),
        });
        let kinds: Vec<Kind> = recommend(&facts(open)).iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [Kind::Measure, Kind::Implementation]);
    }
}

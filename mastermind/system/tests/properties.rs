//! Properties of any system: readers do not end the process, matches meet their conditions, times add up.

use std::collections::BTreeMap;

use mastermind_system::{Comparison, Problem, Scope, compose, read_given, read_system};
use proptest::prelude::*;

use super::{Sums, evaluated, problems};

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}", piece in "[a-z\\[\\]{}=\". \\n*/^0-9-]{0,80}") {
        let _ = read_system(&text);
        let _ = read_given("x", &text);
        let with = format!("[system]\nname = \"a\"\n[components.b]\ndomain = \"hardware\"\nkind = \"c\"\n{piece}");
        if let Ok(system) = read_system(&with) {
            let scope = Scope::new(&system, BTreeMap::new());
            let _ = compose(&system, &scope, &Sums);
        }
    }

    /// A request for a clock finds the one processor that is fast enough, none, or reports that there are
    /// several.
    #[test]
    fn as_many_match_as_the_condition_holds_of(clocks in prop::collection::vec(1_u32..9, 1..6), least in 1_u32..10) {
        let cores = clocks.iter().enumerate().map(|(i, clock)| format!(
            "[components.core{i}]\ndomain = \"hardware\"\nkind = \"processor\"\nattributes = {{ clock = \"{clock} GHz\" }}\n\
             methods = [{{ constant = \"1 s\" }}]\n"
        ));
        let cores: String = cores.collect();
        // Another unit of the same dimension.
        let text = format!(
            "[components.task]\ndomain = \"application\"\nkind = \"task\"\nmethods = [{{ constant = \"1 s\" }}]\n\
             requests.core = {{ select = {{ kind = \"processor\", clock = \">= {least}e9 Hz\" }} }}\n{cores}"
        );
        let found = problems(&text);
        match clocks.iter().filter(|clock| **clock >= least).count() {
            0 => prop_assert!(matches!(found[..], [Problem::NoMatch { .. }]), "{:?}", found),
            1 => prop_assert!(found.is_empty(), "{:?}", found),
            _ => prop_assert!(matches!(found[..], [Problem::SeveralMatches { .. }]), "{:?}", found),
        }
    }

    /// A chain of tasks takes the sum of their times in any units; its interval contains the value, and no source alone
    /// is wider.
    #[test]
    fn a_chain_takes_the_sum(times in prop::collection::vec((1_u32..1000, 0_u32..100), 1..7)) {
        let n = times.len();
        let tasks = times.iter().enumerate().map(|(i, (ms, percent))| {
            let then = match i + 1 == n {
                true => String::new(),
                false => format!("then.next = {{ select = {{ name = \"task{}\" }} }}\n", i + 1),
            };
            let us = 1000 * ms;
            let (lower, upper) = (10 * ms * (100 - percent), 10 * ms * (100 + percent));
            format!(
                "[components.task{i}]\ndomain = \"application\"\nkind = \"task\"\nreturns = \"us\"\n\
                 methods = [{{ constant = \"{us} us\", interval = [\"{lower} us\", \"{upper} us\"] }}]\n{then}"
            )
        });
        let found = evaluated(&tasks.collect::<String>(), &[], Comparison::None);
        let sum: u32 = times.iter().map(|(ms, _)| ms).sum();
        prop_assert!((found.value - f64::from(sum) / 1e3).abs() < 1e-9);
        let squares: f64 = times.iter().map(|(ms, percent)| (f64::from(ms * percent) / 1e5).powi(2)).sum();
        if squares > 0.0 {
            let [lower, upper] = found.interval.expect("an interval");
            prop_assert!((found.value - lower - squares.sqrt()).abs() < 1e-9);
            prop_assert!((upper - found.value - squares.sqrt()).abs() < 1e-9);
        } else {
            prop_assert!(found.interval.is_none());
        }
    }
}

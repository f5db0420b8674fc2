//! Runs that show every pair of joined alternatives.

use std::collections::BTreeSet;

use mastermind_composition::{Alternatives, Assembly, Error, Plan, plan};
use proptest::prelude::*;

fn planned(sizes: &[usize], joined: &[[usize; 2]]) -> Plan {
    let name = |site: usize| format!("i{site}");
    let class = |site: usize, class: usize| format!("C{site}.{class}");
    let all = |site: usize| (0..sizes[site]).map(move |c| class(site, c)).collect();
    let alternatives: Alternatives = (0..sizes.len()).map(|s| (name(s), all(s))).collect();
    let current: Assembly = (0..sizes.len()).map(|s| (name(s), class(s, 0))).collect();
    let joined: BTreeSet<[String; 2]> = joined.iter().map(|ends| ends.map(name)).collect();
    plan(&alternatives, &current, &joined).unwrap()
}

#[test]
fn two_joined_sites_are_shown_in_all_combinations() {
    let plan = planned(&[3, 2, 4], &[[0, 1]]);
    assert_eq!((plan.runs.len(), plan.least_runs, plan.pairs), (6, 6, 6));
    assert_eq!(plan.runs[0]["i0"], "C0.0");
}

/// A Latin square: 9 runs for three sites of three, where all combinations would be 27.
#[test]
fn three_sites_joined_to_each_other_share_runs() {
    let plan = planned(&[3, 3, 3], &[[0, 1], [1, 2], [0, 2]]);
    assert!((9..=11).contains(&plan.runs.len()), "{}", plan.runs.len());
    assert_eq!((plan.least_runs, plan.pairs), (9, 27));
}

#[test]
fn an_assembly_without_alternatives_is_an_error() {
    let current = Assembly::from([("flux".into(), "A".into())]);
    let error = plan(&Alternatives::new(), &current, &BTreeSet::new()).unwrap_err();
    assert!(matches!(error, Error::NoAlternatives), "{error}");
    let other = Alternatives::from([("fluxx".into(), vec!["B".into()])]);
    let error = plan(&other, &current, &BTreeSet::new()).unwrap_err();
    assert!(matches!(error, Error::UnknownInstance { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn every_pair_is_shown(
        sizes in proptest::collection::vec(1_usize..5, 1..7),
        ends in proptest::collection::btree_set((0_usize..7, 0_usize..7), 0..12),
    ) {
        prop_assume!(sizes.iter().any(|n| *n > 1));
        let joined: Vec<[usize; 2]> = ends
            .into_iter()
            .filter(|(a, b)| a < b && *b < sizes.len())
            .map(|(a, b)| [a, b])
            .collect();
        let plan = planned(&sizes, &joined);
        for (site, &n) in sizes.iter().enumerate().filter(|(_, n)| **n > 1) {
            let shown: BTreeSet<_> = plan.runs.iter().map(|run| &run[&format!("i{site}")]).collect();
            prop_assert_eq!(shown.len(), n);
        }
        for [a, b] in joined {
            if sizes[a] < 2 || sizes[b] < 2 {
                continue;
            }
            let [i, j] = [a, b].map(|s| format!("i{s}"));
            let shown: BTreeSet<_> = plan.runs.iter().map(|run| (&run[&i], &run[&j])).collect();
            prop_assert_eq!(shown.len(), sizes[a] * sizes[b]);
        }
        prop_assert!(plan.runs.len() >= plan.least_runs);
    }
}

//! Whether the best assembly is distinguished from the next one.

use super::Composition;
use super::outcome::Doubt;
use crate::optimise::{Found, compare_assemblies};
use crate::unseen::SeenPairs;

impl Composition<'_> {
    /// Compares the best with the next one, by the spread of their predictions.
    pub(super) fn doubt(&self, best: &Found, next: &Found, pairs: Option<&SeenPairs>) -> Doubt {
        // Of each site the deviation in the first assembly, and in the second.
        let of_site = |site: usize| self.deviations_s(site, &best.choice, &next.choice);
        let mut deviations: Vec<Vec<f64>> = (0..self.instances.len()).map(of_site).collect();
        // What a pair may cost that was never seen counts to the site of the two where the assemblies differ.
        for (at, found, other) in [(0, best, next), (1, next, best)] {
            for (sites, seconds) in pairs.map_or_else(Vec::new, |p| self.unseen(&found.choice, p)) {
                let differs = |site: &&usize| found.choice[**site] != other.choice[**site];
                if let Some(&site) = sites.iter().find(differs) {
                    let deviation = &mut deviations[site][at];
                    *deviation = deviation.hypot(seconds);
                }
            }
        }
        let difference = next.cost - best.cost;
        let n = self.instances.len();
        let comparison = compare_assemblies(&vec![0; n], &vec![1; n], difference, &deviations);
        let run = comparison.measure.map(|site| {
            let class = |found: &Found| self.classes[site][found.choice[site]].to_owned();
            (self.instances[site].to_owned(), [class(best), class(next)])
        });
        Doubt {
            told_apart: comparison.is_told(mastermind_models::LEVEL),
            comparison,
            run,
        }
    }

    /// Standard deviations of the time of a site in two assemblies, seconds. With the same class in both, the error of its model is
    /// the same too: what is left is its part in the difference.
    fn deviations_s(&self, site: usize, first: &[usize], second: &[usize]) -> Vec<f64> {
        let predicted = [first, second].map(|choice| self.predicted(site, choice));
        let [Some(a), Some(b)] = predicted else {
            return predicted
                .map(|predicted| predicted.map_or(0.0, |p| p.deviation_s()))
                .to_vec();
        };
        if first[site] != second[site] {
            return vec![a.deviation_s(), b.deviation_s()];
        }
        if a.time_s == b.time_s || a.time_s <= 0.0 {
            return vec![0.0; 2];
        }
        vec![
            a.deviation_s() * ((b.time_s - a.time_s) / a.time_s).abs(),
            0.0,
        ]
    }
}

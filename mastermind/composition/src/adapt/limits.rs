//! Chooses the calls that an explored class gets: those whose worst-case cost is within the budget of its trial.
//!
//! An unknown class may be a hundred times slower than the previous one, so it gets only calls short enough for a
//! hundredfold cost. Their results lower the upper bound for larger calls, so it gets larger ones, until it gets all
//! of them or is known to be slower. No other rule keeps one large call from costing a short run more than its whole
//! budget.
//!
//! # Source
//! The safe sets of Sui, Gotovos, Burdick, Krause, *Safe exploration for optimization with Gaussian processes*, ICML
//! 2015: an upper bound of the posterior defines where exploration is allowed.

use std::collections::BTreeMap;

use super::posterior::Posterior;
use super::site::{Site, kind_bounds};
use crate::decide::{Decisions, of_calls};

/// Worst-case time of an unknown class, in times of the previous class: three standard deviations of the prior
/// (`OWN_OF_OTHERS`). A smaller value would explore more in short runs and lose more with a class that is that slow.
const WORST: f64 = 100.0;

/// Number of standard deviations of the upper bound.
const FAR: f64 = 2.0;

/// Calls of a method that an explored class gets.
#[derive(Debug, Clone, PartialEq)]
pub enum Admitted {
    /// All calls.
    All,
    /// No calls.
    None,
    /// The calls that the table sends to the class's name.
    By(Decisions),
}

/// Calls that the explored class at an instance gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The instance.
    pub instance: String,
    /// The explored class, as the tables name it.
    pub class: String,
    /// By `PORT.METHOD`; it gets no calls of other methods.
    pub methods: BTreeMap<String, Admitted>,
}

/// Worst-case cost of a call of each kind that goes to a class instead of another one, seconds.
///
/// # Arguments
/// * `n_believed` - number of its calls from which on the estimate of the class counts
pub fn most_lost_s(
    site: &Site,
    posterior: &Posterior,
    [arm, other]: [usize; 2],
    n_believed: f64,
) -> Vec<f64> {
    let is_known = site.is_known(arm) || site.beliefs.calls(arm) > n_believed;
    let kinds = 0..site.calls.len();
    kinds
        .map(|kind| {
            let other_s = posterior.ln_mean(other, kind).exp();
            // An unknown class has not become slower with the other one.
            let worst = WORST.ln() - site.beliefs.changed[other].max(0.0);
            let far = FAR * posterior.variance(arm, kind).sqrt();
            let ln_ratio = posterior.ln_mean(arm, kind) + far - posterior.ln_mean(other, kind);
            let most = if is_known { ln_ratio.min(worst) } else { worst };
            other_s * (most.exp() - 1.0).max(0.0)
        })
        .collect()
}

/// Admits one call kind after another, the cheapest first, as long as the worst-case cost of all their calls in a
/// step stays within the budget. For the cheapest kind, it is enough that one call fits.
///
/// # Arguments
/// * `most_s` - worst-case cost of a call, seconds, by kind
/// * `calls` - calls per step, by kind
pub fn borne(most_s: &[f64], calls: impl Iterator<Item = f64>, may_lose_s: f64) -> Vec<bool> {
    let calls: Vec<f64> = calls.collect();
    let mut order: Vec<usize> = (0..most_s.len()).collect();
    order.sort_by(|a, b| most_s[*a].total_cmp(&most_s[*b]));
    let mut left_s = may_lose_s;
    let mut is_borne = vec![false; most_s.len()];
    for (place, kind) in order.into_iter().enumerate() {
        let n = if place == 0 {
            1.0
        } else {
            calls[kind].max(1.0)
        };
        if n * most_s[kind] > left_s {
            break;
        }
        left_s -= calls[kind] * most_s[kind];
        is_borne[kind] = true;
    }
    is_borne
}

/// Calls that the explored class at a site gets; `None` without a trial.
pub fn of(site: &Site) -> Option<Limits> {
    let trial = site.trial.as_ref()?;
    let class = site.class(site.current);
    let names = [site.class(trial.from), class].map(str::to_owned);
    let mut kinds: BTreeMap<&String, Vec<_>> = BTreeMap::new();
    for (kind, (method, at)) in site.firsts.iter().enumerate() {
        let is_admitted = trial.is_admitted.get(kind).copied().unwrap_or(false);
        let of_method = kinds.entry(method).or_default();
        of_method.push((at, usize::from(is_admitted)));
    }
    let methods = kinds.into_iter().map(|(method, of)| {
        let n_admitted = of.iter().filter(|(_, place)| *place == 1).count();
        let admitted = match n_admitted {
            0 => Admitted::None,
            n if n == of.len() => Admitted::All,
            _ => Admitted::By(of_calls(&of, &[], kind_bounds, &names)),
        };
        (method.clone(), admitted)
    });
    Some(Limits {
        instance: site.instance.clone(),
        class: class.into(),
        methods: methods.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_calls_are_borne_first_and_all_of_a_step_together() {
        let most_s = [1.0, 0.1, 100.0, 10.0];
        let of = |may_lose_s: f64| borne(&most_s, [2.0; 4].into_iter(), may_lose_s);
        assert_eq!(of(0.09), [false; 4]);
        // One call of the cheapest kind, although a step has two.
        assert_eq!(of(0.1), [false, true, false, false]);
        assert_eq!(of(2.1), [false, true, false, false]);
        assert_eq!(of(2.2), [true, true, false, false]);
        assert_eq!(of(22.2), [true, true, false, true]);
        assert_eq!(of(1e3), [true; 4]);
    }

    #[test]
    fn kinds_that_are_called_seldom_count_as_one_call() {
        let of = |may_lose_s: f64| borne(&[0.1, 1.0], [0.5, 0.01].into_iter(), may_lose_s);
        assert_eq!(of(0.5), [true, false]);
        assert_eq!(of(1.1), [true, true]);
    }
}

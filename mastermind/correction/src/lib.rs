//! Semi-empirical models and the model error correction procedure: a scientist's formula fitted within bounds, and where
//! it misses something (contention, noise), a term evolved by genetic programming.
//!
//! * [`Specification`] is the formula with its inputs, constants and bounded unknowns; [`Table`] the observed times;
//! * [`SemiEmpirical::fit`] estimates the unknowns and reports those that the points do not determine;
//! * [`correct`] runs one search in one of the four [`Case`]s and returns a [`Corrected`] model, or why the base is
//!   kept;
//! * [`procedure`] is the whole of the paper's Figure 4: both bases, trials of each case, and a [`Report`];
//! * [`Corrected::on_platform`] takes a corrected model to another machine; [`Corrected::model`] makes it a model that
//!   `predict` and `choose` take.
//!
//! # The corrected model
//!
//! With `b` the base (`t_comm`), `b₀` the base as fitted, which it is in cases 1 and 2, `s` the product of the inputs that scale the time trivially, and `g` the tree found,
//!
//! ```text
//! case 1 (integrated)      t = d·b + s·(a + c·g(inputs, b/s))
//! case 3 (integrated)      t = b + s·(a + c·g(inputs, b/s))
//! case 2, 4 (added)        t = b + s·(a + c·g(inputs))
//! near the points          q = b · clip(t/b) ^ w,    w = 1 / (1 + ln D / ln 16)
//! prediction               b₀ · Π (q/b₀) ^ (v·weight),   v = gain³ / (gain³ + 6³)
//! ```
//!
//! For every tree, `a`, `c` and `d` have their least-squares values; the constants within the best trees are fitted
//! too. Case 3 has no `d`: the points cannot distinguish a factor of the base from the unknowns that are searched, and
//! an undetermined factor is free to follow the noise. In cases 3 and 4 a genetic algorithm moves the unknowns of `b`
//! about their fit at the same time, at most to three times their value and at a price that grows with the distance:
//! the contention that the base lacks has biased its fit. `clip` limits the ratio to the base to 1.3 times its range at
//! the training points, and `D ≥ 1` is the factor by which the inputs lie outside theirs, so a prediction far outside
//! goes back to the base. Interval arithmetic rejects a tree with a pole anywhere near the training points. `t_comm` is
//! an input of `g` only if the term is integrated: an added term that depended on the base would change with the
//! machine's parameters, and could not be kept on another platform.
//!
//! The search begins with the forms that contention is known to take (a power, a logarithm, a threshold, a queue that
//! fills up), for each input and times a power of each other, their constants refined; `max(0, x)` is an operator for
//! the thresholds. Where parameters are kept, the derivatives of the base by its unknowns, at their fitted values, are
//! inputs of `g` too: the missing contention has biased the fit of the base, and a term has to correct that bias. On
//! the instances on which settings were chosen, this takes the median reduction of a random half from 55 to 77 % in
//! case 2 and from 61 to 79 % in case 1.
//!
//! A scaling input is one for which the formula is homogeneous for all values of its unknowns and the data agree: pairs
//! of points that differ in nothing else.
//!
//! # Whether it is returned, and how much of it counts
//!
//! Fitness is `n ln(mean square + noise²)`, with `n` the points that a tree can distinguish, plus a price for each node
//! and each searched parameter. The noise is 3 % of the time, or estimated from repeated observations: a fit closer
//! than the noise gains nothing, so sixteen points are not followed exactly. An input in an exponent costs three nodes
//! more, and so does the base in case 3, where it is a whole formula that changes with the searched parameters. At the
//! end a candidate pays where the parts of its time cancel: costs are sums of costs, and a small difference of large
//! parts at the points can be anything between and beyond them.
//!
//! The gain is the fitness of the base less that of the fittest candidate. Only a share `v` of the correction counts,
//! for which the gain is evidence (a shrinkage estimate): with eight distinct points the search finds a term that fits,
//! seldom the right one, and half of an uncertain correction is better than the base far more often than all of it. The
//! base is returned if there is no gain. It is also returned if the held-out points reject the correction: groups of
//! points that a tree cannot distinguish, which are whole cells, are left out in turn, the correction and the base are
//! found again from the other points, and the error of the correction at the left-out points must be below that of the
//! base.
//!
//! The result is the weighted geometric mean of up to nine candidates, with weight `exp(-(difference of the
//! fitness)/6)`: with few points several candidates agree there and differ elsewhere. On the generated instances the
//! mean is better than the base more often than a single candidate where whole cells are held out, and beyond the
//! range.
//!
//! Keeping points from the search itself and choosing among the candidates by left-out points were tried on generated
//! instances, as was a hard margin for the gain; each cost more than it protected.
//!
//! # The paper's equations, as read here
//!
//! The source is the paper on the model error correction procedure for EVH1 and GYRO; its equations are garbled in
//! the text at hand.
//!
//! * Eq. 1, the objective: `Error = Σ (t_observed − t_calculated)² / n`; minimising its root is the same search. Here
//!   it is of relative residuals, since times span decades.
//! * Eq. 2, EVH1's communication time: `t_comm = f·T·( g·nx²/np + (np−1)^h·(i + j·nx²/np²) )`, `f` = 4965.
//! * Eq. 3, GYRO's computation time: the symbols are `t_comp, ts, tc, Tg, a, k, rg, b, 1, np` and one pair of brackets.
//!   Three points, one of each problem, determine three unknowns, so they cannot all be factors: read as `t_comp =
//!   ts·tc·(1/np)·Tg^a·(k·rg)^b`, whose logarithm is linear in `a`, `b` and `ln tc`.
//! * Eq. 4: `t_comm = cycles·(message size/bandwidth + latency)·processors^e`.
//! * Eq. 5: the same with GYRO's grids, `t_comm = ts·( k·ob·tg·pg·eg·Tg·rg/np·(1/bw) + tl )·np^e`; the two ones of the
//!   text are those over `bw` and over `np`. The prose counts `e`, `bw` and `tl` as fitted, as here.
//! * Table 1: case 1 is `t = f(t_comm, ect)`, case 2 `t = t_comm + ect`, 3 and 4 the same with searched parameters.
//! * "Graduated elitist" selection (Table 2): the chance of being a parent falls with the rank, the best stay.

mod case;
mod column_formula;
mod control;
mod correction;
mod error;
mod fast_math;
mod formula_text;
mod held_out;
mod platform;
mod report;
mod scaling;
mod search;
mod semi_empirical;
mod slope;
mod specification;
mod table;
mod written;

pub use case::Case;
pub use control::Control;
pub use correction::{
    Corrected, Outcome, Refusal, Settings, correct, correct_and_front, relative_error,
};
pub use error::Error;
pub use held_out::{Errors as HeldOutErrors, HeldOut};
pub use report::{Errors, Improvement, Plan, Report, Summary, Trial, procedure};
pub use search::SearchSettings;
pub use semi_empirical::{End, Finding, Residuals, SemiEmpirical};
pub use specification::{Specification, Unknown};
pub use table::Table;

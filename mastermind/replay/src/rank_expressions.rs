//! Differences from rank to rank, and from run to run, as an expression of `process` and `processes`: destinations,
//! participating ranks, counts, sizes.
//!
//! Ranks are treated as places of a grid: `div(process, s) % e` is the place on an axis of `e` places that are `s`
//! ranks apart. For one run `s` and `e` are divisors of its number of ranks; for several runs they are functions of
//! that number ([`Quantity`]): the sides of the grids that `MPI_Dims_create` makes of a power of two, the number
//! itself, constants.
//!
//! Of the expressions that agree with every recorded rank the simplest is used: lines and rings before grids
//! ([`Grid`]), these before constants. It applies to other numbers of ranks too, unless an equally simple one differs
//! from it on twice as many ranks as were recorded; if a less simple one does, it is assumed, which is reported. If no
//! expression fits, it is a table of the ranks.
//!
//! # Source
//! V. Adve et al., "POEMS: End-to-End Performance Design of Large Parallel Adaptive Computational Systems", 2000, section 3.2.3 (symbolic sets of
//! tasks and messages).

use std::fmt::Write as _;

use super::grid::{Axis, Grid, Quantity, SIDES};

/// Maximum number of ranks in a table, over all runs.
pub(super) const MAX_TABLE: usize = 64;

/// How far a pattern is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reach {
    /// On more ranks too.
    Known,
    /// On more ranks, if not another expression holds, which agrees with the recorded ranks as well.
    Assumed(String),
    /// For the recorded ranks only: a table, or one of several equally simple expressions.
    Recorded,
}

/// An expression, and how far it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) reach: Reach,
}

impl Pattern {
    fn known(text: impl Into<String>) -> Self {
        let (text, reach) = (text.into(), Reach::Known);
        Self { text, reach }
    }

    fn recorded(text: String) -> Self {
        let reach = Reach::Recorded;
        Self { text, reach }
    }

    /// The same in a longer text, and no further than another one.
    pub(super) fn within(self, other: &Reach, text: String) -> Self {
        let reach = match (self.reach, other) {
            (Reach::Recorded, _) | (_, Reach::Recorded) => Reach::Recorded,
            (Reach::Known, other) => other.clone(),
            (assumed, _) => assumed,
        };
        Self { text, reach }
    }
}

/// Whether two values are the same, except for rounding.
trait Same: Copy {
    fn is(self, other: Self) -> bool;
}

impl Same for bool {
    fn is(self, other: Self) -> bool {
        self == other
    }
}

impl Same for i64 {
    fn is(self, other: Self) -> bool {
        self == other
    }
}

impl Same for f64 {
    fn is(self, other: Self) -> bool {
        (self - other).abs() <= 1e-9 * self.abs().max(other.abs())
    }
}

/// A number without the rounding of its last digits.
fn rounded(x: f64) -> f64 {
    let whole = x.round();
    if whole.is(x) { whole } else { x }
}

/// An expression that may be a pattern: how simple it is, its text, and its value for a rank of a run.
struct Candidate<'a, T> {
    tier: u8,
    text: String,
    of: Box<dyn Fn(usize, i64) -> T + 'a>,
}

/// A condition that ranks fulfil: its pattern, `None` where all do, and whether a rank of a run does.
type Condition<'a> = (Option<Pattern>, Box<dyn Fn(usize, i64) -> bool + 'a>);

/// A function of a quantity.
type Form = fn(f64) -> f64;

/// The ranks of one run or several, and the expressions over them.
#[derive(Debug)]
pub(super) struct Patterns {
    /// Ranks of each recorded run, ascending, and of one beyond.
    runs: Vec<i64>,
    /// Run and rank of each point.
    points: Vec<(usize, i64)>,
    /// Functions of the number of ranks.
    quantities: Vec<Quantity>,
    axes: Vec<Axis>,
}

impl Patterns {
    /// # Arguments
    /// * `recorded` - ranks of each run, ascending; the points of each run follow those of the one before
    /// * `grid` - arrangement of the ranks of several runs
    pub(super) fn of(recorded: &[u32], grid: Grid) -> Self {
        let mut runs: Vec<i64> = recorded.iter().map(|ranks| i64::from(*ranks)).collect();
        let points = (0..).zip(&runs);
        let points = points.flat_map(|(run, ranks)| (0..*ranks).map(move |rank| (run, rank)));
        let points = points.collect();
        runs.extend(runs.last().map(|last| 2 * last));
        let mut patterns = Self {
            quantities: vec![Quantity {
                text: "processes".into(),
                values: runs.clone(),
            }],
            points,
            axes: Vec::new(),
            runs,
        };
        patterns.axes = match patterns.is_single() {
            true => patterns.axes_of_one(),
            false => patterns.axes_of_several(grid),
        };
        patterns
    }

    /// Runs.
    pub(super) fn n_runs(&self) -> usize {
        self.runs.len() - 1
    }

    /// Ranks of all runs.
    pub(super) fn n_points(&self) -> usize {
        self.points.len()
    }

    /// The run of each point.
    pub(super) fn run_of(&self, point: usize) -> usize {
        self.points[point].0
    }

    /// Ranks of a run.
    pub(super) fn ranks_of(&self, run: usize) -> i64 {
        self.runs[run]
    }

    fn is_single(&self) -> bool {
        self.n_runs() == 1
    }

    /// The definitions of the names in a text, for the globals of a model.
    pub(super) fn definitions(text: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
        let used = SIDES.iter().filter(move |(name, ..)| text.contains(name));
        used.map(|(name, value, _)| (*name, *value))
    }

    /// Axes whose places and strides are divisors of the number of ranks.
    fn axes_of_one(&self) -> Vec<Axis> {
        let ranks = self.runs[0];
        let divisors = |n: i64| (1..=n).filter(move |d| n % d == 0);
        let constant = |value| Quantity::constant(value, 2);
        let axes = divisors(ranks).flat_map(|stride| {
            let places = divisors(ranks / stride).filter(|places| *places > 1);
            places.map(move |places| Axis {
                stride: constant(stride),
                places: constant(places),
            })
        });
        axes.collect()
    }

    fn axes_of_several(&mut self, grid: Grid) -> Vec<Axis> {
        let n = self.runs.len();
        let one = Quantity::constant(1, n);
        let all = self.quantities[0].clone();
        if self.runs.iter().all(|ranks| ranks.count_ones() == 1) {
            let sides = grid.sides().iter().map(|at| {
                let (name, _, exponent) = SIDES[*at];
                let value = |ranks: &i64| 1 << exponent(ranks.trailing_zeros());
                Quantity {
                    text: name.into(),
                    values: self.runs.iter().map(value).collect(),
                }
            });
            self.quantities.extend(sides);
        }
        let mut axes = vec![Axis {
            stride: one.clone(),
            places: all,
        }];
        let mut stride = one.clone();
        for side in &self.quantities[1..] {
            let next = if stride.is(1) && stride.text == "1" {
                side.clone()
            } else {
                stride.times(side)
            };
            let stride = std::mem::replace(&mut stride, next);
            let places = side.clone();
            axes.push(Axis { stride, places });
        }
        let divides = |c: &i64| self.runs.iter().all(|ranks| ranks % c == 0);
        let constants: Vec<Quantity> = (2..=self.runs[0])
            .filter(divides)
            .map(|c| Quantity::constant(c, n))
            .collect();
        for stride in [&one].into_iter().chain(&constants) {
            for places in &constants {
                let fits =
                    |run: usize| self.runs[run] % (stride.values[run] * places.values[run]) == 0;
                if (0..n).all(fits) {
                    let (stride, places) = (stride.clone(), places.clone());
                    axes.push(Axis { stride, places });
                }
            }
        }
        axes
    }

    /// Whether a place is the last on its axis as far as ranks go.
    fn is_outermost(&self, axis: &Axis) -> bool {
        let spans =
            |run: usize| axis.stride.values[run] * axis.places.values[run] == self.runs[run];
        let n = if self.is_single() { 1 } else { self.runs.len() };
        (0..n).all(spans)
    }

    /// The place of a process on an axis, with a name for a size that depends on the run.
    fn place_text(&self, axis: &Axis) -> String {
        let Axis { stride, places } = axis;
        match (stride.is(1), self.is_outermost(axis)) {
            (true, true) => "process".into(),
            (true, false) => format!("process % {}", places.text),
            (false, true) => format!("div(process, {})", stride.text),
            (false, false) => format!("div(process, {}) % {}", stride.text, places.text),
        }
    }

    /// The simplest candidate that agrees with all points that have a value.
    ///
    /// # Arguments
    /// * `candidates` - the simplest first
    /// * `is_beyond` - the ranks that have a value on more ranks
    fn simplest<'a, T: Same + 'a>(
        &self,
        values: &[Option<T>],
        candidates: impl Iterator<Item = Candidate<'a, T>>,
        is_beyond: &dyn Fn(usize, i64) -> bool,
    ) -> Option<(Pattern, Candidate<'a, T>)> {
        let agrees = |candidate: &Candidate<'_, T>| {
            let mut all = self.points.iter().zip(values);
            all.all(|((run, rank), value)| {
                value.is_none_or(|value| (candidate.of)(*run, *rank).is(value))
            })
        };
        let mut candidates = candidates.filter(agrees);
        let first = candidates.next()?;
        let mut pattern = Pattern::known(first.text.clone());
        if !self.is_single() {
            let beyond = self.n_runs();
            let differs = |other: &Candidate<'_, T>| {
                (0..self.runs[beyond]).any(|rank| {
                    is_beyond(beyond, rank)
                        && !(first.of)(beyond, rank).is((other.of)(beyond, rank))
                })
            };
            if let Some(other) = candidates.find(differs) {
                pattern.reach = match other.tier > first.tier {
                    true => Reach::Assumed(other.text),
                    false => Reach::Recorded,
                };
            }
        }
        Some((pattern, first))
    }

    /// A condition for a subset of the ranks; without a pattern it lists them.
    ///
    /// # Arguments
    /// * `is_member` - by point, shape `[n_points]`
    pub(super) fn condition(&self, is_member: &[bool]) -> Option<Pattern> {
        self.members(is_member).0
    }

    fn members(&self, is_member: &[bool]) -> Condition<'_> {
        if is_member.iter().all(|is_member| *is_member) {
            return (None, Box::new(|_, _| true));
        }
        let values: Vec<Option<bool>> =
            is_member.iter().map(|is_member| Some(*is_member)).collect();
        let candidates = self.conditions(is_member);
        if let Some((mut pattern, candidate)) = self.simplest(&values, candidates, &|_, _| true) {
            // An element of the largest run only may be the first of several that larger runs have, as the steps of a
            // tree.
            let n_members = |run: usize| {
                let all = self.points.iter().zip(is_member);
                all.filter(|((of, _), is_member)| *of == run && **is_member)
                    .count() as i64
            };
            let last = self.n_runs() - 1;
            if last > 0 && n_members(last - 1) == 0 && n_members(last) == self.runs[last] {
                pattern.reach = Reach::Recorded;
            }
            return (Some(pattern), candidate.of);
        }
        let members = self
            .points
            .iter()
            .zip(is_member)
            .filter(|(_, is_member)| **is_member);
        let each = members.map(|((run, rank), _)| match self.is_single() {
            true => format!("process == {rank}"),
            false => format!("processes == {} && process == {rank}", self.runs[*run]),
        });
        let text = each.collect::<Vec<_>>().join(" || ");
        (Some(Pattern::recorded(text)), Box::new(|_, _| false))
    }

    fn conditions(&self, is_member: &[bool]) -> impl Iterator<Item = Candidate<'_, bool>> {
        let constant = |text: &str, tier, of: Box<dyn Fn(usize, i64) -> bool>| {
            let text = text.to_owned();
            [Candidate { tier, text, of }]
        };
        let none = constant("false", 0, Box::new(|_, _| false));
        // Conditions of the larger runs.
        let smallest = self
            .points
            .iter()
            .zip(is_member)
            .find(|(_, is_member)| **is_member);
        let least = smallest.map_or(0, |((run, _), _)| self.runs[*run]);
        let enough = Box::new(move |run: usize, _| self.runs[run] >= least);
        let larger = (!self.is_single()).then(|| Candidate {
            tier: 0,
            text: format!("processes >= {least}"),
            of: enough as Box<dyn Fn(usize, i64) -> bool + '_>,
        });
        let on_axes = self
            .axes
            .iter()
            .flat_map(move |axis| self.conditions_on(axis));
        let ranks = self
            .points
            .iter()
            .zip(is_member)
            .filter(|(_, is_member)| **is_member)
            .map(|((_, rank), _)| *rank);
        let (first, last) = ranks.fold((i64::MAX, 0), |(first, last), rank| {
            (rank.min(first), rank.max(last))
        });
        let range = self.is_single().then(|| Candidate {
            tier: 3,
            text: format!("process >= {first} && process <= {last}"),
            of: Box::new(move |_, rank| (first..=last).contains(&rank))
                as Box<dyn Fn(usize, i64) -> bool + '_>,
        });
        none.into_iter().chain(larger).chain(on_axes).chain(range)
    }

    /// Conditions on a place on an axis: for one run any place, for several the first and the last
    /// one.
    fn conditions_on<'a>(&'a self, axis: &'a Axis) -> impl Iterator<Item = Candidate<'a, bool>> {
        let is_all = axis.stride.is(1) && self.is_outermost(axis);
        let places = if self.is_single() {
            axis.places.values[0]
        } else {
            2
        };
        (0..places).flat_map(move |place| {
            let is_last = if self.is_single() {
                is_all && place == places - 1
            } else {
                place == 1
            };
            let number = match is_last {
                true => format!(
                    "{} - 1",
                    if is_all {
                        "processes"
                    } else {
                        &axis.places.text
                    }
                ),
                false => place.to_string(),
            };
            let is_there = move |run: usize, rank: i64| match is_last {
                true => axis.place(run, rank) == axis.places.values[run] - 1,
                false => axis.place(run, rank) == place,
            };
            let text = self.place_text(axis);
            let tier = axis.tier();
            [
                Candidate {
                    tier,
                    text: format!("{text} == {number}"),
                    of: Box::new(is_there) as Box<dyn Fn(usize, i64) -> bool + 'a>,
                },
                Candidate {
                    tier,
                    text: format!("{text} != {number}"),
                    of: Box::new(move |run, rank| !is_there(run, rank)),
                },
            ]
        })
    }

    /// A partner of each rank, `none` for a rank without one; `None` if there is neither a pattern nor room for a
    /// table.
    ///
    /// # Arguments
    /// * `named` - by point, shape `[n_points]`
    pub(super) fn other_rank(&self, named: &[Option<u32>]) -> Option<Pattern> {
        let values: Vec<Option<i64>> = named.iter().map(|rank| rank.map(i64::from)).collect();
        let pairs = self.points.iter().zip(&values);
        let pairs: Vec<_> = pairs
            .filter_map(|((_, rank), other)| Some((*rank, (*other)?)))
            .collect();
        let Some(&pair) = pairs.first() else {
            return Some(Pattern::known("none"));
        };
        let is_member: Vec<bool> = named.iter().map(Option::is_some).collect();
        let (guard, is_member) = self.members(&is_member);
        // If ranks at an edge name no partner, the ends of an axis are not connected, if that
        // agrees.
        let joins = guard.is_none();
        let found = self.simplest(&values, self.ranks(pair, joins), &*is_member);
        let found = found.or_else(|| self.simplest(&values, self.ranks(pair, true), &*is_member));
        if let Some((pattern, _)) = found {
            return Some(match guard {
                None => pattern,
                Some(guard) => {
                    let text = format!("{} ? {} : none", guard.text, pattern.text);
                    guard.within(&pattern.reach, text)
                }
            });
        }
        let named: Vec<Option<f64>> = named.iter().map(|rank| rank.map(f64::from)).collect();
        self.table(&named, "none")
    }

    /// Expressions that give a rank.
    ///
    /// # Arguments
    /// * `rank`, `other` - a rank, and its partner
    /// * `joins` - whether the ends of axes may be connected
    fn ranks(
        &self,
        (rank, other): (i64, i64),
        joins: bool,
    ) -> impl Iterator<Item = Candidate<'_, i64>> {
        let further = |distance: i64| match distance {
            0 => "process".to_owned(),
            d if d < 0 => format!("process - {}", -d),
            d => format!("process + {d}"),
        };
        let candidate =
            |tier, text: String, of: Box<dyn Fn(usize, i64) -> i64>| Candidate { tier, text, of };
        let distance = other - rank;
        let constants = [
            candidate(0, other.to_string(), Box::new(move |_, _| other)),
            candidate(
                // On more ranks the next row of a grid is further on.
                if distance.abs() > 1 { 2 } else { 0 },
                further(distance),
                Box::new(move |_, rank| rank + distance),
            ),
        ];
        let several = !self.is_single();
        let last = several.then(|| Candidate {
            tier: 0,
            text: "processes - 1".into(),
            of: Box::new(|run: usize, _| self.runs[run] - 1) as Box<dyn Fn(usize, i64) -> i64 + '_>,
        });
        let on_axes = self
            .axes
            .iter()
            .flat_map(move |axis| self.ranks_on(axis, joins));
        let mask = rank ^ other;
        let bits = candidate(
            2,
            format!("xor(process, {mask})"),
            Box::new(move |_, rank| rank ^ mask),
        );
        let is_even = self.runs.iter().all(|ranks| ranks % 2 == 0);
        let half = (several && is_even).then(|| Candidate {
            tier: 2,
            text: "xor(process, processes / 2)".into(),
            of: Box::new(|run: usize, rank| rank ^ (self.runs[run] / 2))
                as Box<dyn Fn(usize, i64) -> i64 + '_>,
        });
        let (first_bits, last_bits) = match several {
            true => (Some(bits), None),
            false => (None, Some(bits)),
        };
        let all = constants.into_iter().chain(last).chain(first_bits);
        let mut all: Box<dyn Iterator<Item = Candidate<'_, i64>>> =
            Box::new(all.chain(on_axes).chain(last_bits).chain(half));
        if several {
            let mut sorted: Vec<_> = all.collect();
            sorted.sort_by_key(|candidate| candidate.tier);
            all = Box::new(sorted.into_iter());
        }
        all
    }

    /// Partners on an axis: some steps along it, without and with its ends connected, and its first
    /// place.
    fn ranks_on<'a>(
        &'a self,
        axis: &'a Axis,
        may_be_periodic: bool,
    ) -> impl Iterator<Item = Candidate<'a, i64>> {
        let place = self.place_text(axis);
        let stride = &axis.stride;
        let tier = axis.tier();
        let (of_place, of_stride) = (place.clone(), stride.text.clone());
        let shifts = [1, -1, 2, -2].into_iter().flat_map(move |steps: i64| {
            let sign = if steps < 0 { '-' } else { '+' };
            let size = steps.abs();
            let times = if size == 1 {
                String::new()
            } else {
                format!("{size} * ")
            };
            let straight = (!self.is_single()).then(|| Candidate {
                tier: tier.max(if size == 1 { 0 } else { 2 }),
                text: match stride.is(1) {
                    true => format!("process {sign} {size}"),
                    false => format!("process {sign} {times}{of_stride}"),
                },
                of: Box::new(move |run: usize, rank| rank + steps * stride.values[run])
                    as Box<dyn Fn(usize, i64) -> i64 + 'a>,
            });
            let moved = format!("{of_place} {sign} {size}");
            let periodic = Candidate {
                tier,
                text: match stride.is(1) && self.is_outermost(axis) {
                    true => format!("({moved}) % processes"),
                    false => format!(
                        "process + (({moved}) % {} - {of_place}) * {of_stride}",
                        axis.places.text
                    ),
                },
                of: Box::new(move |run, rank| axis.shifted(run, rank, steps))
                    as Box<dyn Fn(usize, i64) -> i64 + 'a>,
            };
            let periodic = (may_be_periodic || self.is_single()).then_some(periodic);
            straight.into_iter().chain(periodic)
        });
        let base = match stride.is(1) {
            true => format!("process - {place}"),
            false => format!("process - {place} * {}", stride.text),
        };
        let first = Candidate {
            tier: tier.max(1) + 1,
            text: base,
            of: Box::new(move |run, rank| rank - axis.place(run, rank) * stride.values[run])
                as Box<dyn Fn(usize, i64) -> i64 + 'a>,
        };
        shifts.chain([first])
    }

    /// A number that differs from rank to rank; `None` if there is no room for a table.
    ///
    /// # Arguments
    /// * `values` - by point, shape `[n_points]`; ranks without one take `otherwise`
    pub(super) fn number(&self, values: &[Option<f64>], otherwise: &str) -> Option<Pattern> {
        let Some(found) = self.by_run(values) else {
            return self.table(values, otherwise);
        };
        let is_member: Vec<bool> = values.iter().map(Option::is_some).collect();
        Some(match self.condition(&is_member) {
            None => found,
            Some(guard) => {
                let text = format!("{} ? {} : {otherwise}", guard.text, found.text);
                guard.within(&found.reach, text)
            }
        })
    }

    /// A number that is the same for all ranks of a run that have one; `None` if they differ, or there is no
    /// pattern.
    pub(super) fn by_run(&self, values: &[Option<f64>]) -> Option<Pattern> {
        let known = || {
            self.points
                .iter()
                .zip(values)
                .filter_map(|((run, _), value)| Some((*run, (*value)?)))
        };
        let Some((run, first)) = known().next() else {
            return Some(Pattern::known("0"));
        };
        if known().all(|(_, value)| value == first) {
            return Some(Pattern::known(first.to_string()));
        }
        if self.is_single() {
            return None;
        }
        const POWERS: [(&str, &str, i32); 3] = [("/", "", -1), ("*", "", 1), ("/", " ^ 2", -2)];
        let candidates = self.quantities.iter().flat_map(|quantity| {
            POWERS.into_iter().map(move |(sign, exponent, power)| {
                let of = move |run: usize| (quantity.values[run] as f64).powi(power);
                let factor = rounded(first / of(run));
                Candidate {
                    tier: self.tier_of_size(quantity),
                    text: format!("{factor} {sign} {}{exponent}", quantity.text),
                    of: Box::new(move |run, _| factor * of(run))
                        as Box<dyn Fn(usize, i64) -> f64 + '_>,
                }
            })
        });
        let candidates = candidates.chain(self.lines(known().collect()));
        let mut candidates: Vec<_> = candidates.collect();
        candidates.sort_by_key(|candidate| candidate.tier);
        let values: Vec<Option<f64>> = values.to_vec();
        self.simplest(&values, candidates.into_iter(), &|_, _| true)
            .map(|(pattern, _)| pattern)
    }

    /// On a grid a size is first assumed to be that of a side, then one of all ranks.
    fn tier_of_size(&self, quantity: &Quantity) -> u8 {
        let has_sides = self.quantities.len() > 1;
        u8::from(has_sides && quantity.tier() == 0)
    }

    /// Straight lines over a quantity or its inverse, through the first two runs that differ; a third one that differs
    /// too confirms them.
    fn lines(&self, known: Vec<(usize, f64)>) -> impl Iterator<Item = Candidate<'_, f64>> {
        self.quantities.iter().flat_map(move |quantity| {
            let forms: [(&str, Form); 3] =
                [("*", |x| x), ("/", |x| 1.0 / x), ("* log2", f64::log2)];
            let known = known.clone();
            forms.into_iter().filter_map(move |(word, form)| {
                let x = move |run: usize| form(quantity.values[run] as f64);
                let mut places: Vec<f64> = known.iter().map(|(run, _)| x(*run)).collect();
                places.dedup();
                let first = known.first()?;
                let second = known.iter().find(|(run, _)| x(*run) != x(first.0))?;
                let slope = (second.1 - first.1) / (x(second.0) - x(first.0));
                let (slope, base) = (rounded(slope), rounded(first.1 - slope * x(first.0)));
                let is_new = base != 0.0 || word == "* log2";
                let is_confirmed = places.len() > 2 && is_new && slope.is_finite();
                let argument = match word {
                    "* log2" => format!("log2({})", quantity.text),
                    _ => quantity.text.clone(),
                };
                let sign = if base < 0.0 { "-" } else { "+" };
                let text = match (word, slope == 1.0, base == 0.0) {
                    ("/", ..) => format!("{base} + {slope} / {argument}"),
                    (_, true, true) => argument,
                    (_, false, true) => format!("{slope} * {argument}"),
                    (_, true, false) => format!("{argument} {sign} {}", base.abs()),
                    (_, false, false) => format!("{slope} * {argument} {sign} {}", base.abs()),
                };
                is_confirmed.then(|| Candidate {
                    tier: self.tier_of_size(quantity) + 2,
                    text,
                    of: Box::new(move |run, _| base + slope * x(run))
                        as Box<dyn Fn(usize, i64) -> f64 + '_>,
                })
            })
        })
    }

    fn table(&self, values: &[Option<f64>], otherwise: &str) -> Option<Pattern> {
        if values.len() > MAX_TABLE {
            return None;
        }
        let mut text = String::new();
        for ((run, rank), value) in self.points.iter().zip(values) {
            if let Some(value) = value {
                if !self.is_single() {
                    let _ = write!(text, "processes == {} && ", self.runs[*run]);
                }
                let _ = write!(text, "process == {rank} ? {value} : ");
            }
        }
        Some(Pattern::recorded(text + otherwise))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranks: u32, named: impl Fn(u32) -> Option<u32>) -> String {
        let named: Vec<_> = (0..ranks).map(named).collect();
        let pattern = Patterns::of(&[ranks], Grid::Line).other_rank(&named);
        pattern.expect("an expression").text
    }

    #[test]
    fn neighbours_in_lines_rings_and_grids_have_expressions() {
        assert_eq!(of(5, |_| Some(0)), "0");
        assert_eq!(
            of(5, |rank| (rank < 4).then_some(rank + 1)),
            "process != processes - 1 ? process + 1 : none"
        );
        assert_eq!(
            of(5, |rank| Some((rank + 4) % 5)),
            "(process - 1) % processes"
        );
        // Rows of three.
        assert_eq!(
            of(6, |rank| (rank % 3 > 0).then(|| rank - 1)),
            "process % 3 != 0 ? process - 1 : none"
        );
        let up = |rank: u32| Some((rank + 3) % 6);
        assert_eq!(
            of(6, up),
            "process + ((div(process, 3) + 1) % 2 - div(process, 3)) * 3"
        );
        assert_eq!(of(8, |rank| Some(rank ^ 5)), "xor(process, 5)");
        assert_eq!(of(6, |rank| Some(rank - rank % 3)), "process - process % 3");
        assert_eq!(
            of(4, |rank| [None, Some(3), Some(3), Some(0)][rank as usize]),
            "process == 1 ? 3 : process == 2 ? 3 : process == 3 ? 0 : none"
        );
    }

    #[test]
    fn a_table_has_a_bound() {
        let pattern = |rank: u32| rank * rank % 61;
        let named: Vec<_> = (0..65).map(|rank| Some(pattern(rank))).collect();
        assert_eq!(Patterns::of(&[65], Grid::Line).other_rank(&named), None);
        assert!(
            Patterns::of(&[64], Grid::Line)
                .other_rank(&named[..64])
                .is_some()
        );
        let values = [Some(1.5), None, Some(2.0)];
        assert_eq!(
            Patterns::of(&[3], Grid::Line)
                .number(&values, "0")
                .expect("a table")
                .text,
            "process == 0 ? 1.5 : process == 2 ? 2 : 0"
        );
    }
}

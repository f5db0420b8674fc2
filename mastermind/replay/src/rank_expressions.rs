//! What differs from rank to rank as an expression of `process`: whom a rank sends to, which ranks take part, what a step costs.
//!
//! Ranks are looked at as the places of a grid: `div(process, s) % e` is the place on an axis of `e` places that are `s` ranks apart.
//! What no expression of these fits is a table of the ranks.

use std::fmt::Write as _;

/// Most ranks that a table has.
pub(super) const MAX_TABLE: usize = 64;

/// An axis of a grid of ranks: distance in ranks from place to place, and places.
#[derive(Clone, Copy)]
struct Axis {
    stride: i64,
    places: i64,
}

impl Axis {
    /// All axes of a grid of so many ranks.
    fn all(ranks: i64) -> Vec<Self> {
        let divisors = |n: i64| (1..=n).filter(move |d| n % d == 0);
        let axes = divisors(ranks).flat_map(|stride| {
            let places = divisors(ranks / stride).filter(|places| *places > 1);
            places.map(move |places| Self { stride, places })
        });
        axes.collect()
    }

    fn place(self, rank: i64) -> i64 {
        rank / self.stride % self.places
    }

    /// The place of a process, with a word for a size that is that of the run.
    fn text(self, ranks: i64) -> String {
        let Self { stride, places } = self;
        match (stride, places * stride == ranks) {
            (1, true) => "process".into(),
            (1, false) => format!("process % {places}"),
            (_, true) => format!("div(process, {stride})"),
            (_, false) => format!("div(process, {stride}) % {places}"),
        }
    }
}

/// Whether a rank is one of some: a condition; `None` where all are. As long as it has to be where there is no pattern.
///
/// # Arguments
/// * `is_member` - by rank, shape `[n_ranks]`
pub(super) fn condition(is_member: &[bool]) -> Option<String> {
    let ranks = is_member.len() as i64;
    let members: Vec<i64> = (0..ranks)
        .filter(|rank| is_member[*rank as usize])
        .collect();
    if members.len() == is_member.len() {
        return None;
    }
    if members.is_empty() {
        return Some("false".into());
    }
    let agrees =
        |of: &dyn Fn(i64) -> bool| (0..ranks).all(|rank| of(rank) == is_member[rank as usize]);
    for axis in Axis::all(ranks) {
        for place in 0..axis.places {
            let last = axis.stride == 1 && axis.places == ranks && place == ranks - 1;
            let number = if last {
                "processes - 1".into()
            } else {
                place.to_string()
            };
            if agrees(&|rank| axis.place(rank) == place) {
                return Some(format!("{} == {number}", axis.text(ranks)));
            }
            if agrees(&|rank| axis.place(rank) != place) {
                return Some(format!("{} != {number}", axis.text(ranks)));
            }
        }
    }
    let (first, last) = (members[0], members[members.len() - 1]);
    if agrees(&|rank| (first..=last).contains(&rank)) {
        return Some(format!("process >= {first} && process <= {last}"));
    }
    let each = members.iter().map(|rank| format!("process == {rank}"));
    Some(each.collect::<Vec<_>>().join(" || "))
}

/// A rank that each rank names, `none` where it names none; `None` where there is neither a pattern nor room for a table.
///
/// # Arguments
/// * `named` - by rank, shape `[n_ranks]`
pub(super) fn other_rank(named: &[Option<u32>]) -> Option<String> {
    let ranks = named.len() as i64;
    let pairs: Vec<(i64, i64)> = (0_i64..)
        .zip(named)
        .filter_map(|(rank, named)| Some((rank, i64::from((*named)?))))
        .collect();
    let Some(&(rank, other)) = pairs.first() else {
        return Some("none".into());
    };
    let agrees = |of: &dyn Fn(i64) -> i64| pairs.iter().all(|(rank, other)| of(*rank) == *other);
    let is_member: Vec<bool> = named.iter().map(Option::is_some).collect();
    let whole = |text: String| match condition(&is_member) {
        None => text,
        Some(condition) => format!("{condition} ? {text} : none"),
    };
    let distance = other - rank;
    let further = |distance: i64| match distance {
        0 => "process".to_owned(),
        d if d < 0 => format!("process - {}", -d),
        d => format!("process + {d}"),
    };
    if agrees(&|_| other) {
        return Some(whole(other.to_string()));
    }
    if agrees(&|rank| rank + distance) {
        return Some(whole(further(distance)));
    }
    for axis in Axis::all(ranks) {
        let Axis { stride, places } = axis;
        for steps in [1, -1, 2, -2] {
            let shifted = |rank: i64| {
                let place = axis.place(rank);
                rank + ((place + steps).rem_euclid(places) - place) * stride
            };
            if agrees(&shifted) {
                let place = axis.text(ranks);
                let moved = further(steps).replacen("process", &place, 1);
                return Some(whole(match (stride, places == ranks) {
                    (1, true) => format!("({moved}) % processes"),
                    _ => format!("process + (({moved}) % {places} - {place}) * {stride}"),
                }));
            }
        }
        if agrees(&|rank| rank - axis.place(rank) * stride) {
            let base = format!("process - {} * {stride}", axis.text(ranks));
            return Some(whole(base.trim_end_matches(" * 1").to_owned()));
        }
    }
    let mask = rank ^ other;
    if agrees(&|rank| rank ^ mask) {
        return Some(whole(format!("xor(process, {mask})")));
    }
    let named: Vec<Option<f64>> = named.iter().map(|rank| rank.map(f64::from)).collect();
    table(&named, "none")
}

/// A number that differs from rank to rank; `None` where there is no room for a table.
///
/// # Arguments
/// * `values` - by rank, shape `[n_ranks]`; ranks without one take `otherwise`
pub(super) fn number(values: &[Option<f64>], otherwise: &str) -> Option<String> {
    let first = values.iter().flatten().next();
    let is_same = values.iter().flatten().all(|value| Some(value) == first);
    match first {
        None => Some(otherwise.into()),
        Some(first) if is_same => {
            let is_member: Vec<bool> = values.iter().map(Option::is_some).collect();
            Some(match condition(&is_member) {
                None => first.to_string(),
                Some(condition) => format!("{condition} ? {first} : {otherwise}"),
            })
        }
        Some(_) => table(values, otherwise),
    }
}

fn table(values: &[Option<f64>], otherwise: &str) -> Option<String> {
    if values.len() > MAX_TABLE {
        return None;
    }
    let mut text = String::new();
    for (rank, value) in values.iter().enumerate() {
        if let Some(value) = value {
            let _ = write!(text, "process == {rank} ? {value} : ");
        }
    }
    Some(text + otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranks: u32, named: impl Fn(u32) -> Option<u32>) -> String {
        let named: Vec<_> = (0..ranks).map(named).collect();
        other_rank(&named).expect("an expression")
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
        assert_eq!(other_rank(&named), None);
        assert!(other_rank(&named[..64]).is_some());
        let values = [Some(1.5), None, Some(2.0)];
        assert_eq!(
            number(&values, "0").expect("a table"),
            "process == 0 ? 1.5 : process == 2 ? 2 : 0"
        );
    }
}

//! Arrangements of ranks, and the quantities of them that depend on the number of ranks: sides of
//! grids, and axes.

use std::fmt;

/// A whole number that depends on the number of ranks only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quantity {
    pub(super) text: String,
    /// By run, the one beyond the recorded ones last.
    pub(super) values: Vec<i64>,
}

/// Arrangement of ranks: on a line, or on a grid whose first axis, along which ranks are consecutive, is its longest or
/// its shortest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grid {
    Line,
    TwoAxesLongestFirst,
    TwoAxesShortestFirst,
    ThreeAxesLongestFirst,
    ThreeAxesShortestFirst,
}

impl Grid {
    /// The simplest first.
    pub(super) const ALL: [Self; 5] = [
        Self::Line,
        Self::TwoAxesLongestFirst,
        Self::TwoAxesShortestFirst,
        Self::ThreeAxesLongestFirst,
        Self::ThreeAxesShortestFirst,
    ];

    /// Indices of its sides in [`SIDES`], from the first axis on.
    pub(super) fn sides(self) -> &'static [usize] {
        match self {
            Self::Line => &[],
            Self::TwoAxesLongestFirst => &[0, 1],
            Self::TwoAxesShortestFirst => &[1, 0],
            Self::ThreeAxesLongestFirst => &[2, 3, 4],
            Self::ThreeAxesShortestFirst => &[4, 3, 2],
        }
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line => "on a line",
            Self::TwoAxesLongestFirst => "on a grid of two axes, the longest first",
            Self::TwoAxesShortestFirst => "on a grid of two axes, the shortest first",
            Self::ThreeAxesLongestFirst => "on a grid of three axes, the longest first",
            Self::ThreeAxesShortestFirst => "on a grid of three axes, the shortest first",
        })
    }
}

/// Exponent of a side, from the exponent of the number of ranks.
type Exponent = fn(u32) -> u32;

/// The sides of the grids of two and three axes that `MPI_Dims_create` makes of a power of two, longest first: name, and value of 2 to the `k`.
pub(super) const SIDES: [(&str, &str, Exponent); 5] = [
    ("side2_1", "2 ^ floor((log2(processes) + 1) / 2)", |k| {
        k.div_ceil(2)
    }),
    ("side2_2", "2 ^ floor(log2(processes) / 2)", |k| k / 2),
    ("side3_1", "2 ^ floor((log2(processes) + 2) / 3)", |k| {
        k.div_ceil(3)
    }),
    ("side3_2", "2 ^ floor((log2(processes) + 1) / 3)", |k| {
        (k + 1) / 3
    }),
    ("side3_3", "2 ^ floor(log2(processes) / 3)", |k| k / 3),
];

impl Quantity {
    pub(super) fn constant(value: i64, runs: usize) -> Self {
        Self {
            text: value.to_string(),
            values: vec![value; runs],
        }
    }

    /// The product of two that are no constants.
    pub(super) fn times(&self, other: &Self) -> Self {
        Self {
            text: format!("({} * {})", self.text, other.text),
            values: self
                .values
                .iter()
                .zip(&other.values)
                .map(|(a, b)| a * b)
                .collect(),
        }
    }

    pub(super) fn is(&self, value: i64) -> bool {
        self.values.iter().all(|one| *one == value)
    }

    /// How simple it is: less is simpler.
    pub(super) fn tier(&self) -> u8 {
        match () {
            () if self.text.contains("side") => 1,
            () if self.text == "processes" || self.is(1) => 0,
            () => 2,
        }
    }
}

/// An axis of a grid of ranks: distance in ranks from place to place, and places.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub(super) stride: Quantity,
    pub(super) places: Quantity,
}

impl Axis {
    pub(super) fn place(&self, run: usize, rank: i64) -> i64 {
        rank / self.stride.values[run] % self.places.values[run]
    }

    pub(super) fn tier(&self) -> u8 {
        self.stride.tier().max(self.places.tier())
    }

    /// The rank some steps further, round the end.
    pub(super) fn shifted(&self, run: usize, rank: i64, steps: i64) -> i64 {
        let place = self.place(run, rank);
        let moved = (place + steps).rem_euclid(self.places.values[run]);
        rank + (moved - place) * self.stride.values[run]
    }
}

//! The points at which a decision tree over several parameters is computed.

use mastermind_models::Coordinate;

use super::{between, grid};

/// Largest number of recorded points; of more, every n-th is used.
const MAX_RECORDED: usize = 500;

/// Number of neighbours of a recorded point, for each parameter, towards which an intermediate point is added.
const N_NEIGHBOURS: usize = 2;

/// Grid points along each parameter, for two, three, and more parameters.
const GRID: [usize; 3] = [12, 8, 4];

/// Total weight of the grid relative to the other points.
const OF_GRID: f64 = 0.1;

/// # Arguments
/// * `ranges` - the numeric parameters and their ranges
/// * `mode` - the labels of the calls
/// * `recorded` - coordinates of calls of any class, in any order
///
/// # Returns
/// Points, shape `[n_points][n_numbers]`, and their weights.
pub fn points(
    ranges: &[(&String, [f64; 2])],
    mode: &Coordinate,
    recorded: &[&Coordinate],
) -> Vec<(Vec<f64>, f64)> {
    let places = places(ranges, mode, recorded);
    let mut points = places.clone();
    for place in &places {
        let mut others: Vec<&Vec<f64>> = places.iter().filter(|other| *other != place).collect();
        others.sort_by(|a, b| distance2(place, a).total_cmp(&distance2(place, b)));
        let middle = |other: &Vec<f64>| -> Vec<f64> {
            let pairs = place.iter().zip(other);
            pairs.map(|(a, b)| between(*a, *b)).collect()
        };
        let near = others.into_iter().take(N_NEIGHBOURS * ranges.len());
        points.extend(near.map(middle));
    }
    sort(&mut points);
    let on_grid = on_grid(ranges);
    let of_grid = match points.len() {
        0 => 1.0,
        n => OF_GRID * n as f64 / on_grid.len() as f64,
    };
    let counted = points.into_iter().map(|point| (point, 1.0));
    counted
        .chain(on_grid.into_iter().map(|point| (point, of_grid)))
        .collect()
}

/// Recorded sizes within the ranges, without duplicates.
fn places(
    ranges: &[(&String, [f64; 2])],
    mode: &Coordinate,
    recorded: &[&Coordinate],
) -> Vec<Vec<f64>> {
    let sizes = |at: &&&Coordinate| -> Option<Vec<f64>> {
        let mut labels = mode.values.iter();
        if !labels.all(|(name, label)| at.values.get(name) == Some(label)) {
            return None;
        }
        let inside = |(name, [low, high]): &(&String, [f64; 2])| {
            let x = at.number(name)?;
            (*low <= x && x <= *high).then_some(x)
        };
        ranges.iter().map(inside).collect()
    };
    let mut places: Vec<Vec<f64>> = recorded.iter().filter_map(|at| sizes(&at)).collect();
    sort(&mut places);
    let every = places.len().div_ceil(MAX_RECORDED).max(1);
    places.into_iter().step_by(every).collect()
}

fn sort(points: &mut Vec<Vec<f64>>) {
    points.sort_by(|a, b| {
        let pairs = a.iter().zip(b);
        let mut orders = pairs.map(|(a, b)| a.total_cmp(b));
        let differ = orders.find(|order| order.is_ne());
        differ.unwrap_or(std::cmp::Ordering::Equal)
    });
    points.dedup();
}

/// Squared distance, in logarithms where both values are positive.
fn distance2(a: &[f64], b: &[f64]) -> f64 {
    let apart = a.iter().zip(b).map(|(a, b)| match *a > 0.0 && *b > 0.0 {
        true => (a / b).ln(),
        false => a - b,
    });
    apart.map(|apart| apart * apart).sum()
}

fn on_grid(ranges: &[(&String, [f64; 2])]) -> Vec<Vec<f64>> {
    let n = GRID[(ranges.len().max(2) - 2).min(GRID.len() - 1)];
    let mut points = vec![Vec::new()];
    for (_, [low, high]) in ranges {
        let along = grid(*low, *high, n);
        points = points
            .into_iter()
            .flat_map(|point| along.iter().map(move |x| [&point[..], &[*x]].concat()))
            .collect();
    }
    points
}

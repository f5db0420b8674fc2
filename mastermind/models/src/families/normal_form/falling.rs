//! Whether a parameter may divide the work, so that terms which decrease with it are tried.

use crate::samples::points::Points;

/// Names of parameters that count the processes or threads which share the work.
const SHARES: [&str; 14] = [
    "p",
    "np",
    "ranks",
    "n_ranks",
    "procs",
    "nprocs",
    "processes",
    "threads",
    "n_threads",
    "cores",
    "nodes",
    "workers",
    "gpus",
    "ntasks",
];

/// Standard errors by which the time must decrease.
const FALLS_BY: f64 = 2.0;

/// Relative standard deviation of a call, assumed if no coordinate has repeated calls.
const UNKNOWN: f64 = 0.02;

/// Whether the parameter has one of the names in [`SHARES`], or the mean time at its least value is significantly above that at another.
pub(super) fn may_fall(points: &Points, param: usize) -> bool {
    let name = points.names[param].to_ascii_lowercase();
    let last = name.rsplit(['.', '_']).next().unwrap_or(&name);
    if SHARES.contains(&name.as_str()) || SHARES.contains(&last) {
        return true;
    }
    let levels = levels(points, param);
    let Some(first) = levels.first() else {
        return false;
    };
    let spread = spread(points);
    let error = |level: &Level| spread / level.n_calls.sqrt();
    levels[1..].iter().any(|level| {
        let between = FALLS_BY * error(first).hypot(error(level));
        first.ln_s > level.ln_s + between
    })
}

/// The points with one value of a parameter.
struct Level {
    value: f64,
    /// Mean logarithm of the times.
    ln_s: f64,
    n_points: f64,
    n_calls: f64,
}

/// By ascending value.
fn levels(points: &Points, param: usize) -> Vec<Level> {
    let mut order: Vec<usize> = (0..points.len())
        .filter(|&i| points.mean_s[i] > 0.0)
        .collect();
    let column = &points.columns[param];
    order.sort_by(|&a, &b| column[a].total_cmp(&column[b]));
    let mut levels: Vec<Level> = Vec::new();
    for i in order {
        match levels.last_mut() {
            Some(level) if level.value == column[i] => {
                level.ln_s += points.mean_s[i].ln();
                level.n_points += 1.0;
                level.n_calls += points.count[i];
            }
            _ => levels.push(Level {
                value: column[i],
                ln_s: points.mean_s[i].ln(),
                n_points: 1.0,
                n_calls: points.count[i],
            }),
        }
    }
    levels
        .iter_mut()
        .for_each(|level| level.ln_s /= level.n_points);
    levels
}

/// Relative standard deviation of a call.
fn spread(points: &Points) -> f64 {
    let spare = points.n_records() - points.len() as f64;
    if spare < 1.0 {
        return UNKNOWN;
    }
    let pairs = points.m2_s2.iter().zip(&points.mean_s);
    let squares = pairs.map(|(m2, y)| if *y > 0.0 { m2 / (y * y) } else { 0.0 });
    (squares.sum::<f64>() / spare).sqrt()
}

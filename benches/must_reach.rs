//! A line for each figure that is to be reached, which `cargo xtask bench` repeats at its end. Part of each benchmark.

/// A figure that should not be larger.
pub fn at_most(what: &str, value: f64, most: f64, unit: &str) {
    line(what, value, ("at most", most), unit, value <= most);
}

/// A figure that should not be smaller.
pub fn at_least(what: &str, value: f64, least: f64, unit: &str) {
    line(what, value, ("at least", least), unit, value >= least);
}

fn line(what: &str, value: f64, (word, target): (&str, f64), unit: &str, reached: bool) {
    let verdict = if reached { "reached" } else { "MISSED" };
    println!("must reach: {verdict:8} {what}: {value:.2}{unit}, {word} {target}{unit}");
}

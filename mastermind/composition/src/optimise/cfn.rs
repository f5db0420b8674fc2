//! The problem in the format of solvers of weighted constraint networks.

use serde_json::{Value, json};

use super::problem::Problem;

/// Writes a problem as a cost function network, the JSON format `.cfn` of toulbar2 and others.
///
/// Costs are written as decimal numbers with `decimals` digits after the point, the precision that such a solver
/// computes with. An infinite cost is written as the upper bound, which forbids it.
///
/// # Arguments
/// * `name` - name of the problem
/// * `decimals` - number of digits, for example 6 for microseconds
pub fn cfn(problem: &Problem, name: &str, decimals: usize) -> String {
    let top = upper_bound(problem);
    let quoted = |text: &str| Value::from(text).to_string();
    let numbers = |costs: &[f64]| -> String {
        let allowed = costs
            .iter()
            .map(|&c| if c == f64::INFINITY { top } else { c });
        let digits: Vec<String> = allowed.map(|c| format!("{c:.decimals$}")).collect();
        digits.join(",")
    };
    let site_name = |i: usize| quoted(&unique_name(problem, i));
    let function = |name: String, scope: String, costs: &[f64]| {
        format!(
            "\"{name}\":{{\"scope\":[{scope}],\"costs\":[{}]}}",
            numbers(costs)
        )
    };
    let sites = problem.sites().iter().enumerate();
    let variables: Vec<String> = sites
        .clone()
        .map(|(i, site)| {
            format!(
                "{}:{}",
                site_name(i),
                json!(value_names(&site.alternatives))
            )
        })
        .collect();
    let alone = sites.map(|(i, site)| function(format!("cost_{i}"), site_name(i), &site.costs));
    let pairs = problem.pairs().iter().enumerate().map(|(i, pair)| {
        let scope = format!("{},{}", site_name(pair.first), site_name(pair.second));
        function(format!("pair_{i}"), scope, &pair.costs)
    });
    let functions: Vec<String> = alone.chain(pairs).collect();
    // Readers expect the problem first, but a map of serde_json does not keep the order.
    format!(
        "{{\"problem\":{{\"name\":{},\"mustbe\":\"<{top:.decimals$}\"}},\n\"variables\":{{{}}},\n\"functions\":{{{}}}}}\n",
        quoted(name),
        variables.join(","),
        functions.join(",\n"),
    )
}

/// A cost above that of any allowed assembly.
fn upper_bound(problem: &Problem) -> f64 {
    let largest = |costs: &[f64]| {
        let finite = costs.iter().filter(|c| c.is_finite());
        finite.fold(0.0, |a: f64, &b| a.max(b.abs()))
    };
    let sites: f64 = problem.sites().iter().map(|s| largest(&s.costs)).sum();
    let pairs: f64 = problem.pairs().iter().map(|p| largest(&p.costs)).sum();
    (2.0 * (sites + pairs) + 1.0).ceil()
}

/// The name of a site, numbered if another site has the same name.
fn unique_name(problem: &Problem, site: usize) -> String {
    let sites = problem.sites();
    let name = &sites[site].name;
    match sites.iter().filter(|s| s.name == *name).count() {
        1 => name.clone(),
        _ => format!("{name}_{site}"),
    }
}

/// Names of values, which must begin with a letter in this format.
fn value_names(alternatives: &[String]) -> Vec<String> {
    let named = alternatives.iter().map(|name| {
        if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            name.clone()
        } else {
            format!("v{name}")
        }
    });
    named.collect()
}

//! Whether guards of a decision overlap, or leave a gap.
//!
//! Guards are treated as conditions over quantities: the left side of a comparison with a number,
//! or the difference of both sides. Between the numbers that a quantity is compared with nothing
//! changes, so trying each of them and one value on either side covers all cases. If quantities
//! depend on each other (an expression, and a name in it), the guards are not checked.

use mastermind_programs::chance_calls;
use mastermind_programs::expression::{Binary, Expression, Unary};

/// Most combinations of values that are tried.
const MAX_COMBINATIONS: usize = 1 << 14;

/// A defect of the guards of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Defect {
    /// The guards of these two edges hold together.
    Overlap(usize, usize, String),
    /// No guard holds.
    Gap(String),
}

/// A quantity and the values to try.
struct Quantity {
    text: String,
    values: Vec<f64>,
}

/// The first defect of guards when exactly one of them must hold.
///
/// # Arguments
/// * `has_otherwise` - whether an edge is taken if no guard holds
pub(super) fn defect(guards: &[&Expression], has_otherwise: bool) -> Option<Defect> {
    if guards.iter().any(|guard| chance_calls(guard) > 0) {
        return None;
    }
    let mut atoms: Vec<(String, Option<f64>)> = Vec::new();
    let mut simple = true;
    for guard in guards {
        collect(guard, &mut atoms, &mut simple);
    }
    let mut quantities: Vec<Quantity> = Vec::new();
    let mut texts: Vec<&String> = atoms.iter().map(|(text, _)| text).collect();
    texts.sort_unstable();
    texts.dedup();
    if texts.len() > 1 && !simple {
        return None;
    }
    for text in texts {
        let numbers = atoms.iter().filter(|(known, _)| known == text);
        let values = values(text, numbers.filter_map(|(_, number)| *number).collect());
        let text = text.clone();
        quantities.push(Quantity { text, values });
    }
    let total = quantities
        .iter()
        .try_fold(1_usize, |total, q| total.checked_mul(q.values.len()));
    if total.is_none_or(|total| total > MAX_COMBINATIONS) {
        return None;
    }
    (0..total.unwrap_or(0)).find_map(|index| {
        let chosen = choice(&quantities, index);
        let holds: Option<Vec<bool>> = guards.iter().map(|g| truth(g, &chosen)).collect();
        let holding: Vec<usize> = (0..guards.len())
            .zip(holds?)
            .filter_map(|(i, holds)| holds.then_some(i))
            .collect();
        let shown = || {
            let parts: Vec<_> = chosen
                .iter()
                .map(|(text, v)| format!("{text} = {v}"))
                .collect();
            parts.join(", ")
        };
        match holding.as_slice() {
            [] if !has_otherwise => Some(Defect::Gap(shown())),
            [a, b, ..] => Some(Defect::Overlap(*a, *b, shown())),
            _ => None,
        }
    })
}

/// The combination of that number.
fn choice(quantities: &[Quantity], mut index: usize) -> Vec<(&str, f64)> {
    quantities
        .iter()
        .map(|quantity| {
            let value = quantity.values[index % quantity.values.len()];
            index /= quantity.values.len();
            (quantity.text.as_str(), value)
        })
        .collect()
}

/// The quantities of a condition with the numbers they are compared with; none for a truth value.
fn collect(guard: &Expression, atoms: &mut Vec<(String, Option<f64>)>, simple: &mut bool) {
    match guard {
        Expression::Truth(_) => {}
        Expression::Unary(Unary::Not, inner) => collect(inner, atoms, simple),
        Expression::Binary(Binary::And | Binary::Or, a, b) => {
            collect(a, atoms, simple);
            collect(b, atoms, simple);
        }
        Expression::Binary(operator, a, b) if is_comparison(*operator) => {
            let (left, number, _) = sides(*operator, a, b);
            *simple &= matches!(a.as_ref(), Expression::Name(_));
            atoms.push((left, Some(number)));
        }
        other => {
            *simple &= matches!(other, Expression::Name(_));
            atoms.push((other.to_string(), None));
        }
    }
}

fn is_comparison(operator: Binary) -> bool {
    use Binary::{AtLeast, AtMost, Equal, Greater, Less, Unequal};
    matches!(
        operator,
        Equal | Unequal | Less | AtMost | Greater | AtLeast
    )
}

/// Quantity, number and operator of a comparison.
fn sides(operator: Binary, a: &Expression, b: &Expression) -> (String, f64, Binary) {
    match (number(a), number(b)) {
        (_, Some(number)) => (a.to_string(), number, operator),
        (Some(number), None) => {
            let turned = match operator {
                Binary::Less => Binary::Greater,
                Binary::AtMost => Binary::AtLeast,
                Binary::Greater => Binary::Less,
                Binary::AtLeast => Binary::AtMost,
                same => same,
            };
            (b.to_string(), number, turned)
        }
        (None, None) => (format!("{a} - {b}"), 0.0, operator),
    }
}

fn number(expression: &Expression) -> Option<f64> {
    match expression {
        Expression::Number(number) => Some(*number),
        Expression::Unary(Unary::Minus, inner) => number(inner).map(|number| -number),
        _ => None,
    }
}

/// Values of a quantity to try, given the numbers it is compared with: whole ones where all are.
fn values(text: &str, mut numbers: Vec<f64>) -> Vec<f64> {
    if numbers.is_empty() {
        return vec![0.0, 1.0];
    }
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let mut values = Vec::new();
    if numbers.iter().all(|number| number.fract() == 0.0) {
        for number in &numbers {
            values.extend([number - 1.0, *number, number + 1.0]);
        }
    } else {
        values.extend([numbers[0] - 1.0, numbers[numbers.len() - 1] + 1.0]);
        values.extend(
            numbers
                .windows(2)
                .map(|pair| f64::midpoint(pair[0], pair[1])),
        );
        values.extend(&numbers);
    }
    let bounded = ["process", "pid", "thread", "tid", "node", "nid"].contains(&text);
    if bounded {
        values.retain(|value| *value >= 0.0);
    }
    // The rest of a division: 0 up to the divisor.
    if let Some((_, divisor)) = text.trim_end_matches(')').rsplit_once(" % ")
        && let Ok(divisor) = divisor.parse::<f64>()
    {
        values.retain(|value| (0.0..divisor).contains(value));
    }
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// Whether a condition holds; `None` where a quantity of it has no value.
fn truth(guard: &Expression, chosen: &[(&str, f64)]) -> Option<bool> {
    let value = |text: &str| {
        chosen
            .iter()
            .find(|(known, _)| *known == text)
            .map(|(_, v)| *v)
    };
    Some(match guard {
        Expression::Truth(truth) => *truth,
        Expression::Unary(Unary::Not, inner) => !truth(inner, chosen)?,
        Expression::Binary(Binary::And, a, b) => truth(a, chosen)? && truth(b, chosen)?,
        Expression::Binary(Binary::Or, a, b) => truth(a, chosen)? || truth(b, chosen)?,
        Expression::Binary(operator, a, b) if is_comparison(*operator) => {
            let (text, number, operator) = sides(*operator, a, b);
            let value = value(&text)?;
            match operator {
                Binary::Equal => value == number,
                Binary::Unequal => value != number,
                Binary::Less => value < number,
                Binary::AtMost => value <= number,
                Binary::Greater => value > number,
                _ => value >= number,
            }
        }
        other => value(&other.to_string())? != 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mastermind_programs::expression::parse;

    fn of(guards: &[&str], has_otherwise: bool) -> Option<Defect> {
        let guards: Vec<_> = guards.iter().map(|text| parse(text).unwrap()).collect();
        defect(&guards.iter().collect::<Vec<_>>(), has_otherwise)
    }

    #[test]
    fn overlaps_and_gaps_are_found_where_they_are() {
        for (guards, otherwise, expected) in [
            (&["x < 5", "x >= 5"][..], false, None),
            (&["x <= 4", "x >= 5"], false, None),
            (
                &["x < 5", "x > 5"],
                false,
                Some(Defect::Gap("x = 5".into())),
            ),
            (&["x < 5", "x > 5"], true, None),
            (
                &["x < 2.5", "5 > x"],
                true,
                Some(Defect::Overlap(0, 1, "x = 1.5".into())),
            ),
            (&["ready", "!ready"], false, None),
            (&["ready"], false, Some(Defect::Gap("ready = 0".into()))),
            (&["process % 2 == 0", "process % 2 == 1"], false, None),
            (&["process == 0", "process > 0"], false, None),
            (&["process == 0", "process % 2 == 0"], false, None),
            (
                &["a == 1", "b == 1"],
                true,
                Some(Defect::Overlap(0, 1, "a = 1, b = 1".into())),
            ),
            (&["a == b", "a != b"], false, None),
            (&["f(x)", "g(x)"], true, None),
            (&[], false, Some(Defect::Gap(String::new()))),
        ] {
            assert_eq!(of(guards, otherwise), expected, "{guards:?}");
        }
    }
}

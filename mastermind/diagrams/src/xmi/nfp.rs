//! MARTE's values with units, as tools write them: `5`, `5 ms`, `(5, ms)`, `(value=5, unit=ms,
//! statQ=mean)`, `(expr=2*n, unit=us)`, `($x, ms)`.

/// Units of time in seconds.
const UNITS: [(&str, &str); 9] = [
    ("s", "1"),
    ("ms", "1e-3"),
    ("us", "1e-6"),
    ("µs", "1e-6"),
    ("ns", "1e-9"),
    ("tick", "1"),
    ("min", "60"),
    ("hrs", "3600"),
    ("dys", "86400"),
];

/// The text of an expression, seconds; or the reason why there is none.
pub(super) fn seconds(text: &str) -> Result<String, String> {
    let text = text.trim();
    let inside = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    let parts = split(inside.unwrap_or(text));
    let mut value = None;
    let mut unit = None;
    for (i, part) in parts.iter().enumerate() {
        match part
            .split_once('=')
            .map(|(key, text)| (key.trim(), text.trim()))
        {
            Some(("value" | "expr", text)) => value = Some(text),
            Some(("unit", text)) => unit = Some(text),
            Some(("statQ" | "dir" | "source" | "precision" | "clock" | "worst" | "best", _)) => {}
            Some((key, _)) => {
                return Err(format!(
                    "\"{key}\" in \"{text}\" is not understood, expected value, expr or unit"
                ));
            }
            None if i == 0 => value = Some(*part),
            None if i == 1 => unit = Some(*part),
            None => {}
        }
    }
    let value = value.filter(|value| !value.is_empty());
    let Some(value) = value else {
        return Err(format!("\"{text}\" has no value, expected one as (5, ms)"));
    };
    let (value, unit) = match (value, unit) {
        (value, Some(unit)) => (value, unit),
        (value, None) => with_unit(value),
    };
    let unit = unit.trim_matches(['\'', '"']);
    let Some((_, factor)) = UNITS.iter().find(|(known, _)| *known == unit) else {
        let known: Vec<_> = UNITS.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "\"{unit}\" is no unit of time, expected one of {}",
            known.join(", ")
        ));
    };
    let value = value.trim().trim_matches(['\'', '"']).replace('$', "");
    Ok(if *factor == "1" {
        value
    } else {
        format!("({value}) * {factor}")
    })
}

/// `5 ms` and `5ms` as a value and a unit; seconds without one.
fn with_unit(text: &str) -> (&str, &str) {
    let letters = text.chars().rev().take_while(|c| c.is_alphabetic());
    let cut = text.len() - letters.map(char::len_utf8).sum::<usize>();
    let (value, unit) = text.split_at(cut);
    let is_unit = UNITS.iter().any(|(known, _)| *known == unit);
    if is_unit
        && value
            .trim_end()
            .ends_with(|c: char| c.is_ascii_digit() || c == '.' || c == ')')
    {
        (value.trim_end(), unit)
    } else {
        (text, "s")
    }
}

/// Parts between commas and semicolons outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    text.split(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0 && matches!(letter, ',' | ';')
    })
    .map(str::trim)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn values_with_units_are_seconds() {
        for (text, expected) in [
            ("5", "5"),
            ("5 ms", "(5) * 1e-3"),
            ("5ms", "(5) * 1e-3"),
            ("(5,ms)", "(5) * 1e-3"),
            ("(5, us, max)", "(5) * 1e-6"),
            ("(value=2.5, unit=ns, statQ=mean)", "(2.5) * 1e-9"),
            ("(expr=max(2, n), unit=s)", "max(2, n)"),
            ("($x, ms)", "(x) * 1e-3"),
            ("2 * items", "2 * items"),
        ] {
            assert_eq!(seconds(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "()", "(5, furlong)", "(unit=ms)", "(volume=5)"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}

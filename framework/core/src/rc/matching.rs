//! Which instance or class a user means by a part of its name.

/// Match of a word among names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match<'a> {
    /// The name taken.
    pub name: &'a str,
    /// Names that fit as well; the one taken comes first.
    pub others: Vec<&'a str>,
}

/// The name that a word matches: an equal name, else one that differs only in case, else one that begins with the word,
/// else one that contains it, the last three ignoring case. Of several equally good matches it is the first.
///
/// # Arguments
/// * `names` - in the order that Ccaffeine keeps them: by name
///
/// # Returns
/// `None` if none fits.
///
/// # Source
/// Ccaffeine, `CmdContextCCA.cxx`, `getInstance` and `getClass`.
pub fn find<'a>(word: &str, names: &'a [String]) -> Option<Match<'a>> {
    if let Some(name) = names.iter().find(|name| *name == word) {
        let others = Vec::new();
        return Some(Match { name, others });
    }
    let word = word.to_lowercase();
    let is = |name: &str| name == word;
    let begins = |name: &str| name.starts_with(&word);
    let contains = |name: &str| name.contains(&word);
    let rules: [&dyn Fn(&str) -> bool; 3] = [&is, &begins, &contains];
    rules.iter().find_map(|fits| {
        let mut fitting = names.iter().filter(|name| fits(&name.to_lowercase()));
        let name = fitting.next()?;
        let others = fitting.map(String::as_str).collect();
        Some(Match { name, others })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_rule_that_fits_decides() {
        let names = ["Driver", "driver", "flux", "fluxes", "GodunovFlux"].map(String::from);
        let found = |word| find(word, &names).map(|found| (found.name, found.others));
        assert_eq!(found("driver"), Some(("driver", vec![])));
        assert_eq!(found("DRIVER"), Some(("Driver", vec!["driver"])));
        assert_eq!(found("FLUX"), Some(("flux", vec![])));
        assert_eq!(found("flu"), Some(("flux", vec!["fluxes"])));
        assert_eq!(found("unov"), Some(("GodunovFlux", vec![])));
        assert_eq!(found("x"), Some(("flux", vec!["fluxes", "GodunovFlux"])));
        assert_eq!(found("mesh"), None);
    }
}

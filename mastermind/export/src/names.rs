//! Names of methods as parts of file names.

use mastermind_records::definition::MethodDefinition;

/// `instance.port.method`, with `_` for what a file name should not hold.
pub(crate) fn file_stem(method: &MethodDefinition) -> String {
    plain(&format!(
        "{}.{}.{}",
        method.instance, method.port, method.method
    ))
}

/// The text with `_` for what a file name should not contain.
pub(crate) fn plain(text: &str) -> String {
    let allowed = |c: char| c.is_alphanumeric() || "._-".contains(c);
    text.chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect()
}

/// The names, with `_2` and so on behind those that are taken before them.
pub(crate) fn distinct(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for name in names {
        let mut candidate = name.clone();
        let mut n = 2;
        while distinct.contains(&candidate) {
            candidate = format!("{name}_{n}");
            n += 1;
        }
        distinct.push(candidate);
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_distinct() {
        let names = ["seq", "q", "q", "seq", "q_2"].map(str::to_owned);
        assert_eq!(distinct(names), ["seq", "q", "q_2", "seq_2", "q_2_2"]);
    }
}

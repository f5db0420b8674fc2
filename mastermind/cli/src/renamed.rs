//! Verbs that had another name, or that have two.
//!
//! An earlier name still works, hidden from help and completions, and prints the present one on standard error. `fit
//! --evolve` is another name of `correct`, for a reader who looks for it where models are fitted.

use std::ffi::OsString;

/// Earlier names of verbs, and the present ones.
const RENAMED: [(&str, &str); 2] = [("transform", "convert"), ("use", "redirect")];

/// The arguments of the program with the present name of their verb.
///
/// # Returns
/// The arguments, and a note if an earlier name was used.
pub fn present(arguments: impl IntoIterator<Item = OsString>) -> (Vec<OsString>, Option<String>) {
    let mut arguments: Vec<_> = arguments.into_iter().collect();
    let Some(verb) = arguments.get(1).and_then(|verb| verb.to_str()) else {
        return (arguments, None);
    };
    if let Some((earlier, present)) = RENAMED.iter().find(|(earlier, _)| *earlier == verb) {
        arguments[1] = (*present).into();
        let note = format!("note: \"mastermind {earlier}\" is now \"mastermind {present}\"");
        return (arguments, Some(note));
    }
    if verb == "fit"
        && let Some(at) = arguments.iter().position(|argument| argument == "--evolve")
    {
        arguments.remove(at);
        arguments[1] = "correct".into();
    }
    (arguments, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_names_become_present_ones() {
        for (typed, taken, is_noted) in [
            ("use 12 blas=l.so", "redirect 12 blas=l.so", true),
            ("transform use -o use", "convert use -o use", true),
            ("run use", "run use", false),
            ("fit --evolve a.toml b.csv", "correct a.toml b.csv", false),
            ("fit a.csv", "fit a.csv", false),
            ("", "", false),
        ] {
            let words = std::iter::once("mastermind").chain(typed.split_whitespace());
            let (found, note) = present(words.map(OsString::from));
            let words = std::iter::once("mastermind").chain(taken.split_whitespace());
            let expected: Vec<_> = words.map(OsString::from).collect();
            assert_eq!((found, note.is_some()), (expected, is_noted), "{typed}");
        }
    }
}

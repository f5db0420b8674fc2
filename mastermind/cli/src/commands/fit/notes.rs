//! The notes of a table of models: a mark and the figures stand in the row, the sentence once below the table.
//!
//! ```text
//! NOTES
//! a 451, 0.96
//! a 466, 1.02; b
//!
//! a  n calls far above the others set aside, m % of the time
//! b  not validated: 3 coordinates, at least 5 would tell families apart
//! ```

use mastermind_models::{Model, Note};

/// Names of the figures of a sentence, in their order.
const LETTERS: [&str; 4] = ["n", "m", "k", "l"];

/// The sentences of all models, in the order of their first use.
pub struct Notes {
    sentences: Vec<Sentence>,
}

/// Notes that differ in their figures only.
struct Sentence {
    /// With letters for the figures.
    template: String,
    /// As the first model has it.
    first: String,
    /// How many models have it.
    n_models: usize,
}

impl Notes {
    /// The notes of these models.
    pub fn of(models: &[Model]) -> Self {
        let mut sentences: Vec<Sentence> = Vec::new();
        for note in models.iter().flat_map(|model| &model.notes) {
            let (template, _) = split(&text(note));
            match sentences.iter_mut().find(|s| s.template == template) {
                Some(sentence) => sentence.n_models += 1,
                None => sentences.push(Sentence {
                    template,
                    first: text(note),
                    n_models: 1,
                }),
            }
        }
        Self { sentences }
    }

    /// The notes of one model as a cell: `a 451, 0.96; b`. If only one model has a sentence, the figures are in the
    /// sentence.
    pub fn cell(&self, notes: &[Note]) -> String {
        let marks = notes.iter().filter_map(|note| {
            let note = text(note);
            let (template, figures) = split(&note);
            let place = self.sentences.iter().position(|s| s.template == template)?;
            let mark = mark(place);
            Some(
                match figures.is_empty() || self.sentences[place].n_models == 1 {
                    true => mark,
                    false => format!("{mark} {}", figures.join(", ")),
                },
            )
        });
        marks.collect::<Vec<_>>().join("; ")
    }

    /// Mark and sentence of each.
    pub fn sentences(&self) -> impl Iterator<Item = (String, &str)> {
        let sentences = self.sentences.iter().enumerate();
        sentences.map(|(place, sentence)| {
            let text = match sentence.n_models {
                1 => sentence.first.as_str(),
                _ => sentence.template.as_str(),
            };
            (mark(place), text)
        })
    }
}

/// The note without a number that has a column.
fn text(note: &Note) -> String {
    match note {
        Note::NoSize { .. } => "constant, the mean of its calls: no parameter is a number".into(),
        _ => note.to_string(),
    }
}

/// `a` to `z`, then `aa`.
fn mark(place: usize) -> String {
    let letter = char::from(b'a' + (place % 26) as u8);
    match place / 26 {
        0 => letter.into(),
        more => mark(more - 1) + &letter.to_string(),
    }
}

/// A note with letters for its figures, and the figures. Numbers in quotes or names are no figures, nor are words for
/// none or one: the sentence is another one then.
fn split(note: &str) -> (String, Vec<&str>) {
    let (mut template, mut figures) = (String::new(), Vec::new());
    let (mut rest, mut is_quoted) = (note, false);
    while let Some(first) = rest.chars().next() {
        let is_in_name = template.ends_with(|c: char| c.is_alphanumeric() || "_.-".contains(c));
        let is_word = rest.starts_with("0 s") || rest.starts_with("1 coordinate ");
        let is_figure = first.is_ascii_digit() && !is_in_name && !is_quoted && !is_word;
        let is_last = figures.len() == LETTERS.len();
        if is_figure && !is_last {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != 'e');
            let figure = &rest[..end.unwrap_or(rest.len())];
            template += LETTERS[figures.len()];
            figures.push(figure);
            rest = &rest[figure.len()..];
            // One as many.
            if let Some(after) = rest.strip_prefix(" call ") {
                template += " calls ";
                rest = after;
            }
            continue;
        }
        is_quoted ^= first == '"';
        template.push(first);
        rest = &rest[first.len_utf8()..];
    }
    (template, figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_leaves_its_sentence() {
        let (template, figures) =
            split("451 calls far above the others set aside, 0.96 % of the time");
        assert_eq!(
            template,
            "n calls far above the others set aside, m % of the time"
        );
        assert_eq!(figures, ["451", "0.96"]);
        assert_eq!(
            split("1 call of 0 s, too short").0,
            split("12 calls of 0 s, too short").0
        );
        let one = "constant: 1 coordinate was measured";
        assert_eq!(split(one), (one.into(), vec![]));
        // Names keep their digits.
        let (template, figures) = split("\"q 2\" and \"r3\" apart: q2 = 4e5 nor r_3 = 7.5; s");
        assert_eq!(template, "\"q 2\" and \"r3\" apart: q2 = n nor r_3 = m; s");
        assert_eq!(figures, ["4e5", "7.5"]);
    }

    #[test]
    fn marks_do_not_end() {
        let marks = [0, 25, 26, 51, 52].map(mark);
        assert_eq!(marks, ["a", "z", "aa", "az", "ba"]);
    }
}

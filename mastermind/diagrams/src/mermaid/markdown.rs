//! Flowcharts in a Markdown file, by their number or the heading above them.

use crate::diagram::DiagramError;

/// A block of Mermaid.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    heading: String,
    /// The line before it, from 1: the number of lines before its first.
    line: usize,
    text: String,
}

/// The text of one flowchart of a Markdown file, with as many lines in front as in the file, and its
/// heading.
///
/// # Arguments
/// * `wanted` - its number from 1, or its heading; without one, the file must contain only one
///
/// # Errors
/// [`DiagramError::NoSuchFlowchart`], with those that there are.
pub fn flowchart_of_markdown(
    text: &str,
    wanted: Option<&str>,
) -> Result<(String, String), DiagramError> {
    let blocks: Vec<Block> = blocks(text)
        .into_iter()
        .filter(Block::is_flowchart)
        .collect();
    let found = match wanted.map(str::trim) {
        None if blocks.len() == 1 => blocks.first(),
        None => None,
        Some(wanted) => {
            let number = wanted.parse::<usize>().ok();
            let by_number = number.and_then(|number| blocks.get(number.checked_sub(1)?));
            by_number.or_else(|| blocks.iter().find(|block| is_same(&block.heading, wanted)))
        }
    };
    match found {
        Some(block) => {
            let text = "\n".repeat(block.line) + &block.text;
            Ok((text, block.heading.clone()))
        }
        None => Err(DiagramError::NoSuchFlowchart {
            wanted: wanted.map(str::to_owned),
            known: blocks.into_iter().map(|block| block.heading).collect(),
        }),
    }
}

/// Whether a heading is meant, as it is written or as an address in the page writes it (`the-heading`).
fn is_same(heading: &str, wanted: &str) -> bool {
    let slug = |text: &str| -> String {
        let letters = text
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        letters
            .collect::<String>()
            .trim()
            .to_lowercase()
            .replace(' ', "-")
    };
    heading.eq_ignore_ascii_case(wanted)
        || (!slug(wanted).is_empty() && slug(heading) == slug(wanted))
}

impl Block {
    fn is_flowchart(&self) -> bool {
        let mut lines = self.text.lines().map(str::trim).peekable();
        if lines.peek() == Some(&"---") {
            lines.next();
            let _ = lines.by_ref().take_while(|line| *line != "---").count();
        }
        let mut lines = lines
            .skip_while(|line| line.is_empty() || line.starts_with("%%") || line.starts_with('}'));
        lines
            .next()
            .is_some_and(|line| line.starts_with("graph") || line.starts_with("flowchart"))
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut heading = String::new();
    let mut before = "";
    let mut open: Option<(String, Option<Block>)> = None;
    for (line, number) in text.lines().zip(1..) {
        let trimmed = line.trim();
        match &mut open {
            Some((fence, block)) => {
                let rest = trimmed.strip_prefix(fence.as_str());
                let is_end = rest.is_some_and(|rest| rest.chars().all(|c| fence.starts_with(c)));
                if is_end {
                    blocks.extend(block.take());
                    open = None;
                } else if let Some(block) = block {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
            }
            None => {
                if let Some((fence, kind)) = fence(trimmed) {
                    let block = (kind == "mermaid").then(|| Block {
                        heading: heading.clone(),
                        line: number,
                        text: String::new(),
                    });
                    open = Some((fence, block));
                } else if let Some(title) = hashed(trimmed) {
                    title.clone_into(&mut heading);
                } else if !before.is_empty() && is_underline(trimmed) {
                    before.clone_into(&mut heading);
                }
            }
        }
        before = trimmed;
    }
    blocks
}

/// The signs that open a block of code, and its language in small letters.
fn fence(line: &str) -> Option<(String, String)> {
    let sign = line
        .chars()
        .next()
        .filter(|c| matches!(c, '`' | '~' | ':'))?;
    let n = line.chars().take_while(|c| *c == sign).count();
    let kind = line[n..].trim().trim_start_matches(['{', '.']);
    let end = kind
        .find(|c: char| !c.is_alphanumeric())
        .unwrap_or(kind.len());
    let kind = kind[..end].to_lowercase();
    // Three colons also open other blocks.
    (n >= 3 && (sign != ':' || kind == "mermaid")).then(|| (line[..n].to_owned(), kind))
}

/// The title of `## title ##`.
fn hashed(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let n = line.len() - title.len();
    ((1..=6).contains(&n) && title.starts_with(' '))
        .then(|| title.trim().trim_end_matches('#').trim())
}

fn is_underline(line: &str) -> bool {
    line.len() >= 3 && (line.chars().all(|c| c == '=') || line.chars().all(|c| c == '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Design\n\n```mermaid\nflowchart TD\n a --> b\n```\n\nThe Second\n----------\n~~~mermaid\n\
        sequenceDiagram\n~~~\n~~~{.mermaid}\ngraph LR\n c\n~~~\n";

    #[test]
    fn a_flowchart_is_found_by_number_and_heading() {
        for (wanted, heading, line) in [
            ("1", "Design", 4),
            ("design", "Design", 4),
            ("2", "The Second", 14),
            ("The Second", "The Second", 14),
            ("the-second", "The Second", 14),
        ] {
            let (text, found) = flowchart_of_markdown(PAGE, Some(wanted)).expect(wanted);
            assert_eq!(found, heading, "{wanted}");
            let n = text.lines().take_while(|line| line.is_empty()).count();
            assert_eq!(n + 1, line, "{wanted}");
        }
    }

    #[test]
    fn one_that_is_not_there_is_refused_with_those_that_are() {
        for wanted in [None, Some("3"), Some("0"), Some("other")] {
            let error = flowchart_of_markdown(PAGE, wanted).expect_err("none");
            assert!(error.to_string().contains("2 \"The Second\""), "{error}");
        }
        let alone = flowchart_of_markdown("```mermaid\ngraph LR\n```\n", None);
        assert!(alone.is_ok());
    }
}

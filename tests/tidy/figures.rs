//! How readable the sources are, in figures: printed by `cargo xtask tidy --figures`.
//!
//! Sources are formatted, so that a function ends with the first closing brace as far left as its first line.

use std::fs;

use super::{Line, Source, files_in, root};

/// Words that mean nothing to a reader who does not know this project, with the most lines of comments and of the guide that may have them:
/// fewer may come, never more. What to write instead is in CONTRIBUTING.md.
pub const PRIVATE_WORDS: [(&str, usize); 9] = [
    ("told", 11),
    ("tells", 5),
    ("tell", 13),
    ("beside", 26),
    ("looks", 17),
    ("kinds", 7),
    ("joined", 17),
    ("on trial", 3),
    ("taken for", 5),
];

/// The same words as a part of the name of a variable, a function, a type or a constant, with the most lines of code
/// that may have such names.
pub const PRIVATE_NAMES: [(&str, usize); 6] = [
    ("told", 280),
    ("tell", 25),
    ("tells", 7),
    ("beside", 111),
    ("MOST", 69),
    ("LEAST", 81),
];

/// Lines from which on a file needs a head of more than one line.
const LONG_FILE: usize = 250;

/// Longest files, which need comments most.
const N_HARDEST: usize = 40;

/// The lines of comments and of the guide that contain a word.
pub fn lines_with(word: &str, sources: &[Source]) -> usize {
    let comments = sources.iter().flat_map(|source| &source.lines);
    let comments = comments.filter(|line| line.is_comment);
    let guide = guide();
    let guide = guide.iter().flat_map(|text| prose(text));
    let texts = comments.map(|line| &*line.text).chain(guide);
    texts.filter(|text| has_words(text, word)).count()
}

/// The lines of code that have a name of which `word` is a part.
pub fn lines_with_name(word: &str, sources: &[Source]) -> usize {
    let lines = sources.iter().flat_map(|source| &source.lines);
    let code = lines.filter(|line| !line.is_comment);
    code.filter(|line| has_name(&line.text, word)).count()
}

/// Whether `word` is a part of a name outside the texts that begin and end on the line.
fn has_name(line: &str, word: &str) -> bool {
    let mut parts = line
        .split('"')
        .step_by(2)
        .flat_map(|code| code.split(|c: char| !c.is_alphanumeric()));
    parts.any(|part| part == word)
}

/// The documents for readers.
fn guide() -> Vec<String> {
    let pages = files_in(&root().join("docs/src"));
    let pages = pages
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "md"));
    let documents =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name));
    let read = |path: std::path::PathBuf| fs::read_to_string(path).expect("a page");
    pages.chain(documents).map(read).collect()
}

/// The lines outside blocks of code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

fn has_words(text: &str, words: &str) -> bool {
    let text = text.to_lowercase();
    text.match_indices(words).any(|(at, _)| {
        let is_end = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        is_end(text[..at].chars().next_back()) && is_end(text[at + words.len()..].chars().next())
    })
}

/// The figures, a line each.
pub fn figures(sources: &[Source]) -> Vec<String> {
    let of_code: Vec<&Source> = sources.iter().filter(|source| is_code(source)).collect();
    let lines = |is_wanted: fn(&Line) -> bool| {
        let all = sources.iter().flat_map(|source| &source.lines);
        all.filter(|line| is_wanted(line)).count()
    };
    let n_code = lines(|line| !line.is_test && !line.is_comment && !line.text.trim().is_empty());
    let n_tests = lines(|line| line.is_test && !line.is_comment && !line.text.trim().is_empty());
    let functions = of_code.iter().flat_map(|source| function_lengths(source));
    let functions: Vec<usize> = functions.collect();
    let files: Vec<usize> = of_code.iter().map(|source| source.lines.len()).collect();
    let mut hardest = of_code.clone();
    hardest.sort_by_key(|source| std::cmp::Reverse(source.lines.len()));
    hardest.truncate(N_HARDEST);
    let comments: Vec<f64> = hardest
        .iter()
        .map(|source| comments_in_100(source))
        .collect();
    let least = comments.iter().copied().fold(f64::INFINITY, f64::min);
    let short_heads = of_code
        .iter()
        .filter(|source| source.lines.len() > LONG_FILE);
    let short_heads = short_heads.filter(|source| head_lines(source) < 2).count();
    let blocks: Vec<usize> = of_code
        .iter()
        .flat_map(|source| doc_words(source))
        .collect();
    let words = blocks.iter().sum::<usize>() as f64 / blocks.len().max(1) as f64;
    vec![
        format!("lines of code                        {n_code}"),
        format!(
            "lines of tests in 100 of code        {:.0}",
            100.0 * n_tests as f64 / n_code as f64
        ),
        format!(
            "lines a function, of nine in ten     {}",
            of_nine_in_ten(functions.clone())
        ),
        format!(
            "lines of the longest function        {}",
            functions.iter().max().unwrap_or(&0)
        ),
        format!(
            "lines a file, of nine in ten         {}",
            of_nine_in_ten(files.clone())
        ),
        format!(
            "lines of the longest file            {}",
            files.iter().max().unwrap_or(&0)
        ),
        format!("comments in 100 lines, {N_HARDEST} longest    {least:.1} at least"),
        format!("files over {LONG_FILE} lines, head of one    {short_heads}"),
        format!("words a block of documentation       {words:.1}"),
    ]
}

fn is_code(source: &Source) -> bool {
    source.lines.iter().any(|line| !line.is_test)
}

/// The value that nine in ten do not exceed.
fn of_nine_in_ten(mut values: Vec<usize>) -> usize {
    values.sort_unstable();
    let place = (values.len() * 9).div_ceil(10).saturating_sub(1);
    values.get(place).copied().unwrap_or(0)
}

/// Lines of each function outside tests.
fn function_lengths(source: &Source) -> Vec<usize> {
    let lines = &source.lines;
    let starts = lines.iter().enumerate().filter(|(_, line)| {
        let text = line.text.trim_start();
        !line.is_test && !line.is_comment && super::has_word(text, "fn ") && !text.ends_with(';')
    });
    let length = |(start, line): (usize, &Line)| {
        let text = &line.text;
        let end = format!("{}}}", &text[..text.len() - text.trim_start().len()]);
        let last = lines[start..].iter().position(|line| line.text == end)?;
        Some(last + 1)
    };
    starts.filter_map(length).collect()
}

/// Lines of comments that are no documentation, in 100 lines of code.
fn comments_in_100(source: &Source) -> f64 {
    let own = source.lines.iter().filter(|line| !line.is_test);
    let (comments, code): (Vec<_>, Vec<_>) = own.partition(|line| line.is_comment);
    let is_documentation = |line: &&&Line| {
        let text = line.text.trim_start();
        text.starts_with("///") || text.starts_with("//!")
    };
    let n = comments
        .iter()
        .filter(|line| !is_documentation(line))
        .count();
    100.0 * n as f64 / code.len().max(1) as f64
}

fn head_lines(source: &Source) -> usize {
    let head = source
        .lines
        .iter()
        .take_while(|line| line.text.starts_with("//!"));
    head.filter(|line| line.text.len() > 4).count()
}

/// Words of each block of documentation.
fn doc_words(source: &Source) -> Vec<usize> {
    let mut blocks = Vec::new();
    let mut is_open = false;
    for line in source.lines.iter().filter(|line| !line.is_test) {
        let text = line.text.trim_start().strip_prefix("///");
        match (text, blocks.last_mut()) {
            (Some(text), Some(words)) if is_open => *words += text.split_whitespace().count(),
            (Some(text), _) => blocks.push(text.split_whitespace().count()),
            _ => {}
        }
        is_open = text.is_some();
    }
    blocks
}

#[test]
fn figures_count_what_they_say() {
    let text = "//! Head.\n//! More.\n/// Two words.\n/// Three more words.\nfn f() {\n    // Why.\n    g();\n}\n\
                #[cfg(test)]\nmod tests {\n    fn h() {\n    }\n}\n";
    let source = Source::parse("framework/x/src/lib.rs", text);
    assert_eq!(function_lengths(&source), [4]);
    assert_eq!(doc_words(&source), [5]);
    assert_eq!(head_lines(&source), 2);
    assert_eq!(of_nine_in_ten((1..=10).collect()), 9);
    assert!(has_words("It is told.", "told") && !has_words("untold", "told"));
    assert!(has_name("let is_told = 1;", "told") && !has_name("f(\"told\")", "told"));
    assert!(!has_name("let most = 1;", "MOST"));
    assert_eq!(
        prose("a\n```console\ntold\n```\nb").collect::<Vec<_>>(),
        ["a", "b"]
    );
}

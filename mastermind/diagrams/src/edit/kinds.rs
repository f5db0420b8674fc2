//! Elements that may be added, and the words of each.

use serde::Serialize;

/// An element that may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KindOfElement {
    /// As the TOML form calls it.
    pub kind: &'static str,
    /// Its words.
    pub words: &'static [WordOfKind],
    /// Whether it holds a flow.
    pub holds: bool,
}

/// A word of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WordOfKind {
    /// As the TOML form calls it.
    pub word: &'static str,
    /// Initial text in a new element; empty if a new element does not have the word.
    pub begins: &'static str,
}

const fn word(word: &'static str, begins: &'static str) -> WordOfKind {
    WordOfKind { word, begins }
}

const fn kind(kind: &'static str, words: &'static [WordOfKind], holds: bool) -> KindOfElement {
    KindOfElement { kind, words, holds }
}

// Arbitrary sizes: a new element must be valid, and the user will change it.
const BYTES: WordOfKind = word("bytes", "1000");
const GROUP: [WordOfKind; 3] = [
    word("group_first", ""),
    word("group_size", ""),
    word("group_stride", ""),
];
const ROOTED: &[WordOfKind] = &[word("root", "0"), BYTES, GROUP[0], GROUP[1], GROUP[2]];
const WHOLE: &[WordOfKind] = &[BYTES, GROUP[0], GROUP[1], GROUP[2]];
const SEND: &[WordOfKind] = &[
    word("to", "(process + 1) % processes"),
    BYTES,
    word("tag", ""),
];
const FROM: WordOfKind = word("from", "(process + processes - 1) % processes");

/// All that may be added, as the profile has them.
const KINDS: [KindOfElement; 23] = [
    kind("action", &[word("cost", "ms(1)"), word("code", "")], false),
    kind("activity", &[word("of", "")], false),
    kind("decision", &[], true),
    kind("loop", &[word("count", "2"), word("variable", "")], true),
    kind("while", &[word("condition", "process < 0")], true),
    kind("parallel", &[word("threads", "2")], true),
    kind("critical", &[word("lock", "")], true),
    kind("send", SEND, false),
    kind("isend", SEND, false),
    kind("recv", &[FROM, word("tag", ""), word("sender", "")], false),
    kind("irecv", &[FROM, word("tag", "")], false),
    kind("wait", &[], false),
    kind("waitany", &[word("sender", "")], false),
    kind("broadcast", ROOTED, false),
    kind("reduce", ROOTED, false),
    kind("gather", ROOTED, false),
    kind("scatter", ROOTED, false),
    kind("allreduce", WHOLE, false),
    kind("alltoall", WHOLE, false),
    kind("allgather", WHOLE, false),
    kind("reducescatter", WHOLE, false),
    kind("scan", WHOLE, false),
    kind("barrier", &GROUP, false),
];

/// All elements that may be added.
pub fn kinds() -> &'static [KindOfElement] {
    &KINDS
}

/// The element of that name.
pub(crate) fn named(name: &str) -> Option<&'static KindOfElement> {
    KINDS.iter().find(|one| one.kind == name)
}

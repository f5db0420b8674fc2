//! The first word of every entry of a record log.
//!
//! ```text
//! record      bits 0–31 call path | 32–39 words of the entry | 40–43 kind | 44–47 flags | 48–63 check
//! others      bits 0–31 words of the entry |      0          | 40–43 kind |      0      | 48–63 check
//!
//! record      word 0, start (ticks), wall (ticks), MPI (ticks), parameters …, counters …
//! definition  word 0, payload bytes (bits 0–31) and its CRC-32 (bits 32–63), payload padded with zeros to 8 bytes
//! padding     word 0, anything
//! ```
//!
//! The check is the exclusive or of all words of a record (of a definition and of padding: of the first word), folded
//! to 16 bits: any change within one byte is seen for certain, any other with 1 − 2⁻¹⁶.

/// Words of a record before its parameters.
pub const HEAD_WORDS: usize = 4;
/// Most words of a record.
pub const MAX_RECORD_WORDS: usize = 255;

/// Flag of a record: the call returned an error or panicked.
pub const FAILED: u64 = 1 << 44;
/// Flag of a record: MPI time is measured in this thread.
pub const MPI_MEASURED: u64 = 1 << 45;

const KIND_SHIFT: u32 = 40;
const KIND_MASK: u64 = 0xF << KIND_SHIFT;
const CHECK_SHIFT: u32 = 48;
const CHECK_MASK: u64 = 0xFFFF << CHECK_SHIFT;
pub(super) const LENGTH_SHIFT: u32 = 32;

/// Type of an entry of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// One call.
    Record,
    /// A definition in JSON.
    Definition,
    /// Unused space up to the next chunk.
    Padding,
}

impl EntryKind {
    const fn bits(self) -> u64 {
        let kind = match self {
            Self::Record => 1,
            Self::Definition => 2,
            Self::Padding => 3,
        };
        kind << KIND_SHIFT
    }
}

/// First word of a record, its check still 0.
#[inline(always)]
pub const fn record(path: u32, n_words: usize, flags: u64) -> u64 {
    path as u64 | (n_words as u64) << LENGTH_SHIFT | EntryKind::Record.bits() | flags
}

/// First word, check included, of an entry other than a record.
pub const fn other(kind: EntryKind, n_words: u32) -> u64 {
    let head = n_words as u64 | kind.bits();
    head | folded(head)
}

/// The check of an entry whose words (check 0) have this exclusive or, at its place in the first word.
#[inline(always)]
pub const fn folded(xor: u64) -> u64 {
    let half = xor ^ (xor >> 32);
    (half ^ (half >> 16)) << CHECK_SHIFT
}

/// The type of the entry with this first word.
#[inline]
pub const fn kind(head: u64) -> Option<EntryKind> {
    match (head & KIND_MASK) >> KIND_SHIFT {
        1 => Some(EntryKind::Record),
        2 => Some(EntryKind::Definition),
        3 => Some(EntryKind::Padding),
        _ => None,
    }
}

/// Words of the entry with this first word, the first included.
#[inline]
pub const fn n_words(head: u64) -> usize {
    match kind(head) {
        Some(EntryKind::Record) => (head >> LENGTH_SHIFT & 0xFF) as usize,
        _ => (head & 0xFFFF_FFFF) as usize,
    }
}

/// The call path of the record with this first word.
#[inline]
pub const fn path(head: u64) -> u32 {
    head as u32
}

/// Whether the check of the entry holds.
///
/// # Arguments
/// * `words` - all words of a record; at least the first word of any other entry
#[inline]
pub fn is_intact(words: &[u64]) -> bool {
    let Some(&head) = words.first() else {
        return false;
    };
    let covered = match kind(head) {
        Some(EntryKind::Record) => words,
        Some(_) => &words[..1],
        None => return false,
    };
    let xor = covered[1..]
        .iter()
        .fold(head & !CHECK_MASK, |xor, word| xor ^ word);
    folded(xor) == head & CHECK_MASK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(path: u32, flags: u64, rest: &[u64]) -> Vec<u64> {
        let head = record(path, rest.len() + 1, flags);
        let xor = rest.iter().fold(head, |xor, word| xor ^ word);
        let mut words = vec![head | folded(xor)];
        words.extend(rest);
        words
    }

    #[test]
    fn fields_come_back() {
        let words = sealed(u32::MAX, FAILED | MPI_MEASURED, &[u64::MAX; 5]);
        assert_eq!(kind(words[0]), Some(EntryKind::Record));
        assert_eq!((n_words(words[0]), path(words[0])), (6, u32::MAX));
        assert_eq!(words[0] & (FAILED | MPI_MEASURED), FAILED | MPI_MEASURED);
        assert!(is_intact(&words));
    }

    #[test]
    fn every_flipped_byte_is_seen() {
        let words = sealed(
            7,
            0,
            &[0x0123_4567_89AB_CDEF, 1, u64::MAX, 0, 0x8000_0000_0000_0001],
        );
        for word in 0..words.len() {
            for byte in 0..8 {
                for flip in 1..=255u64 {
                    let mut damaged = words.clone();
                    damaged[word] ^= flip << (8 * byte);
                    let same_shape =
                        kind(damaged[0]) == kind(words[0]) && n_words(damaged[0]) == words.len();
                    assert!(
                        !same_shape || !is_intact(&damaged),
                        "word {word}, byte {byte}, flip {flip:#x}"
                    );
                }
            }
        }
    }

    #[test]
    fn zeros_are_no_entry() {
        assert!(!is_intact(&[0; 4]));
        assert!(is_intact(&[other(EntryKind::Padding, 70_000)]));
        assert_eq!(n_words(other(EntryKind::Padding, 70_000)), 70_000);
    }
}

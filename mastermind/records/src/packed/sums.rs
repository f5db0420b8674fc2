//! Sums up the records of a packed block without unpacking them.
//!
//! A profile needs the number of records of each call path, and the sums of their times. A block stores the times as
//! columns ([`super::block`]), so these sums take two columns; the others are skipped. A block that contains anything
//! else than records and definitions is unpacked instead: padding, or words of damage.

use cca_abi::recording::word::{self, EntryKind, HEAD_WORDS};

use super::block::{Sort, parts};
use super::columns::{Bytes, read_column, skip_column};
use crate::path_totals::AlikeSums;

/// Sums up a block.
///
/// # Arguments
/// * `n_words` - words of the block
/// * `is_enough` - whether the sums suffice for records with this first word
/// * `values` - scratch memory
/// * `sums` - receives the sums over the records of each group
///
/// # Returns
/// `None` if the block must be unpacked, or is none.
pub(super) fn sum_up(
    block: &[u8],
    n_words: usize,
    is_enough: impl Fn(u64) -> bool,
    values: &mut Vec<u64>,
    sums: &mut Vec<AlikeSums>,
) -> Option<()> {
    sums.clear();
    let mut bytes = Bytes(block);
    let (mut n_records, mut n_summed) = (0_usize, 0_usize);
    for part in parts(&mut bytes, n_words)? {
        match part.sort {
            Sort::Records => n_records = n_records.checked_add(part.n)?,
            Sort::Definition => n_summed = n_summed.checked_add(part.n_words)?,
            Sort::Words | Sort::Zeros => return None,
        }
    }
    bytes.compressed(0)?;
    let n_groups = bytes.size()?;
    let mut n_grouped = 0_usize;
    for _ in 0..n_groups {
        let head = bytes.number()?;
        let of_group = bytes.size()?;
        bytes.take(1)?;
        let of_record = word::n_words(head);
        n_grouped = n_grouped.checked_add(of_group)?;
        n_summed = n_summed.checked_add(of_group.checked_mul(of_record)?)?;
        let is_record = word::kind(head) == Some(EntryKind::Record) && of_record >= HEAD_WORDS;
        if !is_record || n_summed > n_words || !is_enough(head) {
            return None;
        }
        skip_column(&mut bytes, of_group)?;
        let wall_ticks = sum(&mut bytes, of_group, values)?;
        let mpi_ticks = match head & word::MPI_MEASURED {
            0 => {
                skip_column(&mut bytes, of_group)?;
                None
            }
            _ => Some(sum(&mut bytes, of_group, values)?),
        };
        for _ in HEAD_WORDS..of_record {
            skip_column(&mut bytes, of_group)?;
        }
        sums.push(AlikeSums {
            head,
            n_records: of_group as u64,
            wall_ticks,
            mpi_ticks,
        });
    }
    if n_groups > 1 {
        skip_column(&mut bytes, n_records)?;
    }
    let is_whole = n_summed == n_words && n_grouped == n_records && bytes.0.is_empty();
    is_whole.then_some(())
}

/// Sum of a column, at most `u64::MAX`.
fn sum(bytes: &mut Bytes<'_>, n: usize, values: &mut Vec<u64>) -> Option<u64> {
    if values.len() < n {
        values.resize(n, 0);
    }
    let values = &mut values[..n];
    read_column(bytes, values)?;
    let sum = values.iter().map(|value| u128::from(*value)).sum::<u128>();
    Some(u64::try_from(sum).unwrap_or(u64::MAX))
}

//! The sums of all ranks, brought to the first one through the communicator.

use cca_ports::{CommPort, PortError};
use mastermind_records::{ProfileSums, RankTree};

use crate::tree::join_on_first;

/// Bytes that a double carries as an integer, which every communicator transfers unchanged.
const BYTES_PER_DOUBLE: usize = 6;

/// Adds up the sums of all ranks, in a tree ([`join_on_first`]), as a profile of their logs does. Collective.
///
/// # Arguments
/// * `own` - the sums of this rank; `None` if there are none, which is an error on the first rank
///
/// # Returns
/// The sums of all ranks on the first rank, `None` elsewhere.
///
/// # Errors
/// Errors of the communicator; a rank's sums are missing or damaged.
pub fn gather(
    own: Option<&ProfileSums>,
    comm: &impl CommPort,
) -> Result<Option<ProfileSums>, PortError> {
    let rank = u32::try_from(comm.rank()?).map_err(PortError::failed)?;
    let mut sums = Sums::default();
    // One missing rank makes the whole sum missing.
    sums.push(rank, own.cloned(), add);
    // Bytes that cannot be decoded mean that a part is missing.
    let to_bytes = |sums: &Sums| serde_json::to_vec(sums).unwrap_or_default();
    let whole = join_on_first(sums, comm, to_bytes, |sums, later| {
        match serde_json::from_slice::<Sums>(later) {
            Ok(later) => sums.append(later, add),
            // After all other ranks: nothing is known about the bytes that came instead.
            Err(_) => sums.push(u32::MAX, None, add),
        }
    })?;
    let Some(whole) = whole else {
        return Ok(None);
    };
    let sums = whole.into_joined(add).flatten();
    let missing = || PortError::failed("cannot sum up the run: the sums of a rank are missing");
    sums.map(Some).ok_or_else(missing)
}

type Sums = RankTree<Option<ProfileSums>>;

fn add(sums: &mut Option<ProfileSums>, later: Option<ProfileSums>) {
    match (sums.as_mut(), later) {
        (Some(sums), Some(later)) => sums.join(later),
        _ => *sums = None,
    }
}

/// The length, then the bytes.
pub(crate) fn packed(bytes: &[u8]) -> Vec<f64> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word) as f64
    };
    let mut words = vec![bytes.len() as f64];
    words.extend(bytes.chunks(BYTES_PER_DOUBLE).map(word));
    words
}

pub(crate) fn unpacked(words: &[f64]) -> Vec<u8> {
    let Some((length, words)) = words.split_first() else {
        return Vec::new();
    };
    let word = |word: &f64| (*word as u64).to_le_bytes();
    let mut bytes: Vec<u8> = words
        .iter()
        .flat_map(|w| word(w).into_iter().take(BYTES_PER_DOUBLE))
        .collect();
    bytes.truncate(*length as usize);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        for length in 0..40_u8 {
            let bytes: Vec<u8> = (0..length).map(|k| 255 - k).collect();
            assert_eq!(unpacked(&packed(&bytes)), bytes);
        }
        assert!(unpacked(&[]).is_empty());
    }
}

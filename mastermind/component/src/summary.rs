//! The sums of all ranks, brought to the first one through the communicator.

use std::path::Path;

use cca_ports::{CommPort, PortError, RSlice};
use mastermind_records::ProfileSums;

/// Bytes that a double carries as a whole number, which every communicator passes on as it is.
const BYTES_PER_DOUBLE: usize = 6;

/// Adds up the sums of all ranks, in rank order. Collective.
///
/// # Arguments
/// * `own` - this rank's; `None` if it has none, which the first rank then misses
///
/// # Returns
/// On the first rank the sums of all, elsewhere `None`.
///
/// # Errors
/// The communicator's; a rank's sums are missing or damaged.
pub fn gather(
    own: Option<&ProfileSums>,
    comm: &impl CommPort,
) -> Result<Option<ProfileSums>, PortError> {
    let bytes = own.map(ProfileSums::to_bytes).transpose();
    let words = bytes
        .as_ref()
        .ok()
        .and_then(Option::as_deref)
        .map(packed)
        .unwrap_or_default();
    let gathered = comm.gather(0, RSlice::from_slice(&words))?;
    bytes.map_err(PortError::failed)?;
    let mut all = ProfileSums::default();
    let is_first = !gathered.is_empty();
    for (rank, words) in gathered.iter().enumerate() {
        let origin = format!("rank {rank}");
        let sums = ProfileSums::from_bytes(&unpacked(words), Path::new(&origin));
        all.add(&sums.map_err(PortError::failed)?);
    }
    Ok(is_first.then_some(all))
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

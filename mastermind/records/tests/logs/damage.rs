//! Damaged logs are read as far as they are good.

use crate::common::{HEADER, by_one_and_in_series, calls, read, thrice, write};
use mastermind_records::{Damage, Log, LogIdentity, RecordsError};
use proptest::prelude::*;

const IDENTITY: LogIdentity = LogIdentity { rank: 0, thread: 0 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Every record that lies before the cut is read, nothing else is, and the cut is reported.
    #[test]
    fn truncation_loses_nothing_before_it(calls in calls(), at in any::<prop::sample::Index>()) {
        let directory = tempfile::tempdir().unwrap();
        let written = write(directory.path(), &calls, None, IDENTITY);
        let bytes = std::fs::read(&written.path).unwrap();
        let cut = at.index(bytes.len());
        std::fs::write(&written.path, &bytes[..cut]).unwrap();
        match Log::open(&written.path) {
            Ok(log) => {
                let whole = written.ends.iter().take_while(|end| **end <= cut as u64).count();
                prop_assert_eq!(read(&log).len(), whole);
                for (found, wanted) in read(&log).iter().zip(&written.expected) {
                    prop_assert_eq!(&found.values, &wanted.values);
                    prop_assert_eq!(found.seq, wanted.seq);
                }
                let truncated = log.damage().iter().any(|damage| matches!(damage, Damage::Truncated { .. }));
                prop_assert!(truncated);
            }
            Err(error) => {
                let too_short = matches!(error, RecordsError::TooShort { .. });
                prop_assert!(cut < 4096 && too_short, "{}", error);
            }
        }
    }

    /// A flipped byte among the entries is reported, and costs at most the entry it is in (and what needs that).
    #[test]
    fn a_flipped_byte_costs_one_entry(calls in calls(), at in any::<prop::sample::Index>(), flip in 1u8..) {
        let directory = tempfile::tempdir().unwrap();
        let written = write(directory.path(), &calls, None, IDENTITY);
        let mut bytes = std::fs::read(&written.path).unwrap();
        let place = HEADER as usize + at.index(bytes.len() - HEADER as usize);
        bytes[place] ^= flip;
        std::fs::write(&written.path, &bytes).unwrap();
        let log = Log::open(&written.path).unwrap();
        let found = read(&log);
        // Padding is not covered, and a lost definition takes its records with it.
        let undefined = log.damage().iter().any(|damage| matches!(damage, Damage::Undefined { .. }));
        if log.damage().is_empty() {
            prop_assert_eq!(found, written.expected.clone());
        } else if !undefined {
            prop_assert!(found.len() + 1 >= written.expected.len());
            let wanted: Vec<_> = written.expected.iter().map(|record| (record.start_ns, &record.values)).collect();
            for record in &found {
                prop_assert!(wanted.contains(&(record.start_ns, &record.values)));
            }
        }
    }

    /// Whatever the bytes are, reading them ends, in an error or a log.
    #[test]
    fn garbage_never_panics(
        calls in calls(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..200),
        header_only in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let written = write(directory.path(), &calls, None, IDENTITY);
        let mut bytes = std::fs::read(&written.path).unwrap();
        let range = if header_only { 256 } else { bytes.len() };
        for (at, flip) in flips {
            bytes[at.index(range)] ^= flip;
        }
        std::fs::write(&written.path, &bytes).unwrap();
        if let Ok(log) = Log::open(&written.path) {
            let n = read(&log).len() as u64;
            prop_assert_eq!(n, log.n_records());
            for path in log.definitions().call_paths() {
                log.definitions().call_path_name(path.id);
            }
            for damage in log.damage() {
                prop_assert!(!damage.to_string().is_empty());
            }
        }
    }

    /// Around damage too, records that are alike come together as they come one by one.
    #[test]
    fn series_end_at_damage(
        calls in calls(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..5),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let written = write(directory.path(), &thrice(&calls), None, IDENTITY);
        let mut bytes = std::fs::read(&written.path).unwrap();
        for (at, flip) in flips {
            let place = HEADER as usize + at.index(bytes.len() - HEADER as usize);
            bytes[place] ^= flip;
        }
        std::fs::write(&written.path, &bytes).unwrap();
        let log = Log::open(&written.path).unwrap();
        let [by_one, in_series] = by_one_and_in_series(&log, false);
        prop_assert_eq!(by_one.len() as u64, log.n_records());
        prop_assert_eq!(by_one, in_series);
    }

    /// A damaged committed count loses nothing.
    #[test]
    fn the_count_may_be_wrong(calls in calls(), count in any::<u64>()) {
        let directory = tempfile::tempdir().unwrap();
        let written = write(directory.path(), &calls, None, IDENTITY);
        let mut bytes = std::fs::read(&written.path).unwrap();
        let real = u64::from_ne_bytes(bytes[256..264].try_into().unwrap());
        let count = if count % 2 == 0 { count } else { count % (real + 1) };
        bytes[256..264].copy_from_slice(&count.to_ne_bytes());
        std::fs::write(&written.path, &bytes).unwrap();
        let log = Log::open(&written.path).unwrap();
        // The last entry is as good as one that was not committed when the program was killed.
        prop_assert!(read(&log).len() + 1 >= written.expected.len());
    }
}

#[test]
fn other_files_are_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rank0000-thread00.mmr");
    std::fs::write(&path, b"seq,start_ns").unwrap();
    assert!(
        Log::open(&path)
            .unwrap_err()
            .to_string()
            .contains("12 bytes, expected at least 4096")
    );
    std::fs::write(&path, vec![b'x'; 8192]).unwrap();
    let error = Log::open(&path).unwrap_err().to_string();
    assert!(
        error.contains("begins with \"xxxxxxxx\", expected \"MMRECORD\""),
        "{error}"
    );
    std::fs::remove_file(&path).unwrap();
    write(directory.path(), &[], None, IDENTITY);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 7;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..24]);
    bytes[24..32].copy_from_slice(&u64::from(hasher.finalize()).to_ne_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let error = Log::open(&path).unwrap_err().to_string();
    assert!(
        error.contains("layout version 7, expected 1 to 2"),
        "{error}"
    );
}

//! Any bytes as a container, and as a block of one: opened, checked and read to the end without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mastermind_records::{Run, packed};

fuzz_target!(|bytes: &[u8]| {
    if let [low, high, block @ ..] = bytes {
        let _ = packed::is_block(block, u16::from_le_bytes([*low, *high]));
    }
    let Ok(directory) = tempfile::tempdir() else {
        return;
    };
    let path = directory.path().join("any").with_extension(packed::PACKED_EXTENSION);
    if std::fs::write(path, bytes).is_err() {
        return;
    }
    if let Ok(run) = Run::open(directory.path()) {
        for log in run.logs() {
            assert!(log.records().count() as u64 <= log.n_records());
        }
    }
});

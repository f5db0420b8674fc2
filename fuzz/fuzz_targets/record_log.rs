//! Any bytes as a record log: opened, checked and read to the end without a panic.

#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use mastermind_records::{ExclusiveTimes, Log};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut file) = tempfile::NamedTempFile::new() else {
        return;
    };
    if file.write_all(bytes).is_err() {
        return;
    }
    let Ok(log) = Log::open(file.path()) else {
        return;
    };
    for (record, exclusive_ns) in ExclusiveTimes::new(&log) {
        assert!(exclusive_ns <= record.wall_ns);
        let _ = record.parameters().map(|value| value.as_f64()).sum::<f64>();
        let _ = log.definitions().call_path_name(record.call_path);
    }
    let _ = log
        .damage()
        .iter()
        .map(|damage| damage.to_string().len())
        .sum::<usize>();
});

//! Any bytes as Criterion's files: looked at and read without a panic, and what was looked at can be read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mastermind_models::{Format, Metric, SampleSet, Survey, Wanted};

fuzz_target!(|bytes: &[u8]| {
    let wanted = Wanted::new(Metric::Wall);
    let mut survey = Survey::default();
    if survey.look("any", Format::Criterion, bytes, &wanted).is_err() {
        return;
    }
    let mut set = SampleSet::new(Metric::Wall);
    let read = survey.read("any", Format::Criterion, bytes, &wanted, &mut set);
    let aside = read.expect("the same bytes again");
    for samples in set.finish() {
        // Each value that was not taken was told.
        let own = aside.iter().filter(|aside| aside.method == samples.method);
        assert_eq!(samples.n_refused, own.map(|aside| aside.count).sum::<u64>());
    }
});

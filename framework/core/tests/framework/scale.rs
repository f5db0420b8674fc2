//! Ten thousand components are made, connected and destroyed in well under two seconds.

use std::time::{Duration, Instant};

use crate::components::{add, framework, number, wire};

const N: usize = 10_000;

#[test]
fn ten_thousand_components_in_under_two_seconds() {
    let started = Instant::now();
    let framework = framework();
    let name = |i: usize| format!("adder{i}");
    for i in 0..N {
        add(&framework, &name(i), "test.Adder");
    }
    let created = started.elapsed();
    for i in 1..N {
        // In bunches: the call goes as deep as a chain is long.
        if i % 100 > 0 {
            framework
                .connect(&wire(&name(i - 1), "next", &name(i), "number"))
                .unwrap();
        }
        // Looking up what is not there costs no more with many instances.
        let nobody = wire("nobody", "next", &name(i), "number");
        assert!(framework.connect(&nobody).is_err());
    }
    let connected = started.elapsed();
    assert_eq!(framework.connections().len(), N - N / 100);
    assert_eq!(number(&framework, &name(0)), 100);
    let before = Instant::now();
    drop(framework);
    println!(
        "{N} components: created after {created:?}, connected after {connected:?}, destroyed in {:?}",
        before.elapsed()
    );
    assert!(connected < Duration::from_secs(2), "{connected:?}");
    assert!(before.elapsed() < Duration::from_secs(2));
}

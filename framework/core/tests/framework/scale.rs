//! Ten thousand components at once; how long that takes is measured by `benches/scale.rs`.

use crate::components::{add, framework, number, wire};

const N: usize = 10_000;

#[test]
fn ten_thousand_components_are_made_connected_and_destroyed() {
    let framework = framework();
    let name = |i: usize| format!("adder{i}");
    for i in 0..N {
        add(&framework, &name(i), "test.Adder");
    }
    for i in 1..N {
        // In bunches: the call goes as deep as a chain is long.
        if i % 100 > 0 {
            framework
                .connect(&wire(&name(i - 1), "next", &name(i), "number"))
                .unwrap();
        }
        let nobody = wire("nobody", "next", &name(i), "number");
        assert!(framework.connect(&nobody).is_err());
    }
    assert_eq!(framework.instances().len(), N);
    assert_eq!(framework.connections().len(), N - N / 100);
    for bunch in 0..N / 100 {
        assert_eq!(number(&framework, &name(100 * bunch)), 100);
    }
    framework.shutdown_framework().unwrap();
    assert!(framework.instances().is_empty());
}

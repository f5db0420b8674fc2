//! The sizes are the requested ones, and the arrays contain a flow.

use hydro_ports::{NVAR, States};
use hydro_size_sweep::{Random, fill, shape, shuffled, sizes};
use proptest::prelude::*;

proptest! {
    #[test]
    fn sizes_spread_over_the_range(seed in any::<u64>(), n in 2usize..60, decades in 0.1f64..4.0) {
        let (smallest, largest) = (1e3, 1e3 * 10f64.powf(decades));
        let sizes = sizes(smallest, largest, n, &mut Random::new(seed));
        prop_assert_eq!(sizes.len(), n);
        prop_assert!(sizes.is_sorted());
        prop_assert_eq!((sizes[0], sizes[n - 1]), (smallest, largest));
        // No gap of more than two steps.
        let step = (largest / smallest).powf(1.0 / (n - 1) as f64);
        prop_assert!(sizes.windows(2).all(|pair| pair[1] / pair[0] <= step * step * 1.000_001));
    }

    #[test]
    fn arrays_have_about_their_size(seed in any::<u64>(), size in 200f64..1e7) {
        let found = shape(size, &mut Random::new(seed)).len() as f64;
        prop_assert!((found / size - 1.0).abs() < 0.45, "{found} of {size}");
        if size > 1e5 {
            prop_assert!((found / size - 1.0).abs() < 0.02, "{found} of {size}");
        }
    }

    #[test]
    fn orders_hold_each_once(seed in any::<u64>(), n in 0usize..50) {
        let mut order = shuffled(n, &mut Random::new(seed));
        order.sort_unstable();
        prop_assert_eq!(order, (0..n).collect::<Vec<_>>());
    }
}

#[test]
fn the_field_is_physical_and_of_its_seed() {
    let mut random = Random::new(3);
    let shape = shape(5e3, &mut random);
    let (mut values, mut again) = (vec![0.0; shape.len()], vec![0.0; shape.len()]);
    fill(shape, &mut values, &mut Random::new(5));
    fill(shape, &mut again, &mut Random::new(5));
    assert_eq!(values, again);
    for variable in [0, 3] {
        let plane = &values[variable * shape.plane()..][..shape.plane()];
        assert!(
            plane.iter().all(|value| *value > 0.5),
            "density and pressure"
        );
        assert!(plane.iter().any(|value| *value > 1.8), "a shock");
    }
    assert_eq!(
        States::new(shape, &values).expect("an array").len() % NVAR,
        0
    );
}

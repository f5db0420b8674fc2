//! Links that are known are found again.

use super::*;
use crate::machine::Rendezvous;

fn sizes() -> impl Iterator<Item = u64> {
    (3..22).flat_map(|k| [1_u64 << k, 3 << (k - 1)])
}

/// The measurements of a link, times some noise.
fn measured(link: &Link, noise: f64) -> Vec<MessageTimes> {
    let mut state = 12345_u64;
    let mut factor = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        1.0 + noise * ((state >> 33) as f64 / (1_u64 << 31) as f64 - 0.5)
    };
    let message = |bytes: u64| {
        let mut around = |ns: u64| (0..5).map(|_| ns as f64 * factor()).collect::<Vec<_>>();
        MessageTimes {
            bytes,
            one_way_ns: around(link.one_way_ns(bytes)),
            send_ns: around(link.send_overhead_ns + link.bytes_overhead_ns(bytes)),
            receive_ns: around(link.receive_overhead_ns),
            between_ns: around(link.gap_ns + link.bytes_gap_ns(bytes)),
        }
    };
    let mut message = message;
    sizes().map(&mut message).collect()
}

fn known() -> Link {
    let piece = |above_bytes, added_ns, gap_per_byte_ns| Piece {
        above_bytes,
        added_ns,
        gap_per_byte_ns,
    };
    Link {
        latency_ns: 400,
        send_overhead_ns: 250,
        receive_overhead_ns: 150,
        gap_ns: 300,
        gap_per_byte_ns: 0.2,
        overhead_per_byte_ns: 0.05,
        rendezvous_bytes: 4096,
        rendezvous: Rendezvous::default(),
        pieces: Pieces::new(&[piece(4096, 900.0, 0.08)]).expect("one"),
    }
}

#[test]
fn the_parameters_of_a_link_are_found() {
    let known = known();
    let fitted = fit_link(&measured(&known, 0.0), Some(4096)).expect("a link");
    let link = fitted.link;
    // Whole nanoseconds: the bytes of small messages take none or a few, which may be fitted as a range of its
    // own.
    assert!(link.latency_ns.abs_diff(400) <= 15, "{link:?}");
    assert!(link.send_overhead_ns.abs_diff(250) <= 15, "{link:?}");
    assert_eq!(link.receive_overhead_ns, 150);
    assert!(link.gap_ns.abs_diff(300) <= 15, "{link:?}");
    assert!((link.overhead_per_byte_ns - 0.05).abs() < 0.01, "{link:?}");
    for bytes in sizes() {
        let (found, expected) = (link.one_way_ns(bytes), known.one_way_ns(bytes));
        assert!(
            found.abs_diff(expected) <= 5 + expected / 100,
            "{bytes}: {found} {expected}"
        );
    }
    assert!(fitted.largest_error_percent < 1.0, "{fitted:?}");
}

#[test]
fn noise_leaves_a_link_that_predicts() {
    let known = known();
    let link = fit_link(&measured(&known, 0.2), Some(4096))
        .expect("a link")
        .link;
    for bytes in sizes() {
        let (found, expected) = (
            link.one_way_ns(bytes) as f64,
            known.one_way_ns(bytes) as f64,
        );
        assert!(
            (found / expected - 1.0).abs() < 0.15,
            "{bytes}: {found} {expected}"
        );
    }
}

#[test]
fn a_line_is_found_whatever_disturbs_some_sizes() {
    let mut times: Vec<_> = measured(&known(), 0.0);
    times.retain(|times| times.bytes <= 4096);
    for times in times.iter_mut().step_by(4) {
        times.one_way_ns.iter_mut().for_each(|ns| *ns *= 30.0);
    }
    let line = middle_line(&times.iter().collect::<Vec<_>>(), 0);
    assert!((line.slope_ns / 0.2 - 1.0).abs() < 0.2, "{line:?}");
    assert!((line.constant_ns / 800.0 - 1.0).abs() < 0.2, "{line:?}");
    // Times that fall with the size.
    times
        .iter_mut()
        .for_each(|times| times.one_way_ns = vec![1e6 / times.bytes as f64]);
    let line = middle_line(&times.iter().collect::<Vec<_>>(), 0);
    assert!(line.slope_ns == 0.0 && line.constant_ns > 0.0, "{line:?}");
}

/// Where small messages were disturbed more than larger ones, no machine comes of it that gains time by bytes.
#[test]
fn times_that_fall_at_first_give_no_negative_slope() {
    let mut times = measured(&known(), 0.0);
    for times in times.iter_mut().filter(|times| times.bytes <= 256) {
        let ns = 4000.0 - 10.0 * times.bytes as f64;
        times.one_way_ns.iter_mut().for_each(|time| *time = ns);
    }
    let link = fit_link(&times, Some(4096)).expect("a link").link;
    assert!(link.gap_per_byte_ns >= 0.0, "{link:?}");
    assert!(link.overhead_per_byte_ns >= 0.0, "{link:?}");
}

#[test]
fn without_messages_that_ask_first_the_largest_is_the_threshold() {
    let times: Vec<_> = measured(&known(), 0.0)
        .into_iter()
        .filter(|times| times.bytes <= 4096)
        .collect();
    let link = fit_link(&times, None).expect("a link").link;
    assert_eq!(link.rendezvous_bytes, 4096);
}

#[test]
fn too_few_sizes_are_refused() {
    let times = measured(&known(), 0.0);
    let error = fit_link(&times[..1], None).expect_err("one size");
    let expected =
        "cannot fit link: 1 sizes of messages that are sent at once, expected at least 2";
    assert_eq!(error.to_string(), expected);
}

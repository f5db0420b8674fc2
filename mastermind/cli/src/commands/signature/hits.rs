//! `signature --read`: cache hits at traced and other sizes, from a signature with stack distances.

use std::path::Path;

use anyhow::{Context, bail};
use mastermind_machine::processor::Cache;
use mastermind_machine::signature::Signature;
use mastermind_machine::signature::hits::{Geometry, MemoryModel};
use serde::Serialize;

use super::Sizes;
use crate::output;

/// A requested cache.
#[derive(Clone, Copy, Debug)]
pub struct RequestedCache {
    bytes: u64,
    ways: u64,
    geometry: Geometry,
}

/// `32K,8`.
pub fn cache(text: &str) -> Result<RequestedCache, String> {
    let expected =
        || format!("\"{text}\", expected BYTES,WAYS as 32K,8 or 1M,16, of lines of 64 bytes");
    let (bytes, ways) = text.split_once(',').ok_or_else(expected)?;
    let (number, unit) = match bytes.trim().strip_suffix(['K', 'M']) {
        Some(number) if bytes.trim().ends_with('K') => (number, 1 << 10),
        Some(number) => (number, 1 << 20),
        None => (bytes.trim(), 1),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    let bytes = number * f64::from(unit);
    if !(64.0..=1e12).contains(&bytes) || bytes.fract() != 0.0 {
        return Err(expected());
    }
    let (bytes, ways) = (bytes as u64, ways.trim().parse().map_err(|_| expected())?);
    let geometry = Geometry::of(bytes, ways)
        .ok_or_else(|| format!("\"{text}\": no whole number of sets, expected one"))?;
    Ok(RequestedCache {
        bytes,
        ways,
        geometry,
    })
}

#[derive(Serialize)]
struct Row {
    n: f64,
    cache_bytes: u64,
    ways: u64,
    accesses: f64,
    misses: f64,
    hit_rate: f64,
    exact: bool,
    outside: bool,
}

/// Prints hits.
///
/// # Arguments
/// * `caches` - the requested ones; if empty, those of the signature
///
/// # Errors
/// The file is no signature, or has no distances; the size has another name.
pub fn print(path: &Path, at: &Sizes, caches: &[RequestedCache], json: bool) -> anyhow::Result<()> {
    let found = read(path)?;
    if at.name != found.parameter {
        bail!(
            "cannot read signature \"{}\" at {}: it is over {}, expected --at {}=N,N",
            path.display(),
            at.name,
            found.parameter,
            found.parameter
        );
    }
    let model = MemoryModel::of(&found).with_context(|| {
        format!(
            "cannot compute hits from signature \"{}\": no stack distances, expected those of three sizes; count again with --distances",
            path.display()
        )
    })?;
    let own = found.caches.iter().filter_map(of_cache);
    let asked: Vec<RequestedCache> = match caches {
        [] => own.collect(),
        some => some.to_vec(),
    };
    let traced = || found.sizes.iter().map(|size| size.n);
    let (low, high) = (
        traced().fold(f64::INFINITY, f64::min),
        traced().fold(0.0, f64::max),
    );
    let mut rows = Vec::new();
    for n in at.numbers() {
        for cache in &asked {
            let misses = model.misses(n, cache.geometry);
            rows.push(Row {
                n,
                cache_bytes: cache.bytes,
                ways: cache.ways,
                accesses: misses.accesses.round(),
                misses: misses.total().round(),
                hit_rate: misses.hit_rate(),
                exact: misses.is_exact,
                outside: !(low..=high).contains(&n),
            });
        }
    }
    match json {
        true => output::json(&rows)?,
        false => output::line(table(&rows, &found.parameter)),
    }
    Ok(())
}

/// Reads a signature.
///
/// # Errors
/// It cannot be read, or is no signature.
pub fn read(path: &Path) -> anyhow::Result<Signature> {
    let act = || format!("cannot read signature \"{}\"", path.display());
    let text = std::fs::read_to_string(path).with_context(act)?;
    serde_json::from_str(&text).with_context(act)
}

fn of_cache(cache: &Cache) -> Option<RequestedCache> {
    let ways = u64::from(cache.ways?);
    Some(RequestedCache {
        bytes: cache.bytes,
        ways,
        geometry: Geometry::of(cache.bytes, ways)?,
    })
}

fn table(rows: &[Row], parameter: &str) -> String {
    let cells = rows.iter().map(|row| {
        let known = match (row.exact, row.outside) {
            (true, _) => "counted",
            (false, false) => "computed",
            (false, true) => "computed, outside",
        };
        vec![
            row.n.to_string(),
            format!("{} KiB, {} ways", row.cache_bytes as f64 / 1024.0, row.ways),
            row.accesses.to_string(),
            row.misses.to_string(),
            format!("{:.2}", 100.0 * row.hit_rate),
            known.to_owned(),
        ]
    });
    let header = [
        parameter, "CACHE", "ACCESSES", "MISSES", "HITS %", "KNOWN BY",
    ];
    output::table(&header, &[0, 2, 3, 4], cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_bytes_and_ways() {
        assert_eq!(cache("32K,8").unwrap().geometry.n_sets, 64);
        assert_eq!(cache("1.25M,20").unwrap().geometry.n_sets, 1024);
        for text in [
            "32K", "32K,0", "0,8", "-1,8", "32K,7", "x,8", "32K,y", "1e30M,8",
        ] {
            assert!(cache(text).is_err(), "{text}");
        }
    }
}

//! The activities of the collectives, from `collectives.toml`.

use std::sync::LazyLock;

use super::model::{Activity, Model};
use super::read::read_toml;

/// Read once; the tests see that it can be read.
static COLLECTIVES: LazyLock<Option<Model>> =
    LazyLock::new(|| read_toml(include_str!("collectives.toml")).ok());

/// The activity of a collective.
pub(super) fn activity(name: &str) -> Option<&'static Activity> {
    COLLECTIVES.as_ref()?.activities.get(name)
}

#[cfg(test)]
mod tests {
    use super::activity;

    #[test]
    fn every_collective_has_its_activity() {
        for name in ["broadcast", "reduce", "allreduce", "alltoall", "barrier"] {
            assert!(activity(name).is_some(), "{name}");
        }
    }
}

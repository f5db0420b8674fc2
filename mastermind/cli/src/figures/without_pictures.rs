//! Replaces `rendered.rs` if the feature `pictures` is off: drawing is an error that says so.

use anyhow::bail;

/// Draws nothing.
pub fn png(_: &str) -> anyhow::Result<Vec<u8>> {
    bail!(
        "cannot draw figure as PNG: built without it, expected .svg; the feature `pictures` of the build has it"
    )
}

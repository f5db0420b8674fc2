//! Replaces `page.rs` if the feature `pdf` is off: drawing is an error that says so.

use anyhow::bail;

/// Draws nothing.
pub fn pdf(_: &str) -> anyhow::Result<Vec<u8>> {
    bail!(
        "cannot draw figure as PDF: built without it, expected .svg or .png; the feature `pdf` of the build has it, as \
         `cargo xtask build` makes it"
    )
}

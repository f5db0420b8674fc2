//! Folded stacks: a line a call path, `main.go;flux.compute 7000000`, as flame graphs are drawn of.
//!
//! The number is the exclusive time in whole nanoseconds, summed over ranks and threads; paths without any are left out. Readers split a
//! line at its last blank and the path at semicolons, so these are replaced in names.
//!
//! # Source
//! Brendan Gregg, FlameGraph, `flamegraph.pl` (head of the file); inferno 0.12, `src/flamegraph/mod.rs`, reads the same.

use std::io::Write;
use std::path::Path;

use mastermind_records::{CallTree, Run};

use crate::error::ExportError;

/// Writes the call paths of a run.
///
/// # Errors
/// The output cannot be written.
pub fn write_folded(run: &Run, path: &Path, out: impl Write) -> Result<(), ExportError> {
    write(&CallTree::new(run), out).map_err(ExportError::io(path))
}

fn write(tree: &CallTree, mut out: impl Write) -> std::io::Result<()> {
    for (place, node) in tree.nodes.iter().enumerate() {
        if node.exclusive_ns > 0 {
            let names: Vec<_> = tree.path(place).into_iter().map(frame).collect();
            writeln!(out, "{} {}", names.join(";"), node.exclusive_ns)?;
        }
    }
    out.flush()
}

/// A name without what ends a frame or a line.
fn frame(name: &str) -> String {
    let plain = |c: char| match c {
        ';' => ':',
        c if c.is_control() => ' ',
        c => c,
    };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_frame() {
        assert_eq!(frame("f<a;b>\n"), "f<a:b> ");
    }
}

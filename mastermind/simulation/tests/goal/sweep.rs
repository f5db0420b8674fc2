//! The text of the wavefront's schedule: `examples/sweep3d/sweep3d.toml`, unrolled.

use std::io::{self, Write};

/// Writes the schedule of a grid of `px` × `py` ranks, eight octants of `blocks` blocks each.
pub fn write_sweep(
    out: &mut impl Write,
    (px, py): (u32, u32),
    blocks: u32,
    bytes: u32,
    block_ns: u32,
) -> io::Result<()> {
    writeln!(out, "num_ranks {}", px * py)?;
    for rank in 0..px * py {
        writeln!(out, "\nrank {rank} {{")?;
        let mut n = 0;
        let mut line = |operation: &str, peer: u32| {
            n += 1;
            write!(out, "l{n}: {operation}")?;
            match operation {
                "calc" => writeln!(out, " {block_ns}")?,
                "recv" => writeln!(out, " {bytes}b from {peer} tag 0")?,
                _ => writeln!(out, " {bytes}b to {peer} tag 0")?,
            }
            if n > 1 {
                writeln!(out, "l{n} requires l{}", n - 1)?;
            }
            io::Result::Ok(())
        };
        for octant in 0..8 {
            let (dx, dy) = (
                if octant < 4 { 1 } else { -1 },
                if octant % 4 < 2 { 1 } else { -1 },
            );
            let at = |x: i64, y: i64| {
                let inside = (0..i64::from(px)).contains(&x) && (0..i64::from(py)).contains(&y);
                inside.then(|| (y * i64::from(px) + x) as u32)
            };
            let (x, y) = (i64::from(rank % px), i64::from(rank / px));
            for _ in 0..blocks {
                for peer in [at(x - dx, y), at(x, y - dy)].into_iter().flatten() {
                    line("recv", peer)?;
                }
                line("calc", 0)?;
                for peer in [at(x + dx, y), at(x, y + dy)].into_iter().flatten() {
                    line("send", peer)?;
                }
            }
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}

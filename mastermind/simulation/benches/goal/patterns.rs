//! Schedules of other communication patterns than the wavefront, as texts, for `benches/simulate/goal.sh`.

use std::io::{self, Write};

/// Writes a schedule; `false` if there is no pattern of this name.
pub fn write_pattern(out: &mut impl Write, name: &str) -> io::Result<bool> {
    match name {
        "allreduce" => allreduce(out, 4096, 20)?,
        "random" => random(out, 8192, 20)?,
        "all-to-all" => all_to_all(out, 1024)?,
        "halo" => halo(out, 20, 20, 6000)?,
        "halo-rendezvous" => halo(out, 20, 20, 100_000)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// The operations of one rank, numbered from 1 on.
struct RankText<'a, W: Write> {
    out: &'a mut W,
    n: u64,
}

impl<W: Write> RankText<'_, W> {
    /// Adds an operation that begins when these have ended; its number.
    fn add(&mut self, operation: &str, after: &[u64]) -> io::Result<u64> {
        self.n += 1;
        writeln!(self.out, "l{}: {operation}", self.n)?;
        for before in after {
            writeln!(self.out, "l{} requires l{before}", self.n)?;
        }
        Ok(self.n)
    }
}

/// Writes the schedule of `n` ranks; `rank` adds the operations of each.
fn schedule<W: Write>(
    out: &mut W,
    n: u32,
    mut rank: impl FnMut(&mut RankText<'_, W>, u32) -> io::Result<()>,
) -> io::Result<()> {
    writeln!(out, "num_ranks {n}")?;
    for number in 0..n {
        writeln!(out, "\nrank {number} {{")?;
        rank(&mut RankText { out, n: 0 }, number)?;
        writeln!(out, "}}")?;
    }
    Ok(())
}

/// Work and an all-reduce of 8 bytes by recursive doubling, for `rounds` rounds.
fn allreduce(out: &mut impl Write, n: u32, rounds: u32) -> io::Result<()> {
    schedule(out, n, |text, rank| {
        let mut last = Vec::new();
        for round in 0..rounds {
            let work_ns = 10_000 + (rank * 7 + round * 13) % 1000;
            last = vec![text.add(&format!("calc {work_ns}"), &last)?];
            for bit in 0..n.ilog2() {
                let peer = rank ^ (1 << bit);
                let send = text.add(&format!("send 8b to {peer} tag 0"), &last)?;
                let receive = text.add(&format!("recv 8b from {peer} tag 0"), &last)?;
                last = vec![send, receive];
            }
        }
        Ok(())
    })
}

/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: SplitMix64, the number of a place.
fn mixed(place: u64) -> u64 {
    let z = place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Work and messages along the edges of a random directed graph, four to each rank on average, for `rounds` rounds.
fn random(out: &mut impl Write, n: u32, rounds: u32) -> io::Result<()> {
    let [mut targets, mut sources] = [(); 2].map(|()| vec![Vec::new(); n as usize]);
    for edge in 0..u64::from(4 * n) {
        let [from, to] = [2 * edge + 1, 2 * edge + 2].map(|place| mixed(place) % u64::from(n));
        if from != to {
            targets[from as usize].push(to);
            sources[to as usize].push(from);
        }
    }
    schedule(out, n, |text, rank| {
        let mut last = Vec::new();
        for round in 0..rounds {
            let place = u64::from(rank) << 32 | u64::from(round);
            let work_ns = 10_000 + mixed(place) % 20_000;
            let work = [text.add(&format!("calc {work_ns}"), &last)?];
            last = Vec::new();
            for from in &sources[rank as usize] {
                last.push(text.add(&format!("recv 1000b from {from} tag {round}"), &work)?);
            }
            for to in &targets[rank as usize] {
                last.push(text.add(&format!("send 1000b to {to} tag {round}"), &work)?);
            }
            if last.is_empty() {
                last.extend(work);
            }
        }
        Ok(())
    })
}

/// One exchange of all with all, in pairs: the next is begun when the one before has ended.
fn all_to_all(out: &mut impl Write, n: u32) -> io::Result<()> {
    schedule(out, n, |text, rank| {
        let mut last = Vec::new();
        for step in 1..n {
            let (to, from) = ((rank + step) % n, (rank + n - step) % n);
            let send = text.add(&format!("send 1000b to {to} tag 0"), &last)?;
            let receive = text.add(&format!("recv 1000b from {from} tag 0"), &last)?;
            last = vec![send, receive];
        }
        Ok(())
    })
}

/// Work and an exchange with six neighbours on a periodic grid of `side`³ ranks, all at once, for `steps` steps.
fn halo(out: &mut impl Write, side: u32, steps: u32, bytes: u32) -> io::Result<()> {
    schedule(out, side * side * side, |text, rank| {
        let [x, y, z] = [rank % side, rank / side % side, rank / side / side];
        let at = |x: u32, y: u32, z: u32| x % side + side * (y % side + side * (z % side));
        let back = side - 1;
        let faces = [
            at(x + 1, y, z),
            at(x + back, y, z),
            at(x, y + 1, z),
            at(x, y + back, z),
            at(x, y, z + 1),
            at(x, y, z + back),
        ];
        let mut last = Vec::new();
        for step in 0..steps {
            let work_ns = 50_000 + (rank * 7 + step * 13) % 5000;
            let work = [text.add(&format!("calc {work_ns}"), &last)?];
            last = Vec::new();
            for (k, face) in faces.iter().enumerate() {
                last.push(text.add(&format!("recv {bytes}b from {face} tag {}", k ^ 1), &work)?);
            }
            for (k, face) in faces.iter().enumerate() {
                last.push(text.add(&format!("send {bytes}b to {face} tag {k}"), &work)?);
            }
        }
        Ok(())
    })
}

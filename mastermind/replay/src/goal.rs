//! The operations of all ranks as a schedule in GOAL.

use std::collections::HashMap;
use std::io::Write;

use super::rank::{Message, RankSchedule, Space, Task};

/// Numbers of tags: a message of another communicator or collective has another one.
#[derive(Default)]
struct Tags(HashMap<(Space, Option<u32>), u32>);

impl Tags {
    fn number(&mut self, message: &Message) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry((message.space, message.tag)).or_insert(next)
    }
}

/// The text of a schedule; each operation of a rank has a label with its number.
pub(super) fn text(schedules: &[RankSchedule]) -> Vec<u8> {
    let (mut text, mut tags) = (Vec::new(), Tags::default());
    // Writing to memory does not fail.
    let _ = write(&mut text, schedules, &mut tags);
    text
}

fn write(text: &mut Vec<u8>, schedules: &[RankSchedule], tags: &mut Tags) -> std::io::Result<()> {
    writeln!(text, "num_ranks {}", schedules.len())?;
    for (rank, schedule) in schedules.iter().enumerate() {
        writeln!(text, "\nrank {rank} {{")?;
        for (number, node) in schedule.nodes.iter().enumerate() {
            match &node.task {
                Task::Compute(ns) => write!(text, "l{number}: calc {ns}")?,
                Task::Send(message) => {
                    let (bytes, to, tag) = (
                        message.bytes,
                        message.peer.unwrap_or(0),
                        tags.number(message),
                    );
                    write!(text, "l{number}: send {bytes}b to {to} tag {tag}")?;
                }
                Task::Receive(message) => {
                    let (bytes, from, tag) = (
                        message.bytes,
                        message.peer.unwrap_or(0),
                        tags.number(message),
                    );
                    write!(text, "l{number}: recv {bytes}b from {from} tag {tag}")?;
                }
            }
            match node.cpu {
                0 => writeln!(text)?,
                cpu => writeln!(text, " cpu {cpu}")?,
            }
            let (begin, end) = (node.waits.0 as usize, node.waits.1 as usize);
            for wait in &schedule.waits[begin..end] {
                let how = if wait.begins { "irequires" } else { "requires" };
                writeln!(text, "l{number} {how} l{}", wait.on)?;
            }
        }
        writeln!(text, "}}")?;
    }
    Ok(())
}

//! The measurements as a machine file.

use mastermind_simulation::calibration::FittedLink;
use mastermind_simulation::machine::{Machine, Queue, Waiting, write_machine};

use mastermind_programs::Collectives;

use super::ranks::Measured;

/// A machine, and which of its values were measured.
pub struct Calibrated {
    machine: Machine,
    /// In a node, between nodes.
    pub links: [Option<FittedLink>; 2],
    /// Values that were not measured, and so have their defaults.
    pub not_measured: Vec<String>,
    notes: Vec<String>,
}

impl Calibrated {
    /// The machine with these links.
    pub fn of(measured: &Measured, links: [Option<FittedLink>; 2]) -> Self {
        let mut not_measured = Vec::new();
        let mut machine = Machine {
            nodes: Some(measured.nodes.max(1)),
            processors: measured.processors.max(1),
            collectives: match measured.mpi.as_str() {
                "openmpi" => Collectives::OpenMpi,
                "mpich" => Collectives::Mpich,
                _ => Collectives::Basic,
            },
            ..Machine::default()
        };
        let classes = [&mut machine.intra, &mut machine.inter];
        let names = ["in a node", "between nodes"];
        for ((link, fitted), name) in classes.into_iter().zip(links).zip(names) {
            match fitted {
                Some(fitted) => *link = fitted.link,
                None => not_measured.push(format!(
                    "links {name}, for want of two ranks that are so: what simulate takes without them"
                )),
            }
        }
        let turn = measured.crowd.as_ref().and_then(|crowd| crowd.turn_ns);
        let waiting = measured.crowd.as_ref().map(|crowd| crowd.waiting());
        if let Some(quantum_ns) = turn {
            machine.queue = Queue::RoundRobin { quantum_ns };
        }
        match (waiting, turn) {
            (Some(Waiting::Spins), None) => {
                not_measured.push("turns with a processor: too few were seen".into());
            }
            (Some(waiting), _) => {
                machine.waiting = waiting;
                // A rank that yields changes which ranks share a processor all the time.
                let crowd = measured
                    .crowd
                    .as_ref()
                    .filter(|_| waiting == Waiting::Spins);
                machine.regroup_turns = crowd.and_then(|crowd| crowd.regroup_turns);
            }
            (None, _) => not_measured.push(
                "turns with a processor and what a rank does that waits: no node had more ranks \
                 than processors"
                    .into(),
            ),
        }
        let mut notes = vec![format!(
            "Measured by mastermind calibrate through {}, {} nodes of {} processors.",
            measured.mpi, measured.nodes, measured.processors
        )];
        if let Some(crowd) = &measured.crowd {
            notes.push(format!(
                "A rank that waits takes {:.0} % of an idle processor; among {} ranks on {} processors {:.0} %.",
                100.0 * crowd.alone,
                crowd.ranks,
                crowd.processors,
                100.0 * crowd.among_others
            ));
        }
        notes.extend(
            not_measured
                .iter()
                .map(|what| format!("Not measured: {what}.")),
        );
        Self {
            machine,
            links,
            not_measured,
            notes,
        }
    }

    /// Number of time slices per change of which ranks share a processor, where that matters.
    pub fn regroup_turns(&self) -> Option<u32> {
        self.machine.regroup_turns
    }

    /// The machine file.
    pub fn text(&self) -> String {
        let said = self.links.map(|fitted| {
            let FittedLink {
                median_error_percent,
                largest_error_percent,
                ..
            } = fitted?;
            Some(format!(
                "one-way times off by {median_error_percent:.1} % in the median, at most {largest_error_percent:.1} %"
            ))
        });
        write_machine(
            &self.machine,
            &self.notes,
            [said[0].as_deref(), said[1].as_deref()],
        )
    }
}

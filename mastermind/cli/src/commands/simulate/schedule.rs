//! `simulate x.goal`, `simulate RECORDS`: a GOAL schedule, and a recorded run as one.

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use indicatif::ProgressBar;
use mastermind_programs::goal::{Schedule, WaitOrder, read_goal_in};
use mastermind_simulation::engine::{
    EngineChoice, Rules, ScheduleOutcome, ScheduleSlices, schedule_elements, schedule_path,
    simulate_schedule_by,
};
use mastermind_simulation::machine::Machine;
use mastermind_simulation::report::{Timeline, html};

use super::report::{Element, Process, RecordedTimes, Report};
use super::sensitivity::Sensitivities;
use super::trace::{TracedSimulation, traced};
use super::{RuleBook, Simulate, show_progress};
use crate::output;
use crate::recorded_run::{self, RecordedRun};

/// Whether a file is a schedule: by its name.
pub fn is_one(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("goal") || end.eq_ignore_ascii_case("bin"))
}

impl Simulate {
    /// Simulates a schedule and prints the report.
    ///
    /// # Errors
    /// It cannot be read, does not come to its end, or has messages that nobody receives; an option is for models only.
    pub(super) fn schedule(&self, machine: &Machine) -> anyhow::Result<ExitCode> {
        let act = || format!("cannot simulate schedule \"{}\"", self.model.display());
        let options = [
            ("--set", !self.set.is_empty()),
            (
                "--models",
                self.models.is_some() && !recorded_run::is_one(&self.model),
            ),
            ("--shown", self.shown),
            ("--spread", self.spread),
            ("--main", self.main.is_some()),
            ("--study", self.study.is_some()),
            ("--records", self.records.is_some()),
            (
                "--sensitivity with --rules loggopsim",
                self.sensitivity && self.rules == RuleBook::LogGopSim,
            ),
        ];
        if let Some((option, _)) = options.iter().find(|(_, given)| *given) {
            bail!("{}: {option} is for program models, expected none", act());
        }
        let (schedule, recorded) = self.read_schedule(machine).with_context(act)?;
        let ranks = schedule.ranks();
        if let Some(given) = self.ranks.filter(|given| *given as usize != ranks) {
            bail!(
                "{}: --ranks {given}, expected its own number, {ranks}",
                act()
            );
        }
        let per_node = ranks.div_ceil(machine.nodes_for(ranks as u32) as usize);
        if per_node > machine.processors as usize {
            crate::output::complain!(
                "warning: {per_node} ranks on a node of {} processors: each rank of a schedule has processors of its own, \
                 so that none is queued for, and the machine's \"queue\" and \"waiting\" mean nothing",
                machine.processors
            );
        }
        let name = self.model.file_stem().unwrap_or_default().to_string_lossy();
        let mut timeline = self.timeline(ranks as u32)?;
        let again = self.sensitivity.then(|| schedule.clone());
        let outcome = self.run_schedule(&name, schedule, machine, &mut timeline)?;
        if let Some(path) = &self.html {
            let page = html(&name, &outcome.chart(), &timeline);
            self.force.write("charts", path, page)?;
        }
        let mut report = report(&outcome);
        report.recorded = recorded;
        report.timeline = (!timeline.is_empty()).then(|| timeline.data());
        if let Some(schedule) = again {
            let bar = ProgressBar::new_spinner();
            let mut run = |machine: &Machine| {
                let mut on_progress = |progress| show_progress(&bar, progress);
                let found =
                    schedule_path(schedule.clone(), machine, self.limits(), &mut on_progress);
                found.map(|(outcome, path)| (outcome.makespan_ns, path))
            };
            let found = Sensitivities::of(machine, &schedule_elements()[..1], &mut run);
            bar.finish_and_clear();
            report.sensitivity = Some(found?);
        }
        if let Some(recorded) = &mut report.recorded {
            let (simulated, elapsed) = (report.makespan_ns as f64, recorded.elapsed_ns as f64);
            recorded.difference_percent = 100.0 * (simulated / elapsed.max(1.0) - 1.0);
        }
        if self.json {
            output::json(&report)?;
        } else {
            report.print(&name);
        }
        if report.unreceived > 0 {
            bail!(
                "{}: {} of {} messages were received by nobody, expected a recv for each send",
                act(),
                report.unreceived,
                report.messages
            );
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The schedule of a file, or of a recorded run, with the times of the run.
    fn read_schedule(
        &self,
        machine: &Machine,
    ) -> anyhow::Result<(Schedule, Option<RecordedTimes>)> {
        let order = match self.rules {
            RuleBook::Own => WaitOrder::Operations,
            RuleBook::LogGopSim => WaitOrder::Lines,
        };
        if !recorded_run::is_one(&self.model) {
            let text = File::open(&self.model)?;
            let bytes = text.metadata().map_or(0, |about| about.len());
            return Ok((read_goal_in(text, bytes, order)?, None));
        }
        let mut run = RecordedRun::read(&self.model)?;
        let computation_by = self.scale(&mut run)?;
        let replay = run.replay(machine.collectives)?;
        let bytes = replay.goal.len() as u64;
        let schedule = read_goal_in(&*replay.goal, bytes, order)?;
        let recorded = RecordedTimes {
            elapsed_ns: run.longest_ns(),
            ranks_ns: run.elapsed_ns,
            difference_percent: 0.0,
            computation: run.computation,
            computation_by,
            processor_share: run.processor_share,
            collectives: replay.collectives,
            notes: replay.notes,
        };
        Ok((schedule, Some(recorded)))
    }

    fn run_schedule(
        &self,
        name: &str,
        schedule: Schedule,
        machine: &Machine,
        timeline: &mut Timeline,
    ) -> anyhow::Result<ScheduleOutcome> {
        let rules = match self.rules {
            RuleBook::Own => Rules::Own,
            RuleBook::LogGopSim => Rules::LogGopSim,
        };
        let bar = ProgressBar::new_spinner();
        let ranks = schedule.ranks() as u32;
        let run = |slices: ScheduleSlices<'_>| {
            let mut on_progress = |progress| show_progress(&bar, progress);
            let how = (rules, self.limits());
            let outcome = simulate_schedule_by(schedule, machine, how, &mut on_progress, slices);
            outcome.map_err(anyhow::Error::from)
        };
        let outcome = match &self.trace {
            None if timeline.is_empty() => run(ScheduleSlices::default()),
            None => run(ScheduleSlices(Some(&mut |slice| timeline.add(slice)))),
            Some(path) => {
                let shown = TracedSimulation {
                    title: name,
                    elements: &schedule_elements(),
                    processes: ranks,
                };
                traced((path, self.force), &shown, |slice| {
                    run(ScheduleSlices(Some(&mut |one| {
                        timeline.add(one);
                        slice(one);
                    })))
                })
            }
        };
        bar.finish_and_clear();
        outcome
    }
}

fn report(outcome: &ScheduleOutcome) -> Report {
    let all_ns: u64 = outcome
        .processes
        .iter()
        .map(|process| process.finish_ns)
        .sum();
    let kinds = ["calc", "send", "recv"].into_iter().enumerate();
    let elements = kinds.map(|(i, kind)| Element {
        name: kind.to_owned(),
        place: String::new(),
        kind,
        calls: outcome.operations[i],
        total_ns: outcome.times_ns[i],
        mean_ns: outcome.times_ns[i] as f64 / outcome.operations[i].max(1) as f64,
        percent: 100.0 * outcome.times_ns[i] as f64 / all_ns.max(1) as f64,
        wait_ns: None,
    });
    let processes = outcome.processes.iter().enumerate();
    Report {
        makespan_ns: outcome.makespan_ns,
        processes: processes
            .map(|(rank, process)| Process::of(rank, process))
            .collect(),
        elements: elements.collect(),
        messages: outcome.messages,
        events: outcome.events,
        engine: EngineChoice::Schedules.name(),
        engine_reason: EngineChoice::Schedules.reason(),
        undecided: 0,
        unreceived: outcome.unreceived,
        unmatched: 0,
        sample: None,
        recorded: None,
        sensitivity: None,
        timeline: None,
        messages_between: None,
    }
}

//! `mastermind simulate`: how long a program model, or a schedule, takes on a machine.
//!
//! Three inputs lead to two forms. A program model is lowered for a number of ranks into a
//! `Program` and simulated process by process; a GOAL schedule lists the operations of each rank
//! and their dependences; a recorded run becomes such a schedule first (`simulate/schedule.rs`).
//! The machine file gives the LogGP parameters for all of them.
//!
//! ```text
//! model (.toml .puml .uml .mmd)  ─ lower_with ─▶ Program ─ simulate_with ─▶ Outcome ─▶ Report
//! schedule (.goal)               ───────────────────────── simulate_schedule ─▶
//! record directory               ─ replay ─▶ schedule
//!
//! sample: 12.300000 ms on 4 processes; work … ms, messages' overhead … ms, waiting … ms over all
//! ```
//!
//! Options that vary or extend the simulation have files of their own in `simulate/`: studies,
//! sensitivity, traces, missing costs, records; the report and its text are in `simulate/report.rs`. This
//! file reads the input, and runs one simulation or several seeds of it.

mod computation;
mod costs;
mod records;
mod report;
pub mod schedule;
mod sensitivity;
mod study;
mod trace;

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use mastermind_models::ModelSet;

use crate::commands::predict::read_models;
use crate::destination::Force;
use crate::errors::WrongUse;
use mastermind_programs::expression::parse;
use mastermind_programs::{KnownRanks, Model, Program, System, lower_with};
use mastermind_simulation::engine::{
    Limits, Outcome, Progress, Slice, program_path, simulate_followed, simulate_traced,
    simulate_with,
};
use mastermind_simulation::machine::{Machine, read_machine};
use mastermind_simulation::report::{Timeline, TimelineError, html};

use self::report::{Report, Sample};
use self::sensitivity::Sensitivities;
use crate::session::{assignment, model};
use crate::{output, recorded_run};

/// Simulate a program model on a machine.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind simulate examples/sweep3d/sweep3d.toml --machine examples/sweep3d/machine.toml --ranks 100"
)]
pub struct Simulate {
    /// The model: TOML with a [model] table, the same as JSON, activity diagrams in PlantUML (.puml) or
    /// XMI (.uml, .xmi, .emx), a flowchart of Mermaid (.mmd) or out of Markdown (FILE.md#2, FILE.md#HEADING), a GOAL schedule (.goal, and .bin as LogGOPSim's txt2bin writes it), or the record directory of a run
    /// with --mpi-events, which is done again on the machine
    model: PathBuf,
    /// The machine
    #[arg(long, value_name = "M.toml", required_unless_present = "missing_costs")]
    machine: Option<PathBuf>,
    /// Begin with this activity of the model, not with the one that no other names
    #[arg(long, value_name = "ACTIVITY")]
    main: Option<String>,
    /// List the actions of which nothing says what they cost, with their places, and simulate nothing
    #[arg(long)]
    missing_costs: bool,
    /// By whose rules a schedule runs: ours, or those of LogGOPSim, for its finishing times
    #[arg(long, value_enum, default_value_t)]
    rules: RuleBook,
    /// Processes; as many as the machine has processors where it says how many nodes it has
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    ranks: Option<u32>,
    /// Let a global variable begin with another value
    #[arg(long, value_name = "VAR=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Fitted models that costs name, as fit writes them; of a recorded run models as carry writes them, by whose factors its components compute, and of
    /// a dry run those of what it left out
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
    /// The machine file of where a recorded run was made: its computation is scaled by what the two processors take
    #[arg(long, value_name = "A.toml", conflicts_with_all = ["models", "study", "missing_costs"])]
    recorded_on: Option<PathBuf>,
    /// Take the shown formula of each model alone, not the median over all credible ones
    #[arg(long, requires = "models")]
    shown: bool,
    /// Let the calls of fitted models vary as the recorded ones did: who waits for several waits for the slowest
    #[arg(long, requires = "models")]
    spread: bool,
    /// Draw what is random (`chance` in conditions, --spread, noise of the machine) from another sequence
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u32,
    /// Simulate with so many seeds, from --seed up, and show mean and spread of the time; all else is of the first
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    repeat: u32,
    /// Simulate each combination of the ranks, values of variables and properties of the machine that a file lists, and show
    /// computation, communication and synchronisation apart
    #[arg(long, value_name = "F.toml", conflicts_with_all = ["trace", "html", "missing_costs", "limit", "seed", "repeat"])]
    study: Option<PathBuf>,
    /// Write the rows of the study as CSV
    #[arg(long, value_name = "F", requires = "study")]
    csv: Option<PathBuf>,
    /// Draw the times of the study over what it varies first, and their parts: an F that ends in .svg, .png or .pdf
    #[arg(long, value_name = "F", requires = "study")]
    plot: Option<PathBuf>,
    /// Show what the time depends on: parameters of the machine and work on the longest path, and by how much latency may grow until
    /// the run takes 1, 5 and 10 % longer
    #[arg(long, conflicts_with_all = ["study", "missing_costs"])]
    sensitivity: bool,
    /// Stop with an error after so many events, or so many seconds of simulated time: events=N, time=S, or both with a comma
    #[arg(long, value_name = "events=N,time=S", value_parser = limits)]
    limit: Option<Limits>,
    /// Write what each process does when: Paje for an F that ends in .paje or .trace, else Perfetto's JSON
    #[arg(long, value_name = "F")]
    trace: Option<PathBuf>,
    /// Write the charts as one HTML file
    #[arg(long, value_name = "F")]
    html: Option<PathBuf>,
    /// Show in the charts, or in the JSON document, what these ranks do when, as 0,3,10-12; in the document their messages too, and
    /// how long each element waits
    #[arg(long, value_name = "RANKS", value_parser = ranks)]
    timeline: Option<Ranks>,
    /// Write what each process of a model did as the records of a run, of which each rank is a process, for profile, report, fit and
    /// the others
    #[arg(long, value_name = "DIR", conflicts_with_all = ["study", "missing_costs"])]
    records: Option<PathBuf>,
    /// Write these records as a log a rank, as a run does, not packed
    #[arg(long, requires = "records")]
    loose: bool,
    #[command(flatten)]
    force: Force,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Ranks that an option lists, possibly very many.
#[derive(Debug, Clone)]
struct Ranks(Vec<RangeInclusive<u32>>);

/// Maximum number of ranks of a list that are considered.
const MAX_LISTED: usize = 1_000_000;

/// Whose rules a schedule runs by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum RuleBook {
    #[default]
    Own,
    #[value(name = "loggopsim")]
    LogGopSim,
}

impl Simulate {
    /// Simulates and prints the report.
    ///
    /// # Errors
    /// A file cannot be read; the model is not sound; the simulation does not come to its end.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let outputs = [
            self.trace.as_deref(),
            self.html.as_deref(),
            self.csv.as_deref(),
            self.plot.as_deref(),
        ];
        self.force.check(outputs, self.json)?;
        if self.timeline.is_some() && self.html.is_none() && !self.json {
            bail!(WrongUse(
                "cannot show timeline: neither charts nor a document, expected --html F or --json with --timeline"
            ));
        }
        if self.missing_costs {
            return self.print_missing_costs();
        }
        let is_schedule = schedule::is_one(&self.model) || recorded_run::is_one(&self.model);
        if let Some(study) = self.study.as_deref().filter(|_| !is_schedule) {
            return self.study(study);
        }
        let machine = self.machine()?;
        match is_schedule {
            true => self.schedule(&machine),
            false => self.simulate_model(machine),
        }
    }

    /// Simulates a program model and prints the report.
    fn simulate_model(&self, machine: Machine) -> anyhow::Result<ExitCode> {
        self.check_no_schedule_options()?;
        let models = self.fitted()?;
        let mut model = model::read(&self.model, self.main.as_deref())?;
        for (name, value) in &self.set {
            set(&mut model, name, value)?;
        }
        let processes = self.processes(&model, &machine)?;
        let system = System {
            processes,
            nodes: machine.nodes_for(processes),
            processors: machine.processors,
        };
        // Lowered anew for each seed: that of `chance` and of models' spread is in the program,
        // that of noise in the machine.
        let with_seed = |seed: u32| -> anyhow::Result<(Program, Machine)> {
            let mut machine = machine;
            if let Some(noise) = &mut machine.noise {
                noise.seed = noise.seed.wrapping_add(u64::from(seed));
            }
            let program = lower_with(&model, &models, system, machine.collectives, seed)?;
            Ok((program, machine))
        };
        let (program, seeded) = with_seed(self.seed)?;
        let mut timeline = self.timeline(processes)?;
        if let Some(directory) = &self.records {
            records::prepare(directory)?;
        }
        let mut slices = Vec::new();
        // Filled from slices, so only if the simulation is traced.
        let mut waits_ns = vec![0; program.elements.len()];
        let outcome = self.run(
            &program,
            &seeded,
            &mut timeline,
            (&mut slices, &mut waits_ns),
        )?;
        if let Some(directory) = &self.records {
            let run = records::SimulatedRun {
                name: &program.name,
                outcome: &outcome,
                processes_of_node: processes.div_ceil(system.nodes.max(1)),
                processors: system.processors,
                loose: self.loose,
            };
            run.write(directory, slices)?;
        }
        let is_random = model.has_chance() || self.spread || machine.noise.is_some();
        let sample = self.sample(is_random, outcome.makespan_ns, &with_seed)?;
        if let Some(path) = &self.html {
            let page = html(&model.name, &outcome, &timeline);
            self.force.write("charts", path, page)?;
        }
        let mut report = Report::of(&outcome);
        report.sample = sample;
        if !timeline.is_empty() {
            report.timeline = Some(timeline.data());
            report.messages_between = Some(timeline.flights());
            for (element, wait_ns) in report.elements.iter_mut().zip(waits_ns) {
                element.wait_ns = Some(wait_ns);
            }
        }
        if self.sensitivity {
            report.sensitivity = Some(self.sensitivities(&program, &seeded)?);
        }
        match self.json {
            true => output::json(&report)?,
            false => report.print(&model.name),
        }
        Ok(ExitCode::SUCCESS)
    }

    /// # Errors
    /// An option is given that only schedules have.
    fn check_no_schedule_options(&self) -> anyhow::Result<()> {
        if self.rules != RuleBook::Own {
            bail!(
                "cannot simulate model \"{}\": --rules loggopsim is for GOAL schedules, expected none",
                self.model.display()
            );
        }
        if self.recorded_on.is_some() {
            bail!(
                "cannot simulate model \"{}\": --recorded-on is for recorded runs, expected none",
                self.model.display()
            );
        }
        Ok(())
    }

    /// Times with the first seed and the further ones that were requested; `None` if nothing in the model is random.
    ///
    /// # Arguments
    /// * `first_ns` - the simulated time with the first seed, nanoseconds
    /// * `with_seed` - the program and the machine of a seed
    fn sample(
        &self,
        is_random: bool,
        first_ns: u64,
        with_seed: &dyn Fn(u32) -> anyhow::Result<(Program, Machine)>,
    ) -> anyhow::Result<Option<Sample>> {
        if !is_random {
            if self.repeat > 1 {
                crate::output::complain!(
                    "note: nothing in the model is random: one simulation in place of {}",
                    self.repeat
                );
            }
            return Ok(None);
        }
        let mut times_ns = vec![first_ns];
        for further in 1..self.repeat {
            let (program, machine) = with_seed(self.seed.wrapping_add(further))?;
            let outcome = simulate_with(&program, &machine, self.limits(), &mut |_| {})?;
            times_ns.push(outcome.makespan_ns);
        }
        Ok(Some(Sample::of(self.seed, &times_ns)))
    }

    fn sensitivities(&self, program: &Program, machine: &Machine) -> anyhow::Result<Sensitivities> {
        let bar = ProgressBar::new_spinner();
        let mut run = |machine: &Machine| {
            let mut on_progress = |progress| show_progress(&bar, progress);
            let found = program_path(program, machine, self.limits(), &mut on_progress);
            found.map(|(outcome, path)| (outcome.makespan_ns, path))
        };
        let found = Sensitivities::of(machine, &program.elements, &mut run);
        bar.finish_and_clear();
        Ok(found?)
    }

    fn machine_text(&self) -> anyhow::Result<String> {
        let path = self
            .machine
            .as_deref()
            .context("cannot simulate: no machine, expected --machine M.toml")?;
        fs::read_to_string(path)
            .with_context(|| format!("cannot read machine \"{}\"", path.display()))
    }

    fn machine(&self) -> anyhow::Result<Machine> {
        let shown = self.machine.as_deref().unwrap_or(Path::new("")).display();
        read_machine(&self.machine_text()?)
            .with_context(|| format!("cannot read machine \"{shown}\""))
    }

    /// The timeline to fill: of no process if none is requested.
    ///
    /// # Errors
    /// There are no such processes, or too many.
    fn timeline(&self, processes: u32) -> Result<Timeline, TimelineError> {
        let ranges = self.timeline.iter().flat_map(|ranks| &ranks.0);
        // The first process that does not exist suffices for a refusal, and so do more than any page shows.
        let until = |range: &RangeInclusive<u32>| (*range.end()).min(processes.max(*range.start()));
        let ranks = ranges.flat_map(|range| *range.start()..=until(range));
        Timeline::new(ranks.take(MAX_LISTED).collect(), processes)
    }

    fn run(
        &self,
        program: &Program,
        machine: &Machine,
        timeline: &mut Timeline,
        (slices, waits_ns): (&mut Vec<Slice>, &mut [u64]),
    ) -> anyhow::Result<Outcome> {
        let bar = ProgressBar::new_spinner();
        let mut on_progress = |progress: Progress| show_progress(&bar, progress);
        let keeps = self.records.is_some();
        let is_untraced = timeline.is_empty() && !keeps;
        let mut flights = Vec::new();
        let follows_messages = !timeline.is_empty();
        let mut add = |slice: Slice| {
            timeline.add(slice);
            if let Some(wait_ns) = waits_ns.get_mut(slice.element as usize) {
                *wait_ns += slice.wait_ns;
            }
            if keeps {
                slices.push(slice);
            }
        };
        let outcome = match &self.trace {
            None if is_untraced => {
                let outcome = simulate_with(program, machine, self.limits(), &mut on_progress);
                outcome.map_err(anyhow::Error::from)
            }
            None => {
                let limits = self.limits();
                let mut follow = |flight| flights.push(flight);
                let follow: Option<&mut dyn FnMut(_)> = match follows_messages {
                    true => Some(&mut follow),
                    false => None,
                };
                let outcome =
                    simulate_followed(program, machine, limits, &mut on_progress, &mut add, follow);
                outcome.map_err(anyhow::Error::from)
            }
            Some(path) => {
                let shown = trace::TracedSimulation {
                    title: &program.name,
                    elements: &program.elements,
                    processes: program.system.processes,
                };
                trace::traced((path, self.force), &shown, |slice| {
                    let limits = self.limits();
                    let mut both = |one| {
                        add(one);
                        slice(one);
                    };
                    let outcome =
                        simulate_traced(program, machine, limits, &mut on_progress, &mut both);
                    outcome.map_err(anyhow::Error::from)
                })
            }
        };
        bar.finish_and_clear();
        flights
            .into_iter()
            .for_each(|flight| timeline.add_flight(flight));
        outcome
    }

    fn limits(&self) -> Limits {
        self.limit.unwrap_or_default()
    }

    fn fitted(&self) -> anyhow::Result<ModelSet> {
        let Some(path) = &self.models else {
            return Ok(ModelSet::default());
        };
        let mut set = read_models(path, self.shown)?;
        let held_up = set.models.iter().filter(|model| model.held_up.is_some());
        let held_up: Vec<&str> = held_up.map(|model| model.method.as_str()).collect();
        if !held_up.is_empty() {
            output::complain!(
                "note: the machine held up calls of {} when they were measured; such delays are part of the simulated time, as often as there",
                held_up.join(", ")
            );
        }
        if !self.spread {
            // Each call takes the mean.
            set.models.iter_mut().for_each(|model| model.sigma = None);
        }
        Ok(set)
    }

    fn processes(&self, model: &Model, machine: &Machine) -> anyhow::Result<u32> {
        match (
            self.ranks.or(model.ranks.as_ref().map(KnownRanks::largest)),
            machine.nodes,
        ) {
            (Some(ranks), _) => Ok(ranks),
            (None, Some(nodes)) => nodes
                .checked_mul(machine.processors)
                .context("cannot simulate: more than 4294967295 processors, expected --ranks N"),
            (None, None) => bail!(
                "cannot simulate: the machine \"{}\" has no nodes.count, expected --ranks N",
                self.machine.as_deref().unwrap_or(Path::new("")).display()
            ),
        }
    }
}

/// The limits that `events=N,time=S` asks for.
///
/// # Errors
/// It is no such list.
fn limits(text: &str) -> Result<Limits, String> {
    let mut limits = Limits::default();
    for part in text.split(',') {
        let expected = || format!("\"{part}\", expected events=N or time=S, both above 0");
        let number = |value: &str| {
            let number = value.trim().parse::<f64>().ok();
            number.filter(|number| number.is_finite() && *number > 0.0)
        };
        match part.split_once('=') {
            Some(("events", value)) => {
                limits.max_events = number(value).ok_or_else(expected)? as u64;
            }
            Some(("time", value)) => {
                limits.max_time_ns = (number(value).ok_or_else(expected)? * 1e9) as u64;
            }
            _ => return Err(expected()),
        }
    }
    Ok(limits)
}

/// The ranks that `0,3,10-12` lists.
///
/// # Errors
/// It is no such list.
fn ranks(text: &str) -> Result<Ranks, String> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = first.trim().parse().ok()?..=last.trim().parse().ok()?;
        (!range.is_empty()).then_some(range)
    };
    let each = text.split(',').map(|part| {
        let expected = || {
            format!("\"{part}\", expected a rank, or the first and the last of some, as 0,3,10-12")
        };
        range(part).ok_or_else(expected)
    });
    each.collect::<Result<_, _>>().map(Ranks)
}

/// Shows on standard error how far a simulation is.
fn show_progress(bar: &ProgressBar, progress: Progress) {
    let seconds = progress.now_ns as f64 / 1e9;
    bar.set_message(format!(
        "{seconds:.6} s simulated, {} events",
        progress.events
    ));
    bar.tick();
}

/// Sets the initial value of a global variable of a model.
///
/// # Errors
/// There is none of that name, or the value is no expression.
pub fn set(model: &mut Model, name: &str, value: &str) -> anyhow::Result<()> {
    let Some(at) = model.globals.iter().position(|global| global.name == name) else {
        let known: Vec<_> = model
            .globals
            .iter()
            .map(|global| global.name.as_str())
            .collect();
        bail!(
            "cannot set variable \"{name}\": no global of the model, expected one of {}",
            if known.is_empty() {
                "none".into()
            } else {
                known.join(", ")
            }
        );
    };
    let act = || format!("cannot set variable \"{name}\"");
    model.globals[at].value = parse(value).with_context(act)?;
    Ok(())
}

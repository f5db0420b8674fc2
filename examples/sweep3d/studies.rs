//! The studies of POEMS, section 5, with a simulated Sweep3D: scalability at 14 × 14 × 255 cells per
//! processor, blocking factors, latency from 0 to 50 times, and the composition of the time.
//!
//! `cargo run --release -p mastermind-simulation --example sweep3d -- FOLDER`
//!
//! Writes `scalability.svg`, `blocking.svg`, `latency.svg` and `parts.svg`, and their numbers as
//! `tables.md`, into the folder that is its argument.
//!
//! # Source
//! V. Adve et al., "POEMS: End-to-End Performance Design of Large Parallel Adaptive Computational
//! Systems", IEEE TSE 2000, sections 5.2 to 5.4. The paper does not give its machine's parameters: the machine is
//! `machine.toml`, and the time per cell is chosen so that a block of 14 x 14 x 10 cells and 3 angles takes 294
//! microseconds.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use mastermind_models::ModelSet;
use mastermind_programs::expression::Expression;
use mastermind_programs::{System, lower, read_toml};
use mastermind_simulation::analytic::Sweep3d;
use mastermind_simulation::engine::{Outcome, simulate};
use mastermind_simulation::machine::{Machine, read_machine};
use plotters::prelude::*;

/// Time of one cell and angle, nanoseconds: 294 µs for a block of 14 × 14 × 10 cells and 3 angles.
const CELL_NS: f64 = 50.0;

/// Cells in the k direction, and angles of an octant.
const DEPTH: u32 = 255;
const ANGLES: u32 = 6;

/// Cells of the study's fixed problem in the i and j directions: 20 million cells.
const SIDE: u32 = 280;

type Answer<T> = Result<T, Box<dyn Error>>;

/// A line of a figure: its name and its points.
type Line = (String, Vec<(f64, f64)>);

/// A configuration: the grid of processors, the cells per processor, and the blocking.
#[derive(Clone, Copy)]
struct Case {
    columns: u32,
    rows: u32,
    cells_i: u32,
    cells_j: u32,
    /// Cells of a block in the k direction (mk) and its angles (mmi).
    mk: u32,
    mmi: u32,
}

impl Case {
    fn fixed(side: u32, mk: u32, mmi: u32) -> Self {
        let cells = SIDE / side;
        Self {
            columns: side,
            rows: side,
            cells_i: cells,
            cells_j: cells,
            mk,
            mmi,
        }
    }

    fn processors(&self) -> u32 {
        self.columns * self.rows
    }

    fn sweep(&self, machine: &Machine) -> Sweep3d {
        let cells = self.cells_i * self.cells_j * self.mk * self.mmi;
        Sweep3d {
            columns: self.columns,
            rows: self.rows,
            k_blocks: DEPTH.div_ceil(self.mk),
            angle_groups: ANGLES / self.mmi,
            block_ns: (f64::from(cells) * CELL_NS) as u64,
            bytes: u64::from(self.cells_i * self.mk * self.mmi) * 8,
            link: machine.inter,
        }
    }

    fn simulate(&self, machine: &Machine) -> Answer<Outcome> {
        let mut model = read_toml(include_str!("sweep3d.toml"))?;
        let sweep = self.sweep(machine);
        for (name, value) in [
            ("px", f64::from(sweep.columns)),
            ("k_blocks", f64::from(sweep.k_blocks)),
            ("angle_groups", f64::from(sweep.angle_groups)),
            ("bytes", sweep.bytes as f64),
            ("block", sweep.block_ns as f64 / 1e9),
        ] {
            let global = model.globals.iter_mut().find(|global| global.name == name);
            global.ok_or("the model has another global")?.value = Expression::Number(value);
        }
        let system = System {
            processes: self.processors(),
            nodes: self.processors(),
            processors: 1,
        };
        let program = lower(&model, &ModelSet::default(), system)?;
        Ok(simulate(&program, machine)?)
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn main() -> Answer<()> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("expected a folder for the tables and figures")?;
    let folder = Path::new(&folder);
    let machine = read_machine(include_str!("machine.toml"))?;
    let mut report = String::new();
    scalability(&machine, folder, &mut report)?;
    blocking(&machine, folder, &mut report)?;
    latency(&machine, folder, &mut report)?;
    parts(&machine, folder, &mut report)?;
    fs::write(folder.join("tables.md"), report)?;
    Ok(())
}

/// Figure 5.3(a): 14 × 14 × 255 cells per processor.
fn scalability(machine: &Machine, folder: &Path, report: &mut String) -> Answer<()> {
    writeln!(
        report,
        "| processors | simulated, s | Eq. 8, s |\n|---|---|---|"
    )?;
    let grids = [
        (1, 1),
        (2, 2),
        (4, 4),
        (8, 8),
        (10, 10),
        (20, 20),
        (40, 40),
        (80, 80),
        (160, 175),
    ];
    let mut lines = [
        ("simulated".to_owned(), Vec::new()),
        ("Eq. 8".to_owned(), Vec::new()),
    ];
    for (columns, rows) in grids {
        let case = Case {
            columns,
            rows,
            cells_i: 14,
            cells_j: 14,
            mk: 10,
            mmi: 3,
        };
        let simulated = seconds(case.simulate(machine)?.makespan_ns);
        let computed = seconds(case.sweep(machine).iteration_ns());
        let x = f64::from(case.processors());
        writeln!(report, "| {x} | {simulated:.4} | {computed:.4} |")?;
        lines[0].1.push((x, simulated));
        lines[1].1.push((x, computed));
    }
    chart(
        &folder.join("scalability.svg"),
        "14 x 14 x 255 cells a processor",
        &lines,
    )
}

/// Figure 5.3(b): 20 million cells, blocks of 1 and 10 cells and 1 to 6 angles.
fn blocking(machine: &Machine, folder: &Path, report: &mut String) -> Answer<()> {
    writeln!(
        report,
        "\n| mk | mmi | processors | simulated, s |\n|---|---|---|---|"
    )?;
    let mut lines: Vec<Line> = Vec::new();
    for (mk, sides) in [
        (1, &[2, 4, 7, 10, 14, 20, 28][..]),
        (10, &[2, 4, 7, 10, 14, 20, 28, 40, 70, 140][..]),
    ] {
        for mmi in [1, 3, 6] {
            let mut points = Vec::new();
            for side in sides {
                let case = Case::fixed(*side, mk, mmi);
                let simulated = seconds(case.simulate(machine)?.makespan_ns);
                points.push((f64::from(case.processors()), simulated));
                writeln!(
                    report,
                    "| {mk} | {mmi} | {} | {simulated:.4} |",
                    case.processors()
                )?;
            }
            lines.push((format!("mk {mk}, mmi {mmi}"), points));
        }
    }
    chart(
        &folder.join("blocking.svg"),
        "20 million cells, by blocking factors",
        &lines,
    )
}

/// Figure 5.4(a): 20 million cells, the latency 0 to 50 times.
fn latency(machine: &Machine, folder: &Path, report: &mut String) -> Answer<()> {
    writeln!(
        report,
        "\n| latency | processors | simulated, s |\n|---|---|---|"
    )?;
    let mut lines: Vec<Line> = Vec::new();
    for times in [0, 1, 5, 10, 50] {
        let mut machine = *machine;
        machine.inter.latency_ns *= times;
        let mut points = Vec::new();
        for side in [2, 4, 10, 20, 40, 70] {
            let case = Case::fixed(side, 10, 3);
            let simulated = seconds(case.simulate(&machine)?.makespan_ns);
            points.push((f64::from(case.processors()), simulated));
            writeln!(
                report,
                "| {times} x | {} | {simulated:.4} |",
                case.processors()
            )?;
        }
        lines.push((format!("{times} x latency"), points));
    }
    chart(
        &folder.join("latency.svg"),
        "20 million cells, by latency",
        &lines,
    )
}

/// Figure 5.4(b): the composition of the time of 20 million cells, mean over the processors.
fn parts(machine: &Machine, folder: &Path, report: &mut String) -> Answer<()> {
    writeln!(
        report,
        "\n| processors | computation, s | communication, s | synchronisation, s |\n|---|---|---|---|"
    )?;
    let names = ["computation", "communication", "synchronisation"];
    let mut lines = names.map(|name| (name.to_owned(), Vec::new()));
    for side in [2, 4, 7, 10, 14, 20, 28, 40, 70, 140] {
        let case = Case::fixed(side, 10, 3);
        let outcome = case.simulate(machine)?;
        let n = outcome.processes.len() as u64;
        let mean = |part: fn(&Outcome, usize) -> u64| {
            seconds(
                (0..n as usize)
                    .map(|rank| part(&outcome, rank))
                    .sum::<u64>()
                    / n,
            )
        };
        let values = [
            mean(|outcome, rank| outcome.processes[rank].work_ns),
            mean(|outcome, rank| outcome.processes[rank].overhead_ns),
            // A process also waits from its own end to the end of the last process.
            mean(|outcome, rank| {
                let process = &outcome.processes[rank];
                outcome.makespan_ns - process.work_ns - process.overhead_ns
            }),
        ];
        writeln!(
            report,
            "| {n} | {:.4} | {:.4} | {:.4} |",
            values[0], values[1], values[2]
        )?;
        for (line, value) in lines.iter_mut().zip(values) {
            line.1.push((n as f64, value));
        }
    }
    chart(
        &folder.join("parts.svg"),
        "20 million cells, mean of the processors",
        &lines,
    )
}

/// Draws lines over processors, both axes logarithmic.
fn chart(path: &Path, title: &str, lines: &[Line]) -> Answer<()> {
    let points = || lines.iter().flat_map(|(_, points)| points);
    let least = |value: fn(&(f64, f64)) -> f64| points().map(value).fold(f64::MAX, f64::min);
    let most = |value: fn(&(f64, f64)) -> f64| points().map(value).fold(0.0, f64::max);
    let x = (least(|p| p.0) / 1.3..most(|p| p.0) * 1.3).log_scale();
    let y = (least(|p| p.1) / 1.5..most(|p| p.1) * 1.5).log_scale();
    let root = SVGBackend::new(path, (720, 480)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(x, y)?;
    let mut mesh = chart.configure_mesh();
    let label = |value: &f64| ((value * 1e4).round() / 1e4).to_string();
    mesh.x_desc("processors")
        .y_desc("seconds an iteration")
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .draw()?;
    for (i, (name, points)) in lines.iter().enumerate() {
        let color = Palette99::pick(i).to_rgba();
        let series = LineSeries::new(points.iter().copied(), color.stroke_width(2)).point_size(3);
        chart
            .draw_series(series)?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(2)));
    }
    let mut labels = chart.configure_series_labels();
    labels
        .position(SeriesLabelPosition::UpperMiddle)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    root.present()?;
    Ok(())
}

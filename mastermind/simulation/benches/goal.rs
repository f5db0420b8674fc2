//! From a GOAL text to finishing times: the wavefront's schedule, 100 × 100 ranks and 3.17 million messages.
//!
//! Writes the schedule to a file in the directory for temporary files, then prints its bytes, CPU seconds and rate of
//! the parser, CPU seconds of the simulation, and both together. With `--write PATTERN FILE` it only writes a schedule,
//! `wavefront` or one of `goal/patterns.rs`, for `benches/simulate/goal.sh`: the limit is a ratio to LogGOPSim in the
//! same run.

#[path = "goal/patterns.rs"]
mod patterns;
#[path = "../tests/goal/sweep.rs"]
mod sweep;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use mastermind_programs::goal::read_goal_of;
use mastermind_simulation::engine::simulate_schedule;
use mastermind_simulation::machine::Machine;
use must_reach::Figures;
use rustix::time::{ClockId, clock_gettime};

fn cpu_s() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Writes a schedule; `false` if there is no pattern of this name.
fn write(pattern: &str, path: &Path) -> std::io::Result<bool> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let is_known = match pattern {
        "wavefront" => {
            sweep::write_sweep(&mut file, (100, 100), 20, 6000, 1_000_000)?;
            true
        }
        other => patterns::write_pattern(&mut file, other)?,
    };
    file.flush()?;
    Ok(is_known)
}

fn main() -> std::io::Result<ExitCode> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--write");
    if let (Some(pattern), Some(path)) = (arguments.nth(1), arguments.next()) {
        let is_known = write(&pattern, Path::new(&path))?;
        return Ok(ExitCode::from(u8::from(!is_known)));
    }
    let path = std::env::temp_dir().join(format!("sweep-{}.goal", std::process::id()));
    write("wavefront", &path)?;
    let ended = must_reach::judge(|figures| measure(figures, &path).expect("the schedule's file"));
    fs::remove_file(&path)?;
    Ok(ended)
}

/// One try: the fastest of five rounds counts.
fn measure(figures: &mut Figures, path: &Path) -> std::io::Result<()> {
    let bytes = fs::metadata(path)?.len();
    let mut least_s = f64::MAX;
    for _ in 0..5 {
        let begin = cpu_s();
        let schedule = read_goal_of(File::open(path)?, bytes).expect("a schedule");
        let read = cpu_s();
        let (operations, kept) = (schedule.operations(), schedule.memory_bytes());
        let outcome = simulate_schedule(schedule, &Machine::default()).expect("an end");
        let end = cpu_s();
        least_s = least_s.min(end - begin);
        println!(
            "{bytes} bytes, {operations} operations in {kept} bytes: read in {:.3} CPU s ({:.0} MB/s), simulated in {:.3} CPU s, \
             together {:.3} CPU s; {} messages, {} events, {} bytes, finish {} ns",
            read - begin,
            bytes as f64 / (read - begin) / 1e6,
            end - read,
            end - begin,
            outcome.messages,
            outcome.events,
            outcome.memory_bytes,
            outcome.makespan_ns,
        );
    }
    // A seventh of the 12.2 CPU s that LogGOPSim takes on the reference machine; benches/simulate/goal.sh runs both.
    figures.time("GOAL text to finishing times", least_s, ..=1.74, " CPU s");
    Ok(())
}

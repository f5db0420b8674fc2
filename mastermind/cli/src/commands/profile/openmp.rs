//! How a wrapped program used OpenMP: `profile --openmp`.
//!
//! Times of regions are shares of the time of their threads: a region of 2 s on 4 threads has 8 s, which are work,
//! waiting (at barriers, for tasks and locks, and at the end of the region), and the start of threads. Nested regions
//! are listed with their own times. Their time counts as work of the outer region's thread that began them, so sums
//! over a program are over outermost regions.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::bail;
use mastermind_records::{OpenMpProcess, OpenMpTimes, Run};
use serde::Serialize;

use crate::{call_site, output};

/// The document of `profile --openmp --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// A row for each rank.
    pub ranks: Vec<RankRow>,
    /// Parallel regions, the longest first.
    pub regions: Vec<RegionRow>,
    /// All other constructs, by the longest waiting time of threads.
    pub constructs: Vec<ConstructRow>,
}

/// Sums over outermost regions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// Time of all threads, nanoseconds.
    pub thread_ns: u64,
    /// Of that, work.
    pub work_ns: u64,
    /// Waiting.
    pub wait_ns: u64,
    /// From the begin of a region until a thread came to it.
    pub start_ns: u64,
}

impl Shares {
    fn add(&mut self, sum: &OpenMpTimes) {
        self.thread_ns += sum.ns + sum.start_ns;
        self.work_ns += sum.ns.saturating_sub(sum.wait_ns);
        self.wait_ns += sum.wait_ns;
        self.start_ns += sum.start_ns;
    }

    fn percent(&self, ns: u64) -> f64 {
        100.0 * ns as f64 / self.thread_ns.max(1) as f64
    }

    /// Shares of the time, in per cent.
    fn cells(&self) -> [String; 3] {
        [self.work_ns, self.wait_ns, self.start_ns].map(|ns| format!("{:.1}", self.percent(ns)))
    }
}

/// A rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankRow {
    /// The rank.
    pub rank: u32,
    /// Runtimes that were measured.
    pub runtimes: Vec<String>,
    /// Why something was not.
    pub unmeasured: Vec<String>,
    /// Outermost regions.
    pub regions: u64,
    /// Their time, nanoseconds.
    pub region_ns: u64,
    /// Regions that were in progress at the end.
    pub open_regions: u64,
    /// Where the time of their threads went.
    #[serde(flatten)]
    pub shares: Shares,
    /// The same by thread number.
    pub threads: Vec<ThreadRow>,
}

/// A thread by its number in teams.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadRow {
    /// The number.
    pub thread: u32,
    /// Regions that it took part in.
    pub regions: u64,
    /// Where its time went.
    #[serde(flatten)]
    pub shares: Shares,
}

/// The regions of a call site, over all ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegionRow {
    /// Where they are.
    pub call_site: String,
    /// Whether they are within others.
    pub nested: bool,
    /// How many.
    pub regions: u64,
    /// Threads of their teams, the mean.
    pub threads: f64,
    /// Their time, nanoseconds.
    pub region_ns: u64,
    /// Where the time of their threads went.
    #[serde(flatten)]
    pub shares: Shares,
    /// Work of the busiest thread relative to the mean of all: 1 for an even distribution.
    pub imbalance: f64,
}

/// The constructs of one directive at a call site, over all ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConstructRow {
    /// The directive.
    pub construct: String,
    /// Where they are.
    pub call_site: String,
    /// How often threads came to it; for tasks, how many were created.
    pub calls: u64,
    /// Number of instances, however many threads came to each; for tasks, how many ran.
    pub instances: u64,
    /// Chunks of a loop or sections that threads executed.
    pub pieces: u64,
    /// Time of tasks without waiting, nanoseconds; 0 for all other constructs, whose work is their region's.
    pub work_ns: u64,
    /// Time that threads waited, nanoseconds.
    pub wait_ns: u64,
}

impl Report {
    /// Reads the records.
    ///
    /// # Errors
    /// OpenMP was not recorded.
    pub fn of(run: &Run, directory: &Path) -> anyhow::Result<Self> {
        let processes = run.openmp();
        if processes.is_empty() {
            bail!(
                "cannot show OpenMP of records \"{}\": no sums of it, expected those of a run of wrap --openmp that ended by itself",
                directory.display()
            );
        }
        let sites = call_site::read(directory, run).into_iter();
        let names: HashMap<_, _> = sites
            .map(|site| ((site.process, site.address), site.name()))
            .collect();
        let name = |process: &OpenMpProcess, site: u64| {
            let name = names.get(&(process.process, site));
            name.cloned().unwrap_or_else(|| format!("{site:#x}"))
        };
        Ok(Self {
            ranks: processes.iter().map(RankRow::of).collect(),
            regions: regions(&processes, &name),
            constructs: constructs(&processes, &name),
        })
    }

    /// The tables.
    ///
    /// # Arguments
    /// * `top` - maximum number of rows of each
    pub fn text(&self, top: usize) -> String {
        let seconds = |ns: u64| format!("{:.6}", ns as f64 * 1e-9);
        let mut parts: Vec<String> = self.ranks.iter().map(RankRow::text).collect();
        if !self.regions.is_empty() {
            let cells = |row: &RegionRow| {
                let [work, wait, start] = row.shares.cells();
                let name = match row.nested {
                    true => format!("{} (within another region)", row.call_site),
                    false => row.call_site.clone(),
                };
                vec![
                    row.regions.to_string(),
                    format!("{:.1}", row.threads),
                    seconds(row.region_ns),
                    work,
                    wait,
                    start,
                    format!("{:.2}", row.imbalance),
                    name,
                ]
            };
            parts.push(output::table(
                &[
                    "regions",
                    "threads",
                    "s",
                    "work %",
                    "wait %",
                    "start %",
                    "imbalance",
                    "parallel region",
                ],
                &[0, 1, 2, 3, 4, 5, 6],
                self.regions.iter().take(top).map(cells),
            ));
        }
        if !self.constructs.is_empty() {
            // Only tasks have a time of work, and a construct that never waited has no waiting time: the cell is empty,
            // not 0.
            let time = |ns: u64| if ns == 0 { String::new() } else { seconds(ns) };
            let cells = |row: &ConstructRow| {
                vec![
                    row.instances.to_string(),
                    row.calls.to_string(),
                    row.pieces.to_string(),
                    time(row.work_ns),
                    time(row.wait_ns),
                    row.construct.clone(),
                    row.call_site.clone(),
                ]
            };
            parts.push(output::table(
                &[
                    "number",
                    "calls",
                    "pieces",
                    "work s",
                    "wait s",
                    "construct",
                    "call site",
                ],
                &[0, 1, 2, 3, 4],
                self.constructs.iter().take(top).map(cells),
            ));
        }
        parts.join("\n")
    }
}

impl RankRow {
    fn of(process: &OpenMpProcess) -> Self {
        let mut row = Self {
            rank: process.rank,
            runtimes: process.runtimes.clone(),
            unmeasured: process.unmeasured.clone(),
            regions: 0,
            region_ns: 0,
            open_regions: process.open_regions,
            shares: Shares::default(),
            threads: Vec::new(),
        };
        let mut threads = BTreeMap::<u32, (u64, Shares)>::new();
        let is_outermost = |sum: &&OpenMpTimes| sum.construct == PARALLEL && !sum.nested;
        for sum in process.sums.iter().filter(is_outermost) {
            match sum.thread {
                Some(thread) => {
                    let of_thread = threads.entry(thread).or_default();
                    of_thread.0 += sum.calls;
                    of_thread.1.add(sum);
                    row.shares.add(sum);
                }
                None => {
                    row.regions += sum.calls;
                    row.region_ns += sum.ns;
                }
            }
        }
        let threads = threads.into_iter();
        row.threads = threads
            .map(|(thread, (regions, shares))| ThreadRow {
                thread,
                regions,
                shares,
            })
            .collect();
        row
    }

    /// One line, and one for each thread.
    fn text(&self) -> String {
        let mut text = format!("rank {}: {}\n", self.rank, self.line());
        for row in &self.threads {
            let [work, wait, start] = row.shares.cells();
            text += &format!(
                "  thread {}: {:.6} s in {} regions, {work} % work, {wait} % waiting, {start} % starting\n",
                row.thread,
                row.shares.thread_ns as f64 * 1e-9,
                row.regions
            );
        }
        if self.open_regions > 0 {
            text += &format!(
                "  {} of the regions had not ended when the program did\n",
                self.open_regions
            );
        }
        for why in &self.unmeasured {
            text += &format!("  not measured: {why}\n");
        }
        text
    }

    /// A short summary of a rank.
    pub fn line(&self) -> String {
        let [work, wait, start] = self.shares.cells();
        let regions = match self.regions {
            1 => "1 parallel region".to_owned(),
            n => format!("{n} parallel regions"),
        };
        let runtimes = match self.runtimes.is_empty() {
            true => String::new(),
            false => format!(" ({})", self.runtimes.join(", ")),
        };
        format!(
            "{regions} of up to {} threads{runtimes}, {:.6} s: {work} % work, {wait} % waiting, {start} % starting threads",
            self.threads.len(),
            self.region_ns as f64 * 1e-9
        )
    }
}

const PARALLEL: &str = "parallel";

fn regions(
    processes: &[OpenMpProcess],
    name: &impl Fn(&OpenMpProcess, u64) -> String,
) -> Vec<RegionRow> {
    let mut rows = BTreeMap::<(String, bool), (RegionRow, BTreeMap<(u32, u32), u64>, u64)>::new();
    for process in processes {
        let regions = process.sums.iter().filter(|sum| sum.construct == PARALLEL);
        for sum in regions {
            let call_site = name(process, sum.site);
            let (row, work, n_threads) = rows
                .entry((call_site.clone(), sum.nested))
                .or_insert_with(|| {
                    let row = RegionRow {
                        call_site,
                        nested: sum.nested,
                        regions: 0,
                        threads: 0.0,
                        region_ns: 0,
                        shares: Shares::default(),
                        imbalance: 1.0,
                    };
                    (row, BTreeMap::new(), 0)
                });
            match sum.thread {
                Some(thread) => {
                    row.shares.add(sum);
                    let of_thread = work.entry((process.process, thread)).or_default();
                    *of_thread += sum.ns.saturating_sub(sum.wait_ns);
                }
                None => {
                    row.regions += sum.calls;
                    row.region_ns += sum.ns;
                    *n_threads += sum.items;
                }
            }
        }
    }
    let rows = rows.into_values().map(|(row, work, n_threads)| RegionRow {
        threads: n_threads as f64 / row.regions.max(1) as f64,
        imbalance: imbalance(&work),
        ..row
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.region_ns));
    rows
}

/// The most over the mean.
fn imbalance(work: &BTreeMap<(u32, u32), u64>) -> f64 {
    let most = work.values().copied().max().unwrap_or(0);
    let sum: u64 = work.values().sum();
    match sum {
        0 => 1.0,
        sum => most as f64 * work.len() as f64 / sum as f64,
    }
}

fn constructs(
    processes: &[OpenMpProcess],
    name: &impl Fn(&OpenMpProcess, u64) -> String,
) -> Vec<ConstructRow> {
    let mut rows = BTreeMap::<(String, String), ConstructRow>::new();
    for process in processes {
        let others = process.sums.iter().filter(|sum| sum.construct != PARALLEL);
        for sum in others {
            let (construct, call_site) = (sum.construct.clone(), name(process, sum.site));
            let row = rows
                .entry((construct.clone(), call_site.clone()))
                .or_insert(ConstructRow {
                    construct,
                    call_site,
                    calls: 0,
                    instances: 0,
                    pieces: 0,
                    work_ns: 0,
                    wait_ns: 0,
                });
            row.calls += sum.calls;
            row.instances += sum.instances;
            row.pieces += sum.items;
            row.work_ns += sum.ns;
            row.wait_ns += sum.wait_ns;
        }
    }
    let mut rows: Vec<_> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.wait_ns));
    rows
}

/// A summary line for each rank; none for a run without regions.
pub fn lines(run: &Run) -> Vec<String> {
    let rows = run.openmp();
    let rows = rows.iter().map(RankRow::of);
    rows.filter(|row| row.regions > 0 || !row.unmeasured.is_empty())
        .map(|row| {
            let mut line = format!("rank {}: {}", row.rank, row.line());
            for why in &row.unmeasured {
                line += &format!("; not measured: {why}");
            }
            line
        })
        .collect()
}

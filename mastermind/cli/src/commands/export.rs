//! `mastermind export`: records in other tools' formats.
//!
//! The formats fall into two groups. Table formats (CSV, Parquet, Arrow) can hold all calls in one
//! table with a fixed set of columns, or a file for each method and rank; the others (Extra-P,
//! Perfetto, folded stacks) have the shape that their reader expects. Writers are in the crate
//! `mastermind-export`. This file chooses the format by option or ending, and keeps the output
//! safe: a single file is written under another name and renamed at the end, and a folder has a
//! hidden list of the files that an export wrote.
//!
//! ```text
//! export records -o calls.parquet          one table
//! export records --format csv -o tables    tables/…/*.csv and tables/.mastermind-export
//! export records --format folded -o -      a;b;c 1234   (exclusive ns of a call path)
//! ```
//!
//! The list lets `--force` remove exactly the files of the earlier export, so a folder never mixes
//! two runs and foreign files stay.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use mastermind_export::{
    ExportError, ExtrapFormat, TableFormat, add_parquet, make_empty, write_extrap, write_folded,
    write_perfetto, write_table,
};
use mastermind_records::{Run, RunInfo, write_csv};

use crate::destination::{Force, is_standard_output};
use crate::errors::WrongUse;
use crate::session::team::{Team, first_alone};
use crate::{output, run_facts};

/// Write records in another tool's format.
///
/// One table has a row a call and the same columns in each format: run, rank, thread, instance, class, port, method, seq, start_ns,
/// wall_ns, mpi_ns, compute_ns, then all parameters and counters of all methods, callpath, parent_seq, failed. What a method
/// does not have, or was not measured, is absent. The metadata of Parquet and Arrow files hold the run, as info --json prints it,
/// and the units.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind export records -o records.parquet\n         \
                        mastermind export records --format csv -o tables\n         \
                        mastermind export records --format folded -o - | inferno-flamegraph --countname ns > flames.svg"
)]
pub struct Export {
    /// The record directory
    records: PathBuf,
    /// The format [default: by the ending of the output: .parquet, .arrow, .feather, .csv or .folded]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Where it goes: a file for perfetto, for folded and for one table, else an empty or a new folder
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// One table of all calls, the default for parquet and arrow, and for csv into a file of that ending
    #[arg(long, conflicts_with = "by_method")]
    one_table: bool,
    /// A file a method and rank, with the columns of that method alone: for csv and parquet
    #[arg(long)]
    by_method: bool,
    #[command(flatten)]
    force: Force,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Comma-separated values, a file an instance, port, method and rank; or one table
    Csv,
    /// Parquet, for pandas, Polars, DuckDB, Spark
    Parquet,
    /// An Arrow IPC file, which is Feather
    Arrow,
    /// Extra-P's text format, a file a method
    Extrap,
    /// Extra-P's JSON lines, a file a method
    ExtrapJsonl,
    /// A trace for Perfetto or chrome://tracing
    Perfetto,
    /// Folded stacks for flame graphs, as flamegraph.pl and inferno read them: a line a call path with its exclusive time in nanoseconds,
    /// summed over ranks and threads
    Folded,
}

impl Format {
    fn table(self) -> Option<TableFormat> {
        match self {
            Format::Csv => Some(TableFormat::Csv),
            Format::Parquet => Some(TableFormat::Parquet),
            Format::Arrow => Some(TableFormat::Arrow),
            _ => None,
        }
    }

    /// The ending of a file with one table.
    fn ending(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            _ => "csv",
        }
    }

    fn by_ending(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "csv" => Some(Format::Csv),
            "parquet" => Some(Format::Parquet),
            "arrow" | "feather" => Some(Format::Arrow),
            "folded" => Some(Format::Folded),
            _ => None,
        }
    }
}

impl Export {
    /// Exports the records.
    ///
    /// # Errors
    /// There are no records; the output is there already, or cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let asked = self.format();
        let asked = asked.and_then(|format| Ok((self.table(format)?, format)));
        let team = match asked {
            Ok((None, Format::Csv | Format::Parquet)) | Err(_) => Team::of_launch("export")?,
            // What all ranks go into together.
            _ => {
                first_alone("export into a file of all ranks")?;
                Team::alone()
            }
        };
        let (table, format) = team.together(asked)?;
        let run = team.together(run_facts::open(&self.records, &team))?;
        let files = match (table, format) {
            (Some(table), _) => self.one_table(&run, format, table)?,
            (None, Format::Perfetto) => {
                self.through_file(&self.output, |(path, out)| write_perfetto(&run, path, out))?
            }
            (None, Format::Folded) => {
                self.through_file(&self.output, |(path, out)| write_folded(&run, path, out))?
            }
            _ => self.folder(&run, format, &team)?,
        };
        run_facts::warn_of_missing_records(&run, "they are not in the export", &team)?;
        for path in files {
            output::line(path.display().to_string());
        }
        Ok(ExitCode::SUCCESS)
    }

    fn format(&self) -> anyhow::Result<Format> {
        match self.format.or_else(|| Format::by_ending(&self.output)) {
            Some(format) => Ok(format),
            None => bail!(WrongUse(
                "cannot export: no format, expected --format, or an output that ends in .parquet, .arrow, .feather, .csv or .folded"
            )),
        }
    }

    /// The format of a single table, if the request is for one.
    fn table(&self, format: Format) -> anyhow::Result<Option<TableFormat>> {
        let is_default = match format {
            Format::Csv => {
                is_standard_output(&self.output) || Format::by_ending(&self.output) == Some(format)
            }
            _ => true,
        };
        let table = format.table();
        if self.one_table && table.is_none() {
            bail!(WrongUse(
                "cannot export one table: a format of other things, expected csv, parquet or arrow"
            ));
        }
        if self.by_method && !matches!(format, Format::Csv | Format::Parquet) {
            bail!(WrongUse(
                "cannot export by method: another format, expected csv or parquet"
            ));
        }
        Ok(table.filter(|_| self.one_table || is_default && !self.by_method))
    }

    /// One file with all calls: the output, or, in a folder, `records` with the ending of the format.
    fn one_table(
        &self,
        run: &Run,
        format: Format,
        table: TableFormat,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let is_file = is_standard_output(&self.output) || self.output.extension().is_some();
        let path = match is_file && !self.output.is_dir() {
            true => self.output.clone(),
            false => {
                self.force.check_folder(&self.output)?;
                let act = || format!("cannot make folder \"{}\"", self.output.display());
                fs::create_dir_all(&self.output).with_context(act)?;
                self.output.join(format!("records.{}", format.ending()))
            }
        };
        let about = serde_json::to_string(&RunInfo::of(run))?;
        let name = name_of(&self.records);
        self.through_file(&path, |out| {
            write_table(run, &name, &about, out, table).map(drop)
        })
    }

    /// Writes one file, and removes an incomplete one if that fails; or writes to standard output.
    fn through_file(
        &self,
        path: &Path,
        write: impl FnOnce((&Path, Box<dyn Write + Send>)) -> Result<(), ExportError>,
    ) -> anyhow::Result<Vec<PathBuf>> {
        self.force.check([Some(path)], false)?;
        let (out, pending) = self.force.begin("export", path)?;
        write((path, out))?;
        pending.put_in_place()?;
        Ok(match is_standard_output(path) {
            true => Vec::new(),
            false => vec![path.to_owned()],
        })
    }

    /// Formats of several files, of which each process of a team writes those of its ranks. Collective.
    ///
    /// # Returns
    /// On the first process all files, elsewhere none.
    fn folder(&self, run: &Run, format: Format, team: &Team) -> anyhow::Result<Vec<PathBuf>> {
        team.first_decides(match team.is_first() {
            true => self.prepare(format),
            false => Ok(()),
        })?;
        let written = match format {
            Format::Parquet => add_parquet(run, &self.output).map_err(Into::into),
            Format::Extrap => self.extrap(run, ExtrapFormat::Text),
            Format::ExtrapJsonl => self.extrap(run, ExtrapFormat::JsonLines),
            _ => write_csv(run, &self.output).map_err(Into::into),
        };
        let own = team.together(written)?;
        let files = team.join(own, |files, later| files.extend(later))?;
        files.map_or_else(|| Ok(Vec::new()), |files| self.list(files))
    }

    /// Makes the folder ready.
    fn prepare(&self, format: Format) -> anyhow::Result<()> {
        self.force.check_folder(&self.output)?;
        if self.output.is_dir() {
            self.clear()?;
        }
        match format {
            Format::Parquet => Ok(make_empty(&self.output)?),
            _ => Ok(()),
        }
    }

    /// Writes down which files an export has made, so that a later one can clear them away.
    fn list(&self, files: Vec<PathBuf>) -> anyhow::Result<Vec<PathBuf>> {
        let names = files
            .iter()
            .filter_map(|file| file.strip_prefix(&self.output).ok());
        let names: Vec<_> = names
            .map(|name| name.display().to_string() + "\n")
            .collect();
        let list = self.output.join(LIST);
        let act = || format!("cannot write \"{}\"", list.display());
        fs::write(&list, names.concat()).with_context(act)?;
        Ok(files)
    }

    /// Removes the files that an earlier export wrote into the folder, so that it never holds two runs; other files
    /// stay.
    fn clear(&self) -> anyhow::Result<()> {
        let list = self.output.join(LIST);
        let Ok(names) = fs::read_to_string(&list) else {
            return Ok(());
        };
        // The list is a file that others may have changed: it must not lead out of the folder.
        let is_below = |name: &&str| {
            let mut parts = Path::new(name).components();
            parts.all(|part| matches!(part, std::path::Component::Normal(_)))
        };
        for name in names.lines().filter(is_below) {
            let path = self.output.join(name);
            // A file that is gone already is no error.
            let _ = fs::remove_file(&path);
            for folder in path
                .ancestors()
                .skip(1)
                .take_while(|folder| *folder != self.output)
            {
                // While something else is in it, it stays.
                let _ = fs::remove_dir(folder);
            }
        }
        fs::remove_file(&list).with_context(|| format!("cannot drop \"{}\"", list.display()))
    }

    fn extrap(&self, run: &Run, format: ExtrapFormat) -> anyhow::Result<Vec<PathBuf>> {
        let exported = write_extrap(run, &self.output, format)?;
        let mut by_reason = BTreeMap::<String, Vec<String>>::new();
        for (method, reason) in exported.left_out {
            by_reason.entry(reason).or_default().push(method);
        }
        for (reason, methods) in by_reason {
            crate::output::complain!("warning: left out for {reason}: {}", methods.join(", "));
        }
        Ok(exported.files)
    }
}

/// In a folder, the names of the files that an export wrote; hidden, so that readers of the folder pass over it.
const LIST: &str = ".mastermind-export";

/// The name of a run, which is the name of its directory.
fn name_of(records: &Path) -> String {
    let path = records.canonicalize().unwrap_or_else(|_| records.into());
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_default()
}

//! Identifies the launch that a process belongs to, so that ranks that cannot communicate yet agree on
//! shared names.

use std::fs;

use crate::{Launched, Launcher};

/// Helper of MPICH's launcher that starts the ranks of a node; its command line names the launch.
const HYDRA_PROXY: &str = "hydra_pmi_proxy";

/// Maximum number of processes between a rank and its launcher, such as scripts and the
/// measurement.
const MAX_ANCESTORS: usize = 16;

/// Variables of other launchers that name the launch, the same for all its ranks: PMIx, PALS, ALPS, Flux, Slurm's PMI.
const NAMES: [&str; 5] = [
    "PMIX_NAMESPACE",
    "PALS_APID",
    "ALPS_APP_ID",
    "FLUX_JOB_ID",
    "PMI_JOBID",
];

/// One start of ranks by a launcher, or by `MPI_Comm_spawn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The same text for all its ranks and for no other launch.
    pub name: String,
    /// Whether ranks that were running started it (`MPI_Comm_spawn`).
    pub is_spawned: bool,
}

impl Launch {
    /// The launch that this process belongs to.
    ///
    /// If no launcher names it, the launch is identified by the process that started the ranks of this node; then ranks
    /// of different nodes do not agree.
    ///
    /// # Arguments
    /// * `launched` - the launcher's description of this process
    /// * `variable` - value of an environment variable, `None` where it is not set
    pub fn of(launched: Launched, variable: impl Fn(&str) -> Option<String>) -> Self {
        let named = match launched.launcher {
            Launcher::OpenMpi => open_mpi(&variable),
            Launcher::Slurm => slurm(&variable),
            Launcher::Mpich => ancestors().find_map(|ancestor| hydra(&ancestor.command)),
            Launcher::Pmix => None,
        };
        let other = || {
            let name = NAMES.iter().find_map(|name| Some((name, variable(name)?)));
            name.map(|(variable, value)| Self::started(format!("{variable} {value}")))
        };
        let by_starter = || {
            let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            let starter = ancestors().find(|ancestor| !ancestor.is_rank());
            let starter = starter.map(|starter| starter.identity);
            Self::started(format!("{} {}", host.trim(), starter.unwrap_or_default()))
        };
        named.or_else(other).unwrap_or_else(by_starter)
    }

    fn started(name: String) -> Self {
        Self {
            name,
            is_spawned: false,
        }
    }
}

/// By the name space of its processes, and the address of `mpirun`: the former comes again some day.
fn open_mpi(variable: impl Fn(&str) -> Option<String>) -> Option<Launch> {
    let space = variable("PMIX_NAMESPACE").or_else(|| variable("OMPI_MCA_ess_base_jobid"))?;
    let launcher = variable("OMPI_MCA_orte_hnp_uri").unwrap_or_default();
    Some(Launch {
        name: format!("openmpi {space} {launcher}"),
        is_spawned: variable("OMPI_PARENT_PORT").is_some(),
    })
}

fn slurm(variable: impl Fn(&str) -> Option<String>) -> Option<Launch> {
    let job = variable("SLURM_JOB_ID").or_else(|| variable("SLURM_JOBID"))?;
    let step = variable("SLURM_STEP_ID").or_else(|| variable("SLURM_STEPID"))?;
    let restarts = variable("SLURM_RESTART_COUNT").unwrap_or_default();
    Some(Launch::started(format!("slurm {job}.{step} {restarts}")))
}

/// Whether a process of the rank, such as a script, started this one, and not the launcher: then the script decides
/// what ranks do together, and other ranks need not run what this process runs. Processes that a container's runtime
/// starts count as started by the launcher.
///
/// # Arguments
/// * `launched` - the launcher's description of this process
pub fn is_started_by_rank(launched: Launched) -> bool {
    let rank = match launched.launcher {
        Launcher::OpenMpi => "OMPI_COMM_WORLD_RANK=",
        Launcher::Mpich => "PMI_RANK=",
        Launcher::Slurm => "SLURM_PROCID=",
        Launcher::Pmix => "PMIX_RANK=",
    };
    let is_runtime = |ancestor: &Ancestor| {
        let program = ancestor.command.first().map(|word| word.to_lowercase());
        let name = program.iter().filter_map(|word| word.rsplit('/').next());
        name.clone()
            .any(|name| RUNTIMES.iter().any(|known| name.starts_with(known)))
    };
    let starter = ancestors().find(|ancestor| !is_runtime(ancestor));
    starter.is_some_and(|starter| starter.has_variable(rank))
}

/// Prefixes of process names of container runtimes that keep running next to the process they start: `Apptainer runtime
/// parent`.
const RUNTIMES: [&str; 2] = ["apptainer", "singularity"];

/// From `hydra_pmi_proxy --control-port HOST:PORT … --pgid N …`: the address of `mpiexec`, and the number of its group of
/// processes, 0 for the first and another for each that is spawned.
fn hydra(command: &[String]) -> Option<Launch> {
    let is_proxy = command.first()?.rsplit('/').next() == Some(HYDRA_PROXY);
    let value = |option: &str| {
        let at = command.iter().position(|word| word == option)?;
        command.get(at + 1)
    };
    let (port, group) = (value("--control-port")?, value("--pgid")?);
    is_proxy.then(|| Launch {
        name: format!("hydra {port} {group}"),
        is_spawned: group != "0",
    })
}

/// A process that this one descends from.
struct Ancestor {
    /// Its number and when it was started, in ticks since the machine was: no other process of the machine has both.
    identity: String,
    command: Vec<String>,
    /// Its environment, `NAME=VALUE` each.
    variables: Vec<Vec<u8>>,
}

impl Ancestor {
    /// Whether a launcher gave it a rank, as it does a script between itself and the program.
    fn is_rank(&self) -> bool {
        RANKS.iter().any(|rank| self.has_variable(rank))
    }

    /// # Arguments
    /// * `name` - with the `=` behind it
    fn has_variable(&self, name: &str) -> bool {
        let mut variables = self.variables.iter();
        variables.any(|text| text.starts_with(name.as_bytes()))
    }
}

/// From the parent up, as far as `/proc` shows them.
fn ancestors() -> impl Iterator<Item = Ancestor> {
    let parent = |process: &str| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        Some(field(&stat, PARENT)?.to_owned())
    };
    let first = parent("self");
    let processes = std::iter::successors(first, move |process| parent(process));
    processes.take(MAX_ANCESTORS).map_while(|process| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let command = fs::read(format!("/proc/{process}/cmdline")).ok()?;
        // The environment of another user's process, such as a daemon, cannot be read.
        let variables = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let variables = variables.split(|byte| *byte == 0);
        let words = command.split(|byte| *byte == 0);
        Some(Ancestor {
            identity: format!("{process} {}", field(&stat, STARTED)?),
            command: words
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect(),
            variables: variables.map(<[u8]>::to_vec).collect(),
        })
    })
}

/// Variables with the rank of a process.
const RANKS: [&str; 2] = ["PMI_RANK=", "PMIX_RANK="];

/// Fields of `/proc/PROCESS/stat` behind the name, from 0 (proc(5)).
const PARENT: usize = 1;
const STARTED: usize = 19;

/// A field behind the name of the process, which is in parentheses and may contain anything.
fn field(stat: &str, number: usize) -> Option<&str> {
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_whitespace().nth(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(launcher: Launcher, variables: &[(&str, &str)]) -> Launch {
        let launched = Launched {
            rank: 0,
            local_size: None,
            size: None,
            launcher,
        };
        Launch::of(launched, |name| {
            let mut found = variables.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn ranks_of_a_launch_agree_and_others_differ() {
        let space = |space| [("PMIX_NAMESPACE", space), ("PMIX_RANK", "0")];
        let first = of(Launcher::OpenMpi, &space("7"));
        assert_eq!(first, of(Launcher::OpenMpi, &space("7")));
        assert_ne!(first, of(Launcher::OpenMpi, &space("8")));
        let parent = [&space("8")[..], &[("OMPI_PARENT_PORT", "7.0:1")]].concat();
        let spawned = of(Launcher::OpenMpi, &parent);
        assert!(spawned.is_spawned && !first.is_spawned);
        let step = |step| [("SLURM_JOB_ID", "5"), ("SLURM_STEP_ID", step)];
        assert_ne!(
            of(Launcher::Slurm, &step("0")),
            of(Launcher::Slurm, &step("1"))
        );
        assert_ne!(
            of(Launcher::Pmix, &space("7")),
            of(Launcher::Pmix, &space("8"))
        );
    }

    #[test]
    fn hydra_is_known_by_the_helper_that_starts_its_ranks() {
        let command = |group: &str| {
            let line = format!(
                "/usr/bin/hydra_pmi_proxy --control-port vm:43977 --rmk user --pgid {group} --retries 10"
            );
            line.split(' ').map(str::to_owned).collect::<Vec<_>>()
        };
        let first = hydra(&command("0")).expect("a launch");
        assert_eq!(
            (&*first.name, first.is_spawned),
            ("hydra vm:43977 0", false)
        );
        assert!(hydra(&command("1")).expect("a launch").is_spawned);
        assert_eq!(hydra(&["sh".to_owned(), "--pgid".to_owned()]), None);
    }

    /// The parent of the tests represents a launcher that names nothing.
    #[test]
    fn without_a_name_it_is_that_of_who_started_the_ranks() {
        let launch = of(Launcher::Pmix, &[]);
        assert_eq!(launch, of(Launcher::Pmix, &[]));
        assert!(
            launch
                .name
                .contains(&std::os::unix::process::parent_id().to_string())
        );
    }

    /// The parent of the tests has no rank.
    #[test]
    fn who_has_no_rank_is_a_launcher() {
        let launched = Launched {
            rank: 0,
            local_size: None,
            size: Some(2),
            launcher: Launcher::OpenMpi,
        };
        assert!(!is_started_by_rank(launched));
    }

    #[test]
    fn the_name_of_a_process_may_hold_anything() {
        assert_eq!(field("7 (a) b) S 3 4", PARENT), Some("3"));
    }
}

//! Whether a launcher started this process, read from the environment it left behind.
//!
//! The program has to know whether it is one of several ranks before it loads MPI, and which MPI to
//! load; starting MPI to find out would be too late. Each launcher leaves variables in the
//! environment of the processes it starts, and launchers may be nested, so the order of the
//! questions matters: the innermost one wins.
//!
//! ```text
//! 1. OMPI_COMM_WORLD_RANK   Open MPI's mpirun
//! 2. PMI_RANK               MPICH's Hydra, unless Slurm's step has the same rank and size: then Slurm
//! 3. SLURM_STEP_ID etc.     srun; steps from 0xfffffff0 on (batch script, shell) do not count
//! 4. PMIX_RANK              another launcher that speaks PMIx, which gives no size
//! ```
//!
//! The variables come in through a function, so that tests need no environment and only the command
//! line reads the real one.

use std::str::FromStr;

use thiserror::Error;

/// The launcher that started this process, as its environment variables show. It decides how the
/// rank and the number of ranks are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI's `mpirun` (ORTE or PRRTE).
    OpenMpi,
    /// MPICH's Hydra, or another launcher that speaks PMI.
    Mpich,
    /// Slurm's `srun`.
    Slurm,
    /// Another launcher that speaks PMIx.
    Pmix,
}

impl Launcher {
    /// Name for a message.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "Open MPI's mpirun",
            Self::Mpich => "MPICH's mpiexec",
            Self::Slurm => "Slurm's srun",
            Self::Pmix => "a PMIx launcher",
        }
    }
}

/// A launcher's description of this process: its rank, and as far as the launcher gives them the
/// numbers of ranks in all and on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// This process among those started together, from 0.
    pub rank: i32,
    /// Number of processes that were started together; PMIx alone does not report it.
    pub size: Option<i32>,
    /// Number of them on this machine; `None` if the launcher does not report it.
    pub local_size: Option<i32>,
    /// Which launcher it was.
    pub launcher: Launcher,
}

/// A launcher's variable with a value that cannot be.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("cannot read launcher variable \"{name}\": \"{found}\", expected a number of 0 or more")]
pub struct LaunchError {
    /// Name of the variable.
    pub name: &'static str,
    /// Its value.
    pub found: String,
}

/// Reads rank and size from the variables of the known launchers.
///
/// A launcher inside another wins: under Slurm, Open MPI's and MPICH's own launchers use `srun` to
/// start their helpers, so Slurm's variables are then those of a helper. An allocation alone
/// (`sbatch`, `salloc`, also where its shell runs in an interactive step) is no launch.
///
/// # Arguments
/// * `variable` - value of an environment variable, `None` where it is not set
///
/// # Returns
/// `None` if no launcher started this process.
///
/// # Errors
/// [`LaunchError`] if a variable that decides has no number in it.
pub fn launched(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Launched>, LaunchError> {
    let number = |name| number::<i32>(&variable, name);
    if let Some(rank) = number("OMPI_COMM_WORLD_RANK")? {
        let size = number("OMPI_COMM_WORLD_SIZE")?;
        return Ok(Some(Launched {
            rank,
            size,
            local_size: count(&variable, "OMPI_COMM_WORLD_LOCAL_SIZE"),
            launcher: Launcher::OpenMpi,
        }));
    }
    let slurm = slurm_step(&variable)?;
    if let Some(rank) = number("PMI_RANK")? {
        let pmi = Launched {
            rank,
            size: number("PMI_SIZE")?,
            local_size: count(&variable, "MPI_LOCALNRANKS"),
            launcher: Launcher::Mpich,
        };
        // `srun --mpi=pmi2` sets both, alike.
        let by_slurm = slurm.filter(|step| (step.rank, step.size) == (pmi.rank, pmi.size));
        return Ok(Some(by_slurm.unwrap_or(pmi)));
    }
    if slurm.is_some() {
        return Ok(slurm);
    }
    let pmix = number("PMIX_RANK")?;
    Ok(pmix.map(|rank| Launched {
        rank,
        size: None,
        local_size: None,
        launcher: Launcher::Pmix,
    }))
}

/// The task of a Slurm job step that this process is.
fn slurm_step(variable: &impl Fn(&str) -> Option<String>) -> Result<Option<Launched>, LaunchError> {
    /// Step numbers from here on are Slurm's own: batch script, interactive shell, and the like.
    const FIRST_RESERVED_STEP: u32 = 0xffff_fff0;
    let step = match number::<u32>(variable, "SLURM_STEP_ID")? {
        None => number(variable, "SLURM_STEPID")?,
        some => some,
    };
    if step.is_none_or(|step| step >= FIRST_RESERVED_STEP) {
        return Ok(None);
    }
    let Some(rank) = number(variable, "SLURM_PROCID")? else {
        return Ok(None);
    };
    let size = match number(variable, "SLURM_STEP_NUM_TASKS")? {
        None => number(variable, "SLURM_NTASKS")?,
        some => some,
    };
    Ok(Some(Launched {
        rank,
        size,
        local_size: slurm_local_size(&variable),
        launcher: Launcher::Slurm,
    }))
}

/// Tasks of a Slurm step on this node: `SLURM_STEP_TASKS_PER_NODE` lists them by node, those of `n` nodes in a row as `4(xn)`, and
/// `SLURM_NODEID` numbers the nodes.
fn slurm_local_size(variable: &impl Fn(&str) -> Option<String>) -> Option<i32> {
    let mut node: usize = variable("SLURM_NODEID")?.trim().parse().ok()?;
    for nodes in variable("SLURM_STEP_TASKS_PER_NODE")?.trim().split(',') {
        let (tasks, n) = match nodes.split_once("(x") {
            Some((tasks, n)) => (tasks, n.strip_suffix(')')?.parse().ok()?),
            None => (nodes, 1),
        };
        if node < n {
            return tasks.parse().ok();
        }
        node -= n;
    }
    None
}

/// A number on which nothing depends that must be right.
fn count(variable: &impl Fn(&str) -> Option<String>, name: &str) -> Option<i32> {
    variable(name)?.trim().parse().ok().filter(|n| *n > 0)
}

fn number<T: FromStr + PartialOrd + Default>(
    variable: &impl Fn(&str) -> Option<String>,
    name: &'static str,
) -> Result<Option<T>, LaunchError> {
    let Some(text) = variable(name) else {
        return Ok(None);
    };
    match text.trim().parse() {
        Ok(value) if value >= T::default() => Ok(Some(value)),
        _ => Err(LaunchError { name, found: text }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, variables, expected result.
    type Case<'a> = (&'a str, Vec<(&'a str, &'a str)>, Option<Launched>);

    fn read(variables: &[(&str, &str)]) -> Result<Option<Launched>, LaunchError> {
        launched(|name| {
            variables
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn each_launcher_is_known_by_its_variables() {
        let some = |rank, size, launcher| {
            Some(Launched {
                rank,
                size: Some(size),
                local_size: None,
                launcher,
            })
        };
        let batch = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "4"),
        ];
        let step = [
            ("SLURM_STEP_ID", "0"),
            ("SLURM_PROCID", "2"),
            ("SLURM_NTASKS", "4"),
        ];
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "3")];
        let pmi = [("PMI_RANK", "1"), ("PMI_SIZE", "3")];
        let table: Vec<Case<'_>> = vec![
            ("nothing", vec![], None),
            ("mpirun", open_mpi.to_vec(), some(1, 3, Launcher::OpenMpi)),
            (
                "mpirun, PMIx",
                [&open_mpi[..], &[("PMIX_RANK", "1")]].concat(),
                some(1, 3, Launcher::OpenMpi),
            ),
            ("hydra", pmi.to_vec(), some(1, 3, Launcher::Mpich)),
            ("srun", step.to_vec(), some(2, 4, Launcher::Slurm)),
            (
                "salloc",
                vec![("SLURM_JOB_ID", "7"), ("SLURM_NTASKS", "4")],
                None,
            ),
            ("sbatch", batch.to_vec(), None),
            (
                "interactive step",
                [&batch[..], &[("SLURM_STEP_ID", "4294967290")]].concat(),
                None,
            ),
            (
                "sbatch, mpirun",
                [&batch[..], &open_mpi].concat(),
                some(1, 3, Launcher::OpenMpi),
            ),
            (
                "helper of srun, mpirun",
                [&step[..], &open_mpi].concat(),
                some(1, 3, Launcher::OpenMpi),
            ),
            (
                "helper of srun, hydra",
                [&step[..], &pmi].concat(),
                some(1, 3, Launcher::Mpich),
            ),
            (
                "srun --mpi=pmi2",
                [&step[..], &[("PMI_RANK", "2"), ("PMI_SIZE", "4")]].concat(),
                some(2, 4, Launcher::Slurm),
            ),
            (
                "srun --mpi=pmix, part of the job's tasks",
                [
                    &step[..],
                    &[("PMIX_RANK", "2"), ("SLURM_STEP_NUM_TASKS", "3")],
                ]
                .concat(),
                some(2, 3, Launcher::Slurm),
            ),
            (
                "another PMIx launcher",
                vec![("PMIX_RANK", "2")],
                Some(Launched {
                    rank: 2,
                    size: None,
                    local_size: None,
                    launcher: Launcher::Pmix,
                }),
            ),
        ];
        for (case, variables, expected) in table {
            assert_eq!(read(&variables), Ok(expected), "{case}");
        }
    }

    #[test]
    fn a_value_that_is_no_number_is_an_error() {
        for found in ["", "x", "-1", "1.5"] {
            let error = read(&[("PMI_RANK", found)]).expect_err(found);
            assert_eq!(
                error,
                LaunchError {
                    name: "PMI_RANK",
                    found: found.to_owned()
                }
            );
        }
        assert_eq!(
            read(&[
                ("OMPI_COMM_WORLD_RANK", "0"),
                ("OMPI_COMM_WORLD_SIZE", "many")
            ])
            .expect_err("no number")
            .to_string(),
            "cannot read launcher variable \"OMPI_COMM_WORLD_SIZE\": \"many\", expected a number \
             of 0 or more"
        );
    }
}

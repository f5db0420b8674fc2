//! Finds calls of MPI that are not in the records because they do not come to the proxy. A program that defines
//! functions of MPI itself is searched before every preloaded library, and a caller of a function's profiling name
//! wants no library in between.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proxy_reach::{DynamicNames, dynamic_names};

use super::round_about::named;
use crate::trace::{Bound, Trace};

/// Prefixes of names that only parts of an MPI refer to; programs refer to `ompi_mpi_comm_world` and the like.
const INTERNAL: [&str; 4] = ["opal_", "mca_", "MPIR_", "MPID_"];

/// A line for each object and reason.
///
/// # Arguments
/// * `functions` - the functions of MPI that are recorded, as C names them
pub fn lines(trace: &Trace, functions: &[String]) -> Vec<String> {
    let fortran = functions.iter().map(|name| name.to_lowercase() + "_");
    let names: BTreeSet<String> = functions.iter().cloned().chain(fortran).collect();
    let mut lines = Vec::new();
    for path in trace.programs.iter().chain(&trace.objects) {
        let found = fs::read(path).ok();
        if let Some(found) = found.and_then(|bytes| dynamic_names(&bytes).ok()) {
            lines.extend(of_object(
                path,
                trace.programs.contains(path),
                &found,
                &names,
            ));
        }
    }
    lines.extend(bound(trace));
    let mut known = BTreeSet::new();
    lines.retain(|line| known.insert(line.clone()));
    lines
}

fn of_object(
    path: &Path,
    is_program: bool,
    found: &DynamicNames,
    names: &BTreeSet<String>,
) -> Option<String> {
    let is_profiling = |name: &&String| name.starts_with("PMPI_") || name.starts_with("pmpi_");
    let is_internal = |name: &&String| INTERNAL.iter().any(|prefix| name.starts_with(prefix));
    // An MPI, or a part of one.
    if found.defined.iter().any(|name| is_profiling(&name))
        || found.referred.iter().any(|name| is_internal(&name))
    {
        return None;
    }
    let defined: Vec<(&str, u64)> = found
        .defined
        .intersection(names)
        .map(|name| (&**name, 0))
        .collect();
    let path = path.display();
    if is_program && !defined.is_empty() {
        return Some(format!(
            "{path}: the program defines {} itself, before any preloaded library: its calls of them",
            named(&defined)
        ));
    }
    // A call by a library between the program and MPI is not the program's.
    if !defined.is_empty() {
        return None;
    }
    let plain = |name: &String| match name.strip_prefix('P') {
        Some(plain) => names.contains(plain),
        None => name
            .strip_prefix('p')
            .is_some_and(|plain| names.contains(plain)),
    };
    let called: Vec<(&str, u64)> = found
        .referred
        .iter()
        .filter(|name| is_profiling(name) && plain(name))
        .map(|name| (&**name, 0))
        .collect();
    (!called.is_empty()).then(|| {
        format!(
            "{path}: calls {} by profiling names, which no library before MPI sees",
            named(&called)
        )
    })
}

/// Whether it is a function of MPI.
pub fn is_of_mpi(function: &str) -> bool {
    function.starts_with("MPI_") || function.starts_with("mpi_")
}

/// References that bind to another definition than the first one after the proxy, as they do without it.
fn bound(trace: &Trace) -> Vec<String> {
    let of_mpi = trace
        .bound
        .iter()
        .filter(|(bound, _)| is_of_mpi(&bound.function));
    let line = |(bound, n): (&Bound, &usize)| {
        let (from, to, function) = (bound.from.display(), bound.to.display(), &bound.function);
        let times = if *n == 1 { "time" } else { "times" };
        match bound.how.as_str() {
            "dlsym" => format!(
                "{from}: looked up {function} of {to} by dlsym {n} {times}, past the library that gives the name first"
            ),
            _ => format!(
                "{from}: calls {function} of {to}, past the library that gives the name first"
            ),
        }
    };
    of_mpi.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_about(is_program: bool, defined: &[&str], referred: &[&str]) -> Option<String> {
        let names = ["MPI_Send", "MPI_Recv", "mpi_send_"].map(str::to_owned);
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let found = DynamicNames {
            defined: set(defined),
            referred: set(referred),
        };
        of_object(Path::new("a"), is_program, &found, &names.into())
    }

    #[test]
    fn own_definitions_and_profiling_names_are_reported() {
        let own = line_about(true, &["MPI_Send", "main"], &["PMPI_Send"]);
        assert!(own.is_some_and(|line| line.contains("defines MPI_Send itself")));
        for (name, is_reported) in [
            ("PMPI_Send", true),
            ("pmpi_send_", true),
            ("PMPI_Comm_rank", false),
        ] {
            let line = line_about(false, &["work"], &[name, "MPI_Recv"]);
            assert_eq!(
                line.is_some_and(|line| line.contains(name)),
                is_reported,
                "{name}"
            );
        }
        // A library in between, an MPI, and a part of one.
        assert_eq!(line_about(false, &["MPI_Send"], &["PMPI_Recv"]), None);
        assert_eq!(
            line_about(false, &["MPI_Send", "PMPI_Send"], &["PMPI_Recv"]),
            None
        );
        assert_eq!(
            line_about(false, &["mca_io"], &["PMPI_Recv", "opal_output"]),
            None
        );
    }
}

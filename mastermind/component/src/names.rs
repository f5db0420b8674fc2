//! The names of methods, the same in every verb.
//!
//! | where | name | also taken |
//! |---|---|---|
//! | a run | `INSTANCE.PORT.METHOD` | `INSTANCE.METHOD`, `CLASS::PORT.METHOD` |
//! | a model | `CLASS::PORT.METHOD` | |
//! | MPI | `MPI_Send` | `MPI_Send()`, as the profile shows it |
//!
//! and each suffix of these that begins at a part (`PORT.METHOD`, `METHOD`), if it means one method only. A whole name
//! takes precedence over a suffix of another: `flux.compute` is the method of the instance `flux`, even if another
//! instance has a port `flux`.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::ModelSet;
use mastermind_records::Run;
use mastermind_records::definition::MethodDefinition;

use crate::samples::method_name;

/// Maximum number of known names in the error about an unknown method.
const MAX_LISTED: usize = 40;

/// Maximum number of nearest names in it.
const MAX_NEAREST: usize = 3;

/// A near name may differ in at most one letter per this many.
const LETTERS_A_SLIP: usize = 3;

/// A name that means no method, or several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NameError(String);

/// The names of one method; the one to show comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names(Vec<String>);

impl Names {
    /// Of a method in a run.
    pub fn of_run(method: &MethodDefinition) -> Self {
        if method.is_mpi() {
            return Names(vec![method.method.clone(), method_name(method)]);
        }
        let MethodDefinition {
            instance,
            port,
            method: name,
            ..
        } = method;
        Names(vec![
            format!("{instance}.{port}.{name}"),
            method.name(),
            method_name(method),
        ])
    }

    /// Of a method in models or tables.
    pub fn of_model(name: &str) -> Self {
        let short = name
            .rsplit('.')
            .next()
            .filter(|end| end.starts_with("MPI_"));
        Names([name].into_iter().chain(short).map(str::to_owned).collect())
    }

    /// With the names that the method has in a run.
    pub fn and_of_run(mut self, run: &Run) -> Self {
        let methods = run
            .logs()
            .iter()
            .flat_map(|log| log.definitions().methods());
        let methods = methods.filter(|method| self.0[0] == method_name(method));
        let more: Vec<_> = methods.flat_map(|method| Names::of_run(method).0).collect();
        self.0.extend(more);
        self
    }

    /// Of a method that a run would record.
    pub fn of_instance(instance: &str, port: &str, method: &str) -> Self {
        Names(vec![
            format!("{instance}.{port}.{method}"),
            format!("{instance}.{method}"),
        ])
    }

    /// The name that is shown.
    pub fn shown(&self) -> &str {
        &self.0[0]
    }

    fn is_whole(&self, typed: &str) -> bool {
        self.0.iter().any(|name| name == typed)
    }

    fn ends_in(&self, typed: &str) -> bool {
        self.0.iter().any(|name| means(name, typed))
    }

    /// Number of letters by which a name differs from one of these, or from a suffix of one.
    fn distance(&self, typed: &str) -> usize {
        let ends = self.0.iter().flat_map(|name| {
            let starts = name
                .match_indices(['.', ':'])
                .map(|(at, part)| at + part.len());
            [0].into_iter().chain(starts).map(move |at| &name[at..])
        });
        let distances = ends.map(|end| strsim::osa_distance(end, typed));
        distances.min().unwrap_or(usize::MAX)
    }
}

/// Whether a name means this method: by its whole name, or a suffix that begins at a part.
pub fn means(name: &str, typed: &str) -> bool {
    let rest = name.strip_suffix(typed);
    rest.is_some_and(|rest| {
        rest.is_empty() || ["::", ".", "->"].iter().any(|part| rest.ends_with(part))
    })
}

/// The methods that a name means, as indices: those with it as a whole name, or if there are none, those with a name
/// that ends in it.
pub fn meant(typed: &str, known: &[Names]) -> Vec<usize> {
    let typed = typed.strip_suffix("()").unwrap_or(typed);
    let places = |is_meant: &dyn Fn(&Names) -> bool| -> Vec<usize> {
        let places = known.iter().enumerate();
        places
            .filter(|(_, names)| is_meant(names))
            .map(|(place, _)| place)
            .collect()
    };
    let whole = places(&|names| names.is_whole(typed));
    match whole.is_empty() {
        true => places(&|names| names.ends_in(typed)),
        false => whole,
    }
}

/// The one method that a name means, as an index.
///
/// # Arguments
/// * `act` - the verb of the error message: `draw`
/// * `lacking` - the reason in it: `no calls of it`
///
/// # Errors
/// It means no method; the message has the nearest and the known names. Or it means several, which the message names.
pub fn one(act: &str, typed: &str, lacking: &str, known: &[Names]) -> Result<usize, NameError> {
    match meant(typed, known)[..] {
        [place] => Ok(place),
        [] => Err(unknown(act, typed, lacking, known)),
        ref several => {
            let names: Vec<_> = several
                .iter()
                .map(|place| format!("\"{}\"", known[*place].shown()))
                .collect();
            Err(NameError(format!(
                "cannot {act} \"{typed}\": {} methods of this name, expected one; name {}",
                several.len(),
                names.join(" or ")
            )))
        }
    }
}

/// The methods of models that a name means.
pub fn of_models(models: &ModelSet, typed: &str) -> BTreeSet<String> {
    let methods: BTreeSet<_> = models.models.iter().map(|model| &model.method).collect();
    let known: Vec<_> = methods
        .into_iter()
        .map(|method| Names::of_model(method))
        .collect();
    let meant = meant(typed, &known).into_iter();
    meant.map(|place| known[place].shown().to_owned()).collect()
}

/// The distinct methods of a run, whatever classes their instances had.
pub fn of_run(run: &Run) -> Vec<Names> {
    let methods = run
        .logs()
        .iter()
        .flat_map(|log| log.definitions().methods());
    let mut all = BTreeMap::<String, Names>::new();
    for names in methods.map(|method| Names::of_run(method)) {
        match all.entry(names.shown().to_owned()) {
            Entry::Vacant(new) => drop(new.insert(names)),
            Entry::Occupied(mut known) => known.get_mut().0.extend(names.0),
        }
    }
    all.into_values().collect()
}

/// An error for a name that means no method: the nearest known ones, and all known ones if there are few.
pub fn unknown(act: &str, typed: &str, lacking: &str, known: &[Names]) -> NameError {
    let mut near: Vec<_> = known
        .iter()
        .map(|names| (names.distance(typed), names.shown()))
        .filter(|(distance, _)| distance * LETTERS_A_SLIP <= typed.chars().count())
        .collect();
    near.sort();
    near.truncate(MAX_NEAREST);
    let mut shown_names: Vec<_> = known.iter().map(Names::shown).take(MAX_LISTED).collect();
    let more = known.len().saturating_sub(MAX_LISTED);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if shown_names.is_empty() {
        shown_names.push("nothing");
    }
    let near: Vec<_> = near.iter().map(|(_, name)| format!("\"{name}\"")).collect();
    let near = match near.is_empty() {
        true => String::new(),
        false => format!("; the nearest is {}", near.join(", ")),
    };
    NameError(format!(
        "cannot {act} \"{typed}\": {lacking}, expected one of {}{more}{near}",
        shown_names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(instance: &str, port: &str, name: &str) -> MethodDefinition {
        MethodDefinition {
            instance: instance.into(),
            class: format!("hydro.{instance}"),
            port: port.into(),
            method: name.into(),
            ..MethodDefinition::default()
        }
    }

    fn known() -> Vec<Names> {
        [
            method("flux", "flux", "compute"),
            method("inviscid", "flux", "compute"),
            method("states", "states", "compute"),
            method("mesh", "mesh", "fill_ghosts"),
        ]
        .iter()
        .map(Names::of_run)
        .collect()
    }

    #[test]
    fn whole_names_and_unambiguous_ends_are_taken() {
        for (typed, place) in [
            ("flux.flux.compute", 0),
            // The profile's name, which is an end of another's.
            ("flux.compute", 0),
            ("hydro.flux::flux.compute", 0),
            ("inviscid.flux.compute", 1),
            ("inviscid.compute", 1),
            ("states.compute", 2),
            ("fill_ghosts", 3),
            ("mesh.fill_ghosts", 3),
        ] {
            assert_eq!(
                one("draw", typed, "none", &known()).ok(),
                Some(place),
                "{typed}"
            );
        }
    }

    #[test]
    fn what_means_several_lists_them_and_what_means_none_the_nearest() {
        let error_of = |typed| {
            one("draw", typed, "no calls of it", &known())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            error_of("compute"),
            "cannot draw \"compute\": 3 methods of this name, expected one; name \"flux.flux.compute\" or \
             \"inviscid.flux.compute\" or \"states.states.compute\""
        );
        assert!(error_of("mesh.fil_ghost").ends_with("; the nearest is \"mesh.mesh.fill_ghosts\""));
        assert!(!error_of("nothing").contains("nearest"));
    }

    #[test]
    fn functions_of_mpi_have_the_name_of_their_manual() {
        let mpi = MethodDefinition {
            interface: "MPI".into(),
            class: "MPI".into(),
            ..method("MPI", "MPI", "MPI_Send")
        };
        let known = [Names::of_run(&mpi), Names::of_model("MPI::MPI.MPI_Recv")];
        assert_eq!(known[0].shown(), "MPI_Send");
        assert_eq!(meant("MPI_Send", &known), [0]);
        assert_eq!(meant("MPI_Recv()", &known), [1]);
    }

    #[test]
    fn an_end_begins_at_a_part() {
        let method = "hydro.GodunovFlux::flux.compute";
        for name in [
            method,
            "GodunovFlux::flux.compute",
            "flux.compute",
            "compute",
        ] {
            assert!(means(method, name), "{name}");
        }
        for name in ["lux.compute", "hydro.EfmFlux::flux.compute", "flux"] {
            assert!(!means(method, name), "{name}");
        }
        assert!(means("main->sweep", "sweep"));
    }
}

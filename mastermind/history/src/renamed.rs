//! A component with a new name: its earlier runs continue under the new one.

use crate::error::HistoryError;
use crate::run_sums::RunSums;
use crate::store::StoredRun;

/// Gives the component of earlier runs its present name.
///
/// # Arguments
/// * `old`, `new` - an instance, whose methods keep their names, or an instance with a method, `instance.method`
///
/// # Returns
/// In how many runs it had the old name.
///
/// # Errors
/// No run has the old name, or a run has both: then they are two components.
pub fn rename(runs: &mut [StoredRun], old: &str, new: &str) -> Result<usize, HistoryError> {
    let mut n = 0;
    for run in runs {
        if !has(&run.sums, old) {
            continue;
        }
        if has(&run.sums, new) {
            return Err(HistoryError::BothNames {
                old: old.into(),
                new: new.into(),
                run: run.id.clone(),
            });
        }
        for cell in &mut run.sums.cells {
            if let Some(rest) = rest(&cell.method, old) {
                cell.method = format!("{new}{rest}");
            }
        }
        n += 1;
    }
    match n {
        0 => Err(HistoryError::NoSuchComponent { name: old.into() }),
        n => Ok(n),
    }
}

fn has(run: &RunSums, name: &str) -> bool {
    run.cells
        .iter()
        .any(|cell| rest(&cell.method, name).is_some())
}

/// The text behind the name: nothing, or a point and a method.
fn rest<'m>(method: &'m str, name: &str) -> Option<&'m str> {
    let rest = method.strip_prefix(name)?;
    (rest.is_empty() || rest.starts_with('.')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_sums::Cell;

    fn run(methods: &[&str]) -> StoredRun {
        let cell = |method: &&str| Cell {
            method: (*method).into(),
            ..Cell::default()
        };
        let sums = RunSums {
            cells: methods.iter().map(cell).collect(),
            ..RunSums::default()
        };
        StoredRun {
            id: methods.join(" "),
            path: "x".into(),
            sums,
        }
    }

    fn methods(run: &StoredRun) -> Vec<&str> {
        run.sums.cells.iter().map(|cell| &*cell.method).collect()
    }

    #[test]
    fn an_instance_or_one_method_gets_the_new_name() {
        let mut runs = [
            run(&["flux.compute", "fluxes.compute", "flux.limit"]),
            run(&["riemann.compute"]),
        ];
        assert_eq!(rename(&mut runs, "flux", "riemann").unwrap(), 1);
        assert_eq!(
            methods(&runs[0]),
            ["riemann.compute", "fluxes.compute", "riemann.limit"]
        );
        assert_eq!(
            rename(&mut runs, "riemann.compute", "riemann.solve").unwrap(),
            2
        );
        assert_eq!(methods(&runs[1]), ["riemann.solve"]);
    }

    #[test]
    fn two_components_of_a_run_do_not_become_one() {
        let mut runs = [run(&["a.step", "b.step"])];
        assert!(rename(&mut runs, "a", "b").is_err());
        assert!(rename(&mut runs, "c", "d").is_err());
        assert_eq!(methods(&runs[0]), ["a.step", "b.step"]);
    }
}

//! Requirements of a test that a machine may lack: an MPI, a compiler.

use std::env;
use std::fmt::Display;

/// Names, separated by blanks, of the requirements that this machine is known to meet; `cargo xtask test` sets it.
const WITH: &str = "MASTERMIND_TEST_WITH";

/// Names of requirements that are hidden from the tests on purpose.
const WITHOUT: &str = "MASTERMIND_TEST_WITHOUT";

/// Set, and not to `false`, by services of continuous integration.
const CI: &str = "CI";

/// Notes that a test, or a part of it, is skipped.
///
/// # Arguments
/// * `what` - the missing requirement: `openmpi`, `mpich`, `cc`, `c++`
/// * `why` - the evidence
///
/// # Panics
/// If it must be there: [`WITH`] names it, or this is continuous integration, and [`WITHOUT`] does not name it. So no
/// check passes because it was skipped.
pub fn skip(what: &str, why: impl Display) {
    let variable = |name| env::var(name).unwrap_or_default();
    let ci = !matches!(variable(CI).as_str(), "" | "false" | "0");
    assert!(
        !is_required(what, &variable(WITH), &variable(WITHOUT), ci),
        "cannot pass over {what}: {why}, expected it on this machine"
    );
    println!("skipped: {why}");
}

fn is_required(what: &str, with: &str, without: &str, ci: bool) -> bool {
    let named = |list: &str| list.split_whitespace().any(|name| name == what);
    (ci || named(with)) && !named(without)
}

#[cfg(test)]
mod tests {
    use super::is_required;

    #[test]
    fn what_must_be_there_is_not_passed_over() {
        let required = |with: &str, without: &str, ci| is_required("mpich", with, without, ci);
        assert!(!required("", "", false) && !required("openmpi cc", "", false));
        assert!(required("openmpi mpich", "", false));
        assert!(required("", "", true) && required("", "openmpi", true));
        assert!(!required("mpich", "openmpi mpich", false) && !required("", "mpich", true));
    }
}

//! The best assembly.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use cca_core::Assembly;
use mastermind_component::{Basis, WorkloadRequest};
use mastermind_composition::{Choice, ChooseOptions, Requirement, choose_with};
use mastermind_records::Run as Records;
use pyo3::prelude::*;

use crate::convert::{document, error};
use crate::model::Models;
use crate::run::Run;

/// Why nothing was chosen.
type Failure = Box<dyn Error + Send + Sync>;

/// Chooses the best assembly for a recorded workload, as `mastermind choose` does: a dictionary, as its JSON document.
///
/// Does not search models that came with libraries; the command line does that.
#[pyfunction]
#[pyo3(signature = (
    assembly, models, run, *, require=Vec::new(), best=1, pareto=None, strict=false, set=BTreeMap::new(), ranks=None, runs=None,
    earlier=None
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub(crate) fn choose<'py>(
    py: Python<'py>,
    assembly: PathBuf,
    models: &Models,
    run: &Run,
    require: Vec<String>,
    best: usize,
    pareto: Option<String>,
    strict: bool,
    set: BTreeMap<String, f64>,
    ranks: Option<u32>,
    runs: Option<PathBuf>,
    earlier: Option<PathBuf>,
) -> PyResult<Bound<'py, PyAny>> {
    let requirements = require.iter().map(|text| Requirement::parse(text));
    let requirements = requirements.collect::<Result<_, _>>().map_err(error)?;
    let set = set.into_iter().map(|(key, value)| (key, value.to_string()));
    let asked = WorkloadRequest {
        set: set.collect(),
        ranks,
        runs,
        earlier,
    };
    let wishes = ChooseOptions {
        n_best: best.max(1),
        requirements,
        pareto,
        strict,
        ..ChooseOptions::default()
    };
    let choice = py.detach(|| chosen(&assembly, models, run, &asked, wishes));
    document(py, &choice.map_err(|failure| error(&*failure))?)
}

fn chosen(
    assembly: &Path,
    models: &Models,
    run: &Run,
    asked: &WorkloadRequest,
    wishes: ChooseOptions,
) -> Result<Choice, Failure> {
    let assembly = Assembly::read(assembly)?;
    let models = &models.models;
    let open = |folder: &Path| -> Result<_, Failure> { Ok(Records::open(folder)?) };
    let basis = Basis::new(&run.run, &assembly, models, asked, open)?;
    let options = ChooseOptions {
        n_best: wishes.n_best,
        requirements: wishes.requirements,
        pareto: wishes.pareto,
        strict: wishes.strict,
        ..basis.options
    };
    let (alternatives, instances) = (&assembly.alternatives, &assembly.instances);
    Ok(choose_with(
        &basis.workload,
        alternatives,
        instances,
        models,
        &options,
    )?)
}

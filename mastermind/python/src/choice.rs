//! The best assembly.

use std::path::PathBuf;

use cca_core::Assembly;
use mastermind_component::workload;
use mastermind_composition::{ChooseOptions, Requirement, Seconds, choose_with};
use mastermind_models::Metric;
use pyo3::prelude::*;

use crate::convert::{document, error};
use crate::model::Models;
use crate::run::Run;

/// Chooses the best assembly for a recorded workload, as `mastermind choose` without `--runs` does: a dictionary, as its JSON document.
///
/// Models that came with libraries are not looked for; the command line does that.
#[pyfunction]
#[pyo3(signature = (assembly, models, run, *, require=Vec::new(), best=1, pareto=None, strict=false))]
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
) -> PyResult<Bound<'py, PyAny>> {
    let assembly = Assembly::read(&assembly).map_err(error)?;
    let requirements = require.iter().map(|text| Requirement::parse(text));
    let requirements = requirements.collect::<Result<_, _>>().map_err(error)?;
    let choice = py.detach(|| {
        let mut calls = workload(&run.run, Metric::Wall);
        // What the assembly does not have, such as the program that started it, cannot be chosen.
        calls
            .calls
            .retain(|call| assembly.instances.contains_key(&call.instance));
        let options = ChooseOptions {
            n_best: best.max(1),
            requirements,
            attributes: assembly.attributes.clone(),
            pareto,
            strict,
            scored: Some(Seconds::predicted_by(&models.models)),
            ..ChooseOptions::default()
        };
        let (alternatives, instances) = (&assembly.alternatives, &assembly.instances);
        choose_with(&calls, alternatives, instances, &models.models, &options)
    });
    document(py, &choice.map_err(error)?)
}

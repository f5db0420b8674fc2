//! Stored models, prepared for evaluation at each call.

use std::collections::HashMap;

use mastermind_composition::adapt::Predict;
use mastermind_composition::model_name;
use mastermind_models::{Coordinate, Metric, Model, ModelSet, Predictor, Value, predict};

/// Predictions of the models, without their intervals, which take far longer to compute and which no decision reads.
pub(crate) fn predicted(models: &ModelSet) -> Box<Predict<'static>> {
    let mut by_name: HashMap<String, Vec<(Model, Predictor)>> = HashMap::new();
    for model in models.models.iter().filter(|m| m.metric == Metric::Wall) {
        let predictor = Predictor::new(model, |name| model.range.contains_key(name));
        let of_name = by_name.entry(model.method.clone()).or_default();
        of_name.push((model.clone(), predictor));
    }
    Box::new(move |class: &str, method: &str, at: &Coordinate| {
        let mut models = by_name.get(&model_name(class, method))?.iter();
        let (model, predictor) = models.find(|(model, _)| model.matches(at))?;
        let seconds = match is_whole(model, at) {
            true => predictor.evaluate(|name| at.number(name)).ok()?,
            false => predict(model, at).ok()?.value_s,
        };
        (seconds > 0.0).then_some(seconds)
    })
}

/// Whether a coordinate has exactly the sizes that the model was measured with.
fn is_whole(model: &Model, at: &Coordinate) -> bool {
    let sizes = at.values.iter();
    let mut sizes = sizes.filter(|(_, value)| matches!(value, Value::Number(_)));
    let is_known = sizes.all(|(name, _)| model.range.contains_key(name));
    is_known && model.range.keys().all(|name| at.number(name).is_some())
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use mastermind_models::{Parameter, SampleSet, fit};

    use super::*;

    #[test]
    fn the_value_is_that_of_predict_and_of_sizes_that_no_model_has_there_is_none()
    -> Result<(), Box<dyn Error>> {
        let mut set = SampleSet::new(Metric::Wall);
        let name = model_name("A", "flux.compute");
        let method = set.declare(&name, &[Parameter::integer("q", "double")])?;
        for (at, q) in [100.0, 200.0, 400.0, 800.0, 1600.0].into_iter().enumerate() {
            for k in 0..5 {
                let noise = 1.0 + 0.01 * ((at + 2 * k) % 5) as f64;
                set.push(method, &[q], (2e-6 + 1e-9 * q) * noise)?;
            }
        }
        let models = ModelSet {
            models: fit(&set.finish()[0])?,
        };
        let value_s = predicted(&models);
        for q in [100.0, 300.0, 5000.0] {
            let at = Coordinate::new().with("q", q);
            let expected_s = predict(&models.models[0], &at)?.value_s;
            let found_s = value_s("A", "flux.compute", &at).ok_or("no value")?;
            assert!(
                (found_s / expected_s - 1.0).abs() < 1e-9,
                "{q}: {found_s}, {expected_s}"
            );
        }
        assert_eq!(
            value_s("A", "flux.compute", &Coordinate::new().with("r", 1.0)),
            None
        );
        assert_eq!(
            value_s("B", "flux.compute", &Coordinate::new().with("q", 100.0)),
            None
        );
        Ok(())
    }
}

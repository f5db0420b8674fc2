//! The predictions of a model over a parameter, as lines and bands.

use super::style::Axis;

/// The model at one value of the parameter.
#[derive(Clone, Copy, Debug)]
pub struct CurvePoint {
    /// The parameter.
    pub x: f64,
    /// The predicted value: a time in microseconds, or a counter in its unit.
    pub value: f64,
    /// Ends of the interval for one call; infinite if the samples give none.
    pub interval: [f64; 2],
    /// Predicted standard deviation of one call.
    pub deviation: f64,
}

/// The line of a value of the curve, cut at the ends of the axis.
pub fn line(curve: &[CurvePoint], value: impl Fn(&CurvePoint) -> f64, y: &Axis) -> Vec<(f64, f64)> {
    let points = curve.iter().map(|point| (point.x, value(point)));
    points.filter(|(_, value)| y.holds(*value)).collect()
}

/// The interval for one call as a polygon, cut at the ends of the axis.
pub fn band(curve: &[CurvePoint], y: &Axis) -> Vec<(f64, f64)> {
    let end = |place: usize| move |point: &CurvePoint| (point.x, y.nearest(point.interval[place]));
    let upper = curve.iter().map(end(1));
    let lower = curve.iter().rev().map(end(0));
    upper.chain(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_the_frame_is_cut() {
        let point = |x: f64, value: f64| CurvePoint {
            x,
            value,
            interval: [0.5 * value, f64::INFINITY],
            deviation: 0.0,
        };
        let curve = [point(1.0, 10.0), point(2.0, 1000.0)];
        let axis = Axis::new([10.0, 400.0].into_iter(), true);
        assert_eq!(line(&curve, |p| p.value, &axis), [(1.0, 10.0)]);
        let band = band(&curve, &axis);
        assert_eq!(band.len(), 4);
        assert!(band.iter().all(|(_, y)| axis.holds(*y)), "{band:?}");
    }
}

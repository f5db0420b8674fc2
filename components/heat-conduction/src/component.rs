//! The component class of the kernel.

use std::sync::Arc;

use cca_ports::{Component, PortError, RSlice, RSliceMut, Services, component};
use grid_ports::HeatPort;

/// Explicit steps of heat conduction on a block.
#[component(class = "grid.HeatKernel", version = "1.0")]
struct HeatKernel;

impl Component for HeatKernel {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(HeatKernel);
        services.add_provides_port::<dyn HeatPort, _>("heat", &component)?;
        Ok(component)
    }
}

impl HeatPort for HeatKernel {
    fn hot_spot(
        &self,
        columns: usize,
        first_x: usize,
        first_y: usize,
        nx: usize,
        ny: usize,
        mut to: RSliceMut<'_, f64>,
    ) -> Result<f64, PortError> {
        let n = to.len();
        if columns < 3 || n < 3 * columns || !n.is_multiple_of(columns) {
            return Err(PortError::failed(format_args!(
                "cannot use array \"to\": {n} cells in rows of {columns}, expected at least 3 rows of at least 3"
            )));
        }
        Ok(crate::hot_spot(
            columns,
            (first_x, first_y),
            (nx, ny),
            &mut to,
        ))
    }

    fn step(
        &self,
        columns: usize,
        rate: f64,
        from: RSlice<'_, f64>,
        mut to: RSliceMut<'_, f64>,
    ) -> Result<f64, PortError> {
        let n = from.len();
        if columns < 3 || n < 3 * columns || !n.is_multiple_of(columns) || to.len() != n {
            return Err(PortError::failed(format_args!(
                "cannot use arrays \"from\" and \"to\": {n} and {} cells in rows of {columns}, \
                 expected as many, at least 3 rows of at least 3",
                to.len()
            )));
        }
        let largest = crate::step(columns, rate, &from, &mut to);
        if largest.is_nan() {
            return Err(PortError::failed(
                "cannot conduct heat: a temperature is not above 0, expected a shorter time step",
            ));
        }
        Ok(largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_that_are_no_grid_are_refused() {
        let (from, mut to) = ([1.0; 12], [1.0; 11]);
        let to = RSliceMut::from_mut_slice(&mut to);
        let refused = HeatKernel.step(4, 0.1, RSlice::from_slice(&from), to);
        assert_eq!(
            refused.expect_err("11 cells").message(),
            "cannot use arrays \"from\" and \"to\": 12 and 11 cells in rows of 4, expected as many, \
             at least 3 rows of at least 3"
        );
    }

    #[test]
    fn a_start_of_no_grid_is_refused() {
        let mut to = [1.0; 8];
        let to = RSliceMut::from_mut_slice(&mut to);
        let refused = HeatKernel.hot_spot(4, 0, 0, 2, 2, to);
        assert_eq!(
            refused.expect_err("2 rows").message(),
            "cannot use array \"to\": 8 cells in rows of 4, expected at least 3 rows of at least 3"
        );
    }

    #[test]
    fn a_step_that_is_too_long_is_an_error() {
        let mut from = [1.0; 25];
        from[12] = 3.0;
        let mut to = from;
        let to = RSliceMut::from_mut_slice(&mut to);
        let refused = HeatKernel.step(5, 10.0, RSlice::from_slice(&from), to);
        let message = refused.expect_err("too long").message().to_string();
        assert!(
            message.contains("expected a shorter time step"),
            "{message}"
        );
    }
}

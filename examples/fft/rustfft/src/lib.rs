//! One transform by rustfft, with the instructions that rustfft detects in the processor.

use std::sync::Arc;

use cca_ports::{Component, DComplex, PortError, RSlice, RSliceMut, Services, component};
use fft_ports::{Factors, TransformPort};
use rustfft::FftPlanner;
use rustfft::num_complex::Complex64;

/// Plans with rustfft for each transform.
#[component(class = "fft.RustFft", version = "1.0")]
struct RustFft;

impl Component for RustFft {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(RustFft);
        services.add_provides_port::<dyn TransformPort, _>("fft", &component)?;
        services.declare_stateless("fft")?;
        Ok(component)
    }
}

impl TransformPort for RustFft {
    fn forward(
        &self,
        n: i64,
        _factors: Factors,
        x: RSlice<'_, DComplex>,
        mut y: RSliceMut<'_, DComplex>,
    ) -> Result<(), PortError> {
        let (found_x, found_y) = (x.len(), y.len());
        let length = usize::try_from(n).unwrap_or(0);
        if length == 0 || found_x != length || found_y != length {
            return Err(PortError::failed(format_args!(
                "cannot transform: {found_x} numbers in x and {found_y} in y, expected {n} in each"
            )));
        }
        y.as_mut_slice().copy_from_slice(x.as_slice());
        // SAFETY: both types consist of two doubles in C's layout, the real part first.
        let numbers: &mut [Complex64] =
            unsafe { std::slice::from_raw_parts_mut(y.as_mut_slice().as_mut_ptr().cast(), length) };
        FftPlanner::new().plan_fft_forward(length).process(numbers);
        Ok(())
    }
}

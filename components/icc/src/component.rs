//! The component classes: one for each profile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cca_ports::{Component, Counter, CounterPort, PortError, RSlice, RVec, Services, component};
use hydro_ports::{CellBox, InterLevelPort, Patch, States, StatesMut};

use crate::{Constant, Linear, Profile};

/// Interpolates linearly between the levels, with monotonized central slopes, and averages back.
#[component(class = "hydro.ICC", version = "1.0")]
#[derive(Default)]
struct Icc {
    /// Coarse cells whose linear profile was given up.
    given_up: AtomicU64,
}

/// Gives fine cells the value of their coarse cell, and averages back: cheaper, first order.
#[component(class = "hydro.ConstantICC", version = "1.0")]
struct ConstantIcc;

impl Component for Icc {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(Icc::default());
        services.add_provides_port::<dyn InterLevelPort, _>("icc", &component)?;
        services.add_provides_port::<dyn CounterPort, _>("counters", &component)?;
        Ok(component)
    }
}

impl Component for ConstantIcc {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(ConstantIcc);
        services.add_provides_port::<dyn InterLevelPort, _>("icc", &component)?;
        Ok(component)
    }
}

impl InterLevelPort for Icc {
    fn prolong(
        &self,
        coarse_patch: Patch,
        coarse: States<'_>,
        fine_patch: Patch,
        fine: StatesMut<'_>,
        regions: RSlice<'_, CellBox>,
    ) -> Result<(), PortError> {
        let given_up = prolong::<Linear>(coarse_patch, coarse, fine_patch, fine, &regions)?;
        self.given_up.fetch_add(given_up, Ordering::Relaxed);
        Ok(())
    }

    fn restrict(
        &self,
        fine_patch: Patch,
        fine: States<'_>,
        coarse_patch: Patch,
        coarse: StatesMut<'_>,
        region: CellBox,
    ) -> Result<(), PortError> {
        restrict(fine_patch, fine, coarse_patch, coarse, region)
    }
}

impl InterLevelPort for ConstantIcc {
    fn prolong(
        &self,
        coarse_patch: Patch,
        coarse: States<'_>,
        fine_patch: Patch,
        fine: StatesMut<'_>,
        regions: RSlice<'_, CellBox>,
    ) -> Result<(), PortError> {
        prolong::<Constant>(coarse_patch, coarse, fine_patch, fine, &regions).map(|_| ())
    }

    fn restrict(
        &self,
        fine_patch: Patch,
        fine: States<'_>,
        coarse_patch: Patch,
        coarse: StatesMut<'_>,
        region: CellBox,
    ) -> Result<(), PortError> {
        restrict(fine_patch, fine, coarse_patch, coarse, region)
    }
}

impl CounterPort for Icc {
    fn counters(&self) -> Result<RVec<Counter>, PortError> {
        let given_up = Counter {
            name: "constant".into(),
            count: self.given_up.load(Ordering::Relaxed),
            help: "coarse cells whose children were given its value to keep density and pressure positive"
                .into(),
        };
        Ok([given_up].into_iter().collect())
    }
}

fn prolong<P: Profile>(
    coarse_patch: Patch,
    coarse: States<'_>,
    fine_patch: Patch,
    fine: StatesMut<'_>,
    regions: &[CellBox],
) -> Result<u64, PortError> {
    coarse_patch.shape.check("coarse", coarse.shape())?;
    fine_patch.shape.check("fine", fine.shape())?;
    let (coarse, fine) = (coarse.values()?, fine.into_values()?);
    let mut given_up = 0;
    for region in regions {
        let done = crate::prolong::<P>((coarse_patch, coarse), (fine_patch, fine), *region);
        given_up += done.map_err(PortError::failed)?;
    }
    Ok(given_up)
}

fn restrict(
    fine_patch: Patch,
    fine: States<'_>,
    coarse_patch: Patch,
    coarse: StatesMut<'_>,
    region: CellBox,
) -> Result<(), PortError> {
    fine_patch.shape.check("fine", fine.shape())?;
    coarse_patch.shape.check("coarse", coarse.shape())?;
    let (fine, coarse) = (fine.values()?, coarse.into_values()?);
    let done = crate::restrict((fine_patch, fine), (coarse_patch, coarse), region);
    done.map_err(PortError::failed)
}

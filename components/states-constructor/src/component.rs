//! The component classes: one for each limiter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cca_ports::{
    Component, Counter, CounterPort, PortError, RSlice, RVec, Services, StatefulComponentPort,
    component,
};
use hydro_ports::{Axis, States, StatesMut, StatesPort};

use crate::{Limiter, Mc, Minmod, construct};

/// Reconstructs the states on both sides of each face with monotonized central slopes (MUSCL).
#[component(class = "hydro.StatesConstructor", version = "1.0")]
#[derive(Default)]
struct StatesConstructor {
    fallbacks: Fallbacks,
}

/// Reconstructs the states on both sides of each face with minmod slopes: cheaper, more diffusive.
#[component(class = "hydro.MinmodStates", version = "1.0")]
#[derive(Default)]
struct MinmodStates {
    fallbacks: Fallbacks,
}

/// Face states that were replaced by their cell's value.
#[derive(Default)]
struct Fallbacks(AtomicU64);

impl Fallbacks {
    fn compute<L: Limiter>(
        &self,
        axis: Axis,
        cells: States<'_>,
        left: StatesMut<'_>,
        right: StatesMut<'_>,
    ) -> Result<(), PortError> {
        let shape = cells.shape();
        shape.check("left", left.shape())?;
        shape.check("right", right.shape())?;
        let (left, right) = (left.into_values()?, right.into_values()?);
        let replaced = construct::<L>(axis, shape, cells.values()?, left, right);
        self.0.fetch_add(replaced, Ordering::Relaxed);
        Ok(())
    }

    fn counters(&self) -> RVec<Counter> {
        let fallbacks = Counter {
            name: "fallbacks".into(),
            count: self.0.load(Ordering::Relaxed),
            help: "face states without positive density and pressure, replaced by the cell's"
                .into(),
        };
        [fallbacks].into_iter().collect()
    }

    /// The count, which another limiter continues.
    fn save(&self) -> RVec<u8> {
        let count = self.0.load(Ordering::Relaxed);
        count.to_le_bytes().into_iter().collect()
    }

    fn restore(&self, state: &[u8]) -> Result<(), PortError> {
        let count = state.try_into().map(u64::from_le_bytes);
        let count = count.map_err(|_| {
            PortError::failed(format_args!(
                "cannot take over state: {} bytes, expected the 8 of a count",
                state.len()
            ))
        })?;
        self.0.store(count, Ordering::Relaxed);
        Ok(())
    }
}

impl Component for StatesConstructor {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(Self::default());
        services.add_provides_port::<dyn StatesPort, _>("states", &component)?;
        services.add_provides_port::<dyn CounterPort, _>("counters", &component)?;
        services.add_provides_port::<dyn StatefulComponentPort, _>("state", &component)?;
        Ok(component)
    }
}

impl StatesPort for StatesConstructor {
    fn compute(
        &self,
        axis: Axis,
        cells: States<'_>,
        left: StatesMut<'_>,
        right: StatesMut<'_>,
    ) -> Result<(), PortError> {
        self.fallbacks.compute::<Mc>(axis, cells, left, right)
    }
}

impl CounterPort for StatesConstructor {
    fn counters(&self) -> Result<RVec<Counter>, PortError> {
        Ok(self.fallbacks.counters())
    }
}

impl StatefulComponentPort for StatesConstructor {
    fn save(&self) -> Result<RVec<u8>, PortError> {
        Ok(self.fallbacks.save())
    }

    fn restore(&self, state: RSlice<'_, u8>) -> Result<(), PortError> {
        self.fallbacks.restore(&state)
    }
}

impl Component for MinmodStates {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(Self::default());
        services.add_provides_port::<dyn StatesPort, _>("states", &component)?;
        services.add_provides_port::<dyn CounterPort, _>("counters", &component)?;
        services.add_provides_port::<dyn StatefulComponentPort, _>("state", &component)?;
        Ok(component)
    }
}

impl StatesPort for MinmodStates {
    fn compute(
        &self,
        axis: Axis,
        cells: States<'_>,
        left: StatesMut<'_>,
        right: StatesMut<'_>,
    ) -> Result<(), PortError> {
        self.fallbacks.compute::<Minmod>(axis, cells, left, right)
    }
}

impl CounterPort for MinmodStates {
    fn counters(&self) -> Result<RVec<Counter>, PortError> {
        Ok(self.fallbacks.counters())
    }
}

impl StatefulComponentPort for MinmodStates {
    fn save(&self) -> Result<RVec<u8>, PortError> {
        Ok(self.fallbacks.save())
    }

    fn restore(&self, state: RSlice<'_, u8>) -> Result<(), PortError> {
        self.fallbacks.restore(&state)
    }
}

#[cfg(test)]
mod tests {
    use hydro_ports::Shape;

    use super::*;

    #[test]
    fn a_negative_face_state_is_counted() {
        let shape = Shape {
            nx: 4,
            ny: 2,
            ghost: 2,
        };
        let mut cells = vec![1.0; shape.len()];
        // A density that falls off so steeply that its slope overshoots zero at the face.
        for row in cells[..shape.plane()].chunks_exact_mut(shape.row()) {
            row.copy_from_slice(&[9.0, 9.0, 9.0, 9.0, 4.0, -1.0, -6.0, -11.0]);
        }
        let (mut left, mut right) = (cells.clone(), cells.clone());
        let component = MinmodStates::default();
        let done = component.compute(
            Axis::X,
            States::new(shape, &cells).expect("cells"),
            StatesMut::new(shape, &mut left).expect("left"),
            StatesMut::new(shape, &mut right).expect("right"),
        );
        assert_eq!(done, Ok(()));
        let counters = component.counters().expect("counters");
        assert_eq!(counters[0].name.as_str(), "fallbacks");
        assert!(counters[0].count > 0);
    }

    #[test]
    fn arrays_of_two_shapes_are_refused() {
        let (shape, other) = (
            Shape {
                nx: 4,
                ny: 2,
                ghost: 2,
            },
            Shape {
                nx: 2,
                ny: 4,
                ghost: 2,
            },
        );
        let cells = vec![1.0; shape.len()];
        let (mut left, mut right) = (cells.clone(), cells.clone());
        let refused = StatesConstructor::default().compute(
            Axis::X,
            States::new(shape, &cells).expect("cells"),
            StatesMut::new(shape, &mut left).expect("left"),
            StatesMut::new(other, &mut right).expect("right"),
        );
        assert_eq!(
            refused.expect_err("two shapes").message(),
            "cannot use array \"right\": 2 x 4 cells with 2 ghost cells, expected 4 x 2 cells with 2 ghost cells"
        );
    }
}

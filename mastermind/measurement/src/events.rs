//! Atomic events: values that a component reports occasionally, stored as count, extremes, mean and deviation.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mastermind_records::definition::AtomicEventDefinition;

/// Events by number.
#[derive(Debug, Default)]
pub struct AtomicEvents {
    events: Mutex<Vec<AtomicEventDefinition>>,
}

/// An invalid request to the events.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The name is empty.
    #[error("cannot make event \"\": empty, expected a name")]
    Nameless,
    /// No event has the number.
    #[error("cannot trigger event {event}: unknown, expected one below {n_events}")]
    Unknown {
        /// The number.
        event: u32,
        /// Number of events.
        n_events: usize,
    },
    /// The value is not finite.
    #[error("cannot trigger event \"{event}\": {value}, expected a finite number")]
    NotFinite {
        /// The event.
        event: String,
        /// The value.
        value: f64,
    },
}

impl AtomicEvents {
    /// The event with this name, created if it is new.
    ///
    /// # Errors
    /// [`EventError::Nameless`].
    pub fn create(&self, name: &str) -> Result<u32, EventError> {
        if name.is_empty() {
            return Err(EventError::Nameless);
        }
        let mut events = self.locked();
        let known = events.iter().position(|event| event.name == name);
        let place = known.unwrap_or_else(|| {
            events.push(AtomicEventDefinition::new(name));
            events.len() - 1
        });
        Ok(place as u32)
    }

    /// Adds a value.
    ///
    /// # Errors
    /// [`EventError::Unknown`], [`EventError::NotFinite`].
    pub fn trigger(&self, event: u32, value: f64) -> Result<(), EventError> {
        let mut events = self.locked();
        let n_events = events.len();
        let sums = events.get_mut(event as usize);
        let sums = sums.ok_or(EventError::Unknown { event, n_events })?;
        if !value.is_finite() {
            return Err(EventError::NotFinite {
                event: sums.name.clone(),
                value,
            });
        }
        sums.push(value);
        Ok(())
    }

    /// All events so far, in the order of their creation.
    pub fn sums(&self) -> Vec<AtomicEventDefinition> {
        self.locked().clone()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<AtomicEventDefinition>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_values() {
        let events = AtomicEvents::default();
        let [a, b] = ["a", "b"].map(|name| events.create(name).unwrap());
        assert_eq!(events.create("a"), Ok(a));
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            events.trigger(a, value).unwrap();
        }
        let sums = events.sums();
        assert_eq!((sums[0].count, sums[0].min, sums[0].max), (8, 2.0, 9.0));
        assert!(
            (sums[0].mean - 5.0).abs() < 1e-12 && (sums[0].std_deviation() - 2.0).abs() < 1e-12
        );
        assert!(sums[1].count == 0 && sums[1].std_deviation().is_nan());
        assert!(events.trigger(b, f64::NAN).is_err() && events.trigger(7, 1.0).is_err());
        assert_eq!(events.create(""), Err(EventError::Nameless));
    }
}

//! Steps in time.

use thiserror::Error;

/// When a run ends and how it gets there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Time at which it ends, hit exactly.
    pub end_time: f64,
    /// Courant number: the part of a cell that the fastest wave may cross in a step.
    pub cfl: f64,
    /// Steps after which it ends at the latest; 0 for no limit.
    pub max_steps: u64,
}

/// Where a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    /// Steps done.
    pub step: u64,
    /// Time reached.
    pub time: f64,
}

/// Reasons why no time step can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StepError {
    /// The rate of the fastest wave is no rate.
    #[error(
        "cannot choose time step: fastest wave crosses {rate} cells per unit of time, expected a positive finite rate"
    )]
    Rate {
        /// The rate.
        rate: f64,
    },
    /// The step is lost in rounding.
    #[error("cannot choose time step: {dt:e} leaves time {time} as it is, expected progress")]
    Stuck {
        /// The time.
        time: f64,
        /// The step.
        dt: f64,
    },
}

impl Schedule {
    /// Whether the run is at its end.
    pub fn is_over(&self, clock: Clock) -> bool {
        clock.time >= self.end_time || (self.max_steps > 0 && clock.step >= self.max_steps)
    }

    /// Part of the run that is done, 0 to 1.
    pub fn fraction(&self, clock: Clock) -> f64 {
        let in_time = clock.time / self.end_time;
        let in_steps = match self.max_steps {
            0 => 0.0,
            max => clock.step as f64 / max as f64,
        };
        in_time.max(in_steps).min(1.0)
    }

    /// The next step and its end.
    ///
    /// # Arguments
    /// * `rate` - the largest `(|u| + c)/dx + (|v| + c)/dy` of the coarsest level, per unit of time
    ///
    /// # Errors
    /// [`StepError::Rate`] if the rate is not positive and finite; [`StepError::Stuck`] if the step is too small to count.
    ///
    /// # Source
    /// Case study, section 4.5.
    pub fn next(&self, clock: Clock, rate: f64) -> Result<(f64, Clock), StepError> {
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(StepError::Rate { rate });
        }
        let (time, step) = (clock.time, clock.step + 1);
        let (dt, rest) = (self.cfl / rate, self.end_time - time);
        if dt >= rest {
            let time = self.end_time;
            return Ok((rest, Clock { step, time }));
        }
        let next = time + dt;
        if next == time {
            return Err(StepError::Stuck { time, dt });
        }
        Ok((dt, Clock { step, time: next }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEDULE: Schedule = Schedule {
        end_time: 1.0,
        cfl: 0.4,
        max_steps: 0,
    };

    fn run(schedule: Schedule, rate: f64) -> (Clock, f64) {
        let (mut clock, mut sum) = (Clock::default(), 0.0);
        while !schedule.is_over(clock) {
            let (dt, next) = schedule.next(clock, rate).expect("a step");
            (clock, sum) = (next, sum + dt);
        }
        (clock, sum)
    }

    #[test]
    fn the_end_is_hit_exactly() {
        let (clock, sum) = run(SCHEDULE, 3.0);
        assert_eq!(clock, Clock { step: 8, time: 1.0 });
        assert!((sum - 1.0).abs() < 1e-15);
        assert_eq!(SCHEDULE.fraction(clock), 1.0);
    }

    #[test]
    fn a_limit_of_steps_ends_the_run_before() {
        let schedule = Schedule {
            max_steps: 2,
            ..SCHEDULE
        };
        let (clock, _) = run(schedule, 4.0);
        assert_eq!(clock.step, 2);
        assert!((clock.time - 0.2).abs() < 1e-15);
        assert_eq!(schedule.fraction(Clock { step: 1, time: 0.1 }), 0.5);
    }

    #[test]
    fn a_rate_that_is_none_is_an_error_and_no_loop() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = SCHEDULE.next(Clock::default(), rate);
            assert!(matches!(error, Err(StepError::Rate { .. })), "{rate}");
        }
        let clock = Clock { step: 7, time: 0.5 };
        let error = SCHEDULE.next(clock, 1e300).expect_err("stuck");
        assert_eq!(
            error.to_string(),
            "cannot choose time step: 4e-301 leaves time 0.5 as it is, expected progress"
        );
    }
}

//! Timers that components start and stop themselves: inclusive and exclusive, wall and process virtual time.
//!
//! [`Timers::create`] returns the number of a timer, [`Timers::start`] and [`Timers::stop`] nest it among those that
//! the thread runs, and [`Timers::sums`] adds up all threads, including those that have ended. A thread stops its
//! timers in the reverse order of their starts; any other order is an error and changes nothing. A timer that is
//! started while its group is disabled is not measured, and its time belongs to the timer around it. Components use all
//! of this as `cca.Measurement`, which `mastermind-component` provides.
//!
//! ```
//! use mastermind_measurement::Timers;
//!
//! let timers = Timers::default();
//! let (step, solve) = (timers.create("step", "app")?, timers.create("solve", "app")?);
//! timers.start(step)?;
//! timers.start(solve)?;
//! assert!(timers.stop(step).is_err(), "solve was started last");
//! timers.stop(solve)?;
//! timers.stop(step)?;
//! let sums = timers.sums();
//! assert_eq!((sums[0].name.as_str(), sums[0].calls, sums[0].subcalls), ("step", 1, 1));
//! assert_eq!(sums[0].exclusive_ns, sums[0].inclusive_ns - sums[1].inclusive_ns);
//! # Ok::<(), mastermind_measurement::TimerError>(())
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// An invalid request to the timers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimerError {
    /// A name or group is empty.
    #[error("cannot name timer \"{group}.{name}\": empty, expected a name and a group")]
    Nameless {
        /// The name.
        name: String,
        /// The group.
        group: String,
    },
    /// Another timer has the name.
    #[error("cannot name timer \"{group}.{name}\": taken, expected a new name")]
    Taken {
        /// The name.
        name: String,
        /// The group.
        group: String,
    },
    /// No timer has the number.
    #[error("cannot find timer {timer}: unknown, expected one below {n_timers}")]
    Unknown {
        /// The number.
        timer: u32,
        /// Number of timers.
        n_timers: usize,
    },
    /// The timer was not the last that the thread started.
    #[error("cannot stop timer \"{timer}\": {running} runs in this thread, expected it")]
    NotInnermost {
        /// The timer.
        timer: String,
        /// The timer that was started last.
        running: String,
    },
    /// There is no such group.
    #[error("cannot switch timer group \"{group}\": unknown, expected one of {known}")]
    UnknownGroup {
        /// The group.
        group: String,
        /// The known groups.
        known: String,
    },
}

/// Values of one timer; see `cca_ports::TimerValues`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimerSums {
    /// Name.
    pub name: String,
    /// Group.
    pub group: String,
    /// Number of times that it was started and stopped.
    pub calls: u64,
    /// Number of times that other timers were started within it.
    pub subcalls: u64,
    /// Wall time, nanoseconds; nested runs of the same timer count once.
    pub inclusive_ns: u64,
    /// Wall time without the timers within it, nanoseconds.
    pub exclusive_ns: u64,
    /// Processor time of the thread, nanoseconds.
    pub virtual_inclusive_ns: u64,
    /// Processor time of the thread without the timers within it, nanoseconds.
    pub virtual_exclusive_ns: u64,
}

#[derive(Clone, Debug)]
struct Timer {
    name: String,
    group: String,
}

#[derive(Debug)]
struct Registry {
    timers: Vec<Timer>,
    /// Whether the group is enabled.
    groups: BTreeMap<String, bool>,
    /// State of new groups.
    enables_new: bool,
}

/// Wall and process virtual time, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    wall: u64,
    virtual_: u64,
}

impl Times {
    fn plus(self, other: Times) -> Times {
        Times {
            wall: self.wall + other.wall,
            virtual_: self.virtual_ + other.virtual_,
        }
    }

    fn minus(self, other: Times) -> Times {
        Times {
            wall: self.wall.saturating_sub(other.wall),
            virtual_: self.virtual_.saturating_sub(other.virtual_),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    calls: u64,
    subcalls: u64,
    inclusive: Times,
    exclusive: Times,
}

/// A running timer.
#[derive(Clone, Copy, Debug)]
struct Running {
    timer: u32,
    /// False if its group was disabled when it was started.
    is_measured: bool,
    start: Times,
    /// Sum of the timers that ran within it.
    within: Times,
}

/// The timers of one thread.
#[derive(Debug, Default)]
struct ThreadTimers {
    running: Vec<Running>,
    sums: Vec<Sums>,
}

impl ThreadTimers {
    fn sums_of(&mut self, timer: u32) -> &mut Sums {
        let place = timer as usize;
        if self.sums.len() <= place {
            self.sums.resize(place + 1, Sums::default());
        }
        &mut self.sums[place]
    }

    fn start(&mut self, timer: u32, is_measured: bool, start: Times) {
        let around = self
            .running
            .iter()
            .rev()
            .find(|running| running.is_measured);
        if let (true, Some(around)) = (is_measured, around.map(|running| running.timer)) {
            self.sums_of(around).subcalls += 1;
        }
        self.running.push(Running {
            timer,
            is_measured,
            start,
            within: Times::default(),
        });
    }

    /// Stops the timer that was started last.
    fn stop(&mut self, now: Times) {
        let Some(ended) = self.running.pop() else {
            return;
        };
        if !ended.is_measured {
            // The timers within it were also within those around it.
            if let Some(around) = self.running.last_mut() {
                around.within = around.within.plus(ended.within);
            }
            return;
        }
        let whole = now.minus(ended.start);
        let mut within_itself = self.running.iter();
        let within_itself =
            within_itself.any(|running| running.is_measured && running.timer == ended.timer);
        let sums = self.sums_of(ended.timer);
        sums.calls += 1;
        sums.exclusive = sums.exclusive.plus(whole.minus(ended.within));
        if !within_itself {
            sums.inclusive = sums.inclusive.plus(whole);
        }
        if let Some(around) = self.running.last_mut() {
            around.within = around.within.plus(whole);
        }
    }
}

#[derive(Debug)]
struct Shared {
    epoch: Instant,
    registry: RwLock<Registry>,
    threads: Mutex<Vec<Arc<Mutex<ThreadTimers>>>>,
    /// Timers of threads that have ended.
    ended: Mutex<ThreadTimers>,
}

/// A thread's timers of one [`Timers`]; their sums are kept when the thread ends.
struct OfThread {
    shared: Weak<Shared>,
    timers: Arc<Mutex<ThreadTimers>>,
}

impl Drop for OfThread {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            locked(&shared.threads).retain(|timers| !Arc::ptr_eq(timers, &self.timers));
            let mut ended = locked(&shared.ended);
            for (timer, sums) in locked(&self.timers).sums.iter().enumerate() {
                add(ended.sums_of(timer as u32), sums);
            }
        }
    }
}

thread_local! {
    static OF_THREAD: RefCell<Vec<OfThread>> = const { RefCell::new(Vec::new()) };
}

/// Timers by number, each in a group that can be disabled.
#[derive(Clone, Debug)]
pub struct Timers {
    shared: Arc<Shared>,
}

impl Default for Timers {
    fn default() -> Self {
        let registry = Registry {
            timers: Vec::new(),
            groups: BTreeMap::new(),
            enables_new: true,
        };
        let shared = Shared {
            epoch: Instant::now(),
            registry: RwLock::new(registry),
            threads: Mutex::default(),
            ended: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }
}

impl Timers {
    /// The timer with this name and group, created if it is new.
    ///
    /// # Errors
    /// [`TimerError::Nameless`].
    pub fn create(&self, name: &str, group: &str) -> Result<u32, TimerError> {
        check_name(name, group)?;
        let mut registry = self.registry_mut();
        let found = position(&registry, name, group);
        let place = found.unwrap_or_else(|| {
            registry.timers.push(Timer {
                name: name.into(),
                group: group.into(),
            });
            let enabled = registry.enables_new;
            registry.groups.entry(group.into()).or_insert(enabled);
            registry.timers.len() - 1
        });
        Ok(place as u32)
    }

    /// Changes the name and group of a timer; its sums stay.
    ///
    /// # Errors
    /// [`TimerError::Unknown`], [`TimerError::Nameless`], [`TimerError::Taken`].
    pub fn rename(
        &self,
        timer: u32,
        name: Option<&str>,
        group: Option<&str>,
    ) -> Result<(), TimerError> {
        let old = self.timer(timer)?;
        let (name, group) = (name.unwrap_or(&old.name), group.unwrap_or(&old.group));
        check_name(name, group)?;
        let mut registry = self.registry_mut();
        if position(&registry, name, group).is_some_and(|place| place != timer as usize) {
            return Err(TimerError::Taken {
                name: name.into(),
                group: group.into(),
            });
        }
        let enabled = registry.enables_new;
        registry.groups.entry(group.into()).or_insert(enabled);
        registry.timers[timer as usize] = Timer {
            name: name.into(),
            group: group.into(),
        };
        Ok(())
    }

    /// Name and group of a timer.
    ///
    /// # Errors
    /// [`TimerError::Unknown`].
    pub fn name(&self, timer: u32) -> Result<(String, String), TimerError> {
        let Timer { name, group } = self.timer(timer)?;
        Ok((name, group))
    }

    /// Starts a timer in the calling thread.
    ///
    /// # Returns
    /// Whether it is measured, that is, whether its group is enabled.
    ///
    /// # Errors
    /// [`TimerError::Unknown`].
    pub fn start(&self, timer: u32) -> Result<bool, TimerError> {
        let group = self.timer(timer)?.group;
        let is_measured = self.is_enabled(&group).unwrap_or(true);
        self.with_thread(|timers| timers.start(timer, is_measured, self.now()));
        Ok(is_measured)
    }

    /// Stops the timer that the calling thread started last.
    ///
    /// # Errors
    /// [`TimerError::NotInnermost`], [`TimerError::Unknown`].
    pub fn stop(&self, timer: u32) -> Result<(), TimerError> {
        let now = self.now();
        let name = || -> Result<String, TimerError> {
            let Timer { name, group } = self.timer(timer)?;
            Ok(format!("{group}.{name}"))
        };
        let innermost = self.with_thread(|timers| {
            let innermost = timers.running.last().map(|running| running.timer);
            if innermost == Some(timer) {
                timers.stop(now);
            }
            innermost
        });
        match innermost {
            Some(innermost) if innermost == timer => Ok(()),
            Some(innermost) => {
                let running = self.timer(innermost)?;
                Err(TimerError::NotInnermost {
                    timer: name()?,
                    running: format!("\"{}.{}\"", running.group, running.name),
                })
            }
            None => Err(TimerError::NotInnermost {
                timer: name()?,
                running: "no timer".into(),
            }),
        }
    }

    /// Enables or disables a group; running timers end as they began.
    ///
    /// # Errors
    /// [`TimerError::UnknownGroup`].
    pub fn set_group_enabled(&self, group: &str, enabled: bool) -> Result<(), TimerError> {
        let mut registry = self.registry_mut();
        match registry.groups.get_mut(group) {
            Some(state) => {
                *state = enabled;
                Ok(())
            }
            None => Err(TimerError::UnknownGroup {
                group: group.into(),
                known: Vec::from_iter(registry.groups.keys().cloned()).join(", "),
            }),
        }
    }

    /// Enables or disables all groups, including new ones.
    pub fn set_all_enabled(&self, enabled: bool) {
        let mut registry = self.registry_mut();
        registry.enables_new = enabled;
        registry
            .groups
            .values_mut()
            .for_each(|state| *state = enabled);
    }

    /// The groups, by name, and whether each is enabled.
    pub fn groups(&self) -> BTreeMap<String, bool> {
        self.registry().groups.clone()
    }

    /// The sums of all timers over all threads, in the order of their creation, without running timers.
    pub fn sums(&self) -> Vec<TimerSums> {
        let timers = self.registry().timers.clone();
        let mut sums = vec![Sums::default(); timers.len()];
        let mut add_thread = |thread: &ThreadTimers| {
            for (sum, other) in sums.iter_mut().zip(&thread.sums) {
                add(sum, other);
            }
        };
        let threads = locked(&self.shared.threads);
        threads
            .iter()
            .for_each(|thread| add_thread(&locked(thread)));
        add_thread(&locked(&self.shared.ended));
        drop(threads);
        let sums = timers.into_iter().zip(sums);
        let sums = sums.map(|(Timer { name, group }, sum)| TimerSums {
            name,
            group,
            calls: sum.calls,
            subcalls: sum.subcalls,
            inclusive_ns: sum.inclusive.wall,
            exclusive_ns: sum.exclusive.wall,
            virtual_inclusive_ns: sum.inclusive.virtual_,
            virtual_exclusive_ns: sum.exclusive.virtual_,
        });
        sums.collect()
    }

    /// Wall time since the creation of this object, nanoseconds.
    pub fn wall_ns(&self) -> u64 {
        self.shared.epoch.elapsed().as_nanos() as u64
    }

    fn now(&self) -> Times {
        Times {
            virtual_: process_virtual_ns(),
            wall: self.wall_ns(),
        }
    }

    fn is_enabled(&self, group: &str) -> Option<bool> {
        self.registry().groups.get(group).copied()
    }

    fn timer(&self, timer: u32) -> Result<Timer, TimerError> {
        let registry = self.registry();
        let found = registry.timers.get(timer as usize).cloned();
        found.ok_or(TimerError::Unknown {
            timer,
            n_timers: registry.timers.len(),
        })
    }

    fn registry(&self) -> std::sync::RwLockReadGuard<'_, Registry> {
        let registry = self.shared.registry.read();
        registry.unwrap_or_else(PoisonError::into_inner)
    }

    fn registry_mut(&self) -> std::sync::RwLockWriteGuard<'_, Registry> {
        let registry = self.shared.registry.write();
        registry.unwrap_or_else(PoisonError::into_inner)
    }

    /// The calling thread's timers; empty ones if the thread is ending.
    fn with_thread<T>(&self, act: impl FnOnce(&mut ThreadTimers) -> T) -> T {
        let found = OF_THREAD.try_with(|of_thread| {
            let mut of_thread = of_thread.borrow_mut();
            let own =
                |entry: &&OfThread| std::ptr::eq(entry.shared.as_ptr(), Arc::as_ptr(&self.shared));
            if let Some(entry) = of_thread.iter().find(own) {
                return Arc::clone(&entry.timers);
            }
            of_thread.retain(|entry| entry.shared.strong_count() > 0);
            let timers = Arc::<Mutex<ThreadTimers>>::default();
            locked(&self.shared.threads).push(Arc::clone(&timers));
            of_thread.push(OfThread {
                shared: Arc::downgrade(&self.shared),
                timers: Arc::clone(&timers),
            });
            timers
        });
        act(&mut locked(&found.unwrap_or_default()))
    }
}

/// Processor time of the calling thread, nanoseconds.
pub fn process_virtual_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn check_name(name: &str, group: &str) -> Result<(), TimerError> {
    if name.is_empty() || group.is_empty() {
        return Err(TimerError::Nameless {
            name: name.into(),
            group: group.into(),
        });
    }
    Ok(())
}

fn position(registry: &Registry, name: &str, group: &str) -> Option<usize> {
    let mut timers = registry.timers.iter();
    timers.position(|timer| timer.name == name && timer.group == group)
}

fn add(sums: &mut Sums, other: &Sums) {
    sums.calls += other.calls;
    sums.subcalls += other.subcalls;
    sums.inclusive = sums.inclusive.plus(other.inclusive);
    sums.exclusive = sums.exclusive.plus(other.exclusive);
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(wall: u64) -> Times {
        Times {
            wall,
            virtual_: wall / 2,
        }
    }

    #[test]
    fn exclusive_is_inclusive_without_what_ran_within() {
        let mut timers = ThreadTimers::default();
        timers.start(0, true, times(0));
        timers.start(1, true, times(10));
        timers.start(0, true, times(20));
        timers.stop(times(50));
        timers.stop(times(70));
        timers.start(2, false, times(70));
        timers.start(1, true, times(80));
        timers.stop(times(90));
        timers.stop(times(95));
        timers.stop(times(100));
        let sums = |timer: usize| {
            let sums = timers.sums[timer];
            (
                sums.calls,
                sums.subcalls,
                sums.inclusive.wall,
                sums.exclusive.wall,
            )
        };
        // Within itself, the time of a timer counts once.
        assert_eq!(sums(0), (2, 2, 100, 30 + 100 - 60 - 10));
        assert_eq!(sums(1), (2, 1, 60 + 10, 30 + 10));
        assert_eq!(timers.sums.len(), 2, "what is disabled has no sums");
        assert_eq!(timers.sums[0].inclusive.virtual_, 50);
    }

    #[test]
    fn sums_of_threads_are_added_and_outlive_them() {
        let timers = Timers::default();
        let one = timers.create("one", "g").unwrap();
        assert_eq!(timers.create("one", "g"), Ok(one));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        assert_eq!(timers.start(one), Ok(true));
                        timers.stop(one).unwrap();
                    }
                });
            }
        });
        timers.start(one).unwrap();
        timers.stop(one).unwrap();
        let sums = timers.sums();
        assert_eq!((sums[0].calls, sums.len()), (31, 1));
        assert!(sums[0].inclusive_ns == sums[0].exclusive_ns);
    }

    #[test]
    fn groups_are_switched_and_names_changed() {
        let timers = Timers::default();
        let [a, b] = ["a", "b"].map(|name| timers.create(name, "g").unwrap());
        timers.set_group_enabled("g", false).unwrap();
        assert_eq!(timers.start(a), Ok(false));
        timers.set_group_enabled("g", true).unwrap();
        assert_eq!(timers.start(b), Ok(true));
        let error = timers.stop(a).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot stop timer \"g.a\": \"g.b\" runs in this thread, expected it"
        );
        timers.stop(b).unwrap();
        timers.stop(a).unwrap();
        assert!(
            timers
                .stop(a)
                .unwrap_err()
                .to_string()
                .contains("no timer runs")
        );
        let calls = |timers: &Timers| {
            timers
                .sums()
                .iter()
                .map(|sum| sum.calls)
                .collect::<Vec<_>>()
        };
        assert_eq!(calls(&timers), [0, 1]);
        assert!(matches!(
            timers.rename(b, Some("a"), None),
            Err(TimerError::Taken { .. })
        ));
        timers.rename(b, Some("c"), Some("h")).unwrap();
        assert_eq!(timers.name(b), Ok(("c".into(), "h".into())));
        timers.set_all_enabled(false);
        timers.create("d", "new").unwrap();
        assert!(timers.groups().values().all(|enabled| !enabled));
        assert!(timers.set_group_enabled("none", true).is_err());
        assert!(timers.start(17).is_err() && timers.create("", "g").is_err());
    }
}

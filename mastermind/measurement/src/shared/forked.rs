//! A recording that continues in a forked child: with logs of its own, and without a thread of
//! ours.
//!
//! The first thread of the child that records restarts the recording, and the others wait for it. Its contexts are
//! cleared, and the parent's preparing thread does not exist in the child. Calls that no log of the child can count,
//! for example because no file can be opened, are counted in a log of the parent.
//!
//! ```text
//! fork ──► first call of a thread ──► begin_in_child: a preparer of its own ──► a log of its own for each thread that records
//!                                        └─ no log can be created: its calls are counted as lost in the parent's log
//! ```

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use mastermind_records::{ChunkPreparer, own_thread};

use super::{LogPointer, Logs, PATIENCE_WITH_FILES, Shared, locked};

impl Shared {
    /// In a forked child, whose contexts are cleared: the log of the calling thread, now one of the child's own.
    ///
    /// # Returns
    /// `None` if the thread had no log, or if none can be created, for example because another thread of the parent was
    /// just creating one.
    pub(crate) fn leased_in_child(&self) -> Option<LogPointer> {
        if !self.begin_in_child() {
            return None;
        }
        let log = self.leased()?;
        if !locked(&self.logs).all.contains(&log) {
            // Does not try again at each call.
            if self.is_full.load(Ordering::Relaxed) {
                return None;
            }
            let methods = locked(&self.registry).methods.clone();
            // SAFETY: the calling thread has the lease, in this process as in the parent.
            let forked = unsafe { &mut *log.0 }.fork(|context| self.begin_log(context), &methods);
            if forked.is_err() {
                self.is_full.store(true, Ordering::Relaxed);
                return None;
            }
            if !self.settle_in(log) {
                return None;
            }
        }
        Some(log)
    }

    /// Restarts the recording in a forked child, in the first of its threads that records; the others wait for it.
    ///
    /// # Returns
    /// Whether logs can be created here.
    fn begin_in_child(&self) -> bool {
        let process = std::process::id();
        let begun = Instant::now();
        while self.process.load(Ordering::Acquire) != process {
            let beginner = self.beginner.load(Ordering::Acquire);
            if self.refused_in.load(Ordering::Acquire) == process
                || begun.elapsed() > PATIENCE_WITH_FILES
            {
                return false;
            }
            if beginner == process {
                std::thread::yield_now();
                continue;
            }
            let (acquire, relaxed) = (Ordering::AcqRel, Ordering::Relaxed);
            let is_first = self
                .beginner
                .compare_exchange(beginner, process, acquire, relaxed);
            if is_first.is_ok() && self.become_childs(process).is_none() {
                self.count_lost_in(self.leased());
                self.refused_in.store(process, Ordering::Release);
            }
        }
        true
    }

    /// Sets the counter for calls that no log of this forked child can count to that of a parent's log, if it is in a
    /// file.
    fn count_lost_in(&self, parents: Option<LogPointer>) {
        // SAFETY: a forked child frees no memory of its parent.
        let log = parents.map(|log| unsafe { &*log.0 });
        let in_file = log.filter(|log| !log.is_in_memory());
        let lost = in_file.map_or(ptr::null_mut(), |log| ptr::from_ref(log.lost()).cast_mut());
        self.parents_lost.store(lost, Ordering::Release);
    }

    /// # Returns
    /// `None` if a thread of the parent, which is not in this process, has a lock.
    fn become_childs(&self, process: u32) -> Option<()> {
        let mut logs = self.logs.try_lock().ok()?;
        let mut preparer = self.preparer.try_lock().ok()?;
        drop(self.registry.try_lock().ok()?);
        let parents = logs.all.first().copied();
        // SAFETY: a forked child frees no memory of its parent.
        let is_in_memory = parents.is_some_and(|log| unsafe { &*log.0 }.is_in_memory());
        let (own, has_means) = self.preparer_of_child(is_in_memory);
        // The parent's thread does not exist in this process, so no thread can join it.
        std::mem::forget(std::mem::replace(&mut *preparer, Arc::new(own)));
        *logs = Logs {
            n_created: logs.n_created,
            ..Logs::default()
        };
        self.dropped.store(0, Ordering::Relaxed);
        self.is_full.store(!has_means, Ordering::Relaxed);
        self.count_lost_in(parents);
        self.process.store(process, Ordering::Release);
        Some(())
    }

    /// A child has no thread of ours, unless its logs are in memory and must be written to their files from time to
    /// time.
    ///
    /// # Returns
    /// The preparer, and whether logs can be created.
    fn preparer_of_child(&self, is_in_memory: bool) -> (ChunkPreparer, bool) {
        let limit = self.config.limit_bytes;
        // Under valgrind, that process has a copy of the memory, so its work has no effect here.
        if !is_in_memory && own_thread::run_in_process(|| ()).is_ok() {
            return (ChunkPreparer::without_thread(limit), true);
        }
        let started = ChunkPreparer::start(limit).ok();
        let has_means = started.is_some();
        let own = started.unwrap_or_else(|| ChunkPreparer::without_thread(limit));
        (own, has_means)
    }
}

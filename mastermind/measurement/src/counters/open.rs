//! Counters opened and read by the calling thread.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

use cca_abi::recording::MAX_COUNTERS;
use perf_event::events::Software;
use perf_event::{Builder, Counter, ReadFormat};
use rustix::io::Errno;

use super::names::Source;

/// Words at the beginning of a group's reading: the number of counters, and the times for which they were enabled and
/// counted.
const HEAD_WORDS: usize = 3;
/// Words per counter: a value and an identifier. The group leader comes first and counts nothing.
const WORDS_A_COUNTER: usize = 2;
const MAX_WORDS: usize = HEAD_WORDS + WORDS_A_COUNTER * (1 + MAX_COUNTERS);

/// Events of the calling thread, counted together and read in one system call.
#[derive(Debug)]
pub(super) struct EventGroup {
    leader: Counter,
    /// Kept open.
    members: Vec<Counter>,
}

/// One reading of a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventValues {
    /// Nanoseconds for which the events were enabled.
    pub(super) enabled_ns: u64,
    /// Nanoseconds for which they were counted; fewer if events take turns on the processor's counters.
    pub(super) running_ns: u64,
    /// In the order in which they were added.
    pub(super) values: [u64; MAX_COUNTERS],
}

impl EventGroup {
    /// A group without events, not enabled.
    pub(super) fn open() -> Result<Self, Errno> {
        let mut builder = Builder::new(Software::DUMMY);
        builder.read_format(
            ReadFormat::GROUP
                | ReadFormat::TOTAL_TIME_ENABLED
                | ReadFormat::TOTAL_TIME_RUNNING
                | ReadFormat::ID,
        );
        let leader = builder.build().map_err(errno)?;
        Ok(Self {
            leader,
            members: Vec::new(),
        })
    }

    /// Adds an event.
    pub(super) fn add(&mut self, source: &Source) -> Result<(), Errno> {
        let mut builder = match source {
            Source::Hardware(event) => Builder::new(*event),
            Source::Cache(event) => Builder::new(event.clone()),
            Source::Software(event) => Builder::new(*event),
            Source::Usage(_) => return Err(Errno::INVAL),
        };
        // In user mode only, events that occur in kernel mode would be counted as 0.
        if let Source::Software(Software::CONTEXT_SWITCHES | Software::CPU_MIGRATIONS) = source {
            builder.include_kernel();
        }
        // Enabled together with its leader: a clock that is enabled later reads as 0 until the next context switch
        // (Linux 6.18).
        builder.enabled(true);
        let member = builder.build_with_group(&mut self.leader).map_err(errno)?;
        self.members.push(member);
        Ok(())
    }

    /// Begins to count.
    pub(super) fn enable(&mut self) -> Result<(), Errno> {
        self.leader.enable().map_err(errno)
    }

    /// Reads all events; `None` if the system returns no values.
    pub(super) fn read(&self) -> Option<EventValues> {
        let mut bytes = [0; MAX_WORDS * size_of::<u64>()];
        // SAFETY: the leader owns the descriptor and is borrowed.
        let descriptor = unsafe { BorrowedFd::borrow_raw(self.leader.as_raw_fd()) };
        let n_words = HEAD_WORDS + WORDS_A_COUNTER * (1 + self.members.len());
        let n_bytes = rustix::io::read(descriptor, &mut bytes[..]).ok()?;
        if n_bytes < n_words * size_of::<u64>() {
            return None;
        }
        let (words, _) = bytes.as_chunks::<8>();
        let mut words = words[..n_words]
            .iter()
            .map(|word| u64::from_ne_bytes(*word));
        let (_, enabled_ns, running_ns) = (words.next()?, words.next()?, words.next()?);
        let mut read = EventValues {
            enabled_ns,
            running_ns,
            ..EventValues::default()
        };
        let of_members = words.step_by(WORDS_A_COUNTER).skip(1);
        for (value, word) in read.values.iter_mut().zip(of_members) {
            *value = word;
        }
        Some(read)
    }
}

fn errno(error: std::io::Error) -> Errno {
    let unsupported = || match error.kind() {
        std::io::ErrorKind::Unsupported => Errno::OPNOTSUPP,
        _ => Errno::IO,
    };
    error
        .raw_os_error()
        .map_or_else(unsupported, Errno::from_raw_os_error)
}

/// Resource usage of the calling thread; `None` if the system does not report it.
pub(super) fn thread_usage() -> Option<libc::rusage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: there is room for a `rusage`; all zeros are a valid one.
    unsafe {
        (libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) == 0).then(|| usage.assume_init())
    }
}

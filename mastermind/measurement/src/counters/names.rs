//! The counters by name: events have the names of `perf list`, fields of `getrusage` those of `getrusage(2)`.

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware, Software};

/// Source of a counter.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// An event of the processor, in user mode.
    Hardware(Hardware),
    /// An event of the processor's caches, in user mode.
    Cache(Cache),
    /// Counted by the kernel; in user mode, except for events that happen only in kernel mode.
    Software(Software),
    /// A field of `getrusage` for the thread.
    Usage(UsageField),
}

impl Source {
    /// Whether it needs one of the processor's few counting registers.
    pub(super) fn is_of_processor(&self) -> bool {
        matches!(self, Source::Hardware(_) | Source::Cache(_))
    }
}

/// A field of `struct rusage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsageField {
    UserTime,
    SystemTime,
    MinorFaults,
    MajorFaults,
    BlocksIn,
    BlocksOut,
    VoluntarySwitches,
    InvoluntarySwitches,
}

impl UsageField {
    pub(super) fn of(self, usage: &libc::rusage) -> u64 {
        let ns = |time: libc::timeval| time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000;
        let value = match self {
            Self::UserTime => ns(usage.ru_utime),
            Self::SystemTime => ns(usage.ru_stime),
            Self::MinorFaults => usage.ru_minflt,
            Self::MajorFaults => usage.ru_majflt,
            Self::BlocksIn => usage.ru_inblock,
            Self::BlocksOut => usage.ru_oublock,
            Self::VoluntarySwitches => usage.ru_nvcsw,
            Self::InvoluntarySwitches => usage.ru_nivcsw,
        };
        value.cast_unsigned()
    }
}

/// One counter.
pub(super) struct CounterSource {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) source: Source,
}

const fn hardware(name: &'static str, event: Hardware) -> CounterSource {
    CounterSource {
        name,
        unit: "",
        source: Source::Hardware(event),
    }
}

const fn cache(
    name: &'static str,
    which: CacheId,
    operation: CacheOp,
    result: CacheResult,
) -> CounterSource {
    CounterSource {
        name,
        unit: "",
        source: Source::Cache(Cache {
            which,
            operation,
            result,
        }),
    }
}

const fn software(name: &'static str, unit: &'static str, event: Software) -> CounterSource {
    CounterSource {
        name,
        unit,
        source: Source::Software(event),
    }
}

const fn usage(name: &'static str, unit: &'static str, field: UsageField) -> CounterSource {
    CounterSource {
        name,
        unit,
        source: Source::Usage(field),
    }
}

/// All known counters.
pub(super) static KNOWN: [CounterSource; 34] = [
    hardware("cycles", Hardware::CPU_CYCLES),
    hardware("instructions", Hardware::INSTRUCTIONS),
    hardware("cache-references", Hardware::CACHE_REFERENCES),
    hardware("cache-misses", Hardware::CACHE_MISSES),
    hardware("branches", Hardware::BRANCH_INSTRUCTIONS),
    hardware("branch-misses", Hardware::BRANCH_MISSES),
    hardware("bus-cycles", Hardware::BUS_CYCLES),
    hardware("ref-cycles", Hardware::REF_CPU_CYCLES),
    hardware("stalled-cycles-frontend", Hardware::STALLED_CYCLES_FRONTEND),
    hardware("stalled-cycles-backend", Hardware::STALLED_CYCLES_BACKEND),
    cache(
        "L1-dcache-loads",
        CacheId::L1D,
        CacheOp::READ,
        CacheResult::ACCESS,
    ),
    cache(
        "L1-dcache-load-misses",
        CacheId::L1D,
        CacheOp::READ,
        CacheResult::MISS,
    ),
    cache(
        "L1-dcache-stores",
        CacheId::L1D,
        CacheOp::WRITE,
        CacheResult::ACCESS,
    ),
    cache("LLC-loads", CacheId::LL, CacheOp::READ, CacheResult::ACCESS),
    cache(
        "LLC-load-misses",
        CacheId::LL,
        CacheOp::READ,
        CacheResult::MISS,
    ),
    cache(
        "dTLB-load-misses",
        CacheId::DTLB,
        CacheOp::READ,
        CacheResult::MISS,
    ),
    cache(
        "iTLB-load-misses",
        CacheId::ITLB,
        CacheOp::READ,
        CacheResult::MISS,
    ),
    software("task-clock", "ns", Software::TASK_CLOCK),
    software("cpu-clock", "ns", Software::CPU_CLOCK),
    software("page-faults", "", Software::PAGE_FAULTS),
    software("minor-faults", "", Software::PAGE_FAULTS_MIN),
    software("major-faults", "", Software::PAGE_FAULTS_MAJ),
    software("context-switches", "", Software::CONTEXT_SWITCHES),
    software("cpu-migrations", "", Software::CPU_MIGRATIONS),
    software("alignment-faults", "", Software::ALIGNMENT_FAULTS),
    software("emulation-faults", "", Software::EMULATION_FAULTS),
    usage("ru_utime", "ns", UsageField::UserTime),
    usage("ru_stime", "ns", UsageField::SystemTime),
    usage("ru_minflt", "", UsageField::MinorFaults),
    usage("ru_majflt", "", UsageField::MajorFaults),
    usage("ru_inblock", "", UsageField::BlocksIn),
    usage("ru_oublock", "", UsageField::BlocksOut),
    usage("ru_nvcsw", "", UsageField::VoluntarySwitches),
    usage("ru_nivcsw", "", UsageField::InvoluntarySwitches),
];

/// The counter with a name.
pub(super) fn known(name: &str) -> Option<&'static CounterSource> {
    KNOWN.iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_there_once() {
        for (place, one) in KNOWN.iter().enumerate() {
            let first = KNOWN.iter().position(|other| other.name == one.name);
            assert_eq!(first, Some(place), "{}", one.name);
        }
    }
}

//! Instruction sets of a processor family, from the oldest to the newest.

use serde::{Deserialize, Serialize};

/// Instructions that a code needs, each level with all of those before it.
///
/// # Source
/// System V ABI for x86-64, section 3.1.1, "Processor Architecture" (x86-64-v1 to v4). [`Level::Avx`] is not among them: many libraries
/// have code for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// SSE2 and older.
    #[serde(rename = "x86-64")]
    Baseline,
    /// SSE4.2.
    #[serde(rename = "x86-64-v2")]
    Sse42,
    /// AVX, 256 bits of floating point.
    #[serde(rename = "AVX")]
    Avx,
    /// AVX2 and FMA.
    #[serde(rename = "x86-64-v3")]
    Avx2,
    /// AVX-512 F, BW, CD, DQ and VL.
    #[serde(rename = "x86-64-v4")]
    Avx512,
}

impl Level {
    /// The instructions that a level has and the one before it has not.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "SSE2",
            Self::Sse42 => "SSE4.2",
            Self::Avx => "AVX",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        }
    }
}

/// Instruction set of this processor and its system; `None` for a processor of another family.
#[cfg(target_arch = "x86_64")]
pub fn offered() -> Option<Level> {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    Some(match () {
        () if avx512 => Level::Avx512,
        () if avx2 => Level::Avx2,
        () if is_x86_feature_detected!("avx") => Level::Avx,
        () if is_x86_feature_detected!("sse4.2") => Level::Sse42,
        () => Level::Baseline,
    })
}

/// Instruction set of this processor and its system; `None` for a processor of another family.
#[cfg(not(target_arch = "x86_64"))]
pub fn offered() -> Option<Level> {
    None
}

//! The libraries that report which code they run: the names of their files, the variable that controls them, the
//! meaning of their answers.

use std::path::Path;

use crate::Level;

/// A library that can be queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownLibrary {
    /// OpenBLAS, also as it comes with NumPy and SciPy.
    OpenBlas,
    /// BLIS and AMD's build of it.
    Blis,
    /// Intel's Math Kernel Library.
    Mkl,
    /// FFTW in double or single precision: it uses the best code it was built with.
    Fftw,
    /// OpenSSL's cryptography.
    OpenSsl,
    /// The C library's functions of strings and memory.
    LibC,
}

/// Variables of the environment that steer which code a library runs, and with how many threads.
///
/// # Source
/// OpenBLAS, README "Setting the number of threads" and docs/runtime_variables.md; BLIS, docs/ConfigurationHowTo.md and Multithreading.md;
/// Intel MKL Developer Guide, "Instruction Set Specific Dispatching", "Setting the Number of Threads"; glibc manual, "Hardware Capability
/// Tunables"; OPENSSL_ia32cap(3); NumPy, "CPU build options", "Runtime dispatch"; oneDNN, "CPU Dispatcher Control"; OpenMP 5.2, section 21.
pub const STEERING: [&str; 18] = [
    "BLIS_ARCH_TYPE",
    "BLIS_NUM_THREADS",
    "GLIBC_TUNABLES",
    "GOTO_NUM_THREADS",
    "LD_HWCAP_MASK",
    "MKL_CBWR",
    "MKL_DEBUG_CPU_TYPE",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_NUM_THREADS",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "OPENSSL_ia32cap",
    "VECLIB_MAXIMUM_THREADS",
];

/// The library that a file is, by its name; `None` for all others.
pub fn known(path: &Path) -> Option<KnownLibrary> {
    let name = path.file_name()?.to_string_lossy();
    let stem = name.split(".so").next()?;
    if !name.contains(".so") {
        return None;
    }
    let begins = |with: &str| stem.starts_with(with);
    match stem {
        // In Debian and Fedora these lead to an implementation; its answer says which one it is.
        "libblas" | "liblapack" | "libcblas" => Some(KnownLibrary::OpenBlas),
        _ if begins("libopenblas")
            || begins("libscipy_openblas")
            || begins("libflexiblas_openblas") =>
        {
            Some(KnownLibrary::OpenBlas)
        }
        _ if begins("libblis") => Some(KnownLibrary::Blis),
        "libmkl_rt" | "libmkl_core" => Some(KnownLibrary::Mkl),
        "libfftw3" | "libfftw3f" => Some(KnownLibrary::Fftw),
        "libcrypto" => Some(KnownLibrary::OpenSsl),
        "libc" => Some(KnownLibrary::LibC),
        _ => None,
    }
}

impl KnownLibrary {
    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenBlas => "OpenBLAS",
            Self::Blis => "BLIS",
            Self::Mkl => "MKL",
            Self::Fftw => "FFTW",
            Self::OpenSsl => "OpenSSL",
            Self::LibC => "C library",
        }
    }

    /// The variable that has another code chosen, with the values that are tried, those for the newest instructions first.
    ///
    /// # Source
    /// OpenBLAS, `TargetList.txt` and `driver/others/dynamic.c`, whose names these are. BLIS takes numbers that change with its version, so
    /// none is tried.
    pub fn others(self) -> Option<(&'static str, &'static [(&'static str, Level)])> {
        match self {
            Self::OpenBlas => Some((
                "OPENBLAS_CORETYPE",
                &[
                    ("SkylakeX", Level::Avx512),
                    ("Haswell", Level::Avx2),
                    ("Sandybridge", Level::Avx),
                    ("Nehalem", Level::Sse42),
                ],
            )),
            Self::Blis | Self::Mkl | Self::Fftw | Self::OpenSsl | Self::LibC => None,
        }
    }

    /// The instructions that a code of this library needs, by its name; `None` if the name is not known.
    ///
    /// # Source
    /// OpenBLAS, `TargetList.txt` and `cpuid_x86.c`; BLIS, `frame/base/bli_cpuid.c` and the folders `config/`, whose makefiles name the
    /// instructions; MKL, `MKL_Get_Version`, field Processor.
    pub fn level(self, code: &str) -> Option<Level> {
        let lower = code.to_ascii_lowercase();
        match self {
            Self::OpenBlas | Self::Blis => core_level(&lower),
            Self::Mkl | Self::Fftw | Self::LibC => phrase_level(&lower),
            Self::OpenSsl => None,
        }
    }
}

fn core_level(name: &str) -> Option<Level> {
    Some(match name {
        "skylakex" | "cooperlake" | "sapphirerapids" | "graniterapids" | "skx" | "knl" | "zen4"
        | "zen5" => Level::Avx512,
        "haswell" | "zen" | "zen2" | "zen3" | "excavator" => Level::Avx2,
        "sandybridge" | "bulldozer" | "piledriver" | "steamroller" => Level::Avx,
        "nehalem" => Level::Sse42,
        "prescott" | "core2" | "penryn" | "dunnington" | "atom" | "nano" | "opteron"
        | "opteron_sse3" | "barcelona" | "bobcat" | "katmai" | "coppermine" | "northwood"
        | "banias" | "athlon" | "generic" => Level::Baseline,
        _ => return None,
    })
}

/// The newest instructions that a phrase names.
fn phrase_level(phrase: &str) -> Option<Level> {
    let names: [(&[&str], Level); 5] = [
        (&["avx512", "avx-512", "extensions 512"], Level::Avx512),
        (&["avx2", "extensions 2"], Level::Avx2),
        (&["avx", "advanced vector extensions"], Level::Avx),
        (&["sse4.2", "sse4_2"], Level::Sse42),
        (&["sse2", "sse3", "sse4.1", "x86-64"], Level::Baseline),
    ];
    let found = names
        .iter()
        .find(|(names, _)| names.iter().any(|name| phrase.contains(name)));
    found.map(|(_, level)| *level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        for (file, library) in [
            ("/usr/lib/libopenblas.so.0", Some(KnownLibrary::OpenBlas)),
            ("libopenblasp-r0.3.21.so", Some(KnownLibrary::OpenBlas)),
            (
                "numpy.libs/libscipy_openblas64_-99b71e71.so",
                Some(KnownLibrary::OpenBlas),
            ),
            ("libblas.so.3", Some(KnownLibrary::OpenBlas)),
            ("libblis.so.4.0.0", Some(KnownLibrary::Blis)),
            ("libmkl_rt.so.2", Some(KnownLibrary::Mkl)),
            ("libc.so.6", Some(KnownLibrary::LibC)),
            ("libcurl.so.4", None),
            ("libopenblas.a", None),
            ("libopenblas", None),
        ] {
            assert_eq!(known(Path::new(file)), library, "{file}");
        }
    }

    #[test]
    fn codes_have_levels() {
        for (library, code, level) in [
            (KnownLibrary::OpenBlas, "Prescott", Some(Level::Baseline)),
            (KnownLibrary::OpenBlas, "SkylakeX", Some(Level::Avx512)),
            (KnownLibrary::OpenBlas, "Neoversen1", None),
            (KnownLibrary::Blis, "haswell", Some(Level::Avx2)),
            (
                KnownLibrary::Mkl,
                "Intel(R) Advanced Vector Extensions 512 (Intel(R) AVX-512) enabled processors",
                Some(Level::Avx512),
            ),
            (
                KnownLibrary::Mkl,
                "Intel(R) Advanced Vector Extensions 2 (Intel(R) AVX2) enabled processors",
                Some(Level::Avx2),
            ),
        ] {
            assert_eq!(library.level(code), level, "{code}");
        }
    }
}

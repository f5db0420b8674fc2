//! Queries the code that a library runs.
//!
//! The library is loaded into this process, its initialisers run, and it may end the process: call it from a process
//! that can be spared. A loaded library is never unloaded.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Answer;
use super::known::{KnownLibrary, known};

/// A library that is open in this process for as long as that lives.
struct Open {
    handle: *mut c_void,
    /// Its file; `None` if it was requested by a name alone.
    file: Option<PathBuf>,
}

/// How fast a library multiplies matrices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm {
    /// Rows and columns of the three matrices.
    pub n: usize,
    /// The fastest of several multiplications, seconds.
    pub seconds: f64,
}

/// `dgemm_`: all arguments by address; none of these libraries reads the lengths of the two letters that Fortran passes
/// at the end. A library with 32-bit integers reads the lower half of each number, which comes first on the supported
/// processors.
type Dgemm = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const i64,
    *const i64,
    *const i64,
    *const f64,
    *const f64,
    *const i64,
    *const f64,
    *const i64,
    *const f64,
    *mut f64,
    *const i64,
);

/// Prefixes and suffixes of OpenBLAS's names: NumPy's and SciPy's builds rename all of them.
const RENAMED: [(&str, &str); 4] = [("", ""), ("", "64_"), ("scipy_", ""), ("scipy_", "64_")];

/// Rows of the matrices that are multiplied: three of them have 1.5 MB, which a second-level cache of today holds.
const ROWS: usize = 256;

/// How often: the fastest counts, a few milliseconds each.
const ROUNDS: usize = 12;

/// Queries the code that a library runs.
///
/// # Returns
/// `None` if it is not one of the libraries that can answer, whatever its file is called.
///
/// # Errors
/// It cannot be loaded, and why.
pub fn ask(path: &Path) -> Result<Option<(KnownLibrary, Answer)>, String> {
    let Some(by_name) = known(path) else {
        return Ok(None);
    };
    let library = Open::new(path)?;
    // An alternative of `libblas.so.3` may be any of them.
    let order = match by_name {
        KnownLibrary::OpenBlas => &[
            KnownLibrary::OpenBlas,
            KnownLibrary::Blis,
            KnownLibrary::Mkl,
        ][..],
        _ => std::slice::from_ref(&by_name),
    };
    let answers = order.iter().find_map(|known| {
        let answer = match known {
            KnownLibrary::OpenBlas => library.openblas(),
            KnownLibrary::Blis => library.blis(),
            KnownLibrary::Mkl => library.mkl(),
            KnownLibrary::Fftw => library.fftw(),
            KnownLibrary::OpenSsl => library.openssl(),
            KnownLibrary::LibC => library.libc(),
        };
        Some((*known, answer?))
    });
    Ok(answers.map(|(known, (code, version, threads))| {
        let level = known.level(&code);
        let answer = Answer {
            code,
            level,
            version,
            threads,
        };
        (known, answer)
    }))
}

/// Loads a library, and those that it brings with it.
///
/// # Errors
/// It cannot be loaded, and why.
pub fn load(path: &Path) -> Result<(), String> {
    Open::new(path).map(|_| ())
}

/// Multiplies matrices by a library's `dgemm`.
///
/// # Returns
/// `None` if it has no such function.
///
/// # Errors
/// It cannot be loaded, and why.
pub fn time_gemm(path: &Path) -> Result<Option<Gemm>, String> {
    let library = Open::new(path)?;
    let mut symbols = RENAMED.iter().filter_map(|(before, after)| {
        let after = if after.is_empty() { "_" } else { "_64_" };
        library.any_symbol(&format!("{before}dgemm{after}"))
    });
    let Some(symbol) = symbols.next() else {
        return Ok(None);
    };
    // SAFETY: a function of this name has this signature, the Fortran interface of BLAS.
    let dgemm = unsafe { std::mem::transmute::<*mut c_void, Dgemm>(symbol) };
    let (a, b) = (vec![1.0; ROWS * ROWS], vec![0.5; ROWS * ROWS]);
    let mut c = vec![0.0; ROWS * ROWS];
    let (n, one, zero, not) = (ROWS as i64, 1.0, 0.0, b'N' as c_char);
    let seconds = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        // SAFETY: three matrices of n rows and n columns, which nothing else uses.
        unsafe {
            dgemm(
                &not,
                &not,
                &n,
                &n,
                &n,
                &one,
                a.as_ptr(),
                &n,
                b.as_ptr(),
                &n,
                &zero,
                c.as_mut_ptr(),
                &n,
            );
        }
        began.elapsed().as_secs_f64()
    });
    let seconds = seconds.fold(f64::INFINITY, f64::min);
    // A library that computed something else has measured something else.
    let is_right = c.iter().all(|value| *value == 0.5 * ROWS as f64);
    Ok(is_right.then_some(Gemm { n: ROWS, seconds }))
}

/// Code, version, threads.
type Said = (String, Option<String>, Option<u32>);

impl Open {
    fn new(path: &Path) -> Result<Self, String> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: a string that ends; the caller knows that initialisers run.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: the last error of this thread, a string or null.
            let why = unsafe { text(libc::dlerror()) };
            return Err(why.unwrap_or_else(|| "the dynamic linker gave no reason".into()));
        }
        Ok(Self {
            handle,
            file: path.canonicalize().ok(),
        })
    }

    /// A symbol of this library, or of those that it brings with it.
    fn any_symbol(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        // SAFETY: an open library and a string that ends.
        let symbol = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        Some(symbol).filter(|symbol| !symbol.is_null())
    }

    /// A symbol of this library's own file: a library that forwards its calls to another one is not
    /// that one.
    fn symbol(&self, name: &str) -> Option<*mut c_void> {
        let symbol = self.any_symbol(name)?;
        let Some(own) = &self.file else {
            return Some(symbol);
        };
        let mut found = MaybeUninit::<libc::Dl_info>::uninit();
        // SAFETY: the structure is written before it is read, as the result confirms; the name in it is terminated,
        // and stays.
        let file = unsafe {
            if libc::dladdr(symbol, found.as_mut_ptr()) == 0 {
                return None;
            }
            text(found.assume_init().dli_fname)
        };
        let file = Path::new(&file?).canonicalize().ok()?;
        (file == *own).then_some(symbol)
    }

    /// Result of a function without arguments that returns a string.
    fn string(&self, name: &str) -> Option<String> {
        let symbol = self.symbol(name)?;
        // SAFETY: functions of the requested names take nothing and return a string that stays.
        unsafe {
            let function =
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(symbol);
            text(function())
        }
    }

    /// Result of a function without arguments that returns a number.
    fn number(&self, name: &str) -> Option<c_int> {
        let symbol = self.symbol(name)?;
        // SAFETY: functions of the requested names take nothing and return an int.
        unsafe {
            let function =
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(symbol);
            Some(function())
        }
    }

    fn openblas(&self) -> Option<Said> {
        RENAMED.iter().find_map(|(before, after)| {
            let name = |of: &str| format!("{before}openblas_get_{of}{after}");
            let code = self.string(&name("corename"))?;
            let config = self.string(&name("config"));
            // `OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Prescott MAX_THREADS=64`
            let version = config.and_then(|text| text.split(' ').nth(1).map(str::to_owned));
            let threads = self.number(&name("num_threads"));
            Some((code, version, threads.and_then(|n| u32::try_from(n).ok())))
        })
    }

    fn blis(&self) -> Option<Said> {
        let id = self.number("bli_arch_query_id")?;
        let symbol = self.symbol("bli_arch_string")?;
        // SAFETY: the function takes the number that the other one gave, and returns a string that stays.
        let code = unsafe {
            let function = std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(c_int) -> *const c_char,
            >(symbol);
            text(function(id))
        };
        Some((code?, self.string("bli_info_get_version_str"), None))
    }

    fn mkl(&self) -> Option<Said> {
        /// `MKLVersion` of `mkl_types.h`.
        #[repr(C)]
        struct Version {
            numbers: [c_int; 3],
            status: *const c_char,
            build: *const c_char,
            processor: *const c_char,
            platform: *const c_char,
        }
        let symbol = self.symbol("MKL_Get_Version")?;
        let mut version = Version {
            numbers: [0; 3],
            status: std::ptr::null(),
            build: std::ptr::null(),
            processor: std::ptr::null(),
            platform: std::ptr::null(),
        };
        // SAFETY: the function fills the structure; its strings stay.
        let code = unsafe {
            let function =
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut Version)>(symbol);
            function(&mut version);
            text(version.processor)
        };
        // `Intel(R) Advanced Vector Extensions 512 (Intel(R) AVX-512) with support of …`, `… enabled processors`
        let code = code?.replace("Intel(R) ", "");
        let code = code
            .split(" with support")
            .next()
            .and_then(|code| code.split(" enabled").next())?;
        let [major, minor, update] = version.numbers;
        let threads = self.number("MKL_Get_Max_Threads");
        Some((
            code.to_owned(),
            Some(format!("{major}.{minor}.{update}")),
            threads.and_then(|n| u32::try_from(n).ok()),
        ))
    }

    /// The newest code it was built with that this processor supports: its planner chooses among all of
    /// those.
    fn fftw(&self) -> Option<Said> {
        let symbol = ["fftw_version", "fftwf_version"]
            .into_iter()
            .find_map(|name| self.symbol(name))?;
        // SAFETY: an array of characters that ends, not a pointer to one.
        let whole = unsafe { text(symbol.cast::<c_char>()) }?;
        // `fftw-3.3.10-sse2-avx-avx2-avx2_128`
        let mut words = whole.split('-').skip(1);
        let version = words.next().map(str::to_owned);
        let offered = crate::offered();
        let usable = words.filter_map(|word| Some((KnownLibrary::Fftw.level(word)?, word)));
        let best = usable
            .filter(|(level, _)| offered.is_none_or(|offered| *level <= offered))
            .max_by_key(|(level, _)| *level)?;
        Some((best.1.to_owned(), version, None))
    }

    /// The processor's capabilities as it uses them, words of hexadecimal digits.
    fn openssl(&self) -> Option<Said> {
        /// `OPENSSL_INFO_CPU_SETTINGS` of `openssl/crypto.h`, since version 3.0.
        const CPU_SETTINGS: c_int = 1008;
        /// `OPENSSL_VERSION_STRING`, since version 3.0.
        const VERSION: c_int = 6;
        let of = |function: &str, what: c_int| {
            let symbol = self.symbol(function)?;
            // SAFETY: both functions take a number and return a string that stays, or null.
            unsafe {
                let function = std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(c_int) -> *const c_char,
                >(symbol);
                text(function(what))
            }
        };
        let code = of("OPENSSL_info", CPU_SETTINGS)?;
        Some((code, of("OpenSSL_version", VERSION), None))
    }

    /// The newest instructions that its functions of strings and memory may use.
    fn libc(&self) -> Option<Said> {
        /// `struct cpuid_feature` of `sys/platform/x86.h`: the result of `cpuid`, and the active
        /// features.
        #[repr(C)]
        struct Feature {
            offered: [c_uint; 4],
            active: [c_uint; 4],
        }
        let version = self.string("gnu_get_libc_version");
        let symbol = self.symbol("__x86_get_cpuid_feature_leaf")?;
        // SAFETY: the function takes the number of a leaf and returns a structure that stays; there are more than two.
        let leaf = |number: c_uint| unsafe {
            let function = std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(c_uint) -> *const Feature,
            >(symbol);
            function(number).as_ref().map(|feature| feature.active)
        };
        // Registers eax, ebx, ecx, edx of cpuid's leaves 1 and 7.
        let ([_, _, one, _], [_, seven, _, _]) = (leaf(0)?, leaf(1)?);
        let has = |register: c_uint, bit: u32| register >> bit & 1 == 1;
        let code = match () {
            // F, BW, VL.
            () if has(seven, 16) && has(seven, 30) && has(seven, 31) => "AVX-512",
            () if has(seven, 5) => "AVX2",
            () if has(one, 28) => "AVX",
            () if has(one, 20) => "SSE4.2",
            () => "SSE2",
        };
        Some((code.into(), version, None))
    }
}

/// A copy of a string.
///
/// # Safety
/// It is null or ends with a zero.
unsafe fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: it ends.
    let text = unsafe { CStr::from_ptr(pointer) };
    Some(text.to_string_lossy().trim().to_owned())
}

//! Requirements of a program's start on the dynamic linker, read from files without loading them.
//!
//! The thread-local memory of a library that uses the initial-exec model is at a fixed distance from each thread's
//! pointer. The dynamic linker lays it out for all libraries that a program starts with. With an audit library
//! (`LD_AUDIT`) it lays out memory before it knows them, and takes their memory from a small reserve (glibc's
//! `glibc.rtld.optional_static_tls`).

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::read::{FileKind, ReadCache};

/// A program's or library's part in a start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Startup {
    /// The dynamic linker that the program requests; a statically linked program and a library have none.
    pub interpreter: Option<PathBuf>,
    /// Thread-local memory at a fixed distance, bytes, including padding for its alignment.
    pub static_tls_bytes: u64,
}

impl Startup {
    /// Reads a file; `None` if it is no ELF file of 64 bits.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let cache = ReadCache::new(File::open(path)?);
        if !matches!(FileKind::parse(&cache), Ok(FileKind::Elf64)) {
            return Ok(None);
        }
        Ok(startup(&cache))
    }
}

fn startup(data: &ReadCache<File>) -> Option<Startup> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let (mut interpreter, mut tls_bytes, mut is_static) = (None, 0, false);
    for segment in header.program_headers(endian, data).ok()? {
        if let Ok(Some(path)) = segment.interpreter(endian, data) {
            interpreter = Some(PathBuf::from(OsStr::from_bytes(path)));
        }
        if segment.p_type(endian) == elf::PT_TLS {
            let bytes = segment.p_memsz(endian);
            tls_bytes = bytes.saturating_add(segment.p_align(endian));
        }
        if let Ok(Some(entries)) = segment.dynamic(endian, data) {
            is_static |= entries.iter().any(|entry| {
                entry.tag(endian) == elf::DT_FLAGS && entry.val(endian) & elf::DF_STATIC_TLS.0 != 0
            });
        }
    }
    Some(Startup {
        interpreter,
        static_tls_bytes: if is_static { tls_bytes } else { 0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_its_dynamic_linker_and_a_text_is_none() {
        let own = std::env::current_exe().expect("a path");
        let own = Startup::read(&own).expect("a file").expect("a program");
        assert!(own.interpreter.is_some_and(|path| path.is_file()));
        let manifest = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        assert_eq!(Startup::read(manifest).expect("a file"), None);
    }
}

//! Reads a library's file without loading it: the machine it was built for, whether the file is complete, and its
//! exports.

use std::fs::File;
use std::io;
use std::path::Path;

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::read::{FileKind, ReadCache, ReadRef};
use object::{Endianness, Object, ObjectSymbol};

use crate::LoadError;

/// The head of a shared library's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Machine of the ELF header.
    machine: elf::Machine,
    /// Whether addresses have 64 bits.
    is_64: bool,
    /// Bytes that the mapped segments require of the file; unknown without a table of segments.
    least_bytes: Option<u64>,
    /// Bytes that it has.
    bytes: u64,
}

impl Image {
    /// Reads the head of a file; `None` if it is no ELF file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let cache = ReadCache::new(file);
        Ok(match FileKind::parse(&cache) {
            Ok(FileKind::Elf64) => head::<FileHeader64<Endianness>, _>(&cache, bytes),
            Ok(FileKind::Elf32) => head::<FileHeader32<Endianness>, _>(&cache, bytes),
            _ => damaged_head(&cache, bytes),
        })
    }

    /// Bytes from its beginning that a process maps: the rest is for debuggers, or unused.
    pub fn mapped_bytes(&self) -> u64 {
        self.least_bytes.unwrap_or(self.bytes)
    }

    /// Whether the dynamic linker can be given the file.
    ///
    /// # Errors
    /// [`LoadError::Architecture`], or [`LoadError::Cut`]: the linker maps pages beyond the end of the file, and the
    /// process would end by SIGBUS when it touches them.
    pub fn check(&self, path: &Path) -> Result<(), LoadError> {
        let found = name(self.machine, self.is_64);
        let expected = std::env::consts::ARCH;
        let is_known = matches!(
            expected,
            "x86_64" | "aarch64" | "powerpc64" | "riscv64" | "s390x"
        );
        if is_known && self.machine != elf::EM_NONE && found != expected {
            return Err(LoadError::Architecture {
                path: path.into(),
                found,
                expected,
            });
        }
        match self.least_bytes {
            Some(expected) if expected > self.bytes => Err(LoadError::Cut {
                path: path.into(),
                found: self.bytes,
                expected,
            }),
            _ => Ok(()),
        }
    }
}

fn head<'data, H, R>(data: R, bytes: u64) -> Option<Image>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok();
    let end = |segment: &H::ProgramHeader| {
        let (offset, size) = segment.file_range(endian);
        offset.saturating_add(size)
    };
    let least_bytes = segments.and_then(|segments| {
        let mapped = segments.iter().filter(|s| s.p_type(endian) == elf::PT_LOAD);
        mapped.map(end).max()
    });
    Some(Image {
        machine: header.e_machine(endian),
        is_64: header.is_type_64(),
        least_bytes,
        bytes,
    })
}

/// For a file that begins as ELF but does not even have a whole header.
fn damaged_head<'data>(data: impl ReadRef<'data>, bytes: u64) -> Option<Image> {
    let mark = data.read_bytes_at(0, elf::ELFMAG.len() as u64).ok()?;
    (mark == elf::ELFMAG).then_some(Image {
        machine: elf::EM_NONE,
        is_64: true,
        least_bytes: None,
        bytes,
    })
}

/// The machine, by the name that Rust has for it.
fn name(machine: elf::Machine, is_64: bool) -> String {
    match (machine, is_64) {
        (elf::EM_X86_64, true) => "x86_64".into(),
        (elf::EM_X86_64, false) => "x32".into(),
        (elf::EM_386, _) => "x86".into(),
        (elf::EM_AARCH64, _) => "aarch64".into(),
        (elf::EM_ARM, _) => "arm".into(),
        (elf::EM_PPC64, _) => "powerpc64".into(),
        (elf::EM_RISCV, true) => "riscv64".into(),
        (elf::EM_RISCV, false) => "riscv32".into(),
        (elf::EM_S390, true) => "s390x".into(),
        (machine, _) => format!("machine {}", machine.0),
    }
}

/// Whether a library exports a symbol of a name that begins so; `None` if its table of symbols cannot be read.
pub fn exports(path: &Path, beginning: &str) -> Option<bool> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let file = object::File::parse(&cache).ok()?;
    file.dynamic_symbol_table()?;
    let begins = |name: &[u8]| name.starts_with(beginning.as_bytes());
    let mut symbols = file.dynamic_symbols();
    Some(symbols.any(|symbol| symbol.is_definition() && symbol.name_bytes().is_ok_and(begins)))
}

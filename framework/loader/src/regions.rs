//! The code in memory by its owner: the opened libraries, and the instances that are made of their classes.
//!
//! A list that only grows, so that a signal handler may walk it at any moment.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Maximum number of named instances of one library; a longer list is marked as cut.
const MAX_NAMED: usize = 4;

/// The code of one library.
struct Region {
    /// Mapped and executable, from the first address to before the second.
    ranges: Vec<(usize, usize)>,
    /// Its label; lives for ever, as the region does.
    label: AtomicPtr<String>,
    next: *const Region,
}

static FIRST: AtomicPtr<Region> = AtomicPtr::new(ptr::null_mut());

/// State of a library: its region, and the instances in the order of their making.
#[derive(Default)]
struct LibraryState {
    region: Option<&'static Region>,
    instances: BTreeMap<u64, String>,
    n_made: u64,
}

static LIBRARIES: Mutex<Option<HashMap<PathBuf, LibraryState>>> = Mutex::new(None);

// SAFETY: a region is immutable except for its label, which is an atomic; the regions after it are never freed either.
unsafe impl Sync for Region {}
// SAFETY: as for `Sync`.
unsafe impl Send for Region {}

fn known() -> MutexGuard<'static, Option<HashMap<PathBuf, LibraryState>>> {
    // Nothing in it can be left half changed.
    LIBRARIES
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The label of the code at an address: `instance "flux" of class hydro.EfmFlux`, `library "…"`, `this program`.
pub(crate) fn label_of(address: usize) -> Option<&'static str> {
    let mut region = FIRST.load(Ordering::Acquire).cast_const();
    // SAFETY: regions and labels are leaked.
    while let Some(found) = unsafe { region.as_ref() } {
        if found
            .ranges
            .iter()
            .any(|(from, to)| (*from..*to).contains(&address))
        {
            // SAFETY: as above.
            return unsafe { found.label.load(Ordering::Acquire).as_ref() }.map(String::as_str);
        }
        region = found.next;
    }
    None
}

/// Adds a library that was opened; does nothing if it is known.
pub(crate) fn add_library(path: &Path) {
    let mut known = known();
    let entry = known
        .get_or_insert_default()
        .entry(path.into())
        .or_default();
    if entry.region.is_none() {
        let label = format!("library \"{}\"", path.display());
        entry.region = add_region(label, |name| Path::new(name) == path);
    }
}

/// Adds the code of the program itself.
pub(crate) fn add_program() {
    add_region("this program".into(), str::is_empty);
}

/// An instance that the code of a library works for, until it is dropped.
#[derive(Debug)]
pub(crate) struct NamedInstance {
    library: PathBuf,
    number: u64,
    text: String,
}

impl fmt::Display for NamedInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl NamedInstance {
    /// Marks a library's code as this instance's.
    pub(crate) fn add(library: &Path, instance: &str, class: &str) -> Self {
        let mut known = known();
        let entry = known
            .get_or_insert_default()
            .entry(library.into())
            .or_default();
        entry.n_made += 1;
        let number = entry.n_made;
        let text = format!("instance \"{instance}\" of class {class}");
        entry.instances.insert(number, text.clone());
        entry.say(entry.instances.len());
        NamedInstance {
            library: library.into(),
            number,
            text,
        }
    }
}

impl Drop for NamedInstance {
    fn drop(&mut self) {
        if let Some(known) = known().as_mut().and_then(|all| all.get_mut(&self.library)) {
            let place = known.instances.range(..self.number).take(MAX_NAMED).count();
            known.instances.remove(&self.number);
            // Without instances the label stays: the last code of a library to run is its last
            // instance's.
            if !known.instances.is_empty() {
                known.say(place);
            }
        }
    }
}

impl LibraryState {
    /// Renews the label if it names the changed instance, counted from 0.
    fn say(&self, changed: usize) {
        let Some(region) = self.region.filter(|_| changed <= MAX_NAMED + 1) else {
            return;
        };
        let named: Vec<_> = self.instances.values().take(MAX_NAMED).cloned().collect();
        let more = if self.instances.len() > MAX_NAMED {
            " or another"
        } else {
            ""
        };
        let label = named.join(" or ") + more;
        // The one before may be read at this moment.
        region
            .label
            .store(Box::into_raw(Box::new(label)), Ordering::Release);
    }
}

/// Argument of `dl_iterate_phdr`.
struct Search<'a> {
    is_it: &'a dyn Fn(&str) -> bool,
    ranges: Vec<(usize, usize)>,
}

fn add_region(label: String, is_it: impl Fn(&str) -> bool) -> Option<&'static Region> {
    let mut search = Search {
        is_it: &is_it,
        ranges: Vec::new(),
    };
    // SAFETY: the callback gets the search with its true type, during this call.
    unsafe { libc::dl_iterate_phdr(Some(add_ranges), (&raw mut search).cast()) };
    if search.ranges.is_empty() {
        return None;
    }
    let label = AtomicPtr::new(Box::into_raw(Box::new(label)));
    let region = Box::into_raw(Box::new(Region {
        ranges: search.ranges,
        label,
        next: FIRST.load(Ordering::Acquire),
    }));
    // Regions are added under the lock of `LIBRARIES`, or before anything else runs.
    FIRST.store(region, Ordering::Release);
    // SAFETY: leaked, and from now on immutable.
    Some(unsafe { &*region })
}

unsafe extern "C" fn add_ranges(
    object: *mut libc::dl_phdr_info,
    _: libc::size_t,
    search: *mut c_void,
) -> c_int {
    // SAFETY: `add_region` passes its search, the dynamic linker an object with that number of segments.
    let (object, search, segments) = unsafe {
        let object = &*object;
        let segments = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
        (object, &mut *search.cast::<Search<'_>>(), segments)
    };
    let name = match object.dlpi_name.is_null() {
        true => c"",
        // SAFETY: a name with its end.
        false => unsafe { CStr::from_ptr(object.dlpi_name) },
    };
    if !(search.is_it)(&name.to_string_lossy()) {
        return 0;
    }
    for segment in segments {
        if segment.p_type == libc::PT_LOAD && segment.p_flags & libc::PF_X != 0 {
            let from = (object.dlpi_addr as usize).wrapping_add(segment.p_vaddr as usize);
            search
                .ranges
                .push((from, from.saturating_add(segment.p_memsz as usize)));
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_the_program_is_known_as_such() {
        add_program();
        let own = code_of_the_program_is_known_as_such as *const () as usize;
        assert_eq!(label_of(own), Some("this program"));
        assert_eq!(label_of(0), None);
        assert_eq!(label_of(libc::getpid as *const () as usize), None);
    }
}

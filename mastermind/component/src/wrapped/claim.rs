//! Claims a record directory for one run, before its program starts.
//!
//! The directory has a file `claim` with the name of the run and the ranks that have begun, and two locks on it:
//!
//! ```text
//! byte 0   held, exclusively, while a process reads and changes the file
//! byte 1   held, with others, as long as a `wrap` of the run lives
//! ```
//!
//! A directory that another run has locked or has left records in is skipped, and the next free of `DIR.2`, `DIR.3`,
//! … is taken, so that a program is always run. All ranks of a launch have one name and come to the same directory,
//! whichever is first. A rank that begins a second time, as in a script that each rank runs, goes on to the next
//! directory.
//!
//! # Decisions
//!
//! A record directory belongs to one run, from before its program starts: a file in it names the
//! run, which all ranks of a launch derive from their launcher (`comm/src/launch.rs`), and locks on
//! it show whether the run lives (`component/src/wrapped/claim.rs`). Another run takes the next
//! free of `DIR.2`, `DIR.3`, …, and so do ranks that were spawned. Files of the directory are made
//! anew, never written through a link (`records/src/own_file.rs`).

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use mastermind_records::holds_records;

/// File name in the directory.
pub const CLAIM_FILE: &str = "claim";

/// First line of the file; any other file of that name is not touched.
const HEAD: &str = "mastermind wrap\n";

/// Maximum number of directories tried; a loop of as many runs has its records under other names.
const MAX_DIRECTORIES: u32 = 100_000;

/// How long another process may take to read and change the file. After that the directory is skipped.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time between two attempts.
const AGAIN: Duration = Duration::from_millis(2);

/// Maximum bytes of the file that are read; a million ranks need less.
const MAX_BYTES: u64 = 1 << 24;

/// The bytes that are locked.
const CHANGE: i64 = 0;
const ALIVE: i64 = 1;

/// The run, or the rank of a run, that asks for a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimant {
    /// Name of the run, without line breaks; the same for all ranks of a launch, and for no other run.
    pub run: String,
    /// The rank, if the run has its own `wrap` for each of them.
    pub rank: Option<u32>,
}

/// A record directory that belongs to the run of this process.
#[derive(Debug)]
pub struct Claim {
    /// The directory.
    pub directory: PathBuf,
    /// Its number: 1 for the requested directory.
    pub number: u32,
    /// Holds the lock on [`ALIVE`].
    file: Option<File>,
}

/// The result of an attempt to claim a directory.
enum ClaimResult {
    /// It is this run's.
    Own(Option<File>),
    /// Another run has it.
    Taken,
}

/// Takes a directory for a run: `base`, or the first of `base.2`, … that no other run has.
///
/// # Arguments
/// * `base` - exists
/// * `clear` - removes files that an earlier run left in a directory, and returns whether nothing of it is left;
///   without it, a directory with records is skipped
///
/// # Errors
/// A directory cannot be made or read.
pub fn claim(
    base: &Path,
    claimant: &Claimant,
    clear: Option<&dyn Fn(&Path) -> bool>,
) -> io::Result<Claim> {
    for number in 1..=MAX_DIRECTORIES {
        let directory = numbered(base, number);
        if number > 1 && !is_own_directory(&directory)? {
            continue;
        }
        if let ClaimResult::Own(file) = try_claim(&directory, claimant, clear)? {
            return Ok(Claim {
                directory,
                number,
                file,
            });
        }
    }
    Err(io::Error::new(
        ErrorKind::AlreadyExists,
        format!("{MAX_DIRECTORIES} directories with records of other runs"),
    ))
}

/// `base`, `base.2`, …
pub fn numbered(base: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return base.to_owned();
    }
    let mut name = base.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// The name of the run that a directory belongs to.
pub fn claimed_by(directory: &Path) -> Option<String> {
    let text = fs::read_to_string(directory.join(CLAIM_FILE)).ok()?;
    let run = text.strip_prefix(HEAD)?.lines().next()?;
    Some(run.strip_prefix("run ")?.to_owned())
}

impl Claim {
    /// Gives the directory up, if it has no records and no other rank holds it: removes the claim, and the directory if
    /// it is then empty.
    pub fn give_up(self) {
        let Some(mut file) = self.file else {
            return;
        };
        let _ = lock(&file, libc::F_UNLCK, ALIVE);
        let is_alone = lock_patiently(&file) && lock(&file, libc::F_WRLCK, ALIVE).unwrap_or(false);
        if is_alone && !has_records(&self.directory).unwrap_or(true) && is_ours(&mut file).is_some()
        {
            let _ = fs::remove_file(self.directory.join(CLAIM_FILE));
            let _ = fs::remove_dir(&self.directory);
        }
    }
}

/// Makes a further directory; `false` if something else has its name.
fn is_own_directory(path: &Path) -> io::Result<bool> {
    match DirBuilder::new().create(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Ok(fs::symlink_metadata(path)?.is_dir())
        }
        Err(error) => Err(error),
    }
}

fn try_claim(
    directory: &Path,
    claimant: &Claimant,
    clear: Option<&dyn Fn(&Path) -> bool>,
) -> io::Result<ClaimResult> {
    let path = directory.join(CLAIM_FILE);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o666);
    // Neither through a link, nor into a pipe without a reader.
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC);
    loop {
        let mut file = match options.open(&path) {
            Ok(file) => file,
            // Something else of that name.
            Err(error) if is_foreign(&error) => return Ok(ClaimResult::Taken),
            Err(error) => return Err(error),
        };
        if !lock_patiently(&file) {
            return Ok(ClaimResult::Taken);
        }
        if !is_at(&file, &path) {
            // It was given up meanwhile.
            continue;
        }
        let found = decide(&mut file, directory, claimant, clear)?;
        let _ = lock(&file, libc::F_UNLCK, CHANGE);
        return Ok(match found {
            true => ClaimResult::Own(Some(file)),
            false => ClaimResult::Taken,
        });
    }
}

fn is_foreign(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [libc::ELOOP, libc::ENXIO, libc::EISDIR]
        .map(Some)
        .contains(&code)
}

/// Claims the directory for this run; returns whether that succeeded.
fn decide(
    file: &mut File,
    directory: &Path,
    claimant: &Claimant,
    clear: Option<&dyn Fn(&Path) -> bool>,
) -> io::Result<bool> {
    let Some(text) = is_ours(file) else {
        return Ok(false);
    };
    let run = format!("run {}", claimant.run);
    let rank = claimant.rank.map(|rank| format!("rank {rank}"));
    let mut lines = text.lines().skip(1);
    let is_own_run = lines.next() == Some(&run);
    let is_begun = rank.is_some() && lines.any(|line| Some(line) == rank.as_deref());
    if is_own_run && is_begun {
        return Ok(false);
    }
    if !is_own_run {
        // Only a live run holds the lock.
        if !lock(file, libc::F_WRLCK, ALIVE).unwrap_or(text.is_empty()) {
            return Ok(false);
        }
        if has_records(directory)? && !clear.is_some_and(|clear| clear(directory)) {
            let _ = lock(file, libc::F_UNLCK, ALIVE);
            return Ok(false);
        }
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(format!("{HEAD}{run}\n").as_bytes())?;
    }
    if let Some(rank) = rank {
        file.seek(SeekFrom::End(0))?;
        file.write_all(format!("{rank}\n").as_bytes())?;
    }
    let _ = lock(file, libc::F_RDLCK, ALIVE);
    Ok(true)
}

/// The text of a claim file, empty if it has just been made; `None` for another file.
fn is_ours(file: &mut File) -> Option<String> {
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.nlink() != 1 {
        return None;
    }
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    (text.is_empty() || text.starts_with(HEAD)).then_some(text)
}

fn has_records(directory: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        if holds_records(&entry?.path()) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(own), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (own.dev(), own.ino()) == (there.dev(), there.ino())
}

/// Takes the lock for reading and changing; `true` too where the file system has no locks.
fn lock_patiently(file: &File) -> bool {
    let began = Instant::now();
    loop {
        match lock(file, libc::F_WRLCK, CHANGE) {
            Ok(false) if began.elapsed() < PATIENCE => sleep(AGAIN),
            Ok(is_locked) => return is_locked,
            Err(_) => return true,
        }
    }
}

/// Locks or unlocks a byte, for this open file description (`F_OFD_SETLK`); `false` if another process holds it.
///
/// # Errors
/// The file system has no locks.
fn lock(file: &File, kind: libc::c_int, byte: i64) -> io::Result<bool> {
    // SAFETY: zeros are a lock; its fields are set below.
    let mut wanted: libc::flock = unsafe { std::mem::zeroed() };
    wanted.l_type = kind as libc::c_short;
    wanted.l_whence = libc::SEEK_SET as libc::c_short;
    wanted.l_start = byte;
    wanted.l_len = 1;
    // SAFETY: an open file and a whole lock.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &wanted) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mastermind_records::layout::EXTENSION;
    use std::os::unix::fs::symlink;

    fn run(run: &str, rank: Option<u32>) -> Claimant {
        Claimant {
            run: run.into(),
            rank,
        }
    }

    /// The number of the directory that a run gets.
    fn number(base: &Path, claimant: &Claimant) -> (u32, Claim) {
        let claim = claim(base, claimant, None).expect("a claim");
        (claim.number, claim)
    }

    fn record(directory: &Path) {
        fs::write(
            directory.join(format!("rank0000-thread000.{EXTENSION}")),
            "",
        )
        .expect("a file");
    }

    #[test]
    fn a_directory_belongs_to_one_run_while_it_lives_and_once_it_has_records() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path();
        let (first, a) = number(base, &run("a", None));
        let (second, b) = number(base, &run("b", None));
        assert_eq!((first, second), (1, 2));
        record(&a.directory);
        drop(a);
        // `b` leaves no records.
        b.give_up();
        assert!(!numbered(base, 2).exists());
        let (again, c) = number(base, &run("c", None));
        assert_eq!(again, 2);
        drop(c);
        assert_eq!(
            number(base, &run("d", None)).0,
            2,
            "nobody lives there, and there are no records"
        );
        fs::remove_dir_all(numbered(base, 2)).expect("a folder");
    }

    #[test]
    fn ranks_of_a_launch_come_to_one_directory_each_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path();
        record(base);
        for round in [2, 3] {
            for rank in [1, 0, 2] {
                let (number, claim) = number(base, &run("launch", Some(rank)));
                assert_eq!(number, round, "{rank}");
                record(&claim.directory);
            }
        }
        for number in [2, 3] {
            assert_eq!(
                claimed_by(&numbered(base, number)).as_deref(),
                Some("launch")
            );
            fs::remove_dir_all(numbered(base, number)).expect("a folder");
        }
    }

    #[test]
    fn records_are_cleared_on_demand_but_not_those_of_who_lives() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path();
        record(base);
        let clear = |directory: &Path| {
            fs::remove_file(directory.join(format!("rank0000-thread000.{EXTENSION}"))).is_ok()
        };
        let claim_over = |name| claim(base, &run(name, None), Some(&clear)).expect("a claim");
        let first = claim_over("a");
        assert_eq!((first.number, has_records(base).ok()), (1, Some(false)));
        record(base);
        let second = claim_over("b");
        assert_eq!((second.number, has_records(base).ok()), (2, Some(true)));
        second.give_up();
    }

    #[test]
    fn no_link_is_followed_and_nothing_foreign_is_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let foreign = folder.path().join("foreign");
        for (name, make) in [
            (
                "link",
                (|from, to| symlink(from, to)) as fn(&Path, &Path) -> io::Result<()>,
            ),
            ("hard", |from, to| fs::hard_link(from, to)),
            ("copy", |from, to| fs::copy(from, to).map(drop)),
        ] {
            fs::write(&foreign, "of another").expect("a file");
            let base = folder.path().join(name);
            fs::create_dir(&base).expect("a folder");
            make(&foreign, &base.join(CLAIM_FILE)).expect("a file");
            assert_eq!(number(&base, &run("a", None)).0, 2, "{name}");
            let text = fs::read_to_string(base.join(CLAIM_FILE)).expect("a file");
            assert_eq!(text, "of another", "{name}");
        }
    }
}

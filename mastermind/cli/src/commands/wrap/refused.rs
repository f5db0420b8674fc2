//! Processes that may not write into the record directory, as another user's: started as root, a program may start some.
//!
//! Such a process can leave no message either. So for root a file is made that every user may write: a process appends
//! its number and its user there, and nothing else is read from it.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use cca_comm::Launched;
use mastermind_component::WrapConfig;
use mastermind_records::create_anew;

/// Every user may read and write.
const OF_ALL: u32 = 0o666;

/// Most bytes that are read, since any user may make the file as large as the disk: some 60,000 processes. Arbitrary.
const MAX_BYTES: u64 = 1 << 20;

fn file(config: &WrapConfig, launched: Option<&Launched>) -> PathBuf {
    let rank = launched.map_or(0, |launched| launched.rank as u32);
    config.message_file(rank).with_extension("refused")
}

/// Makes the file; without it, such processes are not reported.
pub(super) fn prepare(config: &WrapConfig, launched: Option<&Launched>) {
    if rustix::process::geteuid().is_root()
        && let Ok(file) = create_anew(&file(config, launched))
    {
        let _ = file.set_permissions(Permissions::from_mode(OF_ALL));
    }
}

/// Reports the processes, and removes the file.
pub(super) fn report(config: &WrapConfig, launched: Option<&Launched>) {
    let path = file(config, launched);
    let mut text = Vec::new();
    if let Ok(file) = File::open(&path) {
        // What was read before an error counts.
        let _ = file.take(MAX_BYTES).read_to_end(&mut text);
    }
    let _ = fs::remove_file(&path);
    for (user, n) in users(&text) {
        crate::output::complain!(
            "warning: {n} {} of user {user} may not write into \"{}\": none of their calls is recorded; let that user write there, \
             as by `chmod 1777`",
            if n == 1 { "process" } else { "processes" },
            config.directory.display()
        );
    }
}

/// Number of processes of each user, from lines of a process and its user.
fn users(text: &[u8]) -> BTreeMap<u32, usize> {
    let mut users = BTreeMap::new();
    for line in String::from_utf8_lossy(text).lines() {
        let user = line
            .split_once('\t')
            .filter(|(process, _)| process.parse::<u32>().is_ok());
        if let Some(Ok(user)) = user.map(|(_, user)| user.parse::<u32>()) {
            *users.entry(user).or_default() += 1;
        }
    }
    users
}

#[cfg(test)]
mod tests {
    use super::users;

    #[test]
    fn only_numbers_are_taken() {
        let users = users(b"12\t65534\n13\t65534\n14\troot\n\xff\t1\n15\t7");
        assert_eq!(Vec::from_iter(users), [(7, 1), (65534, 2)]);
    }
}

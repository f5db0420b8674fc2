//! Where this program's own sources are, which crates that it writes are built against.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::own_folder;

/// The framework, for components.
pub const FRAMEWORK: Room = Room {
    folder: "framework",
    holds: "ports/Cargo.toml",
    option: "--framework",
};

/// The simulation, for programs made of models.
pub const SIMULATION: Room = Room {
    folder: "mastermind/simulation",
    holds: "Cargo.toml",
    option: "--simulation",
};

/// A folder of the sources.
pub struct Room {
    /// From the top of the sources.
    folder: &'static str,
    /// A file in it by which it is known.
    holds: &'static str,
    /// The option that says where it is.
    option: &'static str,
}

impl Room {
    /// Finds it: the given place, else above this program or the current folder, else where this program was installed
    /// or built.
    ///
    /// # Errors
    /// It is in none of these places.
    pub fn find(&self, said: Option<&Path>) -> anyhow::Result<PathBuf> {
        let is_it = |path: &PathBuf| path.join(self.holds).is_file();
        let found = match said {
            Some(path) => Some(path.to_path_buf()).filter(is_it),
            None => {
                let places = [own_folder()?, std::env::current_dir()?];
                let above = places
                    .iter()
                    .flat_map(|place| place.ancestors().map(|folder| folder.join(self.folder)));
                let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
                // Next to `bin`, as this program was installed.
                let installed = places[0].join("../share/mastermind/source");
                let others = [installed.join(self.folder), top.join(self.folder)];
                above.chain(others).find(is_it)
            }
        };
        let found = found.with_context(|| {
            format!(
                "cannot find the sources \"{}\": no {} in it, above this program or above this folder, expected {} DIR",
                self.folder, self.holds, self.option
            )
        })?;
        found
            .canonicalize()
            .with_context(|| format!("cannot find folder \"{}\"", found.display()))
    }
}

//! Program models from files of any kind that people have.

#[cfg(feature = "simulation")]
mod reading;

use std::fs;
use std::path::Path;

#[cfg(feature = "simulation")]
pub use reading::{Loaded, load, read, sound};

/// What a file is, by its name and, of a `.toml`, by its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Toml,
    Json,
    PlantUml,
    Xmi,
    Goal,
}

fn kind(path: &Path) -> Kind {
    let end = path.extension().and_then(|end| end.to_str());
    match end.map(str::to_ascii_lowercase).as_deref() {
        Some("json") => Kind::Json,
        Some("puml" | "plantuml" | "pu" | "iuml" | "wsd") => Kind::PlantUml,
        Some("uml" | "xmi") => Kind::Xmi,
        Some("goal" | "bin") => Kind::Goal,
        _ => Kind::Toml,
    }
}

/// Whether a file is one of programs: a diagram, JSON, a schedule, or TOML with a `[model]` table. What cannot be
/// read is none.
pub fn is_model(path: &Path) -> bool {
    if kind(path) != Kind::Toml {
        return path.is_file();
    }
    let Ok(text) = fs::read_to_string(path) else {
        return false;
    };
    #[cfg(feature = "simulation")]
    if text.len() > mastermind_simulation::program::LONGEST_MODEL_BYTES {
        // No assembly is as long; the reader of models says how long one may be, and does not parse it.
        return true;
    }
    let table = text.parse::<toml::Table>();
    table.is_ok_and(|table| table.contains_key("model"))
}

/// Why a program model is not read where the feature `simulation` is off.
#[cfg(not(feature = "simulation"))]
pub fn left_out(path: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "cannot read model \"{}\": built without program models, expected an assembly; `cargo xtask build` makes a build with them",
        path.display()
    )
}

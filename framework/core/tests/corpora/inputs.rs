//! Properties that any input of the readers of assemblies and scripts must have.
//!
//! Part of the fuzz targets and of the test that replays their corpora.

use cca_core::Assembly;
use cca_core::rc::{Command, Script};

/// Any text as an assembly: an assembly that is read is written back unchanged.
pub fn assembly(text: &str) {
    let Ok(assembly) = toml::from_str::<Assembly>(text) else {
        return;
    };
    let _ = assembly.parameter_settings();
    let Ok(written) = toml::to_string(&assembly) else {
        return;
    };
    let again: Assembly = toml::from_str(&written).expect("what was written can be read");
    // NaN is not equal to itself.
    if !written.contains("nan") {
        assert_eq!(assembly, again);
    }
}

/// Any text as a Ccaffeine script: its commands are understood or refused, and a script written again is the same.
pub fn rc(text: &str) {
    let script = Script::parse(text);
    for line in script.commands() {
        assert!(line.number >= 1 && line.number <= text.lines().count());
        if let Err(error) = Command::parse(&line.text) {
            assert!(!error.to_string().is_empty());
        }
    }
    assert_eq!(Script::parse(&script.to_string()), script);
}

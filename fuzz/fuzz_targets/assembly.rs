//! Any text as an assembly: read, and written again to the same.

#![no_main]

use cca_core::Assembly;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
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
});

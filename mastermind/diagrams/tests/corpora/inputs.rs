//! What any input of the readers must hold: it is read or refused, and what is read goes on.
//!
//! Part of the fuzz targets and of the test that replays their corpora.

use mastermind_diagrams::{
    DiagramError, Reading, flowchart_of_markdown, read_mermaid, read_plantuml, read_xmi,
};
use mastermind_models::ModelSet;
use mastermind_programs::{System, check, lower};

/// Any text as a PlantUML file.
pub fn plantuml(text: &str) {
    diagram(read_plantuml(text));
}

/// Any text as a flowchart of Mermaid, and as Markdown with one.
pub fn mermaid(text: &str) {
    diagram(read_mermaid(text, None));
    if let Ok((text, heading)) = flowchart_of_markdown(text, Some("1")) {
        diagram(read_mermaid(&text, Some(&heading)));
    }
}

/// Any text as an XMI file.
pub fn xmi(text: &str) {
    diagram(read_xmi(text));
}

/// What is read is checked and lowered.
fn diagram(reading: Result<Reading, DiagramError>) {
    let Ok(reading) = reading else {
        return;
    };
    let models = ModelSet::default();
    let system = System {
        processes: 4,
        nodes: 2,
        processors: 2,
    };
    let findings = check(&reading.model, &models);
    let lowered = lower(&reading.model, &models, system);
    assert!(lowered.is_ok() || !findings.is_empty(), "{findings:?}");
}

//! Properties of the readers for any input: it is read or refused, and a model that was read can be
//! used.
//!
//! Part of the fuzz targets and of the test that replays their corpora.

use mastermind_diagrams::{
    DiagramError, Reading, flowchart_of_markdown, picture, picture_of_mermaid,
    pictures_of_plantuml, pictures_of_xmi, read_mermaid, read_plantuml, read_xmi,
};
use mastermind_models::ModelSet;
use mastermind_programs::{System, check, lower};

/// Any text as a PlantUML file.
pub fn plantuml(text: &str) {
    diagram(read_plantuml(text));
    drawn(pictures_of_plantuml(text, None));
}

/// Any text as a flowchart of Mermaid, and as Markdown with one.
pub fn mermaid(text: &str) {
    diagram(read_mermaid(text, None));
    drawn(picture_of_mermaid(text, None).map(|picture| vec![picture]));
    if let Ok((text, heading)) = flowchart_of_markdown(text, Some("1")) {
        diagram(read_mermaid(&text, Some(&heading)));
    }
}

/// Any text as an XMI file.
pub fn xmi(text: &str) {
    diagram(read_xmi(text));
    drawn(pictures_of_xmi(text, None));
}

/// The drawing is XML.
fn drawn(pictures: Result<Vec<picture::Picture>, DiagramError>) {
    let Ok(pictures) = pictures else {
        return;
    };
    // Layouts of thousands of nodes take long, and find no errors that hundreds do not.
    let n_nodes: usize = pictures.iter().map(|picture| picture.nodes.len()).sum();
    if n_nodes <= 500 {
        let svg = picture::svg(&pictures);
        assert!(svg.ends_with("</svg>\n"));
    }
}

/// A model that was read is checked and lowered.
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

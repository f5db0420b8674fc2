//! Program models from files of all supported formats.
//!
//! People draw programs in what they have: TOML by hand, PlantUML in a repository, UML from a tool,
//! a flowchart in a Markdown page. Each has a reader in `mastermind-programs` or
//! `mastermind-diagrams`; this file only decides which one, by the ending of the name and, where
//! that decides nothing, by the beginning of the text, and gives all results one form. A diagram
//! with mistakes is not an error of this file: its findings are part of the result, for verbs that
//! show them in place.
//!
//! ```text
//! x.toml .json          a model with a [model] table
//! x.puml .plantuml …    activity diagrams, also in a .uml file that begins with @startuml
//! x.uml .xmi .emx       XMI
//! x.mmd                 a flowchart; page.md#2 or page.md#Heading: one out of a page
//! x.goal .bin           a schedule: recognised, but read by `simulate` itself
//! x.drawio .bpmn        recognised, and refused by name
//! ```

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use mastermind_diagrams::picture::Picture;
use mastermind_diagrams::{
    DiagramError, Reading, flowchart_of_markdown, picture_of_mermaid, pictures_of_plantuml,
    pictures_of_xmi, read_mermaid, read_plantuml, read_xmi_from,
};
use mastermind_programs::{Finding, LONGEST_MODEL_BYTES, Model, read_json, read_toml};

/// The format of a file, by its name or, for an unknown ending, by its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Toml,
    Json,
    PlantUml,
    Xmi,
    Mermaid,
    Markdown,
    Goal,
    /// A format in which people draw that is not supported.
    NotRead(&'static str),
    /// Nothing that is known.
    Unknown,
}

/// The supported formats, for errors.
const FORMATS: &str = "a program model in TOML or JSON (.toml, .json), PlantUML (.puml, .plantuml, .pu, .iuml, .wsd), UML in XMI \
                     (.uml, .xmi, .emx), a flowchart of Mermaid (.mmd, .mermaid, or of Markdown: FILE.md#1) or a GOAL schedule (.goal)";

fn kind(path: &Path) -> Kind {
    let by_text = || text_of(path).map_or(Kind::Unknown, |text| kind_of_text(&text));
    match kind_by_ending(path) {
        // PlantUML has this ending too.
        Some(Kind::Xmi) if by_text() == Kind::PlantUml => Kind::PlantUml,
        Some(kind) => kind,
        None => by_text(),
    }
}

fn kind_by_ending(path: &Path) -> Option<Kind> {
    let end = path.extension().and_then(|end| end.to_str());
    Some(match end.map(str::to_ascii_lowercase)?.as_str() {
        "json" => Kind::Json,
        "puml" | "plantuml" | "pu" | "iuml" | "wsd" => Kind::PlantUml,
        "uml" | "xmi" | "emx" => Kind::Xmi,
        "mmd" | "mermaid" => Kind::Mermaid,
        "md" | "markdown" => Kind::Markdown,
        "goal" | "bin" => Kind::Goal,
        "drawio" | "dio" => Kind::NotRead("draw.io"),
        "bpmn" | "bpmn2" => Kind::NotRead("BPMN"),
        "toml" => Kind::Toml,
        _ => return None,
    })
}

/// The format of a text, by its beginning.
fn kind_of_text(text: &str) -> Kind {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let head: String = text.chars().take(4096).collect();
    let first = head.split(|c: char| c.is_whitespace() || c == ';').next();
    if head.starts_with('<') {
        let has = |words: &[&str]| words.iter().any(|word| head.contains(word));
        return if has(&["<mxfile", "<mxGraphModel"]) {
            Kind::NotRead("draw.io")
        } else if has(&["/BPMN/", "<bpmn:", "<bpmn2:"]) {
            Kind::NotRead("BPMN")
        } else if has(&["uml:", "UML:", "xmi"]) {
            Kind::Xmi
        } else {
            Kind::Unknown
        };
    }
    if head.lines().any(|line| line.starts_with("@startuml")) {
        return Kind::PlantUml;
    }
    if matches!(first, Some("graph" | "flowchart")) {
        return Kind::Mermaid;
    }
    // Too long to be parsed for a guess; the reader of TOML then reports its length.
    let is_toml = text.len() > LONGEST_MODEL_BYTES
        || text
            .parse::<toml::Table>()
            .is_ok_and(|table| !table.is_empty());
    if is_toml { Kind::Toml } else { Kind::Unknown }
}

/// A file and the diagram in it that is named: `page.md#2`, `page.md#Heading`. A path that exists is a file by itself.
fn in_file(path: &Path) -> (&Path, Option<&str>) {
    let split = || {
        let (file, name) = path.to_str()?.rsplit_once('#')?;
        let file = Path::new(file);
        (kind_by_ending(file) == Some(Kind::Markdown)).then_some((file, name))
    };
    match split() {
        Some((file, name)) if !path.exists() => (file, Some(name)),
        _ => (path, None),
    }
}

/// Whether a file holds a program: a diagram, JSON, a schedule, or TOML with a `[model]` table. False for a file that
/// cannot be read.
pub fn is_model(path: &Path) -> bool {
    let (path, _) = in_file(path);
    match kind(path) {
        Kind::Toml | Kind::Unknown => {}
        _ => return path.is_file(),
    }
    let Ok(text) = fs::read_to_string(path) else {
        return false;
    };
    if text.len() > LONGEST_MODEL_BYTES {
        // No assembly is that long; the reader of models has a limit of its own, and does not parse it.
        return true;
    }
    let table = text.parse::<toml::Table>();
    table.is_ok_and(|table| table.contains_key("model"))
}

/// A model that was read from a file, or the findings that keep its diagram from being one.
pub struct Loaded {
    /// The model; `None` if findings say why there is none.
    pub model: Option<Model>,
    /// Errors of a diagram.
    pub findings: Vec<Finding>,
    /// Elements of a diagram that were ignored.
    pub warnings: Vec<Finding>,
}

/// Reads a program model; errors of a diagram are part of the result.
///
/// # Arguments
/// * `main` - the activity to begin with, instead of the file's own choice
///
/// # Errors
/// The file cannot be read, or is not of its format; it has no activity of that name.
pub fn load(path: &Path, main: Option<&str>) -> anyhow::Result<Loaded> {
    let act = || format!("cannot read model \"{}\"", path.display());
    let (file, part) = in_file(path);
    let text = || text_of(file).with_context(act);
    let reading = match kind(file) {
        Kind::Toml => Ok(plain(read_toml(&text()?).with_context(act)?)),
        Kind::Json => Ok(plain(read_json(&text()?).with_context(act)?)),
        Kind::PlantUml => read_plantuml(&text()?),
        Kind::Xmi => read_xmi_from(&text()?, main),
        Kind::Mermaid => read_mermaid(&text()?, None),
        Kind::Markdown => {
            let found = flowchart_of_markdown(&text()?, part);
            let (text, heading) = found.with_context(act)?;
            read_mermaid(&text, Some(&heading))
        }
        Kind::NotRead(name) => bail!(
            "{}: a file of {name}, which is not read, expected {FORMATS}",
            act()
        ),
        Kind::Unknown => {
            text()?;
            bail!(
                "{}: a file of no kind that is known, expected {FORMATS}",
                act()
            )
        }
        // It may be larger than the memory, so it is not even opened.
        Kind::Goal => bail!(
            "{}: a GOAL schedule, expected a program model; simulate runs it",
            act()
        ),
    };
    match reading {
        Ok(Reading {
            mut model,
            warnings,
        }) => {
            if let Some(main) = main
                && model.begin_with(main).is_none()
            {
                let known: Vec<_> = model.activities.keys().take(20).cloned().collect();
                bail!(
                    "{}: no activity \"{main}\", expected one of {}",
                    act(),
                    known.join(", ")
                );
            }
            Ok(Loaded {
                model: Some(model),
                findings: Vec::new(),
                warnings,
            })
        }
        Err(DiagramError::Findings { findings }) => Ok(Loaded {
            model: None,
            findings,
            warnings: Vec::new(),
        }),
        Err(error) => Err(error).with_context(act),
    }
}

/// The pictures that a file draws, as its author drew them; `None` for a file that draws nothing itself.
///
/// # Errors
/// As [`load`], except for requirements on models only.
pub fn pictures(path: &Path, main: Option<&str>) -> anyhow::Result<Option<Vec<Picture>>> {
    let act = || format!("cannot read model \"{}\"", path.display());
    let (file, part) = in_file(path);
    let text = || text_of(file).with_context(act);
    let pictures = match kind(file) {
        Kind::PlantUml => pictures_of_plantuml(&text()?, main),
        Kind::Xmi => pictures_of_xmi(&text()?, main),
        Kind::Mermaid if main.is_none() => {
            picture_of_mermaid(&text()?, None).map(|picture| vec![picture])
        }
        Kind::Markdown if main.is_none() => {
            let found = flowchart_of_markdown(&text()?, part);
            let (text, heading) = found.with_context(act)?;
            picture_of_mermaid(&text, Some(&heading)).map(|picture| vec![picture])
        }
        _ => return Ok(None),
    };
    Ok(Some(pictures.with_context(act)?))
}

/// The text of a file in UTF-8, or in UTF-16 with its mark, as some tools save diagrams.
fn text_of(path: &Path) -> std::io::Result<String> {
    let bytes = fs::read(path)?;
    let unit: fn([u8; 2]) -> u16 = match bytes.get(..2) {
        Some([0xff, 0xfe]) => u16::from_le_bytes,
        Some([0xfe, 0xff]) => u16::from_be_bytes,
        _ => {
            return String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                std::io::Error::other(format!(
                    "byte {at} is no text, expected a diagram or a program model in UTF-8 or UTF-16; a schedule ends with .goal or .bin"
                ))
            });
        }
    };
    let pairs = bytes[2..].chunks(2).map(|pair| match pair {
        [a, b] => unit([*a, *b]),
        _ => u16::MAX,
    });
    let text: Vec<u16> = pairs.collect();
    String::from_utf16(&text).map_err(std::io::Error::other)
}

fn plain(model: Model) -> Reading {
    let warnings = Vec::new();
    Reading { model, warnings }
}

/// Reads a sound program model and reports, on standard error, the elements that were ignored.
///
/// # Errors
/// The file cannot be read, is not of its format, or no model can be made of it; it has no activity of that name.
pub fn read(path: &Path, main: Option<&str>) -> anyhow::Result<Model> {
    let (model, warnings) = sound(path, main)?;
    for warning in &warnings {
        crate::output::complain!("warning: {warning}");
    }
    Ok(model)
}

/// A sound program model, and the elements that were ignored.
///
/// # Errors
/// As [`read`].
pub fn sound(path: &Path, main: Option<&str>) -> anyhow::Result<(Model, Vec<Finding>)> {
    let Loaded {
        model,
        findings,
        warnings,
    } = load(path, main)?;
    match model {
        Some(model) => Ok((model, warnings)),
        None => Err(DiagramError::Findings { findings })
            .with_context(|| format!("cannot read model \"{}\"", path.display())),
    }
}

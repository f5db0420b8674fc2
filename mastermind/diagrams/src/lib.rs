//! Activity diagrams that other people's tools draw, read as program models.
//!
//! [`read_plantuml`] reads PlantUML in both of its syntaxes, [`read_xmi`] UML 2.5.1 in XMI, [`read_mermaid`] flowcharts
//! of Mermaid, which [`flowchart_of_markdown`] finds in a page. Each returns a [`Reading`]: the
//! [`Model`](mastermind_programs::Model) that `mastermind-simulation` runs, and warnings about ignored or assumed
//! parts. The module of each reader ([`plantuml`], [`xmi`], [`mermaid`]) documents its annotations.
//!
//! [`edit`] changes files in these forms and keeps unchanged parts byte for byte.
//!
//! All readers build the same graph of nodes and edges for each activity (`diagram::Graph`); `diagram::structure` then finds
//! decisions, loops, forks and joins in it, by the same rules for all. Pure functions: nothing here reads a file or prints.
//!
//! ```
//! let reading = mastermind_diagrams::read_plantuml("@startuml\nstart\n:a <<action+>> {cost = 1};\nstop\n@enduml\n")?;
//! assert_eq!(reading.model.activities.len(), 1);
//! # Ok::<(), mastermind_diagrams::DiagramError>(())
//! ```
//!
//! # Decisions
//!
//! A diagram is a graph first: the readers of PlantUML and XMI return nodes and edges, and
//! `diagrams/src/diagram` finds loops, decisions and forks in them, for both by the same rules. If
//! it fails, the result is a finding with the line of the file, never a guess; a part of a file
//! that a model cannot express is a named warning. A condition in prose is one: it gets a
//! probability (`chance`, `programs/src/chance.rs`), the same for all processes, so that a diagram
//! drawn for people runs without a deadlock that it does not show. XML with a document type is
//! refused before any element of it is read.

mod diagram;
pub mod edit;
pub mod mermaid;
pub mod picture;
pub mod plantuml;
pub mod xmi;

pub use diagram::{DiagramError, Reading};
pub use mermaid::{flowchart_of_markdown, picture_of_mermaid, read_mermaid};
pub use plantuml::{pictures_of_plantuml, read_plantuml};
pub use xmi::{pictures_of_xmi, read_xmi, read_xmi_from};

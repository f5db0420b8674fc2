//! Figures drawn from records: what `mastermind plot` and the demonstration show.
//!
//! A figure knows how to draw itself on any back end ([`Figure`]); [`save`] chooses the back end by the file's name.
//! One file a figure: `scatter.rs` is Figure 3 of the paper, `mean.rs` Figures 4 and 5, `comm.rs` Figure 6, `graph.rs` its Figure 8 as a call graph; `correction.rs` the figures of
//! the paper on model error correction.

pub mod comm;
pub mod correction;
pub mod fitted;
pub mod graph;
pub mod mean;
pub mod scatter;
pub mod style;

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use crate::output::well_formed;

/// Pixels of a figure.
pub const SIZE: (u32, u32) = (1200, 800);

/// Why a back end cannot draw.
pub type DrawError<DB> = DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>;

/// Something that can be drawn.
pub trait Figure {
    /// Draws on the whole area, which is white.
    ///
    /// # Errors
    /// The back end's.
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawError<DB>>;
}

/// Draws a figure into a file, SVG or PNG by its name.
///
/// # Errors
/// Another ending; the file cannot be written.
pub fn save(figure: &impl Figure, path: &Path) -> anyhow::Result<()> {
    // The only way this fails is a font file that is none.
    let _ = register_font(style::FONT, FontStyle::Normal, dejavu::sans::regular());
    let failed = || format!("cannot write figure \"{}\"", path.display());
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => {
            let mut svg = String::new();
            let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            let drawn = on_white(figure, &area).map_err(|e| anyhow::Error::msg(e.to_string()));
            drop(area);
            drawn.and_then(|()| Ok(fs::write(path, &*well_formed(&svg))?))
        }
        Some("png") => {
            let area = BitMapBackend::new(path, SIZE).into_drawing_area();
            on_white(figure, &area).map_err(|e| anyhow::Error::msg(e.to_string()))
        }
        _ => bail!(
            "cannot write figure \"{}\": no such format, expected .svg or .png",
            path.display()
        ),
    }
    .with_context(failed)
}

fn on_white<DB: DrawingBackend>(
    figure: &impl Figure,
    area: &DrawingArea<DB, Shift>,
) -> Result<(), DrawError<DB>> {
    area.fill(&WHITE)?;
    figure.draw(area)?;
    area.present()
}

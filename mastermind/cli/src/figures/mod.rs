//! Figures drawn from records, for `mastermind plot` and the demonstration.
//!
//! A figure draws itself on any back end ([`Figure`]); [`save`] writes it in the format of the file's ending. Every
//! picture is SVG first; `rendered.rs` makes PNG of that, `page.rs` PDF. One file per figure: `scatter.rs` is Figure 3
//! of the paper, `mean.rs` Figures 4 and 5, `comm.rs` Figure 6; `correction.rs` the figures of the paper on model error
//! correction; `matrix.rs` the communication matrix; `study.rs` the results of a study of simulations;
//! `timeline.rs` the time of each rank by method.

pub mod comm;
pub mod correction;
pub mod fitted;
pub mod legend;
pub mod matrix;
pub mod mean;
#[cfg(feature = "pdf")]
mod page;
#[cfg(not(feature = "pdf"))]
#[path = "without_pdf.rs"]
mod page;
pub mod picture;
#[cfg(feature = "pictures")]
mod rendered;
#[cfg(not(feature = "pictures"))]
#[path = "without_pictures.rs"]
mod rendered;
pub mod scatter;
pub mod study;
pub mod style;
pub mod timeline;
pub mod way;

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use crate::destination::Force;
use crate::output::well_formed;

pub use picture::Format;

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

/// Draws a figure into a file, in the format of its ending, or as SVG on standard output.
///
/// # Errors
/// Another ending; the file is there and may not be written over, or cannot be written.
pub fn save(figure: &impl Figure, path: &Path, sheet: Sheet, force: Force) -> anyhow::Result<()> {
    let format = Format::of(path)?;
    force.write("figure", path, format.render(&svg_of(figure, sheet)?)?)
}

/// A figure as SVG.
///
/// # Errors
/// It cannot be drawn.
pub fn svg(figure: &impl Figure) -> anyhow::Result<String> {
    svg_of(figure, Sheet::default())
}

/// Pixels of a picture and of its texts.
#[derive(Clone, Copy, Debug)]
pub struct Sheet {
    pub width: u32,
    pub height: u32,
    /// Height of the texts at the axes; titles and legends grow and shrink with them.
    pub font_size: u32,
}

impl Default for Sheet {
    fn default() -> Self {
        Self {
            width: 1200,
            height: 800,
            font_size: style::LABEL_SIZE,
        }
    }
}

impl Sheet {
    /// Width and height in which texts of the usual size have the wanted one when the picture is scaled to this sheet.
    pub fn drawn(self) -> (u32, u32) {
        let scale = |side: u32| (side * style::LABEL_SIZE).div_ceil(self.font_size);
        (scale(self.width), scale(self.height))
    }
}

fn svg_of(figure: &impl Figure, sheet: Sheet) -> anyhow::Result<String> {
    // This fails only if the file is not a font.
    let _ = register_font(style::FONT, FontStyle::Normal, dejavu::sans::regular());
    let mut svg = String::new();
    let (width, height) = sheet.drawn();
    let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
    let drawn = on_white(figure, &area).map_err(|e| anyhow::Error::msg(e.to_string()));
    drop(area);
    drawn?;
    // The view box stays, which scales what was drawn.
    let of_area = format!("<svg width=\"{width}\" height=\"{height}\"");
    let of_sheet = format!("<svg width=\"{}\" height=\"{}\"", sheet.width, sheet.height);
    Ok(well_formed(&svg).replacen(&of_area, &of_sheet, 1))
}

fn on_white<DB: DrawingBackend>(
    figure: &impl Figure,
    area: &DrawingArea<DB, Shift>,
) -> Result<(), DrawError<DB>> {
    area.fill(&WHITE)?;
    figure.draw(area)?;
    area.present()
}

//! Pictures as files: SVG as it was drawn, PNG and PDF made of it (`rendered.rs`, `page.rs`).

use std::path::Path;

use anyhow::bail;

use super::{page, rendered};
use crate::destination::is_standard_output;

/// The format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Scalable Vector Graphics.
    Svg,
    /// Pixels.
    Png,
    /// A page of its own, as papers include it.
    Pdf,
}

impl Format {
    /// By the ending of a file; `None` for an unknown one.
    pub fn by_ending(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "svg" => Some(Format::Svg),
            "png" => Some(Format::Png),
            "pdf" => Some(Format::Pdf),
            _ => None,
        }
    }

    /// By the ending of a file; SVG on standard output.
    ///
    /// # Errors
    /// Another ending.
    pub fn of(path: &Path) -> anyhow::Result<Self> {
        match Self::by_ending(path) {
            Some(format) => Ok(format),
            None if is_standard_output(path) => Ok(Format::Svg),
            None => bail!(
                "cannot write figure \"{}\": no such format, expected .svg, .png or .pdf",
                path.display()
            ),
        }
    }

    /// A picture in this format.
    ///
    /// # Arguments
    /// * `svg` - the picture; its texts are set in one font, whatever it asks for
    ///
    /// # Errors
    /// It is no SVG, or too large for pixels.
    pub fn render(self, svg: &str) -> anyhow::Result<Vec<u8>> {
        match self {
            Format::Svg => Ok(svg.as_bytes().to_vec()),
            Format::Png => rendered::png(svg),
            Format::Pdf => page::pdf(svg),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_gives_the_format() {
        assert_eq!(Format::of(Path::new("a/b.pdf")).unwrap(), Format::Pdf);
        assert_eq!(Format::of(Path::new("-")).unwrap(), Format::Svg);
        assert!(Format::of(Path::new("b.gif")).is_err());
    }
}

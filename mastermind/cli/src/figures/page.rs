//! PDF of an SVG, with the font that it was drawn for.

use svg2pdf::{ConversionOptions, PageOptions};

use super::rendered::tree;

/// A page of the picture's size.
pub fn pdf(svg: &str) -> anyhow::Result<Vec<u8>> {
    let (conversion, page) = (ConversionOptions::default(), PageOptions::default());
    svg2pdf::to_pdf(&tree(svg)?, conversion, page)
        .map_err(|error| anyhow::anyhow!("cannot draw figure as PDF: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_becomes_a_page() {
        let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'><rect width='20' height='20'/></svg>";
        assert!(pdf(svg).unwrap().starts_with(b"%PDF"));
        assert!(pdf("no picture").is_err());
    }
}

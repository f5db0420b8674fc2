//! PNG of an SVG, with the font that it was drawn for.

use std::sync::Arc;

use anyhow::Context;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};

/// Minimum width of a PNG picture in pixels: a wiring of few boxes is small.
const MIN_PIXELS: f32 = 1200.0;

/// Maximum factor by which a small picture is enlarged.
const MAX_SCALE: f32 = 3.0;

/// The font of every picture.
const FONT: &str = "DejaVu Sans";

/// The picture with all its fonts.
pub(super) fn tree(svg: &str) -> anyhow::Result<Tree> {
    let mut fonts = Database::new();
    for font in [dejavu::sans::regular(), dejavu::sans::bold()] {
        fonts.load_font_data(font.to_vec());
    }
    fonts.set_sans_serif_family(FONT);
    fonts.set_serif_family(FONT);
    fonts.set_monospace_family(FONT);
    let options = Options {
        font_family: FONT.into(),
        fontdb: Arc::new(fonts),
        ..Options::default()
    };
    Tree::from_str(svg, &options).context("cannot draw figure")
}

/// Pixels.
pub fn png(svg: &str) -> anyhow::Result<Vec<u8>> {
    let tree = tree(svg)?;
    let size = tree.size();
    let scale = (MIN_PIXELS / size.width()).clamp(1.0, MAX_SCALE);
    let pixels = |length: f32| (length * scale).ceil() as u32;
    let (width, height) = (pixels(size.width()), pixels(size.height()));
    let mut pixmap = Pixmap::new(width, height).with_context(|| {
        format!("cannot draw figure: {width} x {height} pixels, expected fewer")
    })?;
    // As on paper.
    pixmap.fill(resvg::tiny_skia::Color::WHITE);
    let transform = Transform::from_scale(scale, scale);
    resvg::render(&tree, transform, &mut pixmap.as_mut());
    pixmap.encode_png().context("cannot draw figure as PNG")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SVG: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'>\
        <rect width='20' height='20'/><text x='22' y='15' font-family='sans-serif'>a</text></svg>";

    #[test]
    fn a_picture_becomes_pixels() {
        let pixels = png(SVG).unwrap();
        let pixmap = Pixmap::decode_png(&pixels).unwrap();
        assert_eq!((pixmap.width(), pixmap.height()), (120, 60));
        let black_in = |columns: std::ops::Range<u32>| {
            let pixels = columns.flat_map(|x| (0..60).map(move |y| (x, y)));
            let colour = |(x, y)| pixmap.pixel(x, y).unwrap();
            pixels.map(colour).filter(|pixel| pixel.red() < 50).count()
        };
        assert_eq!(black_in(0..60), 3600);
        // The letter is drawn, with the font in this program.
        assert!(
            (20..1000).contains(&black_in(62..120)),
            "{}",
            black_in(62..120)
        );
        assert!(png("no picture").is_err());
    }
}

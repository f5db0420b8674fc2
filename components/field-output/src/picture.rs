//! The density as a picture.

use std::fs::File;
use std::io::BufWriter;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use crate::outline::{draw_legend, draw_outlines};
use crate::{Grid, OutputError, PatchOutline};

/// Width of the picture, pixels; the height follows the shape of the grid.
const WIDTH: u32 = 1500;
/// Pixels kept for the title, the axes with their labels, and the colour bar.
const TITLE: u32 = 56;
const X_AXIS: u32 = 64;
const Y_AXIS: u32 = 70;
const BAR: u32 = 136;
const BAR_LABELS: u32 = 84;
const MARGIN: u32 = 16;

pub(crate) const FONT: &str = "sans-serif";
const TITLE_SIZE: u32 = 28;
pub(crate) const LABEL_SIZE: u32 = 20;

/// Part of the range of densities above which the colours are so light that lines on them are black.
const LIGHT: f64 = 0.65;

pub(crate) type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;
pub(crate) type DrawError<'a> =
    DrawingAreaErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>;

/// Draws the density with axes, colour bar and the outlines of the patches, as a PNG file.
///
/// # Arguments
/// * `path` - the file, replaced if it exists; its name must end in `.png`
/// * `density` - shape `[ny][nx]`; the colours span its finite values, other values are grey
/// * `patches` - outlines, in three line weights, the coarsest level's the thickest
/// * `time` - for the title
///
/// # Errors
/// [`OutputError`] if the density does not fit the grid or the file cannot be written.
///
/// # Source
/// Ray et al., IPDPS 2004, figure 2.
pub fn write_density_png(
    path: &Path,
    grid: &Grid,
    density: &[f64],
    patches: &[PatchOutline],
    time: f64,
) -> Result<(), OutputError> {
    grid.check("rho", density)?;
    if path.extension().is_none_or(|ending| ending != "png") {
        return Err(OutputError::file(path, "its name does not end in .png"));
    }
    let size = (WIDTH, height(grid));
    let mut pixels = vec![0; 3 * size.0 as usize * size.1 as usize];
    draw((&mut pixels, size), (grid, density), patches, time)
        .map_err(|error| OutputError::file(path, error))?;
    encode(path, &pixels, size).map_err(|error| OutputError::file(path, error))
}

/// Writes pixels, `[height][width][3]`, red, green and blue.
fn encode(
    path: &Path,
    pixels: &[u8],
    (width, height): (u32, u32),
) -> Result<(), png::EncodingError> {
    let file = BufWriter::new(File::create(path)?);
    let mut encoder = png::Encoder::new(file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()
}

fn draw<'a>(
    (pixels, size): (&'a mut [u8], (u32, u32)),
    (grid, density): (&Grid, &[f64]),
    patches: &[PatchOutline],
    time: f64,
) -> Result<(), DrawError<'a>> {
    // This fails only for an invalid font file.
    let registered = register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
    debug_assert!(registered.is_ok(), "DejaVu Sans is a font");
    let root = BitMapBackend::with_buffer(pixels, size).into_drawing_area();
    root.fill(&WHITE)?;
    let (main, bar) = root.split_horizontally(WIDTH - BAR);
    let range = range(density);
    draw_legend(&main, patches, MARGIN)?;
    let rows = draw_field(&main, (grid, density), range, patches, time)?;
    draw_bar(&bar, rows, range)?;
    root.present()
}

/// Height at which cells keep their aspect ratio, within the size of a page.
fn height(grid: &Grid) -> u32 {
    let (width, frame) = (
        WIDTH - BAR - Y_AXIS - 2 * MARGIN,
        TITLE + X_AXIS + 2 * MARGIN,
    );
    let aspect = (grid.ny as f64 * grid.dy) / (grid.nx as f64 * grid.dx);
    (f64::from(width) * aspect).clamp(200.0, 1600.0) as u32 + frame
}

/// Smallest and largest finite value, apart by at least a little.
fn range(values: &[f64]) -> (f64, f64) {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    if low > high {
        return (0.0, 1.0);
    }
    let least = 1e-6 * low.abs().max(high.abs()).max(1e-300);
    if high - low < least {
        (low - least, low + least)
    } else {
        (low, high)
    }
}

/// Draws all but the colour bar; returns the rows of pixels that the field covers.
fn draw_field<'a>(
    area: &Area<'a>,
    (grid, density): (&Grid, &[f64]),
    range: (f64, f64),
    patches: &[PatchOutline],
    time: f64,
) -> Result<Range<i32>, DrawError<'a>> {
    let (x1, y1) = grid.end();
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .caption(format!("density at t = {time:.3}"), (FONT, TITLE_SIZE))
        .x_label_area_size(X_AXIS)
        .y_label_area_size(Y_AXIS)
        .build_cartesian_2d(grid.x0..x1, grid.y0..y1)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc("x")
        .y_desc("y")
        .label_style((FONT, LABEL_SIZE))
        .draw()?;
    fill_cells(
        &chart.plotting_area().strip_coord_spec(),
        grid,
        density,
        range,
    )?;
    let plot = chart.plotting_area().strip_coord_spec();
    let ink = |x: u32, y: u32| {
        let value = density[cell_at(grid, plot.dim_in_pixel(), (x, y))];
        let is_light = value - range.0 > LIGHT * (range.1 - range.0);
        if is_light { BLACK } else { WHITE }
    };
    draw_outlines(&plot, grid, patches, ink)?;
    let frame = Rectangle::new([(grid.x0, grid.y0), (x1, y1)], BLACK);
    chart.draw_series([frame])?;
    Ok(chart.plotting_area().get_pixel_range().1)
}

/// The cell that contains a pixel.
fn cell_at(grid: &Grid, (width, height): (u32, u32), (x, y): (u32, u32)) -> usize {
    let cell = |pixel: u32, pixels: u32, cells: usize| {
        (u64::from(pixel) * cells as u64 / u64::from(pixels)) as usize
    };
    cell(height - 1 - y, height, grid.ny) * grid.nx + cell(x, width, grid.nx)
}

/// Colours every pixel by its cell.
fn fill_cells<'a>(
    area: &Area<'a>,
    grid: &Grid,
    density: &[f64],
    range: (f64, f64),
) -> Result<(), DrawError<'a>> {
    let pixels = area.dim_in_pixel();
    for y in 0..pixels.1 {
        for x in 0..pixels.0 {
            let value = density[cell_at(grid, pixels, (x, y))];
            area.draw_pixel((x as i32, y as i32), &colour(value, range))?;
        }
    }
    Ok(())
}

/// Draws the colour bar next to the rows of pixels that the field covers.
fn draw_bar<'a>(area: &Area<'a>, rows: Range<i32>, range: (f64, f64)) -> Result<(), DrawError<'a>> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(rows.start)
        .margin_bottom(area.dim_in_pixel().1 as i32 - rows.end)
        .margin_right(MARGIN)
        .set_label_area_size(LabelAreaPosition::Right, BAR_LABELS)
        .build_cartesian_2d(0.0..1.0, range.0..range.1)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .disable_x_axis()
        .y_label_formatter(&|value| format!(" {value:.2}"))
        .label_style((FONT, LABEL_SIZE))
        .draw()?;
    let bar = chart.plotting_area().strip_coord_spec();
    let (width, height) = bar.dim_in_pixel();
    for y in 0..height {
        let share = 1.0 - f64::from(y) / f64::from(height.max(2) - 1);
        let colour = colour(range.0 + share * (range.1 - range.0), range);
        for x in 0..width {
            bar.draw_pixel((x as i32, y as i32), &colour)?;
        }
    }
    Ok(())
}

/// Viridis: even steps of the value are even steps to the eye, also in grey.
fn colour(value: f64, (low, high): (f64, f64)) -> RGBColor {
    if value.is_finite() {
        ViridisRGB.get_color_normalized(value, low, high)
    } else {
        RGBColor(128, 128, 128)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_span_the_finite_values() {
        assert_eq!(range(&[2.0, f64::NAN, 1.0, f64::INFINITY]), (1.0, 2.0));
        assert_eq!(range(&[f64::NAN]), (0.0, 1.0));
        let (low, high) = range(&[3.0, 3.0]);
        assert!(low < 3.0 && 3.0 < high);
    }

    #[test]
    fn what_is_not_finite_is_grey() {
        assert_eq!(colour(f64::NAN, (0.0, 1.0)), RGBColor(128, 128, 128));
        assert_ne!(colour(0.0, (0.0, 1.0)), colour(1.0, (0.0, 1.0)));
    }
}

//! The files that are written: a picture with colours in the right place, a table that reads back.

use std::path::Path;

use hydro_field_output::{Grid, OutputError, PatchOutline, write_csv, write_density_png};

const GRID: Grid = Grid {
    nx: 96,
    ny: 32,
    x0: 0.0,
    y0: 0.0,
    dx: 1.0 / 32.0,
    dy: 1.0 / 32.0,
};

fn density() -> Vec<f64> {
    let centre = |k: usize| {
        let (i, j) = (k % GRID.nx, k / GRID.nx);
        ((i as f64 + 0.5) * GRID.dx, (j as f64 + 0.5) * GRID.dy)
    };
    (0..GRID.cells())
        .map(|k| {
            let (x, y) = centre(k);
            if x < 0.5 + 0.577 * y { 1.0 } else { 3.0 }
        })
        .collect()
}

#[test]
fn a_picture_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("density.png");
    let outline = |low, high, level| PatchOutline { low, high, level };
    let patches = [
        outline((0.0, 0.0), (3.0, 1.0), 0),
        outline((0.25, 0.0), (1.5, 1.0), 1),
        outline((0.5, 0.25), (1.0, 0.75), 2),
    ];
    write_density_png(&path, &GRID, &density(), &patches, 0.6).expect("a picture");
    let bytes = std::fs::read(&path).expect("a file");
    assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n");
    let size =
        |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    assert_eq!(size(16), 1500);
    assert!((500..700).contains(&size(20)), "{} pixels high", size(20));
}

#[test]
fn the_table_reads_back_bit_for_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("field.csv");
    let grid = Grid {
        nx: 2,
        ny: 2,
        x0: -1.0,
        y0: 0.0,
        dx: 0.5,
        dy: 0.25,
    };
    let w: [[f64; 4]; 5] =
        std::array::from_fn(|v| std::array::from_fn(|k| (v + 1) as f64 / (k + 3) as f64));
    write_csv(&path, &grid, std::array::from_fn(|v| &w[v][..])).expect("a table");
    let text = std::fs::read_to_string(&path).expect("a file");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("x,y,rho,u,v,p,z"));
    let centres = [
        [-0.75, 0.125],
        [-0.25, 0.125],
        [-0.75, 0.375],
        [-0.25, 0.375],
    ];
    for (k, line) in lines.enumerate() {
        let read: Vec<f64> = line
            .split(',')
            .map(|field| field.parse().expect("a number"))
            .collect();
        assert_eq!(read[..2], centres[k]);
        assert_eq!(read[2..], w.map(|values| values[k]));
    }
    assert_eq!(text.lines().count(), 5);
}

#[test]
fn errors_name_the_field_or_the_file() {
    let nowhere = Path::new("no-such-folder/density.png");
    let short = write_density_png(nowhere, &GRID, &[1.0], &[], 0.0).expect_err("too short");
    assert_eq!(
        short.to_string(),
        "cannot write field \"rho\": 1 values, expected 3072"
    );
    let error = write_density_png(nowhere, &GRID, &density(), &[], 0.0).expect_err("no folder");
    assert!(matches!(error, OutputError::File { .. }));
    assert!(
        error.to_string().contains("no-such-folder/density.png"),
        "{error}"
    );
    let other = std::env::temp_dir().join("density.jpg");
    let error = write_density_png(&other, &GRID, &density(), &[], 0.0).expect_err("no PNG");
    assert!(matches!(error, OutputError::File { .. }) && !other.exists());
    let empty = Grid { nx: 0, ..GRID };
    let error = write_csv(Path::new("no-such-folder/field.csv"), &empty, [&[]; 5]);
    assert!(matches!(error, Err(OutputError::EmptyGrid { .. })));
}

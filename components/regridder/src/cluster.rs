//! Rectangles around marked cells.

use hydro_ports::CellBox;
use thiserror::Error;

use crate::Marks;

/// Requirements on the boxes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clustering {
    /// Part of a box's cells that is marked, at least, where the smallest side allows it; 0 to 1.
    pub efficiency: f64,
    /// Smallest side, cells, >= 1; less only where the domain is narrower.
    pub min_side: i64,
    /// Largest side, cells, >= 2 `min_side`.
    pub max_side: i64,
}

/// Parameters that do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A box that is too large could not be cut into two that are large enough.
    #[error(
        "cannot cluster cells: sides of {min_side} to {max_side} cells, expected at least 1 and at \
         least twice as many"
    )]
    Sides {
        /// Smallest side.
        min_side: i64,
        /// Largest side.
        max_side: i64,
    },
}

/// Covers all marked cells with boxes that have no cell in common.
///
/// A box is shrunk to its marked cells and cut in two, until it is full enough: at a row or column without marks, else
/// where the number of marks changes most sharply, else in the middle.
///
/// # Returns
/// The boxes, in the order of the cuts.
///
/// # Errors
/// [`ClusterError::Sides`]
///
/// # Source
/// M. Berger and I. Rigoutsos, IEEE Trans. Systems, Man, Cybernetics 21 (1991), known from the case study, section 5. Smallest and largest
/// sides are additions: a box is shrunk within the part it was cut from, no further than the smallest side.
pub fn cluster(marks: &Marks, wanted: Clustering) -> Result<Vec<CellBox>, ClusterError> {
    let Clustering {
        min_side, max_side, ..
    } = wanted;
    if min_side < 1 || max_side < 2 * min_side {
        return Err(ClusterError::Sides { min_side, max_side });
    }
    let (mut open, mut boxes) = (vec![marks.domain()], Vec::new());
    while let Some(part) = open.pop() {
        let Some(shrunk) = shrink(marks, &part, min_side) else {
            continue;
        };
        match cut(marks, &shrunk, wanted) {
            Some((first, second)) => open.extend([second, first]),
            None => boxes.push(shrunk),
        }
    }
    Ok(boxes)
}

/// Marks in each column and in each row of a box.
fn signatures(marks: &Marks, cells: &CellBox) -> (Vec<i64>, Vec<i64>) {
    let mut columns = vec![0; cells.nx as usize];
    let mut rows = vec![0; cells.ny as usize];
    for (row, j) in rows.iter_mut().zip(cells.j..) {
        for (column, marked) in columns.iter_mut().zip(marks.row(cells, j)) {
            *column += i64::from(*marked);
            *row += i64::from(*marked);
        }
    }
    (columns, rows)
}

/// The smallest box around the marks of `part`, but no narrower than `min_side` where `part` is not.
fn shrink(marks: &Marks, part: &CellBox, min_side: i64) -> Option<CellBox> {
    let (columns, rows) = signatures(marks, part);
    let span = |signature: &[i64], start: i64| {
        let first = signature.iter().position(|n| *n > 0)? as i64;
        let last = signature.iter().rposition(|n| *n > 0)? as i64;
        let length = signature.len() as i64;
        let side = (last + 1 - first).max(min_side.min(length));
        // Cells are added on both sides, as far as there are any.
        let first = (first - (side - (last + 1 - first)) / 2).clamp(0, length - side);
        Some((start + first, side))
    };
    let (i, nx) = span(&columns, part.i)?;
    let (j, ny) = span(&rows, part.j)?;
    Some(CellBox { i, j, nx, ny })
}

/// Where one signature may be cut, and how good that is.
struct Cut {
    /// Length of the part before the cut.
    at: i64,
    /// A hole before an edge, an edge before the middle, and a sharp edge before a soft one.
    rank: (u8, i64),
}

/// The two parts of a box that is to be cut, or nothing if it stays as it is.
fn cut(marks: &Marks, cells: &CellBox, wanted: Clustering) -> Option<(CellBox, CellBox)> {
    let is_small = cells.nx <= wanted.max_side && cells.ny <= wanted.max_side;
    let marked = marks.count(cells) as f64;
    if is_small && marked >= wanted.efficiency * cells.cells() as f64 {
        return None;
    }
    let (columns, rows) = signatures(marks, cells);
    let along_x = best(&columns, wanted.min_side);
    let along_y = best(&rows, wanted.min_side);
    let is_x = match (&along_x, &along_y) {
        (Some(_), None) => true,
        (None, Some(_)) => false,
        (None, None) => return None,
        (Some(x), Some(y)) if x.rank != y.rank => x.rank > y.rank,
        _ => cells.nx >= cells.ny,
    };
    let (low, end) = ((cells.i, cells.j), (cells.i_end(), cells.j_end()));
    let at = if is_x { along_x } else { along_y }?.at;
    Some(if is_x {
        let column = cells.i + at;
        (
            CellBox::between(low, (column, cells.j_end())),
            CellBox::between((column, cells.j), end),
        )
    } else {
        let row = cells.j + at;
        (
            CellBox::between(low, (cells.i_end(), row)),
            CellBox::between((cells.i, row), end),
        )
    })
}

/// The best cut of a signature that leaves `min_side` on both sides.
fn best(signature: &[i64], min_side: i64) -> Option<Cut> {
    let length = signature.len() as i64;
    let (from, to) = (min_side, length - min_side);
    if from > to {
        return None;
    }
    let at = |k: i64| signature[k as usize];
    let from_middle = |k: &i64| (2 * k - length).abs();
    let holes = (from..=to).filter(|k| at(*k - 1) == 0 || (*k < length && at(*k) == 0));
    if let Some(at) = holes.min_by_key(from_middle) {
        let rank = (2, 0);
        return Some(Cut { at, rank });
    }
    // The second difference changes its sign between the cells k - 1 and k.
    let second = |k: i64| at(k - 1) - 2 * at(k) + at(k + 1);
    let edges = (from.max(2)..=to.min(length - 2)).filter_map(|k| {
        let (before, after) = (second(k - 1), second(k));
        let jump = (before - after).abs();
        (before * after < 0).then_some((jump, k))
    });
    let sharpest = edges.max_by_key(|(jump, k)| (*jump, -from_middle(k)));
    Some(match sharpest {
        Some((jump, at)) => Cut {
            at,
            rank: (1, jump),
        },
        None => Cut {
            at: length / 2,
            rank: (0, length),
        },
    })
}

#[cfg(test)]
mod tests;

//! The call graph of a run: component instances with their own time, and how often one calls the other.

use std::collections::BTreeMap;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{FONT, LABEL_SIZE, TITLE_SIZE, number};
use super::way::corners;
use super::{DrawError, Figure};

/// One component instance.
#[derive(Clone, Debug, Default)]
pub struct Vertex {
    /// Its class.
    pub class: String,
    /// Its own time without MPI, milliseconds, mean over the ranks.
    pub compute_ms: f64,
    /// Its own time in MPI, milliseconds, mean over the ranks.
    pub mpi_ms: f64,
}

/// Who calls whom.
///
/// # Source
/// Ray et al., IPDPS 2004, Figures 7 and 8: vertices weighted by compute and communication time, edges by invocations.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What is shown.
    pub title: String,
    /// Instances by name.
    pub vertices: BTreeMap<String, Vertex>,
    /// Caller and callee → calls, mean over the ranks.
    pub edges: BTreeMap<(String, String), f64>,
}

const BOX: (i32, i32) = (196, 78);

impl Graph {
    /// The instances by column: the longest way from one that nobody calls, cycles cut.
    fn columns(&self) -> Vec<Vec<&str>> {
        let mut depth: BTreeMap<&str, usize> = self
            .vertices
            .keys()
            .map(|name| (name.as_str(), 0))
            .collect();
        for _ in 0..self.vertices.len() {
            for (caller, callee) in self.edges.keys().filter(|(a, b)| a != b) {
                let next = depth.get(caller.as_str()).copied().unwrap_or(0) + 1;
                let own = depth.entry(callee).or_default();
                if *own < next && next < self.vertices.len() {
                    *own = next;
                }
            }
        }
        let mut columns: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for (name, depth) in depth {
            columns.entry(depth).or_default().push(name);
        }
        columns.into_values().collect()
    }

    /// Centre of each instance's box; within a column near those that call it.
    fn places(&self, width: i32, height: i32) -> BTreeMap<&str, (i32, i32)> {
        let columns = self.columns();
        let mut places: BTreeMap<&str, (i32, i32)> = BTreeMap::new();
        for (index, column) in columns.iter().enumerate() {
            let mean_y = |name: &str| {
                let callers = self.edges.keys().filter(|(_, callee)| callee == name);
                let ys: Vec<_> = callers
                    .filter_map(|(caller, _)| places.get(caller.as_str()))
                    .map(|place| f64::from(place.1))
                    .collect();
                ys.iter().sum::<f64>() / ys.len().max(1) as f64
            };
            let mut order: Vec<_> = column.iter().map(|name| (mean_y(name), *name)).collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
            let x = (2 * index as i32 + 1) * width / (2 * columns.len() as i32);
            for (row, (_, name)) in order.iter().enumerate() {
                let y = (2 * row as i32 + 1) * height / (2 * order.len() as i32);
                // Every other column a little lower, so that arrows pass beside the boxes between.
                let shift = if order.len() == 1 {
                    index as i32 % 2 * 30 - 15
                } else {
                    0
                };
                places.insert(name, (x, y + shift));
            }
        }
        places
    }
}

impl Figure for Graph {
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawError<DB>> {
        let area = area.margin(10, 0, 0, 0);
        let area = area.titled(&self.title, (FONT, TITLE_SIZE))?;
        let (width, height) = area.dim_in_pixel();
        let places = self.places(width as i32, height as i32);
        let columns = self.columns().len().max(1) as i32;
        let most = self.edges.values().copied().fold(1.0, f64::max);
        let bounds = places.values().map(|(x, y)| {
            let (half_width, half_height) = (BOX.0 / 2, BOX.1 / 2);
            [
                x - half_width,
                y - half_height,
                x + half_width,
                y + half_height,
            ]
            .map(f64::from)
        });
        let bounds: Vec<_> = bounds.collect();
        let mut labels = Vec::new();
        for ((caller, callee), calls) in &self.edges {
            let (Some(from), Some(to)) = (places.get(caller.as_str()), places.get(callee.as_str()))
            else {
                continue;
            };
            let from = (from.0 + BOX.0 / 2, from.1);
            let to = (to.0 - BOX.0 / 2, to.1);
            let place = |(x, y): (i32, i32)| (f64::from(x), f64::from(y));
            let way = corners(place(from), place((to.0 - 10, to.1)), &bounds);
            let way: Vec<_> = way.iter().map(|(x, y)| (*x as i32, *y as i32)).collect();
            let first = way[1];
            let weight = 1 + (3.0 * (1.0 + calls).ln() / (1.0 + most).ln()).round() as u32;
            let style = RGBColor(90, 90, 90).stroke_width(weight);
            area.draw(&PathElement::new(way, style))?;
            let head = vec![to, (to.0 - 12, to.1 - 6), (to.0 - 12, to.1 + 6)];
            area.draw(&Polygon::new(head, RGBColor(90, 90, 90).filled()))?;
            // In the gap behind the caller, where its arrows are apart and no box is.
            let gap = width as i32 / columns - BOX.0;
            let share = 0.62 * f64::from(gap) / f64::from((first.0 - from.0).max(gap).max(1));
            let at = |a: i32, b: i32| a + (f64::from(b - a) * share) as i32;
            let middle = (at(from.0, first.0), at(from.1, first.1));
            labels.push((middle, number(&calls.round())));
        }
        let centred = Pos::new(HPos::Center, VPos::Center);
        for (name, vertex) in &self.vertices {
            let Some((x, y)) = places.get(name.as_str()).copied() else {
                continue;
            };
            let corners = [
                (x - BOX.0 / 2, y - BOX.1 / 2),
                (x + BOX.0 / 2, y + BOX.1 / 2),
            ];
            area.draw(&Rectangle::new(corners, RGBColor(226, 238, 246).filled()))?;
            area.draw(&Rectangle::new(
                corners,
                RGBColor(0, 114, 178).stroke_width(2),
            ))?;
            let text = |size: u32| (FONT, size).into_font().color(&BLACK).pos(centred);
            area.draw(&Text::new(name.clone(), (x, y - 24), text(LABEL_SIZE + 1)))?;
            area.draw(&Text::new(vertex.class.clone(), (x, y), text(13)))?;
            let times = format!("{:.1} ms + {:.1} ms MPI", vertex.compute_ms, vertex.mpi_ms);
            area.draw(&Text::new(times, (x, y + 23), text(14)))?;
        }
        for (place, label) in labels {
            let half = 5 * label.chars().count() as i32 + 3;
            let corners = [(place.0 - half, place.1 - 9), (place.0 + half, place.1 + 9)];
            area.draw(&Rectangle::new(corners, WHITE.mix(0.85).filled()))?;
            let text = (FONT, 16)
                .into_font()
                .color(&RGBColor(160, 60, 0))
                .pos(centred);
            area.draw(&Text::new(label, place, text))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        for (caller, callee) in edges {
            for name in [caller, callee] {
                graph.vertices.insert((*name).into(), Vertex::default());
            }
            graph
                .edges
                .insert(((*caller).into(), (*callee).into()), 1.0);
        }
        graph
    }

    #[test]
    fn callers_stand_before_those_they_call() {
        let graph = graph(&[
            ("driver", "rk2"),
            ("rk2", "rhs"),
            ("driver", "rhs"),
            ("rhs", "flux"),
        ]);
        assert_eq!(graph.columns(), [["driver"], ["rk2"], ["rhs"], ["flux"]]);
    }

    #[test]
    fn a_cycle_is_no_trap() {
        let graph = graph(&[("a", "b"), ("b", "a"), ("b", "b")]);
        assert_eq!(graph.columns().concat().len(), 2);
    }
}

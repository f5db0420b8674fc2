//! Problem instances made from formulas: a base, and a contention term that it lacks.
//!
//! With measured times, nobody knows what the base formula misses, so a correction can only be
//! compared with other fits. Here the truth is known: an [`Instance`] draws the unknowns of a base,
//! adds a contention term of drawn form and size, and makes noisy times from the sum. The procedure
//! gets the base and the times, and its prediction is compared with the exact times, with those of
//! the base alone, and with those of an oracle that knows the form of the term.
//!
//! ```text
//! base         s*(l + n*w)*(p-1)^h         given to the procedure as a specification
//! contention   factor * s * (p - 12)^0.9   hidden; about 40 % of the time at the median point
//! times        (base + contention) * (1 + 3 % noise)
//! split        half of the points for training: at random, whole cells, or the smaller sizes
//! ```
//!
//! Settings of the procedure are chosen on the forms [`Form::TUNING`] with their own types of
//! contention, and results are reported for [`Form::MEASURED`], which nothing was chosen on.

use fastrand::Rng;
use mastermind_correction::{Specification, Table};

/// Median share of the contention term in the time.
const SHARE: f64 = 0.4;

/// Standard deviation of the noise, relative.
pub const NOISE: f64 = 0.03;

/// A base formula and the layout of its points: three forms that results are reported for, and five
/// that settings are chosen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// EVH1's communication time, the paper's Eq. 2.
    Evh1,
    /// GYRO's, Eq. 5.
    Gyro,
    /// A halo exchange in which the processes of a node share its link.
    Halo,
    /// A three-dimensional Fourier transform over pencils; settings are chosen on this and the next four.
    Pencils,
    /// A wavefront of pipelined blocks.
    Wavefront,
    /// A reduction along a tree.
    Reduction,
    /// Messages of a size gathered from all others.
    Gather,
    /// A sort by samples.
    Sort,
}

impl Form {
    /// Those that are measured.
    pub const MEASURED: [Self; 3] = [Self::Evh1, Self::Gyro, Self::Halo];

    /// Those that the settings are chosen on.
    pub const TUNING: [Self; 5] = [
        Self::Pencils,
        Self::Wavefront,
        Self::Reduction,
        Self::Gather,
        Self::Sort,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Evh1 => "EVH1",
            Self::Gyro => "GYRO",
            Self::Halo => "halo",
            Self::Pencils => "pencils",
            Self::Wavefront => "wavefront",
            Self::Reduction => "reduction",
            Self::Gather => "gather",
            Self::Sort => "sort",
        }
    }

    fn is_for_tuning(self) -> bool {
        Self::TUNING.contains(&self)
    }

    pub fn specification(self) -> Specification {
        Specification::from_toml(self.text()).expect("a specification")
    }

    fn text(self) -> &'static str {
        match self {
            Self::Evh1 => {
                r#"name = "EVH1"
                observation = "t"
                inputs = ["nx", "np", "T"]
                formula = "f*T*(g*nx^2/np + (np-1)^h*(i + j*nx^2/np^2))"
                [constants]
                f = 4965
                [unknowns]
                g = { lower = 1e-9, upper = 1e-3, unit = "s", machine = true }
                h = { lower = 1.0, upper = 1.5 }
                i = { lower = 1e-9, upper = 1e-3, unit = "s", machine = true }
                j = { lower = 1e-9, upper = 1e-3, unit = "s", machine = true }"#
            }
            Self::Gyro => {
                r#"name = "GYRO"
                observation = "t"
                inputs = ["rg", "np", "ts"]
                formula = "ts*(k*ob*tg*pg*eg*Tg*rg/(np*bw) + tl)*np^e"
                [constants]
                k = 1
                ob = 8
                tg = 8
                pg = 8
                eg = 8
                Tg = 16
                [unknowns]
                e = { lower = 0.01, upper = 0.5 }
                tl = { lower = 1e-8, upper = 1e-2, unit = "s", machine = true }
                bw = { lower = 1e3, upper = 1e9, unit = "1/s", machine = true }"#
            }
            Self::Halo => {
                r#"name = "halo"
                observation = "t"
                inputs = ["n", "np", "ppn", "steps"]
                formula = "steps*(4*l*np^h + 4*8*n/(sqrt(np)*bw))"
                [unknowns]
                l = { lower = 1e-8, upper = 1e-2, unit = "s", machine = true }
                h = { lower = 0.0, upper = 0.5 }
                bw = { lower = 1e6, upper = 1e11, unit = "B/s", machine = true }"#
            }
            Self::Pencils => {
                r#"name = "pencils"
                observation = "t"
                inputs = ["n", "p", "s"]
                formula = "s*(c*n^3/p + sqrt(p)*l + w*n^3/p^u)"
                [unknowns]
                c = { lower = 1e-12, upper = 1e-6, unit = "s", machine = true }
                l = { lower = 1e-9, upper = 1e-2, unit = "s", machine = true }
                u = { lower = 0.4, upper = 0.8 }
                w = { lower = 1e-12, upper = 1e-6, unit = "s", machine = true }"#
            }
            Self::Wavefront => {
                r#"name = "wavefront"
                observation = "t"
                inputs = ["n", "p", "s"]
                formula = "s*(c*n^2/p + p^h*(l + w*n))"
                [unknowns]
                c = { lower = 1e-12, upper = 1e-4, unit = "s", machine = true }
                h = { lower = 0.3, upper = 0.7 }
                l = { lower = 1e-9, upper = 1e-2, unit = "s", machine = true }
                w = { lower = 1e-12, upper = 1e-4, unit = "s", machine = true }"#
            }
            Self::Reduction => {
                r#"name = "reduction"
                observation = "t"
                inputs = ["n", "p", "s"]
                formula = "s*(l*ln(p) + n*w*ln(p)^h)"
                [unknowns]
                h = { lower = 0.2, upper = 1.5 }
                l = { lower = 1e-9, upper = 1e-2, unit = "s", machine = true }
                w = { lower = 1e-12, upper = 1e-4, unit = "s", machine = true }"#
            }
            Self::Gather => {
                r#"name = "gather"
                observation = "t"
                inputs = ["n", "p", "s"]
                formula = "s*(l + n*w)*(p-1)^h"
                [unknowns]
                h = { lower = 0.1, upper = 1.2 }
                l = { lower = 1e-9, upper = 1e-2, unit = "s", machine = true }
                w = { lower = 1e-13, upper = 1e-4, unit = "s", machine = true }"#
            }
            Self::Sort => {
                r#"name = "sort"
                observation = "t"
                inputs = ["n", "p", "s"]
                formula = "s*(c*n*ln(n)/p + p^h*(l + w*n/p))"
                [unknowns]
                c = { lower = 1e-12, upper = 1e-4, unit = "s", machine = true }
                h = { lower = 0.2, upper = 1.2 }
                l = { lower = 1e-9, upper = 1e-2, unit = "s", machine = true }
                w = { lower = 1e-13, upper = 1e-4, unit = "s", machine = true }"#
            }
        }
    }

    /// The unknowns of an instance, in the order of their names.
    fn unknowns(self, rng: &mut Rng) -> Vec<f64> {
        let mut about =
            |value: f64, decades: f64| value * 10f64.powf(decades * (2.0 * rng.f64() - 1.0));
        match self {
            // g, h, i, j about the paper's Table 3.
            Self::Evh1 => vec![
                about(2.45e-8, 0.5),
                about(1.2, 0.06),
                about(1.69e-5, 0.5),
                about(1.62e-7, 0.5),
            ],
            // bw, e, tl.
            Self::Gyro => vec![about(2e7, 0.5), about(0.2, 0.3), about(2e-4, 0.5)],
            // bw, h, l.
            Self::Halo => vec![about(1e9, 0.5), about(0.15, 0.3), about(3e-6, 0.5)],
            // c, l, u, w.
            Self::Pencils => vec![
                about(1e-9, 0.5),
                about(3e-5, 0.5),
                about(0.6, 0.08),
                about(5e-10, 0.5),
            ],
            // c, h, l, w.
            Self::Wavefront => vec![
                about(2e-8, 0.5),
                about(0.5, 0.1),
                about(2e-5, 0.5),
                about(3e-8, 0.5),
            ],
            // h, l, w.
            Self::Reduction => vec![about(0.7, 0.2), about(1e-5, 0.5), about(2e-9, 0.5)],
            // h, l, w.
            Self::Gather => vec![about(0.5, 0.15), about(2e-5, 0.5), about(4e-10, 0.5)],
            // c, h, l, w.
            Self::Sort => vec![
                about(2e-9, 0.5),
                about(0.6, 0.15),
                about(5e-5, 0.5),
                about(1e-8, 0.5),
            ],
        }
    }

    /// Sizes, process counts (with processes a node), and numbers of steps.
    fn points(self, rng: &mut Rng) -> Vec<Vec<f64>> {
        let (sizes, counts, steps) = match self {
            Self::Evh1 => (
                [256.0, 512.0, 1024.0, 2048.0],
                [4.0, 16.0, 64.0, 256.0],
                [1.0, 2.0],
            ),
            Self::Gyro => (
                [64.0, 128.0, 256.0, 512.0],
                [16.0, 32.0, 128.0, 512.0],
                [100.0, 400.0],
            ),
            Self::Halo => (
                [512.0, 1024.0, 2048.0, 4096.0],
                [4.0, 16.0, 64.0, 256.0],
                [100.0, 250.0],
            ),
            Self::Pencils => (
                [64.0, 128.0, 192.0, 384.0],
                [8.0, 24.0, 96.0, 384.0],
                [10.0, 30.0],
            ),
            Self::Wavefront => (
                [200.0, 500.0, 1000.0, 3000.0],
                [4.0, 9.0, 36.0, 144.0],
                [50.0, 100.0],
            ),
            Self::Reduction => (
                [1000.0, 4000.0, 30000.0, 100000.0],
                [2.0, 8.0, 48.0, 192.0],
                [500.0, 1000.0],
            ),
            Self::Gather => ([1e3, 1e4, 1e5, 1e6], [3.0, 12.0, 50.0, 200.0], [20.0, 40.0]),
            Self::Sort => ([1e4, 1e5, 4e5, 2e6], [4.0, 12.0, 48.0, 256.0], [10.0, 25.0]),
        };
        let mut points = Vec::new();
        for size in sizes {
            for count in counts {
                let per_node = [2.0, 4.0, 8.0, 16.0][rng.usize(0..4)];
                for steps in steps {
                    points.push(match self {
                        Self::Halo => vec![size, count, per_node, steps],
                        _ => vec![size, count, steps],
                    });
                }
            }
        }
        points
    }
}

/// The contention that the base lacks.
#[derive(Debug, Clone, Copy)]
struct Contention {
    crowd: Crowd,
    /// Power of the size.
    of_size: f64,
}

/// Dependence of contention on the number of processes that share a resource.
#[derive(Debug, Clone, Copy)]
enum Crowd {
    /// Nothing up to a threshold, then a power of the excess.
    Threshold {
        threshold: f64,
        exponent: f64,
    },
    Power {
        exponent: f64,
    },
    Logarithm,
    /// A queue that fills up: grows up to about a capacity.
    Saturating {
        capacity: f64,
        exponent: f64,
    },
    /// Each with each other, in part.
    Pairs {
        share: f64,
    },
    /// A logarithm to a power.
    Tree {
        exponent: f64,
    },
}

impl Contention {
    fn draw(place: usize, form: Form, rng: &mut Rng) -> Self {
        if form.is_for_tuning() {
            return Self::draw_for_tuning(place, rng);
        }
        // Of a halo exchange the processes of a node compete for its link, otherwise all processes
        // compete.
        let per_node = form == Form::Halo;
        let exponent = if per_node {
            0.5 + rng.f64()
        } else {
            0.6 + 0.9 * rng.f64()
        };
        let of_size = [0.0, 0.5, 1.0][rng.usize(0..3)] * rng.f64();
        let threshold = if per_node {
            2.0
        } else {
            6.0 + 20.0 * rng.f64()
        };
        let crowd = match place % 3 {
            0 => Crowd::Threshold {
                threshold,
                exponent,
            },
            1 => Crowd::Power { exponent },
            _ => Crowd::Logarithm,
        };
        Self { crowd, of_size }
    }

    fn draw_for_tuning(place: usize, rng: &mut Rng) -> Self {
        let crowd = match place % 4 {
            0 => Crowd::Saturating {
                capacity: 10.0 + 60.0 * rng.f64(),
                exponent: 1.0 + rng.f64(),
            },
            1 => Crowd::Pairs {
                share: 0.05 * rng.f64(),
            },
            2 => Crowd::Tree {
                exponent: 1.0 + 2.0 * rng.f64(),
            },
            _ => Crowd::Threshold {
                threshold: 5.0 + 30.0 * rng.f64(),
                exponent: 0.5 + 0.5 * rng.f64(),
            },
        };
        Self {
            crowd,
            of_size: (1.4 * rng.f64() - 0.4).max(0.0),
        }
    }

    /// But for its factor; scales with the steps as the base does.
    fn at(&self, point: &[f64], form: Form) -> f64 {
        let steps = point[point.len() - 1];
        let n = if form == Form::Halo {
            point[2]
        } else {
            point[1]
        };
        let crowd = match self.crowd {
            Crowd::Threshold {
                threshold,
                exponent,
            } => (n - threshold).max(0.0).powf(exponent),
            Crowd::Power { exponent } => n.powf(exponent),
            Crowd::Logarithm => n.ln(),
            Crowd::Saturating { capacity, exponent } => {
                let filled = (n / capacity).powf(exponent);
                filled / (1.0 + filled)
            }
            Crowd::Pairs { share } => n + share * n * (n - 1.0),
            Crowd::Tree { exponent } => n.ln().powf(exponent),
        };
        steps * crowd * point[0].powf(self.of_size)
    }
}

/// Points of a machine with and without contention: the true unknowns of the base, the hidden term,
/// and the noisy times.
#[derive(Debug, Clone)]
pub struct Instance {
    pub specification: Specification,
    pub form: Form,
    contention: Contention,
    /// Factor of the contention.
    factor: f64,
    /// Values of the unknowns of the base, in the order of their names.
    pub unknowns: Vec<f64>,
    /// All points, with noise.
    pub table: Table,
}

impl Instance {
    /// An instance of a form.
    ///
    /// # Arguments
    /// * `share` - of the contention: 1 for all of it, 0 for none
    pub fn draw(form: Form, place: usize, seed: u64, share: f64) -> Self {
        let mut rng = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(place as u64));
        let specification = form.specification();
        let unknowns = form.unknowns(&mut rng);
        let points = form.points(&mut rng);
        let contention = Contention::draw(place, form, &mut rng);
        let n = points.len();
        let inputs = (0..specification.inputs.len()).map(|j| points.iter().map(|p| p[j]).collect());
        let table = Table {
            inputs: inputs.collect(),
            observed: vec![1.0; n],
            weights: vec![1.0; n],
            is_train: vec![true; n],
            lines: (2..n + 2).collect(),
        };
        let base = specification.evaluate(&table, &unknowns);
        let term: Vec<f64> = points.iter().map(|p| contention.at(p, form)).collect();
        let mut instance = Self {
            specification,
            form,
            contention,
            factor: share * factor(&base, &term),
            unknowns,
            table,
        };
        instance.observe(&mut rng);
        instance
    }

    /// The same contention on a machine with other parameters.
    pub fn on_another_machine(&self, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut there = self.clone();
        let drawn = self.form.unknowns(&mut rng);
        let unknowns = self.specification.unknowns.values();
        for ((value, drawn), unknown) in there.unknowns.iter_mut().zip(drawn).zip(unknowns) {
            if unknown.machine {
                *value = drawn;
            }
        }
        there.observe(&mut rng);
        there
    }

    /// Times without noise at the points of a table, seconds.
    pub fn exact(&self, table: &Table) -> Vec<f64> {
        let base = self.specification.evaluate(table, &self.unknowns);
        let term = |i: usize| self.factor * self.contention.at(&table.point(i), self.form);
        base.iter().enumerate().map(|(i, b)| b + term(i)).collect()
    }

    /// Times with noise.
    fn observe(&mut self, rng: &mut Rng) {
        let exact = self.exact(&self.table);
        let noisy = exact.iter().map(|t| t * (1.0 + NOISE * normal(rng)));
        self.table.observed = noisy.collect();
    }

    /// The formula with the true form of the missing term and unknown constants: no correction can be expected to do
    /// better.
    pub fn oracle(&self) -> Specification {
        let inputs = &self.specification.inputs;
        let crowd = match self.form {
            Form::Halo => &inputs[2],
            _ => &inputs[1],
        };
        let (term, mut unknowns) = match self.contention.crowd {
            Crowd::Threshold { .. } => (
                format!("max(1e-9, {crowd} - oracle_n)^oracle_e"),
                "oracle_n = { lower = 0, upper = 60 }\noracle_e = { lower = 0.3, upper = 2 }\n"
                    .to_owned(),
            ),
            Crowd::Power { .. } => (
                format!("{crowd}^oracle_e"),
                "oracle_e = { lower = 0.3, upper = 2 }\n".to_owned(),
            ),
            // Only for measured forms: the other types of contention are drawn for tuning alone.
            _ => (format!("ln({crowd})"), String::new()),
        };
        let of_size = match self.contention.of_size > 0.0 {
            true => {
                unknowns += "oracle_s = { lower = 0, upper = 1.2 }\n";
                format!("*{}^oracle_s", inputs[0])
            }
            false => String::new(),
        };
        let steps = inputs.last().expect("inputs");
        let text = self.form.text();
        let formula = format!(
            "formula = \"{steps}*oracle_c*{term}{of_size} + {}\"",
            self.specification.formula
        );
        let line = text
            .lines()
            .find(|line| line.contains("formula ="))
            .expect("a formula");
        let text = text.replace(line, &formula);
        let factor = "oracle_c = { lower = 1e-14, upper = 1e3 }";
        Specification::from_toml(&format!("{text}\n{unknowns}{factor}")).expect("a specification")
    }

    /// The same with training points marked.
    pub fn split(&self, split: Split, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut marked = self.clone();
        let n = self.table.len();
        let mut places: Vec<usize> = (0..n).collect();
        rng.shuffle(&mut places);
        let cells: Vec<usize> = {
            let mut cells: Vec<usize> = (0..n / 2).collect();
            rng.shuffle(&mut cells);
            cells.truncate(n / 4);
            cells
        };
        for (i, is_train) in marked.table.is_train.iter_mut().enumerate() {
            *is_train = match split {
                Split::RandomHalf => places[..n / 2].contains(&i),
                Split::Cells => cells.contains(&(i / 2)),
                Split::Extrapolation => i < n / 2,
            };
        }
        marked
    }
}

/// Which half of the points is for training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    RandomHalf,
    /// Whole cells of size and process count are held out.
    Cells,
    /// The two smaller sizes are for training.
    Extrapolation,
}

impl Split {
    pub const ALL: [Self; 3] = [Self::RandomHalf, Self::Cells, Self::Extrapolation];

    pub fn name(self) -> &'static str {
        match self {
            Self::RandomHalf => "random half",
            Self::Cells => "cells held out",
            Self::Extrapolation => "extrapolation",
        }
    }
}

/// The factor with which the median share of the term is [`SHARE`], if there is a term.
fn factor(base: &[f64], term: &[f64]) -> f64 {
    let pairs = base.iter().zip(term).filter(|(_, c)| **c > 0.0);
    let mut factors: Vec<f64> = pairs.map(|(b, c)| b / c * SHARE / (1.0 - SHARE)).collect();
    factors.sort_by(f64::total_cmp);
    factors[factors.len() / 2]
}

fn normal(rng: &mut Rng) -> f64 {
    let (u, v) = (1.0 - rng.f64(), rng.f64());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

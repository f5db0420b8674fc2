//! Prior spread of the times of several classes at several sizes.

/// Standard deviations of the parts of a Gaussian process, in logarithms of time.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    pub offset: f64,
    pub slope: f64,
    pub smooth: f64,
    /// Index in [`REACHES`] of the distance, in the logarithm of a size, over which the smooth part changes.
    pub reach: usize,
    pub rough: f64,
}

impl Spread {
    /// Variance of one kind at the group's reference size.
    pub fn variance(&self) -> f64 {
        self.offset.powi(2) + self.smooth.powi(2) + self.rough.powi(2)
    }
}

/// Distances over which smooth parts change, in e-folds of a size.
pub const REACHES: [f64; 3] = [1.0, 1.5, 2.0];

/// Prior of the part that all classes share, without a stored model: nearly uninformative.
const SHARED: Spread = Spread {
    offset: 10.0,
    slope: 0.5,
    smooth: 0.5,
    reach: 1,
    rough: 0.3,
};

/// Prior of one class's own part, without a stored model.
const OWN: Spread = Spread {
    offset: 0.8,
    slope: 0.15,
    smooth: 0.3,
    reach: 0,
    rough: 0.15,
};

/// Prior of one class's deviation from the first class, without a stored model, where each class is compared with the
/// first alone. A class that is 100 times slower is three standard deviations off, and two algorithms differ by one
/// power of a size at two.
pub const OWN_OF_OTHERS: Spread = Spread {
    offset: 1.5,
    slope: 0.5,
    smooth: 0.3,
    reach: 0,
    rough: 0.12,
};

/// Prior of the common deviation of all classes from their stored models: the state of the machine.
pub const SHARED_STORED: Spread = Spread {
    offset: 0.3,
    slope: 0.0,
    smooth: 0.1,
    reach: 2,
    rough: 0.05,
};

/// Prior of a class's deviation from its stored model.
pub const OWN_STORED: Spread = Spread {
    offset: 0.15,
    slope: 0.02,
    smooth: 0.1,
    reach: 0,
    rough: 0.12,
};

/// Fraction of the variance from size to size that similar classes share, such as two libraries with one algorithm.
const ALIKE: f64 = 0.9;

/// Logarithm of the prior odds that a class is similar to another one.
const ALIKE_LN_PRIOR: f64 = -2.0;

/// Maximum scale of a spread and standard deviation of the scale, in logarithms to base 2, and the step of the
/// search.
const MOST_SCALE: f64 = 3.0;
const USUAL_SCALE: f64 = 1.0;
const STEP: f64 = 0.5;

/// Indices of the scales: of the shared part, of each class's own part, then of the rough part of each class.
const SHARED_SMOOTH: usize = 0;
const SHARED_ROUGH: usize = 1;
const OWN_OFFSET: usize = 2;
const OWN_SMOOTH: usize = 3;
const OWN_ROUGH: usize = 4;

/// Factors on the spreads without stored models, and the similarity of classes from size to size.
#[derive(Debug, Clone)]
pub struct Scales {
    /// Logarithms to base 2.
    ln2: Vec<f64>,
    /// Their powers of 2.
    factors: Vec<f64>,
    /// For each class the representative of its similar classes; itself if no class before it is similar.
    like: Vec<usize>,
}

impl Scales {
    pub fn new(n_arms: usize) -> Self {
        Scales {
            ln2: vec![0.0; OWN_ROUGH + n_arms],
            factors: vec![1.0; OWN_ROUGH + n_arms],
            like: (0..n_arms).collect(),
        }
    }

    /// Spread of the part that all classes share.
    pub fn shared(&self) -> Spread {
        let (smooth, rough) = (self.factor(SHARED_SMOOTH), self.factor(SHARED_ROUGH));
        Spread {
            slope: smooth * SHARED.slope,
            smooth: smooth * SHARED.smooth,
            rough: rough * SHARED.rough,
            ..SHARED
        }
    }

    /// Spread of the part that two classes share apart from all others, or of one class's own part; `None` for
    /// classes that are not similar.
    pub fn own(&self, a: usize, b: usize) -> Option<Spread> {
        if self.like[a] != self.like[b] {
            return None;
        }
        let alike = if a == b { 1.0 } else { ALIKE.sqrt() };
        let smooth = alike * self.factor(OWN_SMOOTH);
        // The geometric mean: the covariance stays positive definite.
        let rough = match a == b {
            true => self.factor(OWN_ROUGH + a),
            false => alike * (self.factor(OWN_ROUGH + a) * self.factor(OWN_ROUGH + b)).sqrt(),
        };
        let offset = if a == b { self.factor(OWN_OFFSET) } else { 0.0 };
        Some(Spread {
            offset: offset * OWN.offset,
            slope: smooth * OWN.slope,
            smooth: smooth * OWN.smooth,
            rough: rough * OWN.rough,
            ..OWN
        })
    }

    fn factor(&self, place: usize) -> f64 {
        self.factors[place]
    }

    fn set(&mut self, place: usize, ln2: f64) {
        self.ln2[place] = ln2;
        self.factors[place] = ln2.exp2();
    }

    /// Logarithm of the prior density of the scales.
    pub fn ln_prior(&self) -> f64 {
        let scales = self.ln2.iter().map(|ln2| (ln2 / USUAL_SCALE).powi(2));
        let like = self.like.iter().enumerate();
        let alike = like.filter(|(arm, like)| arm != *like).count();
        ALIKE_LN_PRIOR * alike as f64 - 0.5 * scales.sum::<f64>()
    }

    /// Coordinate ascent: moves each scale in turn as long as the likelihood rises.
    pub fn climb(&mut self, ln_likelihood: impl Fn(&Scales) -> f64) {
        let mut best = ln_likelihood(self);
        let mut is_better = |scales: &Scales| {
            let found = ln_likelihood(scales);
            let better = found > best;
            best = best.max(found);
            better
        };
        for arm in 1..self.like.len() {
            for like in 0..=arm {
                let before = std::mem::replace(&mut self.like[arm], like);
                if before != like && !is_better(self) {
                    self.like[arm] = before;
                }
            }
        }
        for place in 0..self.ln2.len() {
            for step in [STEP, -STEP] {
                loop {
                    let before = self.ln2[place];
                    self.set(place, before + step);
                    if self.ln2[place].abs() > MOST_SCALE || !is_better(self) {
                        self.set(place, before);
                        break;
                    }
                }
            }
        }
    }
}

//! How far times of several classes at several kinds of calls are expected to differ.

/// Standard deviations of what is not known, in logarithms of time.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    pub offset: f64,
    pub slope: f64,
    pub smooth: f64,
    /// Distance in the logarithm of a size over which the smooth part changes: its place in [`REACHES`].
    pub reach: usize,
    pub rough: f64,
}

impl Spread {
    /// Of one kind at the size that others are compared with.
    pub fn variance(&self) -> f64 {
        self.offset.powi(2) + self.smooth.powi(2) + self.rough.powi(2)
    }
}

/// Distances over which smooth parts change, in e-folds of a size.
pub const REACHES: [f64; 3] = [1.0, 1.5, 2.0];

/// Of what all classes share, without a stored model: nearly nothing is known.
const SHARED: Spread = Spread {
    offset: 10.0,
    slope: 0.5,
    smooth: 0.5,
    reach: 1,
    rough: 0.3,
};

/// Of a class without a stored model, beside the others.
const OWN: Spread = Spread {
    offset: 0.8,
    slope: 0.15,
    smooth: 0.3,
    reach: 0,
    rough: 0.15,
};

/// Of a class without a stored model, beside the first one, where each class is compared with that alone. A class that is 100 times slower is
/// three standard deviations off, and two algorithms differ by one power of a size at two.
pub const OWN_OF_OTHERS: Spread = Spread {
    offset: 1.5,
    slope: 0.5,
    smooth: 0.3,
    reach: 0,
    rough: 0.12,
};

/// Of all classes beside their stored models: the state of the machine.
pub const SHARED_STORED: Spread = Spread {
    offset: 0.3,
    slope: 0.0,
    smooth: 0.1,
    reach: 2,
    rough: 0.05,
};

/// Of a class beside its stored model.
pub const OWN_STORED: Spread = Spread {
    offset: 0.15,
    slope: 0.02,
    smooth: 0.1,
    reach: 0,
    rough: 0.12,
};

/// Part of the variance from size to size that classes which are alike share: two libraries with one algorithm.
const ALIKE: f64 = 0.9;

/// What is given up of the logarithm of the likelihood for each class that is taken to be like another one.
const ALIKE_LN_PRIOR: f64 = -2.0;

/// Most that a spread is scaled by, and what is expected of it, in logarithms to base 2; and the steps that are tried.
const MOST_SCALE: f64 = 3.0;
const USUAL_SCALE: f64 = 1.0;
const STEP: f64 = 0.5;

/// Places of the scales: of what all share, of what is of each class, then of the rough part of each class.
const SHARED_SMOOTH: usize = 0;
const SHARED_ROUGH: usize = 1;
const OWN_OFFSET: usize = 2;
const OWN_SMOOTH: usize = 3;
const OWN_ROUGH: usize = 4;

/// By what spreads without stored models are multiplied, and which classes differ alike from size to size.
#[derive(Debug, Clone)]
pub struct Scales {
    /// Logarithms to base 2.
    ln2: Vec<f64>,
    /// Their powers of 2.
    factors: Vec<f64>,
    /// Of each class one that it is like: itself where it is like no other before it.
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

    /// Of what all classes share.
    pub fn shared(&self) -> Spread {
        let (smooth, rough) = (self.factor(SHARED_SMOOTH), self.factor(SHARED_ROUGH));
        Spread {
            slope: smooth * SHARED.slope,
            smooth: smooth * SHARED.smooth,
            rough: rough * SHARED.rough,
            ..SHARED
        }
    }

    /// Of what two classes have beside all others, or one class with itself; `None` where they have nothing.
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

    /// Logarithm of the density that is expected of the scales before any call.
    pub fn ln_prior(&self) -> f64 {
        let scales = self.ln2.iter().map(|ln2| (ln2 / USUAL_SCALE).powi(2));
        let like = self.like.iter().enumerate();
        let alike = like.filter(|(arm, like)| arm != *like).count();
        ALIKE_LN_PRIOR * alike as f64 - 0.5 * scales.sum::<f64>()
    }

    /// Goes to likelier scales, one after the other, as long as each is.
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

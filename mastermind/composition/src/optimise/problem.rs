//! The optimisation problem: sites, their alternatives, and the costs.

/// An instance in the assembly, with its alternatives.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Name of the instance.
    pub name: String,
    /// Names of the classes; never empty.
    pub alternatives: Vec<String>,
    /// Cost of each alternative by itself, seconds; infinite where it is forbidden.
    pub costs: Vec<f64>,
}

/// Costs of two sites together, in addition to their separate costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Index of the first site.
    pub first: usize,
    /// Index of the second site; differs from `first`.
    pub second: usize,
    /// Costs, shape `[alternatives of first][alternatives of second]`, seconds; may be negative; infinite for a
    /// forbidden combination.
    pub costs: Vec<f64>,
}

/// Sites, and pairs of sites. The cost of an assembly is the sum of its parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Problem {
    sites: Vec<Site>,
    pairs: Vec<Pair>,
}

/// Why a problem is invalid or cannot be solved.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// The number of costs does not match the alternatives.
    #[error("cannot add costs of \"{what}\": {found} costs, expected {expected}")]
    Shape {
        /// The site, or both sites.
        what: String,
        /// Number of costs given.
        found: usize,
        /// Number of alternatives, or of combinations.
        expected: usize,
    },
    /// A cost is not a number, or is negative infinity.
    #[error("cannot add costs of \"{what}\": {found}, expected a number or infinity")]
    Cost {
        /// The site, or both sites.
        what: String,
        /// The cost.
        found: f64,
    },
    /// A pair names a site that does not exist, or the same site twice.
    #[error(
        "cannot add pair costs: sites {first} and {second}, expected two different ones of {sites}"
    )]
    Pair {
        /// Index of the first.
        first: usize,
        /// Index of the second.
        second: usize,
        /// Number of sites.
        sites: usize,
    },
    /// No assembly is allowed.
    #[error("cannot choose an assembly: none of them is allowed, expected one; {}", .hint)]
    Infeasible {
        /// Suggests which requirement to drop.
        hint: String,
    },
    /// The objectives have different sites or alternatives.
    #[error(
        "cannot find the Pareto set: objective {objective} has other sites or alternatives than the first, expected the same"
    )]
    Objectives {
        /// Number of the objective, from 1.
        objective: usize,
    },
    /// An exact answer would exceed the limit.
    #[error(
        "cannot find the Pareto set: elimination takes {values} table values, expected at most {limit}; drop sites that matter little, or take fewer pairs"
    )]
    TooLarge {
        /// Number of table values that the elimination needs.
        values: u64,
        /// Largest number allowed.
        limit: u64,
    },
}

impl Problem {
    /// Creates a problem without sites; its only assembly costs nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a site.
    ///
    /// # Arguments
    /// * `name` - name of the instance
    /// * `alternatives` - names of its classes, at least one
    /// * `costs` - cost of each by itself, seconds
    ///
    /// # Returns
    /// The index of the site.
    ///
    /// # Errors
    /// [`ProblemError::Shape`], also without alternatives; [`ProblemError::Cost`].
    pub fn add_site(
        &mut self,
        name: &str,
        alternatives: &[impl AsRef<str>],
        costs: &[f64],
    ) -> Result<usize, ProblemError> {
        check_costs(name, costs, alternatives.len().max(1))?;
        self.sites.push(Site {
            name: name.into(),
            alternatives: alternatives.iter().map(|a| a.as_ref().into()).collect(),
            costs: costs.to_vec(),
        });
        Ok(self.sites.len() - 1)
    }

    /// Adds costs of two sites together. Repeated costs of the same two sites add up.
    ///
    /// # Arguments
    /// * `first`, `second` - indices of the sites
    /// * `costs` - shape `[alternatives of first][alternatives of second]`, seconds
    ///
    /// # Errors
    /// [`ProblemError::Pair`], [`ProblemError::Shape`], [`ProblemError::Cost`].
    pub fn add_pair(
        &mut self,
        first: usize,
        second: usize,
        costs: &[f64],
    ) -> Result<(), ProblemError> {
        let sites = self.sites.len();
        if first == second || first >= sites || second >= sites {
            return Err(ProblemError::Pair {
                first,
                second,
                sites,
            });
        }
        let (a, b) = (&self.sites[first], &self.sites[second]);
        let expected = a.alternatives.len() * b.alternatives.len();
        check_costs(&format!("{}, {}", a.name, b.name), costs, expected)?;
        self.pairs.push(Pair {
            first,
            second,
            costs: costs.to_vec(),
        });
        Ok(())
    }

    /// Forbids an alternative of a site.
    pub fn forbid(&mut self, site: usize, alternative: usize) {
        if let Some(cost) = self
            .sites
            .get_mut(site)
            .and_then(|s| s.costs.get_mut(alternative))
        {
            *cost = f64::INFINITY;
        }
    }

    /// The sites, in the order they were added.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The pairs, in the order they were added.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The cost of an assembly, seconds; infinite if it is not allowed.
    ///
    /// # Arguments
    /// * `choice` - index of the alternative of each site, shape `[sites]`
    ///
    /// # Panics
    /// If an index is beyond the alternatives.
    pub fn cost(&self, choice: &[usize]) -> f64 {
        let sites = self.sites.iter().zip(choice);
        let alone: f64 = sites.map(|(site, &c)| site.costs[c]).sum();
        let together = self.pairs.iter().map(|pair| {
            let n = self.sites[pair.second].costs.len();
            pair.costs[choice[pair.first] * n + choice[pair.second]]
        });
        alone + together.sum::<f64>()
    }

    /// The same sites with other costs and without pairs, for use as another objective.
    ///
    /// # Errors
    /// [`ProblemError::Shape`], [`ProblemError::Cost`].
    pub fn with_costs(&self, costs: &[Vec<f64>]) -> Result<Self, ProblemError> {
        let mut other = Self::new();
        let none = Vec::new();
        for (i, site) in self.sites.iter().enumerate() {
            let costs = costs.get(i).unwrap_or(&none);
            other.add_site(&site.name, &site.alternatives, costs)?;
        }
        Ok(other)
    }
}

fn check_costs(what: &str, costs: &[f64], expected: usize) -> Result<(), ProblemError> {
    if costs.len() != expected {
        return Err(ProblemError::Shape {
            what: what.into(),
            found: costs.len(),
            expected,
        });
    }
    match costs
        .iter()
        .find(|c| c.is_nan() || **c == f64::NEG_INFINITY)
    {
        None => Ok(()),
        Some(&found) => Err(ProblemError::Cost {
            what: what.into(),
            found,
        }),
    }
}

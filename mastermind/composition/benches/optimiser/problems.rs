//! Random problems, the same for the same seed.

use mastermind_composition::optimise::Problem;

/// SplitMix64.
pub struct Numbers(pub u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to below 1.
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From 0 to below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }
}

/// How large costs of pairs are beside those of sites.
#[derive(Clone, Copy, PartialEq)]
pub enum PairCosts {
    /// From 0 to 1, as those of sites.
    Any,
    /// From 0 to 0.3 of the cheaper of the two, those of sites from 0 to 1.
    Weak,
    /// The same, with the alternatives of a site less than two apart: from 1 to 2.
    Close,
}

/// Sites whose pairs form a random k-tree: each new one is joined to all of a random clique of `width`.
pub fn k_tree(
    seed: u64,
    sites: usize,
    alternatives: usize,
    width: usize,
    pair_costs: PairCosts,
) -> Problem {
    let mut numbers = Numbers(seed);
    let mut problem = Problem::new();
    let mut cliques: Vec<Vec<usize>> = Vec::new();
    let names: Vec<String> = (0..alternatives).map(|v| format!("C{v}")).collect();
    for site in 0..sites {
        let least = if pair_costs == PairCosts::Close {
            1.0
        } else {
            0.0
        };
        let costs: Vec<f64> = (0..alternatives)
            .map(|_| least + numbers.uniform())
            .collect();
        problem
            .add_site(&format!("s{site}"), &names, &costs)
            .expect("a site");
        let mut clique: Vec<usize> = if site <= width {
            (0..site).collect()
        } else {
            let mut clique = cliques[numbers.below(cliques.len())].clone();
            clique.remove(numbers.below(clique.len()));
            clique
        };
        for &other in &clique {
            let costs = pairs(&problem, &mut numbers, other, site, pair_costs);
            problem.add_pair(other, site, &costs).expect("a pair");
        }
        clique.push(site);
        if clique.len() == width + 1 {
            cliques.push(clique);
        }
    }
    problem
}

fn pairs(
    problem: &Problem,
    numbers: &mut Numbers,
    first: usize,
    second: usize,
    pair_costs: PairCosts,
) -> Vec<f64> {
    let [a, b] = [first, second].map(|s| problem.sites()[s].costs.clone());
    let mut costs = Vec::new();
    for &x in &a {
        for &y in &b {
            costs.push(match pair_costs {
                PairCosts::Any => numbers.uniform(),
                PairCosts::Weak | PairCosts::Close => 0.3 * x.min(y) * numbers.uniform(),
            });
        }
    }
    costs
}

/// A problem of up to `most` assemblies: any graph, equal costs, negative ones and forbidden ones among them.
pub fn small(seed: u64, most: usize) -> Problem {
    let mut numbers = Numbers(seed);
    let mut problem = Problem::new();
    let mut assemblies = 1;
    let coarse = numbers.below(3) == 0;
    let cost = move |numbers: &mut Numbers, forbidden: f64| {
        let cost = 3.0 * numbers.uniform() - 1.0;
        match (numbers.uniform() < forbidden, coarse) {
            (true, _) => f64::INFINITY,
            (false, true) => cost.round(),
            (false, false) => cost,
        }
    };
    for site in 0..2 + numbers.below(11) {
        let n = 1 + numbers.below(8);
        if assemblies * n > most {
            break;
        }
        assemblies *= n;
        let names: Vec<String> = (0..n).map(|v| format!("C{v}")).collect();
        // The first alternatives stay allowed, so that there is an assembly.
        let costs: Vec<f64> = (0..n)
            .map(|v| cost(&mut numbers, if v == 0 { 0.0 } else { 0.1 }))
            .collect();
        problem
            .add_site(&format!("s{site}"), &names, &costs)
            .expect("a site");
    }
    let sites = problem.sites().len();
    let density = numbers.uniform();
    for second in 1..sites {
        for first in 0..second {
            if numbers.uniform() > density {
                continue;
            }
            let n = problem.sites()[first].costs.len() * problem.sites()[second].costs.len();
            let costs: Vec<f64> = (0..n)
                .map(|i| cost(&mut numbers, if i == 0 { 0.0 } else { 0.1 }))
                .collect();
            let (a, b) = (first, second);
            problem.add_pair(a, b, &costs).expect("a pair");
        }
    }
    problem
}

/// The least cost of all assemblies, and how many there are: each site is settled in turn and the costs added up on the way.
pub fn brute_force(problem: &Problem) -> (f64, f64) {
    let sites = problem.sites();
    let mut at: Vec<Vec<(usize, &[f64])>> = vec![Vec::new(); sites.len()];
    for pair in problem.pairs() {
        at[pair.second].push((pair.first, &pair.costs));
    }
    let mut choice = vec![0; sites.len()];
    let least = try_all(problem, &at, 0, 0.0, &mut choice);
    (least, sites.iter().map(|s| s.costs.len() as f64).product())
}

fn try_all(
    problem: &Problem,
    at: &[Vec<(usize, &[f64])>],
    site: usize,
    sum: f64,
    choice: &mut [usize],
) -> f64 {
    if site == choice.len() {
        return sum;
    }
    let costs = &problem.sites()[site].costs;
    let mut least = f64::INFINITY;
    for value in 0..costs.len() {
        choice[site] = value;
        let pairs = at[site].iter();
        let pairs = pairs.map(|(first, pair)| pair[choice[*first] * costs.len() + value]);
        let sum = sum + costs[value] + pairs.sum::<f64>();
        if sum < f64::INFINITY {
            least = least.min(try_all(problem, at, site + 1, sum, choice));
        }
    }
    least
}

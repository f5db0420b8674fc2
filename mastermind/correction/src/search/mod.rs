//! The search for the term: genetic programming over trees, a genetic algorithm over the parameters at the same time.
//!
//! "Graduated elitist" selection of the paper's Table 2 is read here as: the chance of being a parent falls with the
//! rank, and the best of a generation stay. A tree's fitness is that of the corrected model with `a`, `c` and `d` at
//! their least-squares values (linear scaling), plus a price for its nodes; every few generations the constants within
//! the best trees are refined by least squares too. Part of the first generation are the forms that contention is known
//! to take ([`forms`]).

pub mod evaluator;
mod forms;
pub mod problem;
pub mod refine;
pub mod tree;

use std::collections::HashSet;
use std::rc::Rc;

use fastrand::Rng;

use evaluator::range_over;
use problem::{Genome, Problem, Workspace};
use refine::refine;
use tree::{Gardener, normal};

/// Settings of the search; the defaults are those of the paper's Table 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchSettings {
    /// Candidates of a generation.
    pub population: usize,
    /// Most generations.
    pub generations: usize,
    /// Most forms of contention that the search begins with, of at most half of the population.
    pub forms: usize,
    /// Share of children by crossover; the others are mutated.
    pub crossover: f64,
    /// Greatest depth of a tree of the first generation.
    pub max_depth: usize,
    /// Price of a node, in units of the deviance (`n ln` of the mean square).
    pub node_price: f64,
    /// Price of a gene at the end of its range, in the same unit.
    pub gene_price: f64,
    /// Price of a corrected time whose parts cancel, for each unit of the mean logarithm of the sum of their magnitudes by the
    /// time; paid by the candidates that a search ends with.
    pub cancellation_price: f64,
    /// Generations without gain after which the search ends.
    pub patience: usize,
    /// Share of children whose genes are moved or blended.
    pub moved_genes: f64,
    /// Generations between refinements.
    pub refine_every: usize,
    /// Candidates refined, the fittest.
    pub n_refined: usize,
    /// Steps of a refinement.
    pub n_steps: usize,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            population: 3000,
            generations: 100,
            forms: 300,
            crossover: 0.9,
            max_depth: 7,
            node_price: 0.7,
            gene_price: 0.5,
            cancellation_price: 2.0,
            patience: 30,
            moved_genes: 0.1,
            refine_every: 10,
            n_refined: 12,
            n_steps: 5,
        }
    }
}

/// Best candidates kept as they are, of a thousand.
const ELITE: usize = 10;

#[derive(Debug, Clone)]
struct Individual {
    genome: Genome,
    squares: f64,
    fitness: f64,
}

/// A candidate of the end of the search.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its tree and genes.
    pub genome: Genome,
    /// Deviance and the price of its size.
    pub fitness: f64,
}

/// Searches.
///
/// # Returns
/// The best candidate of each complexity, constants refined, the fittest first.
pub fn search(problem: &Problem<'_>, settings: &SearchSettings, seed: u64) -> Vec<Candidate> {
    let mut search = Search::new(problem, settings, seed);
    search.start();
    let mut best = (f64::INFINITY, 0);
    for generation in 1..=settings.generations {
        search.breed();
        if generation % settings.refine_every == 0 {
            search.refine_best();
        }
        let fitness = search.population[0].fitness;
        if fitness < best.0 - 1e-3 {
            best = (fitness, generation);
        }
        if generation - best.1 >= settings.patience {
            break;
        }
    }
    search.candidates()
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    settings: &'a SearchSettings,
    gardener: Gardener,
    rng: Rng,
    workspace: Workspace,
    population: Vec<Individual>,
    /// The best of each complexity seen.
    front: Vec<Option<Individual>>,
    seen: HashSet<u64>,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem<'a>, settings: &'a SearchSettings, seed: u64) -> Self {
        Self {
            problem,
            settings,
            gardener: Gardener {
                n_inputs: problem.inputs.len() as u8,
                max_depth: settings.max_depth,
            },
            rng: Rng::with_seed(seed),
            workspace: problem.workspace(),
            population: Vec::new(),
            front: vec![None; problem::MAX_COMPLEXITY + 1],
            seen: HashSet::new(),
        }
    }

    fn n_genes(&self) -> usize {
        match self.problem.case.searches_parameters() {
            true => self.problem.fitted.len(),
            false => 0,
        }
    }

    fn start(&mut self) {
        let n = self.settings.population;
        let n_genes = self.n_genes();
        let fitted = self.problem.parameters(vec![0.0; n_genes], &self.workspace);
        let fitted = Rc::new(fitted);
        let mut all = self.known_forms(&fitted);
        for place in all.len()..n {
            let tree = match place % 5 {
                0 => self.gardener.product(&mut self.rng),
                _ => self.gardener.initial(place, &mut self.rng),
            };
            let parameters = match n_genes > 0 && place % 4 == 0 {
                false => Rc::clone(&fitted),
                true => {
                    let mut gene = || (0.5 * normal(&mut self.rng)).clamp(-1.0, 1.0);
                    let genes = (0..n_genes).map(|_| gene()).collect();
                    Rc::new(self.problem.parameters(genes, &self.workspace))
                }
            };
            all.push(self.judged(Genome { tree, parameters }, f64::INFINITY));
        }
        self.population = all;
        self.settle();
    }

    /// Forms that contention is known to take, their constants refined.
    fn known_forms(&mut self, fitted: &Rc<problem::Parameters>) -> Vec<Individual> {
        let most = self.settings.forms.min(self.settings.population / 2);
        let mut trees = forms::forms(self.problem);
        if trees.len() > most {
            self.rng.shuffle(&mut trees);
            trees.truncate(most);
        }
        let of = |tree| {
            let parameters = Rc::clone(fitted);
            let mut form = self.judged(Genome { tree, parameters }, f64::INFINITY);
            self.refine(&mut form, self.settings.n_steps);
            form
        };
        trees.into_iter().map(of).collect()
    }

    /// A tree fitter than `bar` that is not bounded over the box of inputs is as unfit as can be; of others it does not
    /// matter.
    fn judged(&mut self, genome: Genome, bar: f64) -> Individual {
        let squares = self
            .problem
            .squares(&genome.tree, &genome.parameters, &mut self.workspace);
        let mut fitness = self.fitness(&genome, squares);
        if fitness < bar && range_over(&genome.tree, &self.problem.limits).is_none() {
            fitness = f64::INFINITY;
        }
        Individual {
            genome,
            squares,
            fitness,
        }
    }

    /// Price of the parts of the corrected time that cancel.
    fn cancellation(&mut self, genome: &Genome) -> f64 {
        let (tree, parameters) = (&genome.tree, &genome.parameters);
        let found = self
            .problem
            .cancellation(tree, parameters, &mut self.workspace);
        found.map_or(f64::INFINITY, |c| self.settings.cancellation_price * c)
    }

    fn fitness(&self, genome: &Genome, squares: f64) -> f64 {
        let genes = genome.parameters.genes.iter().map(|gene| gene * gene);
        let genes: f64 = genes.sum();
        self.problem.deviance(squares)
            + self.settings.node_price * self.problem.complexity(&genome.tree)
            + self.settings.gene_price * genes
    }

    /// Sorts, moves repetitions of a better individual to the end, and remembers the best of each
    /// complexity.
    fn settle(&mut self) {
        for individual in &mut self.population {
            if individual.fitness.is_nan() {
                individual.fitness = f64::INFINITY;
            }
        }
        self.population.sort_unstable_by(|a, b| {
            a.fitness
                .total_cmp(&b.fitness)
                .then(a.squares.total_cmp(&b.squares))
        });
        self.seen.clear();
        let mut repeated = Vec::new();
        let mut kept = Vec::with_capacity(self.population.len());
        for mut individual in self.population.drain(..) {
            // The same squares to nine digits: the same function in other words.
            let key = (individual.squares.ln() * 1e9) as i64 as u64;
            if individual.fitness.is_finite() && !self.seen.insert(key) {
                individual.fitness = f64::INFINITY;
                repeated.push(individual);
            } else {
                kept.push(individual);
            }
        }
        kept.append(&mut repeated);
        self.population = kept;
        for individual in self.population.iter().take(100) {
            let place = self.problem.complexity(&individual.genome.tree) as usize;
            let is_better = |old: &Individual| individual.fitness < old.fitness;
            if individual.fitness.is_finite() && self.front[place].as_ref().is_none_or(is_better) {
                self.front[place] = Some(individual.clone());
            }
        }
    }

    /// A rank, the lower the likelier.
    fn parent(&mut self) -> usize {
        let u = self.rng.f64();
        (u * u * u * self.population.len() as f64) as usize
    }

    fn breed(&mut self) {
        let n = self.population.len();
        let n_elite = (n * ELITE).div_ceil(1000);
        let middle = self.population[n / 2].fitness;
        let mut children = Vec::with_capacity(n);
        while children.len() + n_elite < n {
            let (first, second) = (self.parent(), self.parent());
            let (a, b) = (
                &self.population[first].genome,
                &self.population[second].genome,
            );
            let tree = if self.rng.f64() < self.settings.crossover {
                self.gardener.crossed(&a.tree, &b.tree, &mut self.rng)
            } else {
                self.gardener.mutated(&a.tree, &mut self.rng)
            };
            let mut parameters = Rc::clone(&a.parameters);
            if !parameters.genes.is_empty() && self.rng.f64() < self.settings.moved_genes {
                let genes = bred(&a.parameters.genes, &b.parameters.genes, &mut self.rng);
                parameters = Rc::new(self.problem.parameters(genes, &self.workspace));
            }
            let child = self.judged(Genome { tree, parameters }, middle);
            children.push(child);
        }
        self.population.truncate(n_elite);
        self.population.append(&mut children);
        self.settle();
    }

    /// Refines the fittest, each also with weights for the terms that it is a sum of.
    fn refine_best(&mut self) {
        let mut refined = Vec::new();
        for place in 0..self.settings.n_refined.min(self.population.len()) {
            let mut individual = self.population[place].clone();
            if !individual.fitness.is_finite() {
                continue;
            }
            if let Some(tree) = tree::with_weights(&individual.genome.tree) {
                let parameters = Rc::clone(&individual.genome.parameters);
                let mut weighted = self.judged(Genome { tree, parameters }, f64::INFINITY);
                self.refine(&mut weighted, self.settings.n_steps);
                refined.push(weighted);
            }
            self.refine(&mut individual, self.settings.n_steps);
            refined.push(individual);
        }
        let n = self.population.len();
        self.population.truncate(n.saturating_sub(refined.len()));
        self.population.append(&mut refined);
        self.settle();
    }

    fn refine(&mut self, individual: &mut Individual, n_steps: usize) {
        let before = individual.clone();
        individual.squares = refine(
            self.problem,
            &mut individual.genome,
            &mut self.workspace,
            n_steps,
            self.settings.gene_price,
        );
        individual.fitness = self.fitness(&individual.genome, individual.squares);
        let is_bounded = range_over(&individual.genome.tree, &self.problem.limits).is_some();
        if !is_bounded || individual.fitness.is_nan() || individual.fitness > before.fitness {
            *individual = before;
        }
    }

    fn candidates(mut self) -> Vec<Candidate> {
        let front = std::mem::take(&mut self.front);
        let mut candidates = Vec::new();
        for mut individual in front.into_iter().flatten() {
            self.refine(&mut individual, 3 * self.settings.n_steps);
            individual.fitness += self.cancellation(&individual.genome);
            if range_over(&individual.genome.tree, &self.problem.limits).is_some() {
                candidates.push(Candidate {
                    genome: individual.genome,
                    fitness: individual.fitness,
                });
            }
        }
        candidates.sort_by(|a, b| a.fitness.total_cmp(&b.fitness));
        candidates
    }
}

/// Genes of a child: a blend of the parents' genes, or the first parent's with one moved.
fn bred(a: &[f64], b: &[f64], rng: &mut Rng) -> Vec<f64> {
    let mut genes = a.to_vec();
    if rng.bool() {
        let share = rng.f64();
        let pairs = genes.iter_mut().zip(b);
        pairs.for_each(|(x, y)| *x += share * (y - *x));
    } else {
        let place = rng.usize(0..genes.len());
        genes[place] = (genes[place] + 0.3 * normal(rng)).clamp(-1.0, 1.0);
    }
    genes
}

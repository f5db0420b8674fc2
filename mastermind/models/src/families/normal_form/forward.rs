//! Forms of many parameters by forward selection: products grow by one factor at a time, and forms by one product.
//!
//! Trying every combination of candidate terms takes a time that is exponential in the number of parameters: nine terms of each of six
//! parameters are half a million combinations. Here each step continues only the best results of the step before, so that the time grows
//! with a power of the number of parameters.
//!
//! ```text
//! products  a, b, c, …   →   every a·b, a·c, …   →   the best a·b·c, …   →   the best of more factors
//! forms     the best of one product   →   each with every other product   →   the best of these with a third one
//! ```

use std::collections::BTreeSet;

use super::lines::Candidates;
use super::refine::{dot, padded, remove};
use super::screen::{Best, Centred, DEPENDENT, normalise};
use super::terms::{Basis, Form, Product};

/// Products of three factors and more that are kept, of each number of factors. Arbitrary.
const N_GROWN: usize = 24;

/// Sums of products of one term of each parameter, with up to three products added to the constant.
///
/// # Arguments
/// * `candidates` - terms to try for each parameter, shape `[n_params]`
///
/// # Returns
/// The best forms of one, two and three products.
pub(crate) fn forward(basis: &Basis, centred: &Centred, candidates: &[Candidates]) -> [Best; 3] {
    let products = Products::grown(basis, centred, candidates);
    let mut best = [Best::new(), Best::new(), Best::new()];
    products.add(Form::default(), centred, &mut best[0], &mut BTreeSet::new());
    for longer in 1..best.len() {
        let mut known = BTreeSet::new();
        let (shorter, rest) = best.split_at_mut(longer);
        for form in shorter[longer - 1].forms() {
            products.add(form, centred, &mut rest[0], &mut known);
        }
    }
    best
}

/// Products with their unit columns orthogonal to the constant.
struct Products {
    products: Vec<Product>,
    /// Shape `[n_products][stride]`.
    units: Vec<f64>,
    stride: usize,
}

impl Products {
    /// Every candidate term, every product of two, and the best products of more.
    fn grown(basis: &Basis, centred: &Centred, candidates: &[Candidates]) -> Self {
        let terms: Vec<BTreeSet<usize>> = candidates.iter().map(Candidates::all).collect();
        let mut all = Self {
            products: Vec::new(),
            units: Vec::new(),
            stride: padded(basis.n_points()),
        };
        let mut shorter = vec![Product::default()];
        for n_factors in 1..=candidates.len() {
            let longer: BTreeSet<Product> = shorter.iter().flat_map(|p| p.longer(&terms)).collect();
            let longer = longer.into_iter().map(|product| {
                let unit = all.unit(product, basis, centred);
                let along = dot(&unit, &centred.y);
                (along * along, product, unit)
            });
            let mut longer: Vec<(f64, Product, Vec<f64>)> = longer.collect();
            longer.retain(|(along, ..)| along.is_finite());
            longer.sort_by(|a, b| b.0.total_cmp(&a.0));
            longer.truncate(if n_factors > 2 { N_GROWN } else { usize::MAX });
            for (_, product, unit) in &longer {
                all.products.push(*product);
                all.units.extend_from_slice(unit);
            }
            shorter = longer.into_iter().map(|(_, product, _)| product).collect();
        }
        all
    }

    /// The unit column of a product.
    fn unit(&self, product: Product, basis: &Basis, centred: &Centred) -> Vec<f64> {
        let mut unit = vec![0.0; self.stride];
        basis.fill(product, &mut unit[..basis.n_points()]);
        centred.split(&mut unit);
        unit
    }

    /// Offers a form with each further product, unless it is `known`.
    fn add(
        &self,
        form: Form,
        centred: &Centred,
        best: &mut Best,
        known: &mut BTreeSet<[Product; super::terms::MAX_TERMS]>,
    ) {
        let mut left = centred.y.clone();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for product in form.products() {
            let Some(place) = self.products.iter().position(|known| known == product) else {
                return;
            };
            let mut column = self.column(place).to_vec();
            for known in &columns {
                remove(known, &mut column);
            }
            normalise(&mut column);
            remove(&column, &mut left);
            columns.push(column);
        }
        let total = dot(&left, &left);
        for (place, &product) in self.products.iter().enumerate() {
            let unit = self.column(place);
            let common = columns.iter().map(|column| dot(column, unit).powi(2));
            let free = 1.0 - common.sum::<f64>();
            if free <= DEPENDENT {
                continue;
            }
            let along = dot(&left, unit);
            let sum_of_squares = total - along * along / free;
            if !best.keeps(sum_of_squares) {
                continue;
            }
            let longer = form.with(product).filter(|form| known.insert(form.key()));
            if let Some(longer) = longer {
                best.offer(sum_of_squares, || longer);
            }
        }
    }

    fn column(&self, place: usize) -> &[f64] {
        &self.units[place * self.stride..(place + 1) * self.stride]
    }
}

#[cfg(test)]
mod tests {
    use super::super::refine::Observed;
    use super::*;

    const N_PARAMS: usize = 6;
    const N_POINTS: usize = 40;

    /// Values of the parameters without a pattern, by a multiplicative generator.
    fn columns() -> Vec<Vec<f64>> {
        let mut state = 7_u64;
        let mut next = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            1.0 + (state >> 33).rem_euclid(64) as f64
        };
        let mut column = || (0..N_POINTS).map(|_| next()).collect();
        (0..N_PARAMS).map(|_| column()).collect()
    }

    /// The best form of each number of products, for times `f` of the parameters, with every fifth term as a candidate.
    fn best(f: impl Fn(&[f64]) -> f64) -> (Vec<Form>, usize) {
        let columns = columns();
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let basis = Basis::new(&slices, &[false; N_PARAMS]);
        let point = |i: usize| columns.iter().map(|column| column[i]).collect::<Vec<f64>>();
        let mean_s: Vec<f64> = (0..N_POINTS).map(|i| f(&point(i))).collect();
        let observed = Observed::of(&mean_s, &[1.0; N_POINTS], &[0.0; N_POINTS]).unwrap();
        let centred = Centred::new(&observed);
        let of_param = |param: usize| Candidates {
            terms: basis.usable(param).skip(3).step_by(5).collect(),
            pairs: Vec::new(),
        };
        let candidates: Vec<Candidates> = (0..N_PARAMS).map(of_param).collect();
        let first = |best: &Best| best.forms().next().unwrap();
        let forms = forward(&basis, &centred, &candidates)
            .iter()
            .map(first)
            .collect();
        let products = Products::grown(&basis, &centred, &candidates).products;
        (forms, products.len())
    }

    #[test]
    fn a_sum_with_a_product_of_two_parameters_is_found() {
        // The linear term of a parameter is among the candidates.
        let linear = |params: &[usize]| {
            let mut product = Product::default();
            let code = super::super::terms::LINEAR as u8 + 1;
            params.iter().for_each(|&param| product.0[param] = code);
            product
        };
        let (forms, _) = best(|x| 5.0 + x[1] * x[3] + 40.0 * x[0]);
        let expected = Form::new(&[linear(&[0]), linear(&[1, 3])]);
        assert_eq!(forms[1].key(), expected.key());
    }

    #[test]
    fn products_grow_with_a_power_of_the_parameters() {
        let n_terms = 8;
        let (_, n_products) = best(|x| 5.0 + x[0] * x[1]);
        let n_singles = N_PARAMS * n_terms;
        let most = n_singles + n_singles * n_singles / 2 + (N_PARAMS - 2) * N_GROWN;
        assert!(n_products <= most, "{n_products} of at most {most}");
    }
}

//! Exact mean value analysis, from no customer up to all of them.
//!
//! A customer that arrives finds the station as it would be on average without this customer. So the residence times of a population
//! follow from the queues of the populations with one customer less, and these from still smaller ones. A station with several servers
//! also needs the probabilities that few customers are there.

use crate::network::{Kind, Network, NetworkError, Solution};

/// Most numbers that are kept: 800 MB.
const MAX_NUMBERS: usize = 100_000_000;

/// What is kept of the populations, one after the other: by station the customers there, then for a station of m servers the probabilities
/// of 0 to m - 1 customers.
struct Table {
    numbers: Vec<f64>,
    width: usize,
    /// By station: the place of its probabilities, and its number of servers.
    probabilities: Vec<Option<(usize, u32)>>,
}

impl Table {
    /// # Errors
    /// [`NetworkError::TooLarge`].
    fn new(network: &Network, populations: f64) -> Result<Self, NetworkError> {
        let mut width = network.stations.len();
        let probabilities = network.stations.iter().map(|station| match station.kind {
            Kind::Queue { servers } if servers > 1 => {
                let first = width;
                width += servers as usize;
                Some((first, servers))
            }
            _ => None,
        });
        let probabilities = probabilities.collect();
        let numbers = populations * width as f64;
        if numbers > MAX_NUMBERS as f64 {
            let most = MAX_NUMBERS;
            return Err(NetworkError::TooLarge { numbers, most });
        }
        let mut table = Self {
            numbers: vec![0.0; numbers as usize],
            width,
            probabilities,
        };
        for (first, _) in table.probabilities.iter().flatten() {
            // Without customers a station has none for sure.
            table.numbers[*first] = 1.0;
        }
        Ok(table)
    }

    fn row(&self, population: usize) -> &[f64] {
        &self.numbers[population * self.width..][..self.width]
    }

    /// The factor by which a customer's service is lengthened that finds a station as it is at a population.
    fn lengthening(&self, population: usize, station: usize) -> f64 {
        let row = self.row(population);
        match self.probabilities[station] {
            None => 1.0 + row[station],
            Some((first, servers)) => {
                let idle = row[first..][..servers as usize - 1].iter().zip(1_u32..);
                let idle: f64 = idle.map(|(p, j)| f64::from(servers - j) * p).sum();
                (1.0 + row[station] + idle) / f64::from(servers)
            }
        }
    }
}

/// Solves a network by mean value analysis (Reiser and Lavenberg, Eq. 3.9 to 3.12).
///
/// # Returns
/// The exact solution, where the network has a product form ([`Kind`]); time and memory grow with the product of all `customers + 1`.
///
/// # Errors
/// [`NetworkError`].
pub fn exact(network: &Network) -> Result<Solution, NetworkError> {
    network.check()?;
    let sizes = network.classes.iter();
    let sizes: Vec<usize> = sizes.map(|class| class.customers as usize + 1).collect();
    let populations: f64 = sizes.iter().map(|size| *size as f64).product();
    let mut table = Table::new(network, populations)?;
    // From one population to that with one more customer of a class.
    let mut steps = vec![1; sizes.len()];
    for r in 1..sizes.len() {
        steps[r] = steps[r - 1] * sizes[r - 1];
    }
    let (n_stations, n_classes) = (network.stations.len(), sizes.len());
    let mut throughput = vec![0.0; n_classes];
    let mut residence_s = vec![vec![0.0; n_classes]; n_stations];
    let mut customers = vec![0; n_classes];
    for population in 1..populations as usize {
        next(&mut customers, &sizes);
        for r in 0..n_classes {
            throughput[r] = 0.0;
            if customers[r] == 0 {
                continue;
            }
            let mut cycle_s = network.classes[r].think_s;
            for (i, station) in network.stations.iter().enumerate() {
                let demand_s = station.demand_s[r];
                residence_s[i][r] = match station.kind {
                    Kind::Delay => demand_s,
                    Kind::Queue { .. } => demand_s * table.lengthening(population - steps[r], i),
                };
                cycle_s += residence_s[i][r];
            }
            throughput[r] = customers[r] as f64 / cycle_s;
        }
        keep(
            &mut table,
            network,
            (population, &steps),
            &throughput,
            &residence_s,
        );
    }
    Ok(Solution::new(network, throughput, residence_s))
}

/// The next population, the first class fastest.
fn next(customers: &mut [usize], sizes: &[usize]) {
    for (customers, size) in customers.iter_mut().zip(sizes) {
        *customers += 1;
        if *customers < *size {
            return;
        }
        *customers = 0;
    }
}

/// Keeps what larger populations need of one.
fn keep(
    table: &mut Table,
    network: &Network,
    (population, steps): (usize, &[usize]),
    throughput: &[f64],
    residence_s: &[Vec<f64>],
) {
    let begin = population * table.width;
    for (i, station) in network.stations.iter().enumerate() {
        let customers = residence_s[i].iter().zip(throughput);
        table.numbers[begin + i] = customers.map(|(time_s, rate)| time_s * rate).sum();
        let Some((first, servers)) = table.probabilities[i] else {
            continue;
        };
        let busy = || (0..throughput.len()).filter(|r| throughput[*r] > 0.0);
        let (mut others, mut none_idle) = (0.0, 0.0);
        for j in 1..servers as usize {
            let flow = busy().map(|r| {
                let before = table.row(population - steps[r])[first + j - 1];
                station.demand_s[r] * throughput[r] * before
            });
            let p = flow.sum::<f64>() / j as f64;
            table.numbers[begin + first + j] = p;
            others += p;
            none_idle += (servers as usize - j) as f64 * p;
        }
        let load: f64 = busy().map(|r| station.demand_s[r] * throughput[r]).sum();
        // What the mean number of idle servers leaves; at a full station the difference of two large numbers.
        let p = 1.0 - (load + none_idle) / f64::from(servers);
        table.numbers[begin + first] = p.clamp(0.0, 1.0 - others.min(1.0));
    }
}

//! Closed networks, and what is found of them.

/// How a station serves its customers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Customers wait for one of several servers, by processor sharing, or first come first served where all classes have one mean
    /// and exponential service (the conditions of a product form).
    Queue {
        /// ≥ 1.
        servers: u32,
    },
    /// Nobody waits.
    Delay,
}

/// A station: a processor, an interface, a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// How it serves.
    pub kind: Kind,
    /// By class: service that one round of a customer needs here, seconds, ≥ 0.
    pub demand_s: Vec<f64>,
}

/// Customers that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// How many there are.
    pub customers: u32,
    /// Time of a round at no station, seconds, ≥ 0.
    pub think_s: f64,
}

/// A closed network.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Stations.
    pub stations: Vec<Station>,
    /// Classes, at least one.
    pub classes: Vec<Class>,
}

/// A network of which there is no solution.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// There is no class.
    #[error("cannot solve network: no class, expected 1 or more")]
    NoClass,
    /// A time is none.
    #[error("cannot solve network: {what} of \"{name}\" is {found} s, expected 0 or more")]
    Time {
        /// Which time.
        what: &'static str,
        /// The station or the class.
        name: String,
        /// The time.
        found: f64,
    },
    /// A station has not a demand for each class.
    #[error(
        "cannot solve network: {found} demands at station \"{name}\", expected {expected}, one for each class"
    )]
    Demands {
        /// The station.
        name: String,
        /// Its demands.
        found: usize,
        /// Classes.
        expected: usize,
    },
    /// A station has no server.
    #[error("cannot solve network: 0 servers at station \"{name}\", expected 1 or more")]
    NoServer {
        /// The station.
        name: String,
    },
    /// A round of a class takes no time, so that its throughput has no bound.
    #[error(
        "cannot solve network: a round of class \"{name}\" takes 0 s, expected some time at a station or between"
    )]
    NoTime {
        /// The class.
        name: String,
    },
    /// The exact analysis would need too much memory.
    #[error(
        "cannot solve network exactly: {numbers:.0} numbers to keep, expected at most {most}; use linearizer"
    )]
    TooLarge {
        /// Populations times stations.
        numbers: f64,
        /// How many fit.
        most: usize,
    },
    /// An approximation does not settle.
    #[error("cannot solve network: no fixed point after {rounds} rounds, expected one")]
    NotSettled {
        /// Rounds.
        rounds: usize,
    },
    /// A file is no network.
    #[error("cannot read network: {found}")]
    File {
        /// What is wrong, and where.
        found: String,
    },
}

impl Network {
    /// Checks what all solutions need.
    ///
    /// # Errors
    /// All but [`NetworkError::TooLarge`] and [`NetworkError::NotSettled`].
    pub fn check(&self) -> Result<(), NetworkError> {
        let time =
            |what: &'static str, name: &str, found: f64| match found.is_finite() && found >= 0.0 {
                true => Ok(()),
                false => Err(NetworkError::Time {
                    what,
                    name: name.to_owned(),
                    found,
                }),
            };
        if self.classes.is_empty() {
            return Err(NetworkError::NoClass);
        }
        for class in &self.classes {
            time("think time", &class.name, class.think_s)?;
        }
        for station in &self.stations {
            let (name, found, expected) = (
                station.name.clone(),
                station.demand_s.len(),
                self.classes.len(),
            );
            if found != expected {
                return Err(NetworkError::Demands {
                    name,
                    found,
                    expected,
                });
            }
            if station.kind == (Kind::Queue { servers: 0 }) {
                return Err(NetworkError::NoServer { name });
            }
            for demand in &station.demand_s {
                time("a demand", &name, *demand)?;
            }
        }
        for (r, class) in self.classes.iter().enumerate() {
            let at_stations: f64 = self
                .stations
                .iter()
                .map(|station| station.demand_s[r])
                .sum();
            if class.think_s + at_stations <= 0.0 {
                let name = class.name.clone();
                return Err(NetworkError::NoTime { name });
            }
        }
        Ok(())
    }
}

/// What is found of a network, in the steady state.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// By class: rounds a second of all its customers together.
    pub throughput: Vec<f64>,
    /// By station and class: time of a round there, waiting included, seconds.
    pub residence_s: Vec<Vec<f64>>,
    /// By station and class: customers there, those in service included.
    pub queue: Vec<Vec<f64>>,
    /// By station: the part of its servers that is busy, 0 to 1; of a delay the customers in it.
    pub utilisation: Vec<f64>,
    /// By class: customers, and time at no station, seconds.
    customers: Vec<(u32, f64)>,
}

impl Solution {
    /// The solution that follows from what each class finds at each station.
    pub(crate) fn new(network: &Network, throughput: Vec<f64>, residence_s: Vec<Vec<f64>>) -> Self {
        let product = |times: &Vec<f64>| -> Vec<f64> {
            let pairs = times.iter().zip(&throughput);
            pairs.map(|(time, rate)| time * rate).collect()
        };
        let queue = residence_s.iter().map(product).collect();
        let utilisation = network.stations.iter().map(|station| {
            let busy: f64 = product(&station.demand_s).iter().sum();
            match station.kind {
                Kind::Queue { servers } => busy / f64::from(servers),
                Kind::Delay => busy,
            }
        });
        let utilisation = utilisation.collect();
        let customers = network.classes.iter();
        let customers = customers
            .map(|class| (class.customers, class.think_s))
            .collect();
        Self {
            throughput,
            residence_s,
            queue,
            utilisation,
            customers,
        }
    }

    /// The time of a round of a customer of a class, seconds.
    pub fn cycle_s(&self, class: usize) -> f64 {
        let think_s = self.customers[class].1;
        think_s
            + self
                .residence_s
                .iter()
                .map(|by_class| by_class[class])
                .sum::<f64>()
    }
}

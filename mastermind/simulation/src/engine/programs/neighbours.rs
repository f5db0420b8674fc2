//! Which ranks may send to which, as far as the program alone determines it.
//!
//! If all messages of a program go a fixed distance in ranks (a grid, a ring), the program determines
//! from which ranks a process can get one, for any values of its variables. Values are followed
//! through the variables, in no order: each is a few constants and a few distances to the process's
//! own rank, or unknown.

use crate::machine::Machine;
use mastermind_programs::expression::{Binary, Builtin, Compiled};
use mastermind_programs::{NOBODY, Operation, Program};

/// Most values of a variable that are distinguished.
const MAX_VALUES: usize = 16;

/// Most neighbours that are worth looking at.
const MAX_NEIGHBOURS: usize = 8;

/// Rounds after which a variable that still gets new values is given up.
const MAX_ROUNDS: usize = 12;

/// Bound of times that are not bounded otherwise, nanoseconds.
const MAX_BOUND_NS: u64 = 1 << 40;

/// A value: a constant, or the process's own rank plus a constant, modulo the number of processes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Constant(f64),
    Further(f64),
}

/// The possible values; `None` if they are unknown.
type Values = Option<Vec<Value>>;

/// Analysis of a program's messages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Neighbours {
    /// Distances in ranks from a process to those that may send to it, modulo the number of processes.
    pub(crate) senders: Vec<u32>,
    /// By operation: least time of the work that is done from it on before a message is sent, nanoseconds;
    /// and before one is sent to another receiver than those that the variables name now.
    pub(crate) work_before_send_ns: Vec<[u32; 2]>,
    /// By variable: whether it determines the receiver of a message.
    pub(crate) directs: Vec<bool>,
    /// Least processor time of a receipt.
    pub(crate) least_receive_ns: u64,
}

/// Which ranks may send to which; `None` if that is unknown, or if a message may need a rendezvous.
pub(crate) fn neighbours(program: &Program, machine: &Machine) -> Option<Neighbours> {
    let processes = f64::from(program.system.processes);
    let analysis = Analysis::of(program, processes);
    let mut senders = Vec::new();
    let mut least_receive_ns = u64::MAX;
    for operation in &program.operations {
        let Operation::Send { to, bytes, .. } = operation else {
            continue;
        };
        for value in analysis.values(bytes)? {
            let Value::Constant(bytes) = value else {
                return None;
            };
            let bytes = (bytes.max(0.0) + 0.5) as u64;
            if machine.links().any(|link| bytes > link.rendezvous_bytes) {
                return None;
            }
            let receive_ns = machine.links().map(|link| link.receive_ns(bytes));
            least_receive_ns = receive_ns.fold(least_receive_ns, u64::min);
        }
        for value in analysis.values(to)? {
            match value {
                Value::Constant(NOBODY) => {}
                Value::Constant(_) => return None,
                Value::Further(distance) => {
                    let back = (-distance).rem_euclid(processes);
                    if back.fract() != 0.0 {
                        return None;
                    }
                    senders.push(back as u32);
                }
            }
        }
    }
    senders.sort_unstable();
    senders.dedup();
    senders.retain(|distance| *distance != 0);
    let directs = directs(program);
    (senders.len() <= MAX_NEIGHBOURS).then(|| Neighbours {
        senders,
        work_before_send_ns: work_before_send(&program.operations, &directs),
        directs,
        least_receive_ns: least_receive_ns.min(MAX_BOUND_NS),
    })
}

/// Whether all messages of a program are eager, as far as the program alone determines it.
pub(crate) fn is_eager(program: &Program, machine: &Machine) -> bool {
    let analysis = Analysis::of(program, f64::from(program.system.processes));
    let fits = |bytes: &Value| match bytes {
        Value::Constant(bytes) => {
            let bytes = (bytes.max(0.0) + 0.5) as u64;
            machine.links().all(|link| bytes <= link.rendezvous_bytes)
        }
        Value::Further(_) => false,
    };
    program.operations.iter().all(|operation| match operation {
        Operation::Send { bytes, .. } => analysis
            .values(bytes)
            .is_some_and(|values| values.iter().all(fits)),
        _ => true,
    })
}

/// By variable: whether it determines the receiver of a message.
fn directs(program: &Program) -> Vec<bool> {
    let mut directs = vec![false; program.slots as usize];
    for operation in &program.operations {
        if let Operation::Send { to, .. } = operation {
            to.each_slot(&mut |slot| directs[slot as usize] = true);
        }
    }
    directs
}

/// By operation: the least work from it to the next message, and to the next one after a change of a variable
/// that determines receivers, nanoseconds.
fn work_before_send(operations: &[Operation], directs: &[bool]) -> Vec<[u32; 2]> {
    let first = least_work(operations, |_, operation| {
        matches!(operation, Operation::Send { .. }).then_some(0)
    });
    let redirected = least_work(operations, |at, operation| {
        match operation {
            Operation::Assign { slot, .. } if directs[*slot as usize] => Some(first[at]),
            // A loop's counter changes with each round: nothing lasts then.
            Operation::LoopStart { counter, .. } if directs[*counter as usize] => Some(0),
            Operation::LoopNext { counter, .. } if directs[*counter as usize] => Some(0),
            _ => None,
        }
    });
    let both = first.into_iter().zip(redirected);
    both.map(|(first, redirected)| [first, redirected.max(first)])
        .collect()
}

/// Least work from each operation to one that `end` gives a time for, including that time, nanoseconds: shortest paths
/// through the program.
fn least_work(
    operations: &[Operation],
    end: impl Fn(usize, &Operation) -> Option<u32>,
) -> Vec<u32> {
    let mut least = vec![u32::MAX; operations.len()];
    for _ in 0..MAX_ROUNDS {
        let mut changed = false;
        for (at, operation) in operations.iter().enumerate().rev() {
            let after = |at: usize| least.get(at).copied().unwrap_or(u32::MAX);
            let next = after(at + 1);
            let found = end(at, operation).unwrap_or_else(|| match operation {
                Operation::Compute { cost, .. } => match cost.constant() {
                    Some(cost) if cost > 0.0 => next.saturating_add((cost * 1e9) as u32),
                    _ => next,
                },
                Operation::Jump { target } => after(*target as usize),
                Operation::JumpUnless { target, .. } => next.min(after(*target as usize)),
                Operation::LoopStart { exit, .. } => next.min(after(*exit as usize)),
                Operation::LoopNext { start, .. } => next.min(after(*start as usize)),
                Operation::NoBranch { .. } | Operation::End => u32::MAX,
                _ => next,
            });
            changed |= found < least[at];
            least[at] = least[at].min(found);
        }
        if !changed {
            return least;
        }
    }
    // Not converged: the times found so far may be too long.
    vec![0; operations.len()]
}

struct Analysis {
    /// By place of the variable.
    variables: Vec<Values>,
    processes: f64,
}

impl Analysis {
    fn of(program: &Program, processes: f64) -> Self {
        let mut analysis = Self {
            variables: vec![Some(Vec::new()); program.slots as usize],
            processes,
        };
        for round in 0.. {
            let mut changed = false;
            for operation in &program.operations {
                match operation {
                    Operation::Assign { slot, value } => {
                        let values = analysis.values(value);
                        changed |= analysis.add(*slot, values);
                    }
                    Operation::LoopStart {
                        count,
                        counter,
                        limit,
                        ..
                    } => {
                        changed |= analysis.add(*counter, counted(count));
                        changed |= analysis.add(*limit, None);
                    }
                    Operation::Receive {
                        sender: Some(slot), ..
                    }
                    | Operation::WaitAny {
                        sender: Some(slot), ..
                    } => changed |= analysis.add(*slot, None),
                    _ => {}
                }
            }
            if !changed {
                break;
            }
            if round == MAX_ROUNDS {
                analysis.variables.fill(None);
                break;
            }
        }
        analysis
    }

    /// Adds values that a variable may have; whether any is new.
    fn add(&mut self, slot: u32, values: Values) -> bool {
        let Some(known) = &mut self.variables[slot as usize] else {
            return false;
        };
        let Some(values) = values else {
            self.variables[slot as usize] = None;
            return true;
        };
        let before = known.len();
        for value in values {
            if !known.contains(&value) {
                known.push(value);
            }
        }
        let changed = known.len() > before;
        if known.len() > MAX_VALUES {
            self.variables[slot as usize] = None;
        }
        changed
    }

    fn values(&self, code: &Compiled) -> Values {
        use Value::{Constant, Further};
        match code {
            Compiled::Constant(value) => Some(vec![Constant(*value)]),
            Compiled::Process => Some(vec![Further(0.0)]),
            Compiled::Slot(slot) => self.variables[*slot as usize].clone(),
            Compiled::Choice(parts) => {
                let mut values = self.values(&parts[1])?;
                values.extend(self.values(&parts[2])?);
                Some(values)
            }
            Compiled::Minus(x) => self.each(x, |x| match x {
                Constant(x) => Some(Constant(-x)),
                Further(_) => None,
            }),
            Compiled::Binary(operator, operands) => {
                let n = self.processes;
                self.pairs(operands, |a, b| binary(*operator, a, b, n))
            }
            Compiled::One(function, x) => self.each(x, |x| match x {
                Constant(x) => Some(Constant(function.apply(x, 0.0))),
                Further(_) => None,
            }),
            Compiled::Two(function, operands) => self.pairs(operands, |a, b| two(*function, a, b)),
            _ => None,
        }
    }

    fn each(&self, x: &Compiled, f: impl Fn(Value) -> Option<Value>) -> Values {
        self.values(x)?.into_iter().map(f).collect()
    }

    fn pairs(&self, operands: &[Compiled; 2], f: impl Fn(Value, Value) -> Option<Value>) -> Values {
        let (left, right) = (self.values(&operands[0])?, self.values(&operands[1])?);
        let mut values = Vec::new();
        for a in &left {
            for b in &right {
                let value = f(*a, *b)?;
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        (values.len() <= MAX_VALUES).then_some(values)
    }
}

/// The values of a loop's counter.
fn counted(count: &Compiled) -> Values {
    let rounds = count.constant()?.round();
    let few = (0.0..=MAX_VALUES as f64).contains(&rounds);
    few.then(|| {
        (0..rounds as u32)
            .map(|i| Value::Constant(f64::from(i)))
            .collect()
    })
}

fn two(function: Builtin, a: Value, b: Value) -> Option<Value> {
    match (a, b) {
        (Value::Constant(a), Value::Constant(b)) => Some(Value::Constant(function.apply(a, b))),
        _ => None,
    }
}

fn binary(operator: Binary, a: Value, b: Value, processes: f64) -> Option<Value> {
    use Value::{Constant, Further};
    Some(match (operator, a, b) {
        (Binary::Add, Further(a), Constant(b)) | (Binary::Add, Constant(b), Further(a)) => {
            Further(a + b)
        }
        (Binary::Subtract, Further(a), Constant(b)) => Further(a - b),
        (Binary::Modulo, Further(a), Constant(b)) if b == processes => Further(a),
        (_, Constant(a), Constant(b)) => Constant(operator.apply(a, b)),
        _ => return None,
    })
}

//! Programs that Rust code writes down, one process after the other: transformed models use it.
//!
//! The operations of a process do not depend on their times, so its code runs first, as plain Rust,
//! and writes down its operations; the engine then runs those. Memory is that of all operations; a
//! model that is to run on many processes is better simulated as it is.

use crate::expression::{
    Argument, Binary, Builtin, Compiled, Context, Expression, Kind, Resolver, Scope, Symbol,
};
use crate::flow::{GROUP_FIRST, GROUP_SIZE, GROUP_STRIDE};
use crate::lower::Lowering;
use crate::model::Model;
use crate::operation::{ElementInfo, Mode, Operation, Program, Region, STRUCTURE};
use crate::symbols::{ANY, NOBODY, System};
use mastermind_models::ModelSet;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

/// Most rounds of loops and operations of one process.
const MAX_OPERATIONS: usize = 100_000_000;

/// An element of a transformed model: its place in the table of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element(pub u32);

/// A loop or decision of a transformed model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Structure(pub u32);

/// Name, place and type of an element.
pub type Declared = (&'static str, &'static str, &'static str);

/// A process, or a thread of one, that writes down its operations.
#[derive(Debug)]
pub struct Recorder {
    /// Its rank.
    pub process: f64,
    /// Index of the thread in its parallel region, 0 outside of one.
    pub thread: f64,
    /// Threads of the region, 1 outside of one.
    pub threads: f64,
    /// Its node.
    pub node: f64,
    /// Processes.
    pub processes: f64,
    /// Nodes.
    pub nodes: f64,
    /// Processors of a node.
    pub processors: f64,
    /// The rank of nobody.
    pub none: f64,
    /// Any rank, or any tag, of a receive.
    pub any: f64,
    system: System,
    operations: Vec<Operation>,
    rounds: usize,
    is_endless: bool,
    /// First, size and stride of the group of the next collective.
    group: Option<[f64; 3]>,
}

/// The program of the operations that `process` writes down for each process.
///
/// # Arguments
/// * `name` - of the model
/// * `elements`, `structures` - the tables that [`Element`] and [`Structure`] are places of
pub fn record(
    name: &str,
    (elements, structures): (&[Declared], &[Declared]),
    system: System,
    process: impl Fn(&mut Recorder),
) -> Program {
    let info = |(name, place, kind): &Declared| ElementInfo {
        name: (*name).into(),
        place: (*place).into(),
        kind,
    };
    let mut program = Program {
        name: name.into(),
        system,
        operations: Vec::new(),
        starts: Vec::new(),
        // Of the counter of a loop that cannot begin.
        slots: 1,
        locks: 0,
        elements: elements.iter().map(info).collect(),
        structures: structures.iter().map(info).collect(),
    };
    for rank in 0..system.processes {
        let mut recorder = Recorder::new(rank, system);
        process(&mut recorder);
        let start = program.operations.len() as u32;
        program.starts.push(start);
        if recorder.is_endless {
            program.operations.push(Operation::Jump { target: start });
        }
        program.operations.append(&mut recorder.operations);
        program.operations.push(Operation::End);
    }
    let locks = program.operations.iter().map(locks_of);
    program.locks = locks.max().unwrap_or(0);
    program
}

/// Locks of an operation's region.
fn locks_of(operation: &Operation) -> u32 {
    match operation {
        Operation::Lock { lock } => lock + 1,
        Operation::Parallel(region) => region.operations.iter().map(locks_of).max().unwrap_or(0),
        _ => 0,
    }
}

impl Recorder {
    fn new(process: u32, system: System) -> Self {
        let per_node = system.processes_per_node();
        Self {
            process: f64::from(process),
            thread: 0.0,
            threads: 1.0,
            node: f64::from(process / per_node),
            processes: f64::from(system.processes),
            nodes: f64::from(system.nodes),
            processors: f64::from(system.processors),
            none: NOBODY,
            any: ANY,
            system,
            operations: Vec::new(),
            rounds: 0,
            is_endless: false,
            group: None,
        }
    }

    fn push(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    /// Takes the processor for a time, seconds.
    pub fn execute(&mut self, Element(element): Element, cost_s: f64) {
        let cost = Compiled::Constant(cost_s);
        self.push(Operation::Compute { cost, element });
    }

    /// Sends a message and waits until it is taken, if it is large.
    pub fn send(&mut self, element: Element, to: f64, bytes: f64, tag: f64) {
        self.send_as(Mode::Blocking, element, (to, bytes, tag));
    }

    /// Sends a message.
    pub fn isend(&mut self, element: Element, to: f64, bytes: f64, tag: f64) {
        self.send_as(Mode::Nonblocking, element, (to, bytes, tag));
    }

    fn send_as(&mut self, mode: Mode, Element(element): Element, message: (f64, f64, f64)) {
        let (to, bytes, tag) = message;
        self.push(Operation::Send {
            to: Compiled::Constant(to),
            bytes: Compiled::Constant(bytes),
            tag: Compiled::Constant(tag),
            mode,
            collective: false,
            element,
        });
    }

    /// Receives a message.
    pub fn recv(&mut self, element: Element, from: f64, tag: f64) {
        self.receive_as(Mode::Blocking, element, from, tag);
    }

    /// Begins to receive a message.
    pub fn irecv(&mut self, element: Element, from: f64, tag: f64) {
        self.receive_as(Mode::Nonblocking, element, from, tag);
    }

    fn receive_as(&mut self, mode: Mode, Element(element): Element, from: f64, tag: f64) {
        self.push(Operation::Receive {
            from: Compiled::Constant(from),
            tag: Compiled::Constant(tag),
            mode,
            collective: false,
            element,
            sender: None,
        });
    }

    /// Waits for the next of its nonblocking receives to be complete.
    pub fn waitany(&mut self, Element(element): Element) {
        let sender = None;
        self.push(Operation::WaitAny { sender, element });
    }

    /// Waits for all that it has begun.
    pub fn wait(&mut self, Element(element): Element) {
        let mode = Mode::Nonblocking;
        self.push(Operation::Wait { mode, element });
    }

    /// One process's bytes to all.
    pub fn broadcast(&mut self, element: Element, root: f64, bytes: f64) {
        self.collective("broadcast", element, root, bytes);
    }

    /// A reduction to one process.
    pub fn reduce(&mut self, element: Element, root: f64, bytes: f64) {
        self.collective("reduce", element, root, bytes);
    }

    /// A reduction to all.
    pub fn allreduce(&mut self, element: Element, bytes: f64) {
        self.collective("allreduce", element, 0.0, bytes);
    }

    /// Each process's bytes to each.
    pub fn alltoall(&mut self, element: Element, bytes: f64) {
        self.collective("alltoall", element, 0.0, bytes);
    }

    /// No process leaves before all have come.
    pub fn barrier(&mut self, element: Element) {
        self.collective("barrier", element, 0.0, 1.0);
    }

    /// Each process's part to one.
    pub fn gather(&mut self, element: Element, root: f64, bytes: f64) {
        self.collective("gather", element, root, bytes);
    }

    /// One process's parts, one to each.
    pub fn scatter(&mut self, element: Element, root: f64, bytes: f64) {
        self.collective("scatter", element, root, bytes);
    }

    /// Each process's part to all.
    pub fn allgather(&mut self, element: Element, bytes: f64) {
        self.collective("allgather", element, 0.0, bytes);
    }

    /// A reduction of which each process keeps a part.
    pub fn reducescatter(&mut self, element: Element, bytes: f64) {
        self.collective("reducescatter", element, 0.0, bytes);
    }

    /// A reduction over each process and those before it.
    pub fn scan(&mut self, element: Element, bytes: f64) {
        self.collective("scan", element, 0.0, bytes);
    }

    /// Has the next collective be one of a group: the ranks `first`, `first + stride`, and so on.
    pub fn group(&mut self, first: f64, size: f64, stride: f64) {
        self.group = Some([first, size, stride]);
    }

    /// Each of `threads` threads runs the body.
    pub fn parallel(&mut self, Element(element): Element, threads: f64, body: impl Fn(&mut Self)) {
        let whole = threads.round();
        let mut operations = Vec::new();
        for thread in 0..whole.clamp(0.0, 65_536.0) as u32 {
            let mut one = Self::new(self.process as u32, self.system);
            (one.thread, one.threads) = (f64::from(thread), whole);
            body(&mut one);
            let own = Compiled::Binary(
                Binary::Equal,
                Box::new([Compiled::Thread, Compiled::Constant(f64::from(thread))]),
            );
            let target = operations.len() + one.operations.len() + 2;
            operations.push(Operation::JumpUnless {
                condition: own,
                target: target as u32,
            });
            operations.append(&mut one.operations);
            operations.push(Operation::End);
        }
        operations.push(Operation::End);
        self.push(Operation::Parallel(Box::new(Region {
            threads: Compiled::Constant(threads),
            operations,
            element,
        })));
    }

    /// Takes a lock, in a parallel region.
    pub fn lock(&mut self, lock: u32) {
        self.push(Operation::Lock { lock });
    }

    /// Gives a lock back.
    pub fn unlock(&mut self, lock: u32) {
        self.push(Operation::Unlock { lock });
    }

    /// No guard of a decision holds: the simulation ends here, with an error.
    pub fn no_branch(&mut self, Structure(structure): Structure) {
        let element = STRUCTURE + structure;
        self.push(Operation::NoBranch { element });
    }

    /// Rounds of a loop; 0 and an error of the simulation if `count` is invalid.
    pub fn rounds(&mut self, Structure(structure): Structure, count: f64) -> u64 {
        let rounds = count.round();
        if rounds >= 0.0 {
            return rounds as u64;
        }
        self.push(Operation::LoopStart {
            count: Compiled::Constant(count),
            counter: 0,
            limit: 0,
            exit: 0,
            element: STRUCTURE + structure,
        });
        0
    }

    /// A round of a loop: false, and an error of the simulation, after more than any model has.
    pub fn goes_on(&mut self) -> bool {
        self.rounds += 1;
        if self.rounds + self.operations.len() < MAX_OPERATIONS {
            return true;
        }
        self.is_endless = true;
        self.operations.clear();
        false
    }

    /// A collective as the messages of this process.
    fn collective(&mut self, kind: &'static str, Element(element): Element, root: f64, bytes: f64) {
        let empty = Model {
            name: String::new(),
            main: String::new(),
            ranks: None,
            globals: Vec::new(),
            functions: BTreeMap::new(),
            activities: BTreeMap::new(),
        };
        let models = ModelSet::default();
        let mut lowering = Lowering::new(&empty, &models, self.system, false);
        let mut arguments = vec![
            ("root", Compiled::Constant(root)),
            ("bytes", Compiled::Constant(bytes)),
        ];
        let group = self.group.take().into_iter().flatten();
        let names = [GROUP_FIRST, GROUP_SIZE, GROUP_STRIDE];
        arguments.extend(names.into_iter().zip(group.map(Compiled::Constant)));
        lowering.put_in(kind, &arguments, element);
        lowering.push(Operation::End);
        self.unroll(&lowering.operations, lowering.slots_used());
    }

    /// Runs operations without time and writes down the others.
    fn unroll(&mut self, operations: &[Operation], slots: u32) {
        let mut slots = vec![0.0; slots as usize];
        let mut at = 0;
        loop {
            let context = Context {
                slots: &slots,
                process: self.process,
                thread: 0.0,
                threads: 1.0,
                node: self.node,
            };
            let value = |code: &Compiled| Compiled::Constant(code.evaluate(&context));
            let operation = &operations[at];
            at += 1;
            match operation {
                Operation::Assign { slot, value } => {
                    let value = value.evaluate(&context);
                    slots[*slot as usize] = value;
                }
                Operation::Jump { target } => at = *target as usize,
                Operation::JumpUnless { condition, target } => {
                    if !condition.is_true(&context) {
                        at = *target as usize;
                    }
                }
                Operation::Send {
                    to,
                    bytes,
                    tag,
                    mode,
                    collective,
                    element,
                } => {
                    let operation = Operation::Send {
                        to: value(to),
                        bytes: value(bytes),
                        tag: tag.clone(),
                        mode: *mode,
                        collective: *collective,
                        element: *element,
                    };
                    self.push(operation);
                }
                Operation::Receive {
                    from,
                    tag,
                    mode,
                    collective,
                    element,
                    sender,
                } => {
                    let operation = Operation::Receive {
                        from: value(from),
                        tag: tag.clone(),
                        mode: *mode,
                        collective: *collective,
                        element: *element,
                        sender: *sender,
                    };
                    self.push(operation);
                }
                Operation::End => return,
                other => self.push(other.clone()),
            }
        }
    }
}

/// Fitted models that the costs of a transformed model name.
#[derive(Debug)]
pub struct FittedModels {
    models: ModelSet,
    /// Requested models, by method and labels.
    compiled: Mutex<HashMap<String, Option<Compiled>>>,
}

impl FittedModels {
    /// Models of a file that `mastermind fit` or `mastermind convert` wrote; none for another file.
    pub fn read(text: &str) -> Self {
        Self {
            models: ModelSet::from_json(text).unwrap_or_default(),
            compiled: Mutex::default(),
        }
    }

    fn compile(
        &self,
        method: &str,
        labels: &[(&str, &str)],
        values: &[(&str, f64)],
    ) -> Option<Compiled> {
        let labels = labels
            .iter()
            .map(|(name, label)| ((*name).to_owned(), Argument::Label((*label).to_owned())));
        let value = |(name, _): &(&str, f64)| {
            let value = Argument::Value(Expression::Name((*name).to_owned()));
            ((*name).to_owned(), value)
        };
        let arguments = labels.chain(values.iter().map(value)).collect();
        let symbols = values.iter().zip(0..);
        let scope: Scope = symbols
            .map(|((name, _), slot)| ((*name).to_owned(), Symbol::Slot(slot, Kind::Number)))
            .collect();
        let resolver = Resolver {
            globals: &Scope::new(),
            functions: &BTreeMap::new(),
            models: &self.models,
        };
        let call = Expression::Fitted(method.to_owned(), arguments);
        resolver.compile_as(Kind::Number, &call, &scope).ok()
    }
}

/// Prediction of a fitted model, seconds; NaN, which the simulation refuses, if there is no such model.
///
/// # Arguments
/// * `labels` - of its parameters that are enumerations, `values` - of the others
pub fn fitted(
    models: &FittedModels,
    method: &str,
    labels: &[(&str, &str)],
    values: &[(&str, f64)],
) -> f64 {
    let key = format!("{method:?} {labels:?}");
    let mut compiled = models
        .compiled
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let compiled = compiled
        .entry(key)
        .or_insert_with(|| models.compile(method, labels, values));
    let slots: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let context = Context {
        slots: &slots,
        process: 0.0,
        thread: 0.0,
        threads: 1.0,
        node: 0.0,
    };
    compiled
        .as_ref()
        .map_or(f64::NAN, |compiled| compiled.evaluate(&context))
}

pub use crate::expression::{closed_queue, lopc};

/// `a % b` with the sign of `b`.
pub fn modulo(a: f64, b: f64) -> f64 {
    Binary::Modulo.apply(a, b)
}

/// The quotient rounded down.
pub fn div(a: f64, b: f64) -> f64 {
    Builtin::Div.apply(a, b)
}

/// Bitwise exclusive or of two whole numbers ≥ 0.
pub fn xor(a: f64, b: f64) -> f64 {
    Builtin::Xor.apply(a, b)
}

/// Bitwise and of two whole numbers ≥ 0.
pub fn bits(a: f64, b: f64) -> f64 {
    Builtin::Bits.apply(a, b)
}

/// Milliseconds as seconds.
pub fn ms(a: f64) -> f64 {
    Builtin::Ms.apply(a, 0.0)
}

/// Microseconds as seconds.
pub fn us(a: f64) -> f64 {
    Builtin::Us.apply(a, 0.0)
}

/// Nanoseconds as seconds.
pub fn ns(a: f64) -> f64 {
    Builtin::Ns.apply(a, 0.0)
}

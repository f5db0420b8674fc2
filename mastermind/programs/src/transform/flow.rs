//! The flow of elements as statements.
//!
//! The generated program is structured as the model is: an activity is a function, a loop a `for`,
//! a decision an `if`. It does not compute but records: each element calls a method of `p`, and
//! what it records is then simulated. Therefore anything that only a simulation knows, such as the
//! sender of a message received from any rank, cannot be written as Rust, and is an error here.
//!
//! ```text
//! loop "sweep" count = steps        for k in 0..p.rounds(SWEEP, g.steps) {
//!   action "work" cost = us(n)          let k = k as f64;
//!   send "east" to = process + 1        if !p.goes_on() { return; }
//!                                       p.execute(WORK, us(g.n));
//!                                       p.send(EAST, p.process + 1.0, …);
//!                                   }
//! ```
//!
//! Each round asks `p.goes_on()`, so that a loop that records without end is stopped. In a parallel
//! region each thread gets copies of the variables that the region assigns.

use std::collections::BTreeSet;

use super::expressions::{Scope, Symbol};
use super::names::Names;
use super::{TransformError, Writer};
use crate::expression::{Expression, Kind};
use crate::{Branch, Collective, Element, ElementInfo, ElementKind};

/// The surroundings of a flow that is being written: its place in the model, and the names in use.
pub(super) struct Flow<'n> {
    pub(super) place: String,
    pub(super) activities: &'n Names,
    pub(super) variables: Names,
}

impl Writer<'_> {
    pub(super) fn flow(
        &mut self,
        flow: &[Element],
        scope: &Scope,
        at: &mut Flow<'_>,
    ) -> Result<(), TransformError> {
        flow.iter()
            .try_for_each(|element| self.one(element, scope, at))
    }

    /// A flow inside an element.
    fn inside(
        &mut self,
        element: &Element,
        flow: &[Element],
        scope: &Scope,
        at: &mut Flow<'_>,
    ) -> Result<(), TransformError> {
        let place = format!("{}/{}", at.place, element.name);
        let outer = std::mem::replace(&mut at.place, place);
        self.flow(flow, scope, at)?;
        at.place = outer;
        Ok(())
    }

    /// The constant of an element, or of a loop or decision.
    fn constant(&self, element: &Element, at: &Flow<'_>, is_structure: bool) -> String {
        let (infos, names) = if is_structure {
            (&self.program.structures, &self.structures)
        } else {
            (&self.program.elements, &self.elements)
        };
        let same = |info: &ElementInfo| info.name == element.name && info.place == at.place;
        let found = infos.iter().position(same);
        found.map_or_else(String::new, |found| names[found].clone())
    }

    /// A statement of an element: a method and its arguments.
    fn call(
        &mut self,
        method: &str,
        element: &Element,
        arguments: &[&Expression],
        scope: &Scope,
        at: &Flow<'_>,
    ) -> Result<(), TransformError> {
        let mut line = format!("p.{method}({}", self.constant(element, at, false));
        for argument in arguments {
            line.push_str(", ");
            line.push_str(&self.expression(argument, scope)?);
        }
        self.line(&(line + ");"));
        Ok(())
    }

    fn one(
        &mut self,
        element: &Element,
        scope: &Scope,
        at: &mut Flow<'_>,
    ) -> Result<(), TransformError> {
        match &element.kind {
            ElementKind::Action { cost, code } => {
                for assignment in code {
                    let value = self.expression(&assignment.value, scope)?;
                    let place = scope.get(&assignment.name);
                    let place = place.map_or(assignment.name.as_str(), |s| s.rust.as_str());
                    self.line(&format!("{place} = {value};"));
                }
                match cost {
                    Some(cost) => self.call("execute", element, &[cost], scope, at),
                    None => Ok(()),
                }
            }
            ElementKind::Activity { activity } => {
                let name = at.activities.of(activity);
                self.line(&format!("{name}(p, g);"));
                Ok(())
            }
            ElementKind::Decision { branches } => self.decision(element, branches, scope, at),
            ElementKind::Loop {
                count,
                variable,
                flow,
            } => {
                let count = self.expression(count, scope)?;
                let name = self.constant(element, at, true);
                let mut body = scope.clone();
                let counter = variable.as_ref().map(|variable| {
                    let rust = at.variables.give(variable);
                    let symbol = Symbol::new(rust.clone(), Kind::Number);
                    body.insert(variable.clone(), symbol);
                    rust
                });
                let counter = counter.as_deref();
                let rust = counter.unwrap_or("_");
                self.open(&format!("for {rust} in 0..p.rounds({name}, {count}) {{"));
                if counter.is_some() {
                    self.line(&format!("let {rust} = {rust} as f64;"));
                }
                self.goes_on();
                self.inside(element, flow, &body, at)?;
                self.close("}");
                Ok(())
            }
            ElementKind::While { condition, flow } => {
                let condition = self.expression(condition, scope)?;
                self.open(&format!("while {condition} {{"));
                self.goes_on();
                self.inside(element, flow, scope, at)?;
                self.close("}");
                Ok(())
            }
            ElementKind::Parallel { threads, flow } => {
                self.parallel(element, threads, flow, scope, at)
            }
            ElementKind::Critical { lock, flow } => {
                let known = self.locks.iter().position(|known| known == lock);
                let index = known.unwrap_or_else(|| {
                    self.locks.push(lock.clone());
                    self.locks.len() - 1
                });
                self.line(&format!("p.lock({index});"));
                self.inside(element, flow, scope, at)?;
                self.line(&format!("p.unlock({index});"));
                Ok(())
            }
            _ => self.message(element, scope, at),
        }
    }

    fn message(
        &mut self,
        element: &Element,
        scope: &Scope,
        at: &Flow<'_>,
    ) -> Result<(), TransformError> {
        match &element.kind {
            ElementKind::Send {
                to,
                bytes,
                tag,
                blocking,
            } => {
                let method = if *blocking { "send" } else { "isend" };
                self.call(method, element, &[to, bytes, tag], scope, at)
            }
            ElementKind::Receive {
                sender: Some(_), ..
            }
            | ElementKind::WaitAny { sender: Some(_) } => Err(TransformError::Element {
                element: element.name.clone(),
                place: at.place.clone(),
                found: "a sender that only the run determines",
                expected: "none: the Rust program writes all down before it is simulated; simulate takes it",
            }),
            ElementKind::WaitAny { sender: None } => self.call("waitany", element, &[], scope, at),
            ElementKind::Receive {
                from,
                tag,
                blocking,
                sender: None,
            } => {
                let method = if *blocking { "recv" } else { "irecv" };
                self.call(method, element, &[from, tag], scope, at)
            }
            ElementKind::Wait => self.call("wait", element, &[], scope, at),
            ElementKind::Collective(collective) => self.collective(element, collective, scope, at),
            _ => Ok(()),
        }
    }

    fn collective(
        &mut self,
        element: &Element,
        collective: &Collective,
        scope: &Scope,
        at: &Flow<'_>,
    ) -> Result<(), TransformError> {
        let Collective {
            kind,
            root,
            bytes,
            group,
        } = collective;
        if let Some(group) = group {
            let parts = [&group.first, &group.size, &group.stride].map(|part| {
                // Each as an argument.
                self.expression(part, scope)
            });
            let [first, size, stride] = parts;
            self.line(&format!("p.group({}, {}, {});", first?, size?, stride?));
        }
        let mut arguments = Vec::new();
        if kind.has_root() {
            arguments.push(root);
        }
        if kind.has_bytes() {
            arguments.push(bytes);
        }
        self.call(kind.name(), element, &arguments, scope, at)
    }

    fn goes_on(&mut self) {
        self.open("if !p.goes_on() {");
        self.line("return;");
        self.close("}");
    }

    fn decision(
        &mut self,
        element: &Element,
        branches: &[Branch],
        scope: &Scope,
        at: &mut Flow<'_>,
    ) -> Result<(), TransformError> {
        let mut begin = String::new();
        for branch in branches {
            let Some(guard) = &branch.guard else {
                self.open(&format!("{begin}{{"));
                self.inside(element, &branch.flow, scope, at)?;
                self.close("}");
                return Ok(());
            };
            let guard = self.expression(guard, scope)?;
            self.open(&format!("{begin}if {guard} {{"));
            self.inside(element, &branch.flow, scope, at)?;
            // Without the closing bracket, which `} else` brings.
            self.depth -= 1;
            begin = "} else ".into();
        }
        let name = self.constant(element, at, true);
        self.open(&format!("{begin}{{"));
        self.line(&format!("p.no_branch({name});"));
        self.line("return;");
        self.close("}");
        Ok(())
    }

    fn parallel(
        &mut self,
        element: &Element,
        threads: &Expression,
        flow: &[Element],
        scope: &Scope,
        at: &mut Flow<'_>,
    ) -> Result<(), TransformError> {
        let threads = self.expression(threads, scope)?;
        let name = self.constant(element, at, false);
        self.open(&format!("p.parallel({name}, {threads}, |p| {{"));
        self.line("// Each thread has variables of its own.");
        self.line("let g = &mut g.clone();");
        let mut assigned = BTreeSet::new();
        crate::flow::assigned(flow, &mut assigned);
        for name in assigned {
            // Globals are fields of `g`, which was cloned as a whole.
            if let Some(symbol) = scope.get(name).filter(|s| !s.rust.contains('.')) {
                let rust = symbol.rust.clone();
                self.line(&format!("let mut {rust} = {rust};"));
            }
        }
        self.inside(element, flow, scope, at)?;
        self.close("});");
        Ok(())
    }
}

//! Activities of each process over time, in the formats of trace viewers.
//!
//! Perfetto's JSON is the format of Chrome's trace events: complete events in microseconds. Paje is
//! the self-defining text format of the viewer of that name and of ViTE: a container per process, a
//! state per element, times in seconds and in order.
//!
//! # Source
//! Google, "Trace Event Format"; B. de Oliveira Stein, J. Chassin de Kergommeaux, "Pajé trace file
//! format", 2013.

use std::io::{self, Write};

use crate::engine::Slice;
use mastermind_programs::ElementInfo;

/// Writes slices as Perfetto's JSON, one line each, as they come.
pub struct Perfetto<'a, W> {
    out: W,
    elements: &'a [ElementInfo],
}

impl<'a, W: Write> Perfetto<'a, W> {
    /// Begins the trace.
    ///
    /// # Errors
    /// The writer's.
    pub fn new(mut out: W, elements: &'a [ElementInfo], title: &str) -> io::Result<Self> {
        let title = serde_json::Value::from(title);
        writeln!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        write!(
            out,
            "{{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{{\"name\":{title}}}}}"
        )?;
        Ok(Self { out, elements })
    }

    /// Adds a slice.
    ///
    /// # Errors
    /// The writer's.
    pub fn slice(&mut self, slice: Slice) -> io::Result<()> {
        let info = &self.elements[slice.element as usize];
        let name = serde_json::Value::from(info.name.as_str());
        let place = serde_json::Value::from(info.place.as_str());
        let us = |ns: u64| ns as f64 / 1000.0;
        write!(
            self.out,
            ",\n{{\"ph\":\"X\",\"pid\":0,\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{name},\"cat\":\"{}\",\"args\":{{\"place\":{place}}}}}",
            slice.process,
            us(slice.begin_ns),
            us(slice.end_ns - slice.begin_ns),
            info.kind
        )
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The writer's.
    pub fn finish(mut self) -> io::Result<()> {
        writeln!(self.out, "\n]}}")?;
        self.out.flush()
    }
}

/// The head of a Paje file: the events that are used and their fields.
const PAJE: &str = "%EventDef PajeDefineContainerType 0
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineStateType 1
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineEntityValue 2
% Alias string
% Type string
% Name string
% Color color
%EndEventDef
%EventDef PajeCreateContainer 3
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeDestroyContainer 4
% Time date
% Type string
% Name string
%EndEventDef
%EventDef PajePushState 5
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajePopState 6
% Time date
% Type string
% Container string
%EndEventDef
0 P 0 Process
1 S P Element
";

/// Writes slices as a Paje file; they are sorted first.
///
/// # Arguments
/// * `processes` - how many there are
///
/// # Errors
/// The writer's.
pub fn paje(
    out: &mut impl Write,
    elements: &[ElementInfo],
    processes: u32,
    slices: &[Slice],
) -> io::Result<()> {
    out.write_all(PAJE.as_bytes())?;
    for (i, info) in elements.iter().enumerate() {
        let name = info.name.replace('"', "'");
        let [r, g, b] = colour(i);
        writeln!(out, "2 E{i} S \"{name}\" \"{r:.2} {g:.2} {b:.2}\"")?;
    }
    for process in 0..processes {
        writeln!(out, "3 0.000000000 p{process} P 0 \"process {process}\"")?;
    }
    // Ends before begins of the same time; a slice without time is left out.
    let mut events: Vec<(u64, u8, usize)> = Vec::with_capacity(slices.len() * 2);
    for (i, slice) in slices.iter().enumerate() {
        let is_empty = slice.begin_ns == slice.end_ns;
        if !is_empty {
            events.push((slice.begin_ns, 1, i));
            events.push((slice.end_ns, 0, i));
        }
    }
    events.sort_unstable();
    let mut last_ns = 0;
    for (at_ns, is_begin, i) in events {
        let Slice {
            process, element, ..
        } = slices[i];
        let seconds = at_ns as f64 / 1e9;
        last_ns = last_ns.max(at_ns);
        if is_begin == 1 {
            writeln!(out, "5 {seconds:.9} S p{process} E{element}")?;
        } else {
            writeln!(out, "6 {seconds:.9} S p{process}")?;
        }
    }
    let seconds = last_ns as f64 / 1e9;
    for process in 0..processes {
        writeln!(out, "4 {seconds:.9} P p{process}")?;
    }
    out.flush()
}

/// A colour for an element, red, green and blue from 0 to 1.
fn colour(element: usize) -> [f64; 3] {
    let part = |shift: usize| (((element * 37 + shift * 83) % 97) as f64 / 97.0) * 0.7 + 0.2;
    [part(1), part(2), part(3)]
}

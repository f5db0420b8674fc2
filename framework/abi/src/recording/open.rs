//! Open calls of a thread: what the recorder does if a call's frame is not the expected one.
//!
//! ```text
//! a signal handler calls while the code that records is at work     its call is counted, and not recorded
//! longjmp or the end of a thread has left calls                     they are closed: counted, and not recorded
//! longjmp has left the code that records, out of a handler          the same
//! a coroutine's call ends after it was treated as left              it is recorded after all
//! a handler calls on an alternate stack                             the addresses of the two stacks are not compared
//! ```

use std::sync::atomic::Ordering;

use super::context::{FRAME_SHIFT, NO_FRAME, OpenCall, RecordingContext, marked};

/// A call that was left without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftCall {
    /// Its call path; 0 if it is unknown.
    pub path: u32,
    /// Its start, clock ticks.
    pub start: u64,
    /// Where on the stack it began.
    pub frame: i64,
    /// Calls that were left with it and have no room in the header: its call path's caller, that caller's caller,
    /// and so on.
    pub n_callers: u64,
}

impl LeftCall {
    /// Whether both are the same call; `other` may have a more precise frame.
    pub fn is(&self, other: &Self) -> bool {
        let place = |call: &Self| (call.frame as u64) << FRAME_SHIFT;
        self.start == other.start && place(self) == place(other)
    }

    fn unknown(frame: i64) -> Self {
        Self {
            path: 0,
            start: 0,
            frame,
            n_callers: 0,
        }
    }
}

/// Outcome of a call that begins where another frame was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// It is recorded, within the innermost call that is still open.
    Recorded,
    /// It interrupts the code that records.
    Counted,
}

/// Outcome of a call that ends where another frame was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// It interrupts the code that records.
    Counted = 0,
    /// It is recorded; it is the innermost open call now.
    Innermost = 1,
    /// It is recorded; it is not among the open calls.
    Alone = 2,
}

/// The alternate signal stack that the calling thread is on: its first address and the one behind it; `None` if it is on none.
#[cfg(target_os = "linux")]
fn alternate_stack() -> Option<(i64, i64)> {
    // SAFETY: zeros are a valid description, which the call fills in.
    let stack = unsafe {
        let mut stack: libc::stack_t = std::mem::zeroed();
        libc::sigaltstack(std::ptr::null(), &raw mut stack);
        stack
    };
    let begin = stack.ss_sp.addr() as i64;
    (stack.ss_flags & libc::SS_ONSTACK != 0).then(|| (begin, begin + stack.ss_size as i64))
}

#[cfg(not(target_os = "linux"))]
fn alternate_stack() -> Option<(i64, i64)> {
    None
}

/// Whether a call at `now` proves that the one at `frame` was left: it does not if only the new call runs on an
/// alternate signal stack.
fn is_left(frame: i64, now: i64) -> bool {
    frame != NO_FRAME
        && frame <= now
        && alternate_stack().is_none_or(|(begin, end)| (begin..end).contains(&frame))
}

impl RecordingContext {
    /// Calls that have begun and not ended.
    pub fn n_open_calls(&self) -> usize {
        self.open_calls().len() + self.n_deeper as usize
    }

    /// Those that the header has room for, outermost first.
    fn open_calls(&self) -> &[OpenCall] {
        if self.cells.is_null() {
            return &[];
        }
        // SAFETY: the top lies among the open calls of the cells, or behind the last one.
        unsafe {
            let open = &(*self.cells).open;
            &open[..self.top.offset_from_unsigned(open.as_ptr())]
        }
    }

    /// The frame of the innermost call that the header has room for.
    ///
    /// # Arguments
    /// * `near` - an address of the same stack
    fn innermost(&self, near: i64) -> i64 {
        let last = self.open_calls().last();
        last.map_or(NO_FRAME, |open| open.frame(near))
    }

    /// Closes the calls without room in the header. The call path of the innermost one determines those around it.
    fn close_deeper(&mut self, left: &mut impl FnMut(LeftCall)) {
        if self.n_deeper > 0 {
            left(LeftCall {
                path: self.parent as u32,
                n_callers: self.n_deeper - 1,
                ..LeftCall::unknown(NO_FRAME)
            });
            self.n_deeper = 0;
        }
    }

    /// Closes the innermost call, with all that the header has no room for.
    fn close(&mut self, near: i64, left: &mut impl FnMut(LeftCall)) {
        self.close_deeper(left);
        let Some(open) = self.open_calls().last() else {
            return;
        };
        let call = LeftCall {
            path: open.path(),
            start: open.start.load(Ordering::Relaxed),
            frame: open.frame(near),
            n_callers: 0,
        };
        let place = std::ptr::from_ref(open);
        // SAFETY: it is the last one.
        unsafe { self.pop_open_call(place) };
        left(call);
    }

    /// Continues in the innermost call that is open.
    fn go_on(&mut self, near: i64) {
        if self.n_deeper == 0 {
            let last = self.open_calls().last();
            self.parent = last.map_or(0, |open| u64::from(open.path()));
        }
        self.unmark(self.innermost(near));
    }

    /// Closes the calls that a call at `now` proves to have been left. Those without room in the header are closed
    /// together with the innermost one, because their begin is unknown.
    fn close_left(&mut self, now: i64, left: &mut impl FnMut(LeftCall)) {
        self.close_deeper(left);
        while is_left(self.innermost(now), now) {
            self.close(now, left);
        }
        self.go_on(now);
    }

    /// Puts the context right where the code that records was left at work, by a handler's `longjmp`.
    ///
    /// # Returns
    /// Whether it may be used: not where the calling code interrupts the code that records.
    fn take_over(&mut self, now: i64, left: &mut impl FnMut(LeftCall)) -> bool {
        let Some((frame, begins)) = marked(self.frame.load(Ordering::Relaxed)) else {
            return true;
        };
        if !is_left(frame, now) {
            return false;
        }
        // A call that ends is open up to the moment in which its record is there.
        if begins && self.innermost(frame) != frame {
            left(LeftCall::unknown(frame));
        }
        true
    }

    /// For a call that begins at a stack address which is not below the frame of the innermost call.
    ///
    /// # Arguments
    /// * `now` - that address
    /// * `left` - gets the calls that were left, which are closed by then
    pub fn begin_out_of_order(&mut self, now: i64, mut left: impl FnMut(LeftCall)) -> Begins {
        if !self.take_over(now, &mut left) {
            return Begins::Counted;
        }
        // The innermost call's former frame, if the header has no room for the call.
        let frame = self.frame.load(Ordering::Relaxed);
        if is_left(self.innermost(now), now) || (frame >= 0 && is_left(frame, now)) {
            self.close_left(now, &mut left);
        } else {
            self.go_on(now);
        }
        Begins::Recorded
    }

    /// For a call that ends while the innermost frame is another one's.
    ///
    /// # Arguments
    /// * `call` - the call; its path does not matter
    /// * `now` - the stack address at which it ends: its frame, unless it has no place on the stack
    /// * `left` - gets the calls that were left, which are closed by then
    pub fn end_out_of_order(
        &mut self,
        call: LeftCall,
        now: i64,
        mut left: impl FnMut(LeftCall),
    ) -> Ends {
        if !self.take_over(now, &mut left) {
            return Ends::Counted;
        }
        let is_call = |open: &OpenCall| {
            open.is_at(call.frame) && open.start.load(Ordering::Relaxed) == call.start
        };
        let Some(place) = self.open_calls().iter().rposition(is_call) else {
            // Calls without room in the header cannot be distinguished.
            if self.n_deeper == 0 || marked(self.frame.load(Ordering::Relaxed)).is_some() {
                self.go_on(now);
            }
            return Ends::Alone;
        };
        self.close_deeper(&mut left);
        while self.n_open_calls() > place + 1 {
            self.close(now, &mut left);
        }
        self.go_on(now);
        Ends::Innermost
    }

    /// Continues outside of all measured calls, but for an outermost one that belongs to no place of the stack: the whole program, which
    /// outlives the thread that it began in.
    ///
    /// # Arguments
    /// * `left` - gets the calls that were open
    pub fn leave_all_calls(&mut self, mut left: impl FnMut(LeftCall)) {
        let outermost = self.open_calls().first();
        let n_kept = usize::from(outermost.is_some_and(|open| open.is_at(NO_FRAME)));
        while self.n_open_calls() > n_kept {
            self.close(0, &mut left);
        }
        self.go_on(0);
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::super::context::{LogCells, MAX_OPEN_CALLS, begin_mark, end_mark};
    use super::*;

    /// A context with calls open in these frames, whose paths count from 1.
    struct Scratch {
        context: Box<RecordingContext>,
        cells: Box<LogCells>,
    }

    fn open(frames: &[i64]) -> Scratch {
        // SAFETY: zeros are valid for both.
        let mut scratch = unsafe {
            Scratch {
                context: Box::new(std::mem::zeroed()),
                cells: Box::new(std::mem::zeroed()),
            }
        };
        // SAFETY: the cells live as long as the context.
        unsafe { scratch.context.open_in(ptr::from_ref(&*scratch.cells)) };
        for (place, frame) in frames.iter().enumerate() {
            let path = place as u32 + 1;
            let context = &mut scratch.context;
            match context.top < context.top_end {
                // SAFETY: the context has cells, and there is room.
                true => unsafe {
                    let top = context.top;
                    context.push_open_call(top, path, u64::from(path), *frame);
                },
                false => context.n_deeper += 1,
            }
            context.parent = u64::from(path);
            context.unmark(*frame);
        }
        scratch
    }

    fn begins(scratch: &mut Scratch, now: i64) -> (Begins, Vec<u32>) {
        let mut left = Vec::new();
        let context = &mut scratch.context;
        (
            context.begin_out_of_order(now, |call| left.push(call.path)),
            left,
        )
    }

    fn ends(scratch: &mut Scratch, path: u32, frame: i64) -> (Ends, Vec<u32>) {
        ends_at(scratch, path, frame, frame)
    }

    fn ends_at(scratch: &mut Scratch, path: u32, frame: i64, now: i64) -> (Ends, Vec<u32>) {
        let (mut left, start) = (Vec::new(), u64::from(path));
        let call = LeftCall {
            path,
            start,
            frame,
            n_callers: 0,
        };
        let context = &mut scratch.context;
        (
            context.end_out_of_order(call, now, |call| left.push(call.path)),
            left,
        )
    }

    #[test]
    fn a_call_further_up_the_stack_closes_those_that_were_left() {
        let mut scratch = open(&[9000, 8000, 7000]);
        assert_eq!(begins(&mut scratch, 8000), (Begins::Recorded, vec![3, 2]));
        assert_eq!(
            (scratch.context.parent, scratch.context.n_open_calls()),
            (1, 1)
        );
        let paths = scratch.cells.open.iter().take(3);
        let paths: Vec<_> = paths.map(OpenCall::path).collect();
        assert_eq!(paths, [1, 0, 0]);
        assert_eq!(begins(&mut scratch, 9008), (Begins::Recorded, vec![1]));
        assert_eq!(
            (scratch.context.parent, scratch.context.innermost(0)),
            (0, NO_FRAME)
        );
    }

    #[test]
    fn a_call_that_belongs_to_no_place_of_the_stack_is_never_left() {
        let mut scratch = open(&[NO_FRAME, 8000]);
        assert_eq!(begins(&mut scratch, 9000), (Begins::Recorded, vec![2]));
        assert_eq!(scratch.context.parent, 1);
        // Its end gives no information on calls around it, on whichever side of a gap their
        // addresses are.
        for near in [8000, i64::from(u32::MAX) * 8 - 80] {
            let mut scratch = open(&[near, NO_FRAME, near - 1000]);
            let ended = ends_at(&mut scratch, 2, NO_FRAME, near - 2000);
            assert_eq!(ended, (Ends::Innermost, vec![3]));
            let mut scratch = open(&[near]);
            let ended = ends_at(&mut scratch, 2, NO_FRAME, near - 2000);
            assert_eq!(ended, (Ends::Alone, vec![]));
            assert_eq!(scratch.context.frame.load(Ordering::Relaxed), near);
        }
        // It interrupts the code that records, and does not take over.
        let mut scratch = open(&[NO_FRAME]);
        scratch.context.mark(begin_mark(7000));
        let ended = ends_at(&mut scratch, 1, NO_FRAME, 6000);
        assert_eq!(ended, (Ends::Counted, vec![]));
    }

    #[test]
    fn a_call_from_a_handler_that_interrupts_the_code_that_records_is_counted() {
        for mark in [begin_mark(7000), end_mark(7000)] {
            let mut scratch = open(&[9000]);
            scratch.context.mark(mark);
            assert_eq!(begins(&mut scratch, 6000), (Begins::Counted, vec![]));
            assert_eq!(scratch.context.frame.load(Ordering::Relaxed), mark);
            assert_eq!(scratch.context.parent, 1);
        }
    }

    #[test]
    fn code_that_records_and_was_left_is_taken_over() {
        // Before the call was open, and when it was.
        let mut scratch = open(&[9000]);
        scratch.context.mark(begin_mark(7000));
        assert_eq!(begins(&mut scratch, 7000), (Begins::Recorded, vec![0]));
        let mut scratch = open(&[9000, 7000]);
        scratch.context.mark(begin_mark(7000));
        assert_eq!(begins(&mut scratch, 7000), (Begins::Recorded, vec![2]));
        // Before the record was written, and after.
        let mut scratch = open(&[9000, 7000]);
        scratch.context.mark(end_mark(7000));
        assert_eq!(begins(&mut scratch, 8000), (Begins::Recorded, vec![2]));
        let mut scratch = open(&[9000]);
        scratch.context.mark(end_mark(7000));
        assert_eq!(begins(&mut scratch, 8000), (Begins::Recorded, vec![]));
        assert_eq!(scratch.context.parent, 1);
    }

    #[test]
    fn the_whole_program_outlives_the_thread_that_it_began_in() {
        for (frames, kept) in [
            (&[NO_FRAME, 8000, 7000][..], 1),
            (&[9000, NO_FRAME, 7000], 0),
        ] {
            let (mut scratch, mut left) = (open(frames), 0);
            scratch.context.leave_all_calls(|_| left += 1);
            assert_eq!((left, scratch.context.n_open_calls()), (3 - kept, kept));
            assert_eq!(scratch.context.parent, kept as u64);
        }
    }

    #[test]
    fn a_call_that_ends_closes_those_that_were_left_within_it() {
        let mut scratch = open(&[9000, 8000, 7000]);
        assert_eq!(ends(&mut scratch, 1, 9000), (Ends::Innermost, vec![3, 2]));
        assert_eq!(ends(&mut scratch, 3, 7000), (Ends::Alone, vec![]));
        assert_eq!(scratch.context.parent, 1);
    }

    #[test]
    fn calls_deeper_than_the_header_are_closed_with_the_innermost() {
        let frames: Vec<i64> = (0..MAX_OPEN_CALLS as i64 + 3)
            .map(|n| 9000 - 8 * n)
            .collect();
        let mut scratch = open(&frames);
        let mut left = Vec::new();
        let how = scratch
            .context
            .begin_out_of_order(frames[MAX_OPEN_CALLS - 1], |call| {
                left.push((call.path, call.n_callers));
            });
        let n = MAX_OPEN_CALLS as u32;
        assert_eq!((how, left), (Begins::Recorded, vec![(n + 3, 2), (n, 0)]));
        let mut left = 0;
        scratch.context.leave_all_calls(|_| left += 1);
        assert_eq!(
            (left, scratch.context.innermost(0)),
            (MAX_OPEN_CALLS - 1, NO_FRAME)
        );
    }
}

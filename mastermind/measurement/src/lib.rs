//! Clocks and the recording context of each thread.

//! The Mastermind component.

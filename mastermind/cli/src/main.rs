//! The `mastermind` command.

fn main() {}

//! The `mastermind` command: the only place that prints, reads the environment, or exits.
//!
//! `commands/` has one file a verb; each returns what its exit code is to be, or an error, which is worded here.

mod commands;
mod errors;
mod output;
mod session;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures the components of an application, models them, and chooses the best of each.
#[derive(Parser)]
#[command(name = "mastermind", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Doctor(commands::doctor::Doctor),
    List(commands::list::List),
    Describe(commands::describe::Describe),
    Check(commands::check::Check),
    Run(commands::run::Run),
    Profile(commands::profile::Profile),
    Export(commands::export::Export),
    Fit(commands::fit::Fit),
    Choose(commands::choose::Choose),
    Simulate(commands::simulate::Simulate),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().verb {
        Verb::Doctor(verb) => verb.execute(),
        Verb::List(verb) => verb.execute(),
        Verb::Describe(verb) => verb.execute(),
        Verb::Check(verb) => verb.execute(),
        Verb::Run(verb) => verb.execute(),
        Verb::Profile(verb) => verb.execute(),
        Verb::Export(verb) => verb.execute(),
        Verb::Fit(verb) => verb.execute(),
        Verb::Choose(verb) => verb.execute(),
        Verb::Simulate(verb) => verb.execute(),
    };
    result.unwrap_or_else(|error| {
        eprint!("{}", errors::worded(&error));
        ExitCode::FAILURE
    })
}

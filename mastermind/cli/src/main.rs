//! The `mastermind` command: the only place that prints, reads the environment, or exits.
//!
//! `commands/` has one file for each verb; each returns its exit code, or an error, which is worded here.

mod beside_logs;
mod by_settings;
mod call_site;
mod carried;
mod commands;
mod completing;
mod criterion_folder;
mod destination;
mod dispatching;
mod errors;
mod figures;
mod held_out;
mod help;
mod machine_file;
mod measurements;
mod near;
mod output;
mod recorded_dispatch;
mod recorded_dry;
mod recorded_run;
mod recorded_runs;
mod renamed;
mod run_facts;
mod run_notes;
mod session;
mod shipped;
mod trace;
mod unseen_calls;

use std::process::ExitCode;

use cca_loader::ExitWatch;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Measures the components of an application, models them, and chooses the best of each.
#[derive(Parser)]
#[command(
    name = "mastermind",
    version,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    /// Print completions for a shell, as the verb completions does
    #[arg(
        long,
        value_name = "SHELL",
        exclusive = true,
        hide_possible_values = true
    )]
    completions: Option<clap_complete::Shell>,
    #[command(flatten)]
    manners: output::Manners,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    Doctor(commands::doctor::Doctor),
    List(commands::list::List),
    Describe(commands::describe::Describe),
    Check(commands::check::Check),
    Graph(commands::graph::Graph),
    New(commands::new::New),
    Examples(commands::examples::Examples),
    Run(commands::run::Run),
    Shell(commands::shell::Shell),
    Profile(commands::profile::Profile),
    Info(commands::info::Info),
    Compare(commands::compare::Compare),
    History(commands::history::History),
    Export(commands::export::Export),
    Pack(commands::pack::Pack),
    Plot(commands::plot::Plot),
    Report(commands::report::Report),
    Fit(commands::fit::Fit),
    Predict(Box<commands::predict::Predict>),
    Carry(Box<commands::carry::Carry>),
    Choose(Box<commands::choose::Choose>),
    Plan(commands::plan::Plan),
    Recommend(Box<commands::recommend::Recommend>),
    Simulate(commands::simulate::Simulate),
    Calibrate(commands::calibrate::Calibrate),
    Machine(commands::machine::Machine),
    System(commands::system::System),
    Queue(commands::queue::Queue),
    Serve(commands::serve::Serve),
    Convert(commands::convert::Convert),
    Wrap(commands::wrap::Wrap),
    Proxy(commands::proxy::Proxy),
    Redirect(commands::redirect::Redirect),
    Signature(commands::signature::Signature),
    Suggest(commands::suggest::Suggest),
    Correct(Box<commands::correct::Correct>),
    Completions(commands::completions::Completions),
    Man(commands::man::Man),
}

impl Verb {
    /// Whether it handles by itself being started as several ranks; any other verb runs on the first rank only.
    fn knows_ranks(&self) -> bool {
        let runs = matches!(self, Verb::Run(_) | Verb::Wrap(_) | Verb::Calibrate(_));
        runs || matches!(
            self,
            Verb::Profile(_)
                | Verb::Fit(_)
                | Verb::Info(_)
                | Verb::Compare(_)
                | Verb::Export(_)
                | Verb::Report(_)
        )
    }
}

fn main() -> ExitCode {
    if session::trial::is_asked() {
        return session::trial::serve();
    }
    if session::asking::is_asked() {
        return session::asking::serve();
    }
    completing::answer(|| help::grouped(Arguments::command()));
    cca_loader::try_libraries_with(session::trial::try_library);
    cca_loader::report_crashes();
    let _watch = ExitWatch::begin(session::last_words);
    let (given, note) = renamed::present(std::env::args_os());
    let color = output::color_of(&given);
    output::set_color(color);
    output::set_quiet(output::is_quiet_of(&given));
    if let Some(note) = note {
        output::complain!("{note}");
    }
    let command = help::grouped(Arguments::command()).color(color.into());
    let parsed = command.try_get_matches_from(given);
    let parsed = parsed.and_then(|matches| {
        let name = matches.subcommand_name().unwrap_or("mastermind").to_owned();
        Ok((Arguments::from_arg_matches(&matches)?, name))
    });
    let (arguments, name) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return output::usage(&error),
    };
    output::set_quiet(arguments.manners.quiet);
    let verb = match (arguments.verb, arguments.completions) {
        (Some(verb), _) => verb,
        (None, Some(shell)) => Verb::Completions(commands::completions::Completions { shell }),
        // Without any argument the help is shown above.
        (None, None) => return ExitCode::from(2),
    };
    if !verb.knows_ranks() && session::team::first_alone(&name).is_err() {
        return output::finish(ExitCode::SUCCESS);
    }
    let result = match verb {
        Verb::Doctor(verb) => verb.execute(),
        Verb::List(verb) => verb.execute(),
        Verb::Describe(verb) => verb.execute(),
        Verb::Check(verb) => verb.execute(),
        Verb::Graph(verb) => verb.execute(),
        Verb::New(verb) => verb.execute(),
        Verb::Examples(verb) => verb.execute(),
        Verb::Run(verb) => verb.execute(),
        Verb::Shell(verb) => verb.execute(),
        Verb::Profile(verb) => verb.execute(),
        Verb::Info(verb) => verb.execute(),
        Verb::Compare(verb) => verb.execute(),
        Verb::History(verb) => verb.execute(),
        Verb::Export(verb) => verb.execute(),
        Verb::Pack(verb) => verb.execute(),
        Verb::Plot(verb) => verb.execute(),
        Verb::Report(verb) => verb.execute(),
        Verb::Fit(verb) => verb.execute(),
        Verb::Predict(verb) => verb.execute(),
        Verb::Carry(verb) => verb.execute(),
        Verb::Choose(verb) => verb.execute(),
        Verb::Plan(verb) => verb.execute(),
        Verb::Recommend(verb) => verb.execute(),
        Verb::Simulate(verb) => verb.execute(),
        Verb::Calibrate(verb) => verb.execute(),
        Verb::Machine(verb) => verb.execute(),
        Verb::System(verb) => verb.execute(),
        Verb::Queue(verb) => verb.execute(),
        Verb::Serve(verb) => verb.execute(),
        Verb::Convert(verb) => verb.execute(),
        Verb::Wrap(verb) => verb.execute(),
        Verb::Proxy(verb) => verb.execute(),
        Verb::Redirect(verb) => verb.execute(),
        Verb::Signature(verb) => verb.execute(),
        Verb::Suggest(verb) => verb.execute(),
        Verb::Correct(verb) => verb.execute(),
        Verb::Completions(verb) => verb.execute(),
        Verb::Man(verb) => verb.execute(help::grouped(Arguments::command())),
    };
    let code = result.unwrap_or_else(|error| {
        output::message(&errors::worded(&error));
        if error.is::<session::framework::Quiet>() {
            // Launchers end all ranks at the first that fails: that should be the one that reports why.
            ExitCode::SUCCESS
        } else if error.is::<errors::WrongUse>() {
            ExitCode::from(2)
        } else {
            ExitCode::FAILURE
        }
    });
    output::finish(code)
}

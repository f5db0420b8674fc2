//! The help of the program as a whole: its verbs by purpose, those of the first hour first.

use std::fmt::Write;

use clap::Command;

/// The verbs, by purpose; a test checks that they are complete.
const GROUPS: [(&str, &[&str]); 8] = [
    ("Measure", &["run", "wrap", "doctor"]),
    (
        "See what was recorded",
        &[
            "profile", "info", "compare", "history", "plot", "report", "export", "pack",
        ],
    ),
    ("In a browser", &["serve"]),
    ("Model", &["fit", "predict", "suggest", "correct"]),
    ("Choose", &["choose", "plan", "recommend"]),
    (
        "Components and assemblies",
        &[
            "list", "describe", "check", "graph", "new", "examples", "shell",
        ],
    ),
    ("Proxies of other libraries", &["proxy", "redirect"]),
    (
        "Larger machines",
        &[
            "simulate",
            "system",
            "queue",
            "calibrate",
            "machine",
            "carry",
            "signature",
            "convert",
        ],
    ),
];

/// Verbs for packagers of this program.
const FOR_PACKAGES: (&str, &[&str]) = ("For packages", &["completions", "man"]);

const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

/// Maximum number of characters of a verb's description: a line of 100 columns has 14 before it.
#[cfg(test)]
const MAX_ABOUT: usize = 86;

const AFTER: &str = "mastermind VERB --help describes each, with an example. The first two commands of most users:\n\n  \
                     mpirun -n 4 mastermind wrap --records records -- PROGRAM\n  mastermind profile records";

/// Options that few readers need, under a heading of their own: the verb, the heading (`None` for the general one), and
/// the options.
const HEADINGS: [(&str, Option<&str>, &[&str]); 16] = [
    (
        "run",
        Some("Recording"),
        &[
            "records-limit",
            "records-local",
            "counters",
            "clock",
            "mpi-events",
            "cpu",
            "pack",
            "keep-logs",
        ],
    ),
    (
        "run",
        Some("Choosing while it runs"),
        &[
            "adapt",
            "models",
            "explore",
            "dispatch",
            "adapt-patience",
            "redirectable",
        ],
    ),
    ("run", Some("Scripts"), &["strict", "enable-shell"]),
    ("run", Some("After the run"), &["try", "history", "commit"]),
    (
        "wrap",
        Some("Libraries that have a proxy"),
        &["proxy", "use", "adapt", "explore", "strict"],
    ),
    (
        "wrap",
        Some("Recording"),
        &[
            "records-limit",
            "cpu",
            "call-sites",
            "set",
            "pack",
            "keep-logs",
        ],
    ),
    ("wrap", Some("After the run"), &["try", "history", "commit"]),
    ("fit", None, &["format", "shown", "json"]),
    ("plot", None, &["output", "force", "size"]),
    (
        "choose",
        Some("Other runs"),
        &["runs", "earlier", "set", "ranks"],
    ),
    (
        "choose",
        Some("The search"),
        &[
            "require",
            "pareto",
            "tolerance",
            "prune",
            "export",
            "strict",
            "shown",
        ],
    ),
    (
        "simulate",
        Some("Costs"),
        &["models", "shown", "missing-costs", "recorded-on", "rules"],
    ),
    ("simulate", Some("Chance"), &["spread", "seed", "repeat"]),
    (
        "simulate",
        Some("Studies"),
        &["study", "csv", "plot", "sensitivity", "limit"],
    ),
    (
        "simulate",
        Some("What is written"),
        &["trace", "html", "timeline", "records", "loose"],
    ),
    (
        "correct",
        Some("The search"),
        &[
            "trials",
            "seed",
            "good-enough",
            "population",
            "generations",
            "platform",
        ],
    ),
];

/// The command with its help in groups.
pub fn grouped(command: Command) -> Command {
    let command = HEADINGS
        .iter()
        .fold(command, |command, (verb, heading, options)| {
            command.mut_subcommand(verb, |verb| {
                verb.mut_args(|option| match option.get_long() {
                    Some(long) if options.contains(&long) => option.help_heading(*heading),
                    _ => option,
                })
            })
        });
    let mut text = String::new();
    for (title, verbs) in GROUPS.iter().chain([&FOR_PACKAGES]) {
        let _ = writeln!(text, "{title}:");
        for verb in *verbs {
            let about = command.find_subcommand(verb).and_then(Command::get_about);
            let about = about.map_or_else(String::new, ToString::to_string);
            let _ = writeln!(text, "  {verb:<12}{}", about.trim_end_matches('.'));
        }
        text.push('\n');
    }
    command
        .before_help(text.trim_end().to_owned())
        .after_help(AFTER)
        .help_template(TEMPLATE)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::CommandFactory;

    use super::*;

    /// The heading of a removed option would be useless.
    #[test]
    fn the_options_that_have_a_heading_are_there() {
        let command = grouped(crate::Arguments::command());
        for (verb, heading, options) in &HEADINGS {
            let verb = command.find_subcommand(verb).expect("a verb");
            for option in *options {
                let argument = verb.get_arguments().find(|a| a.get_long() == Some(*option));
                let found = argument.map(clap::Arg::get_help_heading);
                assert_eq!(found, Some(*heading), "{} --{option}", verb.get_name());
            }
        }
    }

    #[test]
    fn each_verb_is_in_one_group() {
        let mut command = grouped(crate::Arguments::command());
        let mut named = BTreeMap::<&str, u32>::new();
        for verb in GROUPS
            .iter()
            .chain([&FOR_PACKAGES])
            .flat_map(|(_, verbs)| *verbs)
        {
            *named.entry(verb).or_default() += 1;
        }
        let verbs = command.get_subcommands().map(|verb| (verb.get_name(), 1));
        assert_eq!(named, verbs.collect());
        let wide = |verb: &&Command| {
            let about = verb.get_about().map(ToString::to_string);
            about.is_some_and(|about| about.trim_end_matches('.').chars().count() > MAX_ABOUT)
        };
        let wide: Vec<_> = command.get_subcommands().filter(wide).collect();
        assert!(wide.is_empty(), "longer than a line: {wide:?}");
        let help = command.render_help().to_string();
        assert!(!help.contains("Commands:"), "{help}");
        let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text}: {help}"));
        assert!(
            at("\n  run ") < at("\n  fit ") && at("\n  man ") < at("--version"),
            "{help}"
        );
        assert!(
            help.lines().all(|line| line.chars().count() <= 120),
            "{help}"
        );
    }
}

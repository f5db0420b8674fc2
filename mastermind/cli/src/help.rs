//! The help of the program as a whole: its verbs by what they are for, those of the first hour first.

use std::fmt::Write;

use clap::Command;

/// The verbs, by what they are for; a test holds them complete.
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

/// Verbs for who packages this program.
const FOR_PACKAGES: (&str, &[&str]) = ("For packages", &["completions", "man"]);

const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

/// Most characters of what a verb does: a line of 100 columns has 14 before it.
#[cfg(test)]
const MAX_ABOUT: usize = 86;

const AFTER: &str = "mastermind VERB --help describes each, with an example. The first two commands of most users:\n\n  \
                     mpirun -n 4 mastermind wrap --records records -- PROGRAM\n  mastermind profile records";

/// The command with its help in groups.
pub fn grouped(command: Command) -> Command {
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

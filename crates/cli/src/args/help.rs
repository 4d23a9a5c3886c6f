//! The sections of the help: a flag is in the same section in every command, and sections have one order.

use clap::{Arg, Command, CommandFactory};

use super::Cli;

/// What every command can be given.
const EVERYWHERE: &str = "Everywhere";

/// The sections after "Options", in their order, each with its flags. A flag that is in none of them comes
/// under "Options".
#[rustfmt::skip]
const SECTIONS: &[(&str, &[&str])] = &[
    ("Input", &["corpus-format", "queries-format", "qrels-format", "run-format", "vectors-format",
        "skip-bad-lines", "keep", "id-column", "title-column", "text-column", "query-id-column",
        "query-text-column", "vector-column"]),
    ("Evaluation during training", &["dev-queries", "dev-qrels", "dev-corpus", "dev-run", "dev-depth", "dev-measures",
        "dev-data", "eval-every", "patience", "save-last"]),
    ("Texts", &["title-mode", "title-separator", "context-field", "no-title", "passage-window", "stride", "aggregate"]),
    ("Model", &["max-length", "prompt", "query-prompt", "passage-prompt", "query-model", "pooling", "normalize-embeddings", "dim",
        "assume-model", "rerank-max-length", "rerank-prompt", "truncation", "label", "activation"]),
    ("Sparse", &["ranker", "k1", "b", "mu", "lambda", "exact-lengths", "robertson"]),
    ("Feedback", &["rm3", "rm3-fb-terms", "rm3-fb-docs", "rm3-original-query-weight", "rm3-no-term-filter",
        "rocchio", "rocchio-top-fb-terms", "rocchio-top-fb-docs", "rocchio-alpha", "rocchio-beta",
        "rocchio-use-negative", "rocchio-bottom-fb-terms", "rocchio-bottom-fb-docs", "rocchio-gamma", "vector-prf",
        "vector-prf-docs", "vector-prf-alpha", "vector-prf-beta"]),
    ("Fusion", &["fusion", "fusion-depth", "alpha", "weights", "rrf-k", "normalize", "missing",
        "different-collections"]),
    ("Filter", &["exclude", "allow", "judged", "remove-query"]),
    ("Significance", &["significance", "baseline", "tests", "correction", "permutations", "resamples",
        "confidence", "equivalence", "power"]),
    ("Scores", &["scores", "max-score", "min-score", "absolute-margin", "relative-margin", "min-positive-score",
        "new-positive-score"]),
    ("Limits", &["payload-limit", "max-client-batch-size", "max-k", "no-truncate", "allow-token-ids",
        "shared-batch-tokens", "max-queued-tokens", "max-queued-queries", "timeout-ms", "max-connections"]),
    ("Output", &["output", "format", "digits", "plot", "output-format", "tag", "tab-separated", "max-passage",
        "max-passage-delimiter", "max-passage-hits", "overwrite",
        "undecided", "keep-stages", "keep-model-scores"]),
    ("Machine", &["device", "backend", "dtype", "rerank-dtype", "batch-tokens", "scan", "memory", "no-verify"]),
    (EVERYWHERE, &["json", "verbose", "quiet", "threads"]),
];

/// The command line, with the sections of its help.
pub fn command() -> Command {
    sectioned(Cli::command())
}

/// Puts each flag of a command, and of those below it, into its section. clap orders sections by their first
/// flags, and a flag that is changed becomes the last.
fn sectioned(mut command: Command) -> Command {
    let mut places: Vec<(Option<usize>, usize, String)> = command
        .get_arguments()
        .filter(|argument| !argument.is_positional())
        .map(|argument| {
            let (section, place) = section(argument).unzip();
            (section, place.unwrap_or_default(), argument.get_id().to_string())
        })
        .collect();
    places.sort_by_key(|(section, place, _)| (*section, *place));
    for (section, place, id) in places {
        command = command.mut_arg(id, |argument| match section.and_then(|at| SECTIONS.get(at)) {
            Some((title, _)) => argument.help_heading(*title).display_order(place),
            None => argument,
        });
    }
    command.mut_subcommands(sectioned)
}

/// A flag's section, and its place there.
fn section(argument: &Arg) -> Option<(usize, usize)> {
    let long = argument.get_long()?;
    let place = |flags: &[&str]| flags.iter().position(|flag| *flag == long);
    SECTIONS.iter().enumerate().find_map(|(at, (_, flags))| Some((at, place(flags)?)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn each(command: &Command, visit: &mut impl FnMut(&Command)) {
        visit(command);
        let below = command.get_subcommands().filter(|below| below.get_name() != "help");
        below.for_each(|below| each(below, visit));
    }

    #[test]
    fn sections_come_in_one_order() {
        let mut command = command();
        command.build();
        let titles: Vec<&str> = SECTIONS.iter().map(|(title, _)| *title).collect();
        each(&command, &mut |command| {
            let mut found: Vec<&str> = command.get_arguments().filter_map(Arg::get_help_heading).collect();
            found.dedup();
            let ordered: Vec<&str> = titles.iter().copied().filter(|title| found.contains(title)).collect();
            assert_eq!(found, ordered, "{}", command.get_name());
            assert!(found.contains(&EVERYWHERE), "{}", command.get_name());
        });
    }

    /// clap folds descriptions, but not the usage: a long one is written by hand.
    #[test]
    fn the_usage_fits_80_columns_and_names_what_is_required() {
        let mut command = command();
        command.build();
        each(&command, &mut |command| {
            let usage = command.clone().render_usage().to_string();
            assert!(usage.lines().all(|line| line.chars().count() <= 80), "{usage}");
            for flag in command.get_arguments().filter(|argument| argument.is_required_set()) {
                let long = flag.get_long().map_or_else(String::new, |long| format!("--{long} "));
                assert!(usage.contains(&long), "{long}is missing in {usage}");
            }
        });
    }

    /// The long help of a command, in one line.
    fn help_of(command: &str) -> String {
        let mut toller = super::command();
        toller.build();
        let mut found = &toller;
        for name in command.split(' ') {
            found = found.find_subcommand(name).unwrap();
        }
        let help = found.clone().render_long_help().to_string();
        help.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn values_and_defaults_are_shown() {
        for (command, shown) in [
            ("encode", "else mean] [possible values: cls, mean, max, "),
            ("train dual", "else mean] [possible values: cls, mean, max, "),
            ("encode", "if they are joined [default: that of the model's training, else \" \"]"),
            ("index", "Text between a title and its text [default: \" \"]"),
            (
                "train cross",
                "Text between a title and its text [default: \" \"; of a dual encoder, the model's own]",
            ),
            ("encode", "as by `toller store quantize` [default: none]"),
            ("mine", "their last hits, of as many as are searched for"),
            ("analyze", "selects its analyzer: ar, bn, da, "),
            ("index", ", te, th, tr, zh "),
        ] {
            let help = help_of(command);
            assert!(help.contains(shown), "{shown} is not in {help}");
        }
    }

    #[test]
    fn flags_that_a_command_refuses_are_not_shown() {
        assert!(help_of("train cross").contains("--dev-run") && !help_of("train dual").contains("--dev-run"));
        assert!(
            help_of("eval").contains("measured by each") && !help_of("compare").contains("measured by each")
        );
    }

    #[test]
    fn summaries_begin_with_a_verb_in_the_imperative() {
        each(&command(), &mut |command| {
            let summary = command.get_about().map(ToString::to_string).unwrap_or_default();
            let first = summary.split(' ').next().unwrap_or_default();
            assert!(!first.trim_end_matches(',').ends_with(['s', ':']), "{}: {summary}", command.get_name());
        });
    }

    #[test]
    fn only_splits_of_bright_are_tasks() {
        assert!(help_of("data bright").contains("--split <NAME> Build this task only; BRIGHT's"));
        assert!(help_of("data beir").contains("--split <NAME> Build this split only --known"));
    }

    #[test]
    fn every_flag_of_a_section_exists() {
        let mut flags = BTreeSet::new();
        each(&command(), &mut |command| {
            flags.extend(command.get_arguments().filter_map(Arg::get_long).map(str::to_owned));
        });
        for flag in SECTIONS.iter().flat_map(|(_, flags)| *flags) {
            assert!(flags.contains(*flag), "no command has --{flag}");
        }
    }

    /// `--format` is the format of the output: input has a flag that names it.
    #[test]
    fn formats_of_input_name_what_is_read_and_list_their_names() {
        let mut checked = 0;
        each(&command(), &mut |command| {
            for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
                let long = argument.get_long().unwrap_or_default();
                if long == "format" || long.ends_with("-format") {
                    let names = argument.get_possible_values();
                    assert!(names.len() > 1, "{} --{long} lists no names", command.get_name());
                    let is_output =
                        names.iter().any(|name| matches!(name.get_name(), "csv" | "npy" | "jsonl"));
                    assert!(is_output || long != "format", "{} --format", command.get_name());
                    checked += 1;
                }
            }
        });
        assert!(checked > 20, "{checked}");
    }
}

//! The options that recipes can give to commands, read from the command line's own definition.

use std::any::TypeId;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command, CommandFactory, Parser};
use toller_engine::WORD_PIECE;
use toller_ir::Explain;
use toller_recipe::{BadArguments, Catalogue, CommandSpec, OptionSpec, Takes};

use crate::args::Cli;
use crate::args::paths::{AnalyzerName, CachePath, InputPath, ModelName, OutputPath};
use crate::args::shard::ShardArg;
use crate::{flags, usage};

/// Commands that cannot be steps of an experiment.
const NO_STEPS: [&str; 6] = ["run", "reproduce", "serve", "slurm", "completions", "man"];

/// Commands that resume, and repair a damaged output.
const MENDING: [&str; 2] = ["encode", "store import"];

/// Commands that know whether an output that is there is the one that they would make.
const ADOPTING: [&str; 3] = ["encode", "index", "store import"];

/// Commands whose CSV people fill in. Each refuses to replace what is filled in.
const OF_SHEETS: [&str; 2] = ["annotate packages", "diff"];

/// Files that commands read next to their inputs: identifiers of vectors; configuration and vocabulary of a
/// checkpoint, which may lie around its folder.
const BESIDE: [(&str, &[&str]); 2] = [
    ("store import", &["*.ids.txt", "*.ids.json", "docid"]),
    (
        "convert",
        &[
            "*.pdmodel", "*.json", "__model__", "ernie_config.json", "model_config.json", "config.json",
            "tokenizer_config.json", "vocab.txt", "../ernie_config.json", "../model_config.json",
            "../config.json", "../tokenizer_config.json", "../vocab.txt",
        ],
    ),
];

/// The commands of this binary.
pub(super) struct CommandCatalogue {
    root: Command,
}

impl CommandCatalogue {
    pub(super) fn new() -> Self {
        let mut root = Cli::command();
        root.build();
        Self { root }
    }

    /// Every command that can be a step, with its name.
    fn leaves(&self) -> Vec<(String, &Command)> {
        let mut leaves = Vec::new();
        let mut open = vec![(String::new(), &self.root)];
        while let Some((name, command)) = open.pop() {
            let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
            let inner = inner.map(|inner| (format!("{name} {}", inner.get_name()).trim().to_owned(), inner));
            let inner: Vec<_> = inner.filter(|(name, _)| !NO_STEPS.contains(&name.as_str())).collect();
            if inner.is_empty() && !name.is_empty() {
                leaves.push((name, command));
            }
            open.extend(inner);
        }
        leaves.sort_by(|(a, _), (b, _)| a.cmp(b));
        leaves
    }
}

impl Catalogue for CommandCatalogue {
    fn command(&self, name: &str) -> Option<CommandSpec> {
        let (_, command) = self.leaves().into_iter().find(|(known, _)| known == name)?;
        let options = command.get_arguments().filter(|argument| is_of_a_step(argument)).map(option);
        Some(CommandSpec {
            options: options.collect(),
            resumes: MENDING.contains(&name),
            adopts: ADOPTING.contains(&name),
            makes_sheets: OF_SHEETS.contains(&name),
            beside: BESIDE.iter().find(|(command, _)| *command == name).map_or(&[], |(_, files)| files),
        })
    }

    fn names(&self) -> Vec<String> {
        self.leaves().into_iter().map(|(name, _)| name).collect()
    }

    fn is_no_step(&self, name: &str) -> bool {
        NO_STEPS.contains(&name.split(' ').next().unwrap_or(name))
    }

    fn check(&self, arguments: &[OsString]) -> Result<(), BadArguments> {
        let line = parse(arguments).map_err(|error| {
            let flag = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(flag)) => Some(flag),
                Some(ContextValue::Strings(flags)) => flags.first(),
                _ => None,
            };
            let option = flag.map(|flag| option_of(flag.trim_start_matches("--")));
            BadArguments { option, message: usage::message(&error), hint: usage::hint(&error) }
        })?;
        line.command.check_options().map_err(|error| {
            let message = error.to_string();
            let hint = error.remedy().map(|remedy| flags::spelled(&remedy, flags::flag));
            BadArguments { option: message.strip_prefix("--").map(option_of), message, hint }
        })
    }
}

/// The option that a text begins with.
fn option_of(text: &str) -> String {
    text.split([' ', '=']).next().unwrap_or(text).to_owned()
}

/// The command that arguments begin with.
pub(super) fn command_of(arguments: &[OsString]) -> clap::Command {
    let mut command = Cli::command();
    for name in arguments {
        let Some(below) = command.find_subcommand(name) else { break };
        command = below.clone();
    }
    command
}

/// The command of these arguments.
pub(super) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once(OsString::from("toller")).chain(arguments.iter().cloned()))
}

/// Whether a step may set it. What every command has is given to `toller run` instead. What excludes all
/// other options has a command line of its own, whose files are unknown. A share of a job is not a step: its
/// result may depend on the environment.
fn is_of_a_step(argument: &Arg) -> bool {
    use ArgAction::{Help, HelpLong, HelpShort, Version};
    let is_share = argument.get_value_parser().type_id() == TypeId::of::<ShardArg>();
    let own = argument.is_global_set() || argument.is_exclusive_set() || is_share;
    !own && !matches!(argument.get_action(), Help | HelpLong | HelpShort | Version)
}

fn option(argument: &Arg) -> OptionSpec {
    let name = match argument.get_long() {
        Some(long) => long.to_owned(),
        None => argument.get_id().as_str().replace('_', "-"),
    };
    let is_flag =
        matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count);
    let value = argument.get_value_parser().type_id();
    let takes = if is_flag {
        Takes::Nothing
    } else if value == TypeId::of::<InputPath>() {
        Takes::Input
    } else if value == TypeId::of::<OutputPath>() {
        Takes::Output
    } else if value == TypeId::of::<CachePath>() {
        Takes::Cache
    } else if value == TypeId::of::<ModelName>() {
        Takes::Model
    } else if value == TypeId::of::<AnalyzerName>() {
        Takes::ModelAfter(WORD_PIECE)
    } else {
        Takes::Value
    };
    OptionSpec { name, positional: argument.is_positional(), takes }
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;
    use std::path::PathBuf;

    use toller_recipe::Catalogue;

    use super::CommandCatalogue;

    /// A path of another type would be a value like any other: a change of the file would not be noticed.
    #[test]
    fn every_path_of_a_step_says_whether_it_is_read() {
        let catalogue = CommandCatalogue::new();
        for (name, command) in catalogue.leaves() {
            let untyped =
                |argument: &&clap::Arg| argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
            let found = command.get_arguments().find(untyped);
            assert!(found.is_none(), "{name}: {found:?}");
        }
    }

    #[test]
    fn what_a_command_refuses_before_it_reads_is_reported() {
        let catalogue = CommandCatalogue::new();
        let refused = |line: &str| {
            let arguments: Vec<_> = line.split(' ').map(Into::into).collect();
            catalogue.check(&arguments).unwrap_err()
        };
        let impacts = ["index", "--corpus=c", "--output=o", "--impact"].map(Into::into);
        assert!(catalogue.check(&impacts).is_ok(), "impacts need no language");
        let search = "search --sparse=i --queries=q --output=o";
        let fuse = "fuse --method=interpolate --output=o";
        for (line, option, says, hint) in [
            (
                "eval --qrels=q --measures=ndgc@10 r", "measures", "unknown measure 'ndgc'",
                "did you mean nDCG",
            ),
            ("compare --qrels=q --measures=foo r s", "measures", "unknown measure", "the measures are"),
            (
                "report --qrels=q --measures=foo --output=p.html r",
                "measures",
                "unknown measure",
                "the measures",
            ),
            ("report --qrels=q --output=p.png r", "output", "p.png would hold a page", "ends in .html"),
            ("depth --qrels=q --measure=foo r", "measure", "unknown measure", "the measures are"),
            ("depth --qrels=q --plot=p.png r", "plot", "p.png would hold a figure", "ends in .svg"),
            ("index --corpus=c --output=o --language=xx", "language", "no analyzer named \"xx\"", "ar, bn"),
            ("index --corpus=c --output=o --analyzer=xx", "analyzer", "no analyzer named \"xx\"", "ar, bn"),
            ("index --corpus=c --output=o", "", "the language of the texts is not given", "--language en"),
            (&format!("{search} --k1=-3.0"), "k1", "k1 is -3, which is not a number from 0 to 1e9", ""),
            (&format!("{search} --k1=nan"), "k1", "k1 is NaN", ""),
            (&format!("{search} --b=7"), "b", "b is 7, which is not a number from 0 to 1", ""),
            (&format!("{search} --ranker=ql --k1=1"), "k1", "no meaning for --ranker ql", "--mu is for ql"),
            (&format!("{fuse} r"), "", "one run cannot be fused", "name two runs or more"),
            (&format!("{fuse} --weights=1,2,3 r s"), "", "3 weights for 2 lists", "give 2 weights"),
            (&format!("{fuse} --weights=1,-2 r s"), "", "-2", "weights are finite, at least 0"),
            (
                &format!("{fuse} --rrf-k=60 r s"),
                "rrf-k",
                "--rrf-k has no meaning for interpolate",
                "fuse by rrf",
            ),
            ("fuse --method=rrf --output=o.bz2 r s", "output", "its name ends in .bz2", "end its name in"),
        ] {
            let bad = refused(line);
            assert_eq!(bad.option.unwrap_or_default(), option, "{line}");
            assert!(bad.message.contains(says), "{line}: {}", bad.message);
            assert!(bad.hint.as_deref().unwrap_or_default().contains(hint), "{line}: {:?}", bad.hint);
        }
    }

    #[test]
    fn a_wrong_value_is_reported_with_its_option() {
        let catalogue = CommandCatalogue::new();
        let refused = |line: &str| {
            let arguments: Vec<_> = line.split(' ').map(Into::into).collect();
            catalogue.check(&arguments).err()
        };
        let check = |line: &str| refused(line).map(|bad| (bad.option.unwrap_or_default(), bad.message));
        assert_eq!(check("search --sparse=i --queries=q --output=o"), None);
        let (option, message) = check("search --k=many --output=o").unwrap_or_default();
        assert_eq!(option, "k");
        assert!(message.contains("many"), "{message}");
        assert!(catalogue.command("tune bm25").is_some());
        assert!(catalogue.is_no_step("slurm encode") && !catalogue.names().contains(&"man".to_owned()));
        assert!(catalogue.command("tune").is_none() && catalogue.command("run").is_none());
    }
}

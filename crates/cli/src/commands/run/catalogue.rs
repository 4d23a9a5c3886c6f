//! The options that recipes can give to commands, read from the command line's own definition.

use std::any::TypeId;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command, CommandFactory, Parser};
use toller_engine::WORD_PIECE;
use toller_recipe::{BadArguments, Catalogue, CommandSpec, OptionSpec, Takes};

use crate::args::Cli;
use crate::args::paths::{AnalyzerName, CachePath, InputPath, ModelName, OutputPath};
use crate::args::shard::ShardArg;
use crate::usage;

/// Commands that cannot be steps of an experiment.
const NO_STEPS: [&str; 6] = ["run", "reproduce", "serve", "slurm", "completions", "man"];

/// Commands that resume, and repair a damaged output.
const MENDING: [&str; 2] = ["encode", "store import"];

/// Commands that know whether an output that is there is the one that they would make.
const ADOPTING: [&str; 3] = ["encode", "index", "store import"];

/// Commands whose CSV people fill in. Each refuses to replace what is filled in.
const OF_SHEETS: [&str; 2] = ["annotate packages", "diff"];

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
        })
    }

    fn names(&self) -> Vec<String> {
        self.leaves().into_iter().map(|(name, _)| name).collect()
    }

    fn is_no_step(&self, name: &str) -> bool {
        NO_STEPS.contains(&name.split(' ').next().unwrap_or(name))
    }

    fn check(&self, arguments: &[OsString]) -> Result<(), BadArguments> {
        parse(arguments).map(|_| ()).map_err(|error| {
            let option = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(flag)) => Some(flag),
                Some(ContextValue::Strings(flags)) => flags.first(),
                _ => None,
            };
            let option = option.map(|flag| {
                let name = flag.trim_start_matches("--");
                name.split([' ', '=']).next().unwrap_or(name).to_owned()
            });
            BadArguments { option, message: usage::message(&error) }
        })
    }
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
    fn a_wrong_value_is_reported_with_its_option() {
        let catalogue = CommandCatalogue::new();
        let check = |line: &str| {
            let arguments: Vec<_> = line.split(' ').map(Into::into).collect();
            catalogue.check(&arguments).err().map(|bad| (bad.option.unwrap_or_default(), bad.message))
        };
        assert_eq!(check("search --sparse=i --queries=q --output=o"), None);
        let (option, message) = check("search --k=many --output=o").unwrap_or_default();
        assert_eq!(option, "k");
        assert!(message.contains("many"), "{message}");
        assert!(catalogue.command("tune bm25").is_some());
        assert!(catalogue.is_no_step("slurm encode") && !catalogue.names().contains(&"man".to_owned()));
        assert!(catalogue.command("tune").is_none() && catalogue.command("run").is_none());
    }
}

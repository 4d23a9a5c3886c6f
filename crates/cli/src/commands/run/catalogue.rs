//! What recipes may say to commands: read off the command line's own definition.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command, CommandFactory, Parser};
use toller_recipe::{BadArguments, Catalogue, CommandSpec, OptionSpec, Takes};

use crate::args::Cli;

/// Commands that are no steps of an experiment.
const NO_STEPS: [&str; 2] = ["run", "completions"];

/// Commands that go on with a damaged output, and mend it.
const MENDING: [&str; 2] = ["encode", "store import"];

/// Options of every command, which are given to `toller run` instead.
const GLOBAL: [&str; 6] = ["help", "version", "json", "verbose", "quiet", "threads"];

/// Options with a path that is written.
const WRITTEN: [&str; 4] = ["keep-model-scores", "keep-stages", "output", "plot"];

/// Options with a path of something that changes no result.
const CACHES: [&str; 2] = ["cache", "text-index"];

/// Options that name models.
const MODELS: [&str; 3] = ["model", "query-model", "rerank"];

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
        let options = command.get_arguments().map(option).filter(|option| !GLOBAL.contains(&&*option.name));
        Some(CommandSpec { options: options.collect(), resumes: MENDING.contains(&name) })
    }

    fn names(&self) -> Vec<String> {
        self.leaves().into_iter().map(|(name, _)| name).collect()
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
            let text = error.to_string();
            let first = text.split("\n\n").next().unwrap_or(&text);
            let message =
                first.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ");
            BadArguments { option, message }
        })
    }
}

/// The command that these arguments ask for.
pub(super) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once(OsString::from("toller")).chain(arguments.iter().cloned()))
}

fn option(argument: &Arg) -> OptionSpec {
    let name = match argument.get_long() {
        Some(long) => long.to_owned(),
        None => argument.get_id().as_str().replace('_', "-"),
    };
    let is_flag =
        matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count);
    let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let takes = match name.as_str() {
        _ if is_flag => Takes::Nothing,
        name if MODELS.contains(&name) => Takes::Model,
        _ if !is_path => Takes::Value,
        name if WRITTEN.contains(&name) => Takes::Output,
        name if CACHES.contains(&name) => Takes::Cache,
        _ => Takes::Input,
    };
    OptionSpec { name, positional: argument.is_positional(), takes }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use toller_recipe::{Catalogue, Takes};

    use super::CommandCatalogue;

    /// A new option with a path is taken for one that is read. If this fails, tell whether that is so, and add it here or to
    /// the constants above.
    #[test]
    fn what_is_read_is_known() {
        let catalogue = CommandCatalogue::new();
        let specs = catalogue.names().into_iter().filter_map(|name| catalogue.command(&name));
        let of = |takes: Takes| -> BTreeSet<String> {
            let options = specs.clone().flat_map(|spec| spec.options);
            options.filter(|option| option.takes == takes).map(|option| option.name).collect()
        };
        let read = [
            "allow",
            "config",
            "corpus",
            "dense",
            "exclude",
            "expected",
            "files",
            "first-stage",
            "ids",
            "input",
            "inputs",
            "judged",
            "qrels",
            "queries",
            "query-vectors",
            "run",
            "runs",
            "source",
            "sparse",
            "stores",
            "tally",
            "vocab",
        ];
        assert_eq!(of(Takes::Input), read.map(str::to_owned).into());
        // That none is missing here follows from the above, but an option may be gone.
        assert!(of(Takes::Output).contains("output") && of(Takes::Model).contains("model"));
    }

    #[test]
    fn a_wrong_value_is_told_with_its_option() {
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
        assert!(catalogue.command("tune").is_none() && catalogue.command("run").is_none());
    }
}

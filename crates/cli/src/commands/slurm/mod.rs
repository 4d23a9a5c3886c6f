//! `toller slurm`: job scripts that divide a command among the tasks of a job array.

mod script;

use std::any::TypeId;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use script::{JobScript, Work};
use toller_files::is_object_url;
use toller_ir::counted;
use toller_recipe::quoted;

use super::Command;
use crate::args::Cli;
use crate::args::paths::{InputPath, OutputPath};
use crate::args::replacing::OverwriteArgs;
use crate::error::{Context, Remedied, UsageError};
use crate::ui::Ui;
use crate::usage;

#[derive(Debug, clap::Subcommand)]
pub enum SlurmCommand {
    /// Write a script that encodes a collection in shards, and checks at the end that all are complete
    Encode(ScriptArgs),
    /// Write a script that searches stores in shards, and merges their runs at the end
    Search(ScriptArgs),
}

/// The script is for reading and editing. `bash SCRIPT` submits it. The arguments of the command come after
/// --, as in `toller slurm encode --shards 8 --output encode.sh -- --model M --corpus FILE --output STORE`.
#[derive(Debug, clap::Args)]
pub struct ScriptArgs {
    /// Shards, each a task of the job array
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=99_999))]
    shards: u32,

    /// Shards that run at the same time at most [default: as many as the cluster runs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    at_once: Option<u32>,

    /// Script to write; - for stdout
    #[arg(short, long, value_name = "SCRIPT")]
    output: OutputPath,

    #[command(flatten)]
    overwrite: OverwriteArgs,

    /// Option of sbatch for every task, as in --sbatch=--time=04:00:00; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,

    /// Arguments of the command, without --shard
    #[arg(value_name = "ARG", required = true, last = true)]
    arguments: Vec<String>,
}

/// `called` is the word that called this program.
pub fn run(command: &SlurmCommand, called: &Path, ui: &Ui) -> crate::Result<()> {
    let (SlurmCommand::Encode(args) | SlurmCommand::Search(args)) = command;
    let (of_shards, of_merge) = match command {
        SlurmCommand::Encode(_) => (args.arguments.clone(), Vec::new()),
        SlurmCommand::Search(_) => divided(&args.arguments),
    };
    let (parsed, missing) = parsed(command, &of_shards, args.shards)?;
    let work = match (command, parsed) {
        (SlurmCommand::Encode(_), Command::Encode(encode)) => {
            encode.check_resumes()?;
            Work::Encode { store: encode.store().display().to_string() }
        }
        (SlurmCommand::Search(_), Command::Search(search)) => {
            let run = search.run_of_shards()?.display().to_string();
            check_merge(&run, &of_merge)?;
            Work::Search { run, merge: of_merge }
        }
        _ => {
            return Err(
                UsageError::new("the arguments are not those of the command", "give them after --").into()
            );
        }
    };
    if let Some(option) = args.sbatch.iter().find(|option| !option.starts_with('-') || option.contains('\n'))
    {
        let message = format!("--sbatch {option}: not an option of sbatch");
        return Err(UsageError::new(message, "give one option each, as in --sbatch=--time=04:00:00").into());
    }
    if let Some(option) = args.sbatch.iter().find(|option| sets_array(option)) {
        let message = format!("--sbatch {option}: the script itself says which tasks the array has");
        return Err(UsageError::new(message, "give --shards, and --at-once for fewer at a time").into());
    }
    let file = if args.output.is_stdout() { "SCRIPT".to_owned() } else { args.output.display().to_string() };
    // The name is in a comment of the script.
    if file.contains(['\n', '\r']) {
        return Err(
            UsageError::new(format!("--output {file:?} has a line end"), "give it another name").into()
        );
    }
    args.output.check_free_of_json(ui)?;
    // People edit these scripts.
    args.overwrite.check_new(&args.output)?;
    // The process of Python's command line is Python's, so that one is called by its own path.
    let program = match called.is_absolute() {
        true => called.to_owned(),
        false => std::env::current_exe().context("cannot find this program's own file")?,
    };
    let toller = program.to_str().ok_or_else(|| {
        Remedied::without_remedy(format!("the path of this program is not text: {}", program.display()))
    })?;
    let script = JobScript {
        work,
        toller: toller.to_owned(),
        arguments: of_shards,
        shards: args.shards,
        at_once: args.at_once,
        options: args.sbatch.clone(),
        file,
    };
    args.output.write(ui, |out, _| Ok(write!(out, "{script}")?))?;
    for input in missing {
        ui.warning(format!("{}, which the tasks will read, is not there yet", input.display()));
    }
    let file = &script.file;
    ui.status(format!(
        "{file} submits {} and the step after them: bash {}",
        counted(args.shards, "shard"),
        quoted(file)
    ));
    ui.json(|| serde_json::json!({ "script": file, "shards": args.shards }))
}

/// The arguments of a search that each shard is given, and those that only the run of all shards has.
fn divided(arguments: &[String]) -> (Vec<String>, Vec<String>) {
    let root = Cli::command();
    let flags: Vec<(String, bool)> = root
        .find_subcommand("merge")
        .into_iter()
        .flat_map(clap::Command::get_arguments)
        .filter_map(|argument| Some((argument.get_long()?, argument.get_action().takes_values())))
        .filter(|(long, _)| !matches!(*long, "output" | "overwrite"))
        .map(|(long, takes_value)| (format!("--{long}"), takes_value))
        .collect();
    let (mut of_shards, mut of_merge) = (Vec::new(), Vec::new());
    let mut words = arguments.iter().cloned();
    while let Some(word) = words.next() {
        let flag = word.split('=').next().unwrap_or_default();
        let Some((_, takes_value)) = flags.iter().find(|(known, _)| known == flag) else {
            of_shards.push(word);
            continue;
        };
        let value = (*takes_value && flag == word).then(|| words.next()).flatten();
        of_merge.extend([word].into_iter().chain(value));
    }
    (of_shards, of_merge)
}

/// Refuses what the step after a search would refuse.
fn check_merge(run: &str, arguments: &[String]) -> Result<(), UsageError> {
    let words = ["toller", "merge", "part", "--output", run].into_iter();
    let parsed = Cli::try_parse_from(words.chain(arguments.iter().map(String::as_str)));
    match parsed.map_err(|error| not_taken("merge", &error))?.command {
        Command::Merge(merge) => merge.check_layout(),
        _ => Ok(()),
    }
}

fn not_taken(name: &str, error: &clap::Error) -> UsageError {
    UsageError::new(
        format!("toller {name} does not take these arguments: {}", usage::message(error)),
        format!("`toller {name} --help` lists what it takes; --shard is added by the script"),
    )
}

/// The command that each task runs, and its input that is not there: mistakes are found now, and not in the
/// queue.
fn parsed(
    command: &SlurmCommand,
    arguments: &[String],
    shards: u32,
) -> Result<(Command, Vec<PathBuf>), UsageError> {
    let name = match command {
        SlurmCommand::Encode(_) => "encode",
        SlurmCommand::Search(_) => "search",
    };
    let shard = format!("--shard=1/{shards}");
    let words = ["toller", name].into_iter().chain(arguments.iter().map(String::as_str)).chain([&*shard]);
    let mut root = Cli::command();
    let matches = root.try_get_matches_from_mut(words);
    let parsed = matches.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = parsed.map_err(|error| not_taken(name, &error))?;
    let mut missing: Vec<PathBuf> = inputs(&root, &matches).collect();
    if missing.iter().any(|input| input.as_os_str() == "-") {
        let message = "- is standard input, which the tasks of a job do not have";
        return Err(UsageError::new(message, "write it to a file, and name that"));
    }
    missing.retain(|input| !is_object_url(&input.to_string_lossy()) && !input.exists());
    Ok((cli.command, missing))
}

/// Whether an option of sbatch is `--array`, which may be abbreviated, or `-a`.
fn sets_array(option: &str) -> bool {
    option.starts_with("--ar") || option.starts_with("-a")
}

/// The files and directories that a command line reads.
fn inputs<'a>(root: &'a clap::Command, matches: &'a ArgMatches) -> impl Iterator<Item = PathBuf> + 'a {
    let (name, given) = matches.subcommand().unzip();
    let command = name.and_then(|name| root.find_subcommand(name));
    let arguments = command.into_iter().flat_map(clap::Command::get_arguments);
    let paths =
        arguments.filter(|argument| argument.get_value_parser().type_id() == TypeId::of::<InputPath>());
    paths.flat_map(move |argument| {
        let paths = given.and_then(|given| given.get_many::<InputPath>(argument.get_id().as_str()));
        paths.into_iter().flatten().map(PathBuf::from)
    })
}

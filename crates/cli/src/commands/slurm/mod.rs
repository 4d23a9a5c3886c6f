//! `toller slurm`: job scripts that divide a command among the tasks of a job array.

mod script;

use clap::Parser;
use script::{JobScript, SHEBANG, Work};
use toller_ir::counted;
use toller_recipe::quoted;

use super::Command;
use crate::args::Cli;
use crate::args::paths::OutputPath;
use crate::error::{Context, Remedied, UsageError};
use crate::ui::Ui;

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

    /// Script to write; - for stdout
    #[arg(short, long, value_name = "SCRIPT")]
    output: OutputPath,

    /// Option of sbatch for every task, as in --sbatch=--time=04:00:00; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,

    /// Arguments of the command, without --shard
    #[arg(value_name = "ARG", required = true, last = true)]
    arguments: Vec<String>,
}

pub fn run(command: &SlurmCommand, ui: &Ui) -> crate::Result<()> {
    let (SlurmCommand::Encode(args) | SlurmCommand::Search(args)) = command;
    let work = match (command, parsed(command, args)?) {
        (SlurmCommand::Encode(_), Command::Encode(encode)) => {
            Work::Encode { store: encode.store().display().to_string() }
        }
        (SlurmCommand::Search(_), Command::Search(search)) => {
            Work::Search { run: search.run_of_shards()?.display().to_string() }
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
    let file = if args.output.is_stdout() { "SCRIPT".to_owned() } else { args.output.display().to_string() };
    // The name is in a comment of the script.
    if file.contains(['\n', '\r']) {
        return Err(
            UsageError::new(format!("--output {file:?} has a line end"), "give it another name").into()
        );
    }
    args.output.check_free_of_json(ui)?;
    args.output.check_replaces("a job script", SHEBANG)?;
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let toller = program.to_str().ok_or_else(|| {
        Remedied::without_remedy(format!("the path of this program is not text: {}", program.display()))
    })?;
    let script = JobScript {
        work,
        toller: toller.to_owned(),
        arguments: args.arguments.clone(),
        shards: args.shards,
        options: args.sbatch.clone(),
        file,
    };
    args.output.write(ui, |out, _| Ok(write!(out, "{script}")?))?;
    let file = &script.file;
    ui.status(format!(
        "{file} submits {} and the step after them: bash {}",
        counted(args.shards, "shard"),
        quoted(file)
    ));
    ui.json(|| serde_json::json!({ "script": file, "shards": args.shards }))
}

/// The command that each task runs: mistakes are found now, and not in the queue.
fn parsed(command: &SlurmCommand, args: &ScriptArgs) -> Result<Command, UsageError> {
    let name = match command {
        SlurmCommand::Encode(_) => "encode",
        SlurmCommand::Search(_) => "search",
    };
    let shard = format!("--shard=1/{}", args.shards);
    let words =
        ["toller", name].into_iter().chain(args.arguments.iter().map(String::as_str)).chain([&*shard]);
    let cli = Cli::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or(&text).trim_start_matches("error: ");
        UsageError::new(
            format!(
                "toller {name} does not take these arguments: {}",
                first.split_whitespace().collect::<Vec<_>>().join(" ")
            ),
            format!("`toller {name} --help` lists what it takes; --shard is added by the script"),
        )
    })?;
    Ok(cli.command)
}

//! `toller reproduce`: published figures next to what recipes measured here.

mod collect;
mod output;

use std::fs;
use std::path::PathBuf;

use toller_files::FileError;
use toller_recipe::{Figures, Recipe, is_of_figures};
use toller_report::reproduction_page;

use self::collect::Collector;
use crate::args::paths::OutputPath;
use crate::commands::run::{Outlook, work_directory};
use crate::error::{Context, Remedied};
use crate::ui::Ui;

/// Compare published figures with what recipes measured, on a page.
///
/// Reads the recipes of a folder, their figures, and what `toller run` left in the recipes' folders. Nothing
/// is run, and nothing is downloaded. Each figure has the command that measures it, the published value, the
/// measured one, the tolerance, the date, and what is missing.
#[derive(Debug, clap::Args)]
pub struct ReproduceArgs {
    /// Folder of recipes, and of the files of figures that they name
    #[arg(long, value_name = "DIR", default_value = "configs")]
    configs: PathBuf,

    /// Folder in which the recipes were run
    #[arg(long, value_name = "DIR", default_value = ".")]
    work: PathBuf,

    /// File to write the page to; - for stdout
    #[arg(short, long, value_name = "FILE.html", value_parser = OutputPath::page())]
    output: Option<OutputPath>,

    /// File to write what was measured to, as a table in Markdown; - for stdout
    #[arg(long, value_name = "FILE.md")]
    markdown: Option<OutputPath>,
}

/// Looks at every recipe and writes what was asked for.
pub fn run(args: &ReproduceArgs, ui: &Ui) -> crate::Result<()> {
    if let Some(page) = &args.output {
        page.check_free_of_json(ui)?;
        page.check_page()?;
    }
    if let Some(table) = &args.markdown {
        table.check_flag_free_of_json("--markdown", ui)?;
        table.check_replaces("what `toller reproduce` writes in Markdown", output::is_markdown)?;
    }
    let files = toml_files(args)?;
    let mut figures = Vec::new();
    let mut recipes = Vec::new();
    for file in files {
        if is_of_figures(&file)? { figures.push(file) } else { recipes.push(file) }
    }
    let figures = Figures::read(&figures)?;
    let mut collector = Collector::new(&figures);
    for file in recipes {
        let recipe = Recipe::read(&file, &[])?;
        let directory = args.work.join(work_directory(&file));
        let outlook = Outlook::of(&recipe, &directory, ui).context(file.display().to_string())?;
        collector.add(&recipe, outlook)?;
    }
    let reproduction = collector.finish();
    let text = args.markdown.as_ref().map(|_| output::markdown(&reproduction));
    if text.as_ref().is_some_and(String::is_empty) {
        let message = format!("nothing is measured in {}", args.work.display());
        let hint = "carry out a recipe with `toller run`, or give --work the folder of its results";
        return Err(Remedied::new(message, hint).into());
    }
    if let Some(output) = &args.output {
        let page = reproduction_page(&reproduction);
        output.write(ui, |out, _| Ok(out.write_all(page.as_bytes())?))?;
    }
    if let (Some(markdown), Some(text)) = (&args.markdown, &text) {
        markdown.write(ui, |out, _| Ok(out.write_all(text.as_bytes())?))?;
    }
    let is_on_stdout = |path: &Option<OutputPath>| path.as_ref().is_some_and(OutputPath::is_stdout);
    if is_on_stdout(&args.output) || is_on_stdout(&args.markdown) {
        return Ok(());
    }
    ui.show(|| output::json(&reproduction), |out| out.write_all(output::table(&reproduction).as_bytes()))
}

/// The TOML files of the folder, in the order of their names.
fn toml_files(args: &ReproduceArgs) -> crate::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(&args.configs).map_err(|error| {
        let message = format!("cannot read the recipes of {}: {error}", args.configs.display());
        Remedied::new(message, "name the folder of recipes with --configs, as in --configs toller/configs")
    })?;
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry.map_err(FileError::on("read", &args.configs))?.path());
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}

//! `toller run`: runs the steps of a recipe that are not up to date.

mod adoption;
mod catalogue;
mod missing;
mod models;
mod outlook;
mod report;
mod steps;

use std::path::{Path, PathBuf};

use toller_recipe::{Plan, Recipe, RecipeError, Verdict, Work};

use self::catalogue::CommandCatalogue;
use self::missing::{check_missing, missing_lines};
use self::models::KnownModels;
pub(super) use self::outlook::{Found, Outlook};
use self::report::{Done, Report};
use crate::interrupt;
use crate::ui::Ui;

/// Run a recipe: the steps of an experiment and its expected measures.
///
/// A step whose inputs, options and outputs did not change is skipped. Fails if a measure is outside its
/// tolerance. docs/recipes.md describes the format.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// The recipe, a TOML file
    #[arg(value_name = "RECIPE")]
    recipe: PathBuf,

    /// Folder for the outputs of the steps [default: the recipe's name with .work, in the current directory]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,

    /// Set a variable of the recipe, as in --set data=DIR
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,

    /// Only cells of the recipe's matrix with this value, as in --cell language=ar [default: all]
    #[arg(long, value_name = "AXIS=VALUE", value_parser = setting)]
    cell: Vec<(String, String)>,

    /// Only show what would be done and what is missing
    #[arg(long)]
    dry_run: bool,

    /// Run every step, and replace existing outputs
    #[arg(long)]
    force: bool,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(|| "NAME=VALUE".to_owned())
}

/// Runs the recipe, or shows what would be run.
pub fn run(args: &RunArgs, threads: usize, ui: &Ui) -> crate::Result<()> {
    let recipe = Recipe::read(&args.recipe, &args.cell)?;
    let plan = Plan::new(&recipe, &CommandCatalogue::new(), &args.set)?;
    let directory = args.work_directory();
    if args.dry_run {
        let mut work = Work::look(&directory, args.force)?;
        let report = steps::foresee(&plan, &mut work, ui)?;
        for line in missing_lines(&plan.missing, &args.recipe) {
            ui.warning(line);
        }
        for path in work.in_the_way(&plan.steps) {
            ui.warning(format!("no step of this recipe made {}, where a step would write", path.display()));
        }
        for (_, why) in adoption::made_otherwise(&plan, &work, ui)? {
            ui.warning(why);
        }
        return report.write(&recipe, &directory, ui);
    }
    check_missing(&plan.missing, &args.recipe)?;
    let stop = interrupt::flag(ui, "stopping")?;
    let mut work = Work::open(&directory, args.force)?;
    work.set_variables(&recipe, &args.set);
    // Found now, and not when the turn of its step comes.
    let in_the_way = work.in_the_way(&plan.steps);
    if !in_the_way.is_empty() {
        return Err(RecipeError::Foreign(in_the_way).into());
    }
    let made_otherwise = adoption::made_otherwise(&plan, &work, ui)?;
    if !made_otherwise.is_empty() {
        return Err(RecipeError::MadeOtherwise(made_otherwise).into());
    }
    let mut report = Report::default();
    let mut models = KnownModels::default();
    for (at, step) in plan.steps.iter().enumerate() {
        interrupt::check(&stop, "run the same recipe again to go on")?;
        let progress = format!("[{}/{}]", at + 1, plan.steps.len());
        report.steps.push(steps::carry_out(step, &progress, &mut work, &mut models, threads, ui)?);
    }
    work.remember()?;
    if report.steps.iter().all(|step| matches!(step.done, Done::Before { .. })) {
        ui.status(format!("nothing to do: all {} steps are up to date", report.steps.len()));
    }
    let verdicts = plan.expected.iter().map(|expected| Verdict::of(expected, &directory));
    report.verdicts = verdicts.collect::<Result<_, _>>()?;
    report.write(&recipe, &directory, ui)?;
    report.check()
}

impl RunArgs {
    fn work_directory(&self) -> PathBuf {
        self.work.clone().unwrap_or_else(|| work_directory(&self.recipe))
    }
}

/// The folder of a recipe's outputs, unless another is given.
pub(super) fn work_directory(recipe: &Path) -> PathBuf {
    let mut name = recipe.file_stem().unwrap_or_default().to_owned();
    name.push(".work");
    PathBuf::from(name)
}

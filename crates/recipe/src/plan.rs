//! The plan of a recipe: variables set, paths classified, steps in order.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::argument::{Argument, Piece, command_line};
use super::arguments::Planner;
use super::catalogue::{Catalogue, CommandSpec};
use super::closest::did_you_mean;
use super::error::RecipeError;
use super::expect::Expected;
use super::missing::{Missing, missing};
use super::order::order;
use super::outputs::Outputs;
use super::read::{Recipe, Step};
use super::variables::Variables;

/// What will be done, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The steps, each after those whose outputs it reads.
    pub steps: Vec<PlannedStep>,
    /// The expected measures.
    pub expected: Vec<Expected>,
    /// What is missing.
    pub missing: Vec<Missing>,
}

/// A step whose command line is known, except for values that other steps will report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStep {
    /// Its name.
    pub name: String,
    /// The command, as in "tune bm25".
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// The file for what the command writes to stdout, in the folder of the outputs.
    pub stdout: Option<PathBuf>,
    /// The steps, by name, whose outputs it reads.
    pub needs: Vec<String>,
    /// Whether the command goes on with an unfinished or damaged output.
    pub resumes: bool,
    /// Whether the command accepts an output that is there already, if it is the one that it would make.
    pub adopts: bool,
    /// Whether people fill in its outputs, which are then theirs.
    pub is_filled_in: bool,
    /// Files next to its inputs that the command reads too, as in [`CommandSpec::beside`].
    pub beside: &'static [&'static str],
}

impl Plan {
    /// Plans a recipe, with the variables that are set from outside. Relative paths in their values start at
    /// the current directory, others at the recipe's.
    ///
    /// # Errors
    /// An unknown command, option or variable, a value that a command does not take, an output that two steps
    /// write or that lies outside of the folder, steps that wait for each other. What is missing is not
    /// an error yet.
    pub fn new(
        recipe: &Recipe,
        catalogue: &dyn Catalogue,
        set: &[(String, String)],
    ) -> Result<Self, RecipeError> {
        let variables = Variables::new(recipe, set)?;
        let specs = recipe.steps.iter().map(|step| spec_of(recipe, step, catalogue));
        let specs = specs.collect::<Result<Vec<_>, _>>()?;
        let outputs = Outputs::of(recipe, &specs, &variables)?;
        let planner = Planner { recipe, variables: &variables, outputs: &outputs };
        let mut steps = Vec::new();
        for (step, spec) in recipe.steps.iter().zip(&specs) {
            let arguments = planner.arguments(step, spec)?;
            planner.check(step, &arguments, catalogue)?;
            let stdout = step.stdout.as_ref().map(|(name, _)| PathBuf::from(variables.in_text(name)));
            let (name, command) = (step.name.clone(), step.command.clone());
            let needs = planner.needs(&arguments);
            let (resumes, adopts) = (spec.resumes, spec.adopts);
            let is_sheet = |argument: &Argument| {
                argument.option == "format" && argument.pieces == [Piece::Text("csv".to_owned())]
            };
            let is_filled_in = spec.makes_sheets && arguments.iter().any(is_sheet);
            steps.push(PlannedStep {
                name,
                command,
                arguments,
                stdout,
                needs,
                resumes,
                adopts,
                is_filled_in,
                beside: spec.beside,
            });
        }
        let expected = planner.expected()?;
        let mut plan = Self { steps: in_order(recipe, steps)?, expected, missing: Vec::new() };
        plan.keep_chosen(recipe);
        plan.missing = missing(recipe, &variables, &outputs, &plan.steps);
        Ok(plan)
    }

    /// Leaves out the steps that the chosen cells do not need, and what is expected of them.
    fn keep_chosen(&mut self, recipe: &Recipe) {
        // With a language and a system, the steps that name both, and what they need. Axes that no step names
        // choose only among the expectations.
        let chosen_in = |step: &Step| recipe.matrix.chosen_in(&step.cell);
        let most = recipe.steps.iter().map(chosen_in).max().unwrap_or(0);
        if most > 0 {
            let chosen = recipe.steps.iter().filter(|step| chosen_in(step) == most);
            let chosen: HashSet<&str> = chosen.map(|step| step.name.as_str()).collect();
            let wanted: HashSet<String> = self
                .closure(|step| chosen.contains(step.name.as_str()))
                .map(|step| step.name.clone())
                .collect();
            self.steps.retain(|step| wanted.contains(&step.name));
        }
        let written: Vec<&Path> = self.steps.iter().flat_map(PlannedStep::outputs).collect();
        let is_written = |report: &str| written.iter().any(|output| Path::new(report).starts_with(output));
        self.expected.retain(|expected| expected.places.iter().all(|place| is_written(&place.report)));
    }

    /// The steps that write these outputs, and all whose outputs they need, last to first.
    pub fn steps_for<'p>(
        &self,
        outputs: impl Iterator<Item = &'p Path> + Clone,
    ) -> impl Iterator<Item = &PlannedStep> {
        self.closure(move |step| {
            step.outputs().any(|output| outputs.clone().any(|path| path.starts_with(output)))
        })
    }

    /// The steps that are asked for, and all that they need, last to first.
    fn closure(&self, is_wanted: impl Fn(&PlannedStep) -> bool) -> impl Iterator<Item = &PlannedStep> {
        let mut needed: HashSet<&str> = HashSet::new();
        // Steps come after those that they need.
        self.steps.iter().rev().filter(move |step| {
            let is_kept = is_wanted(step) || needed.contains(step.name.as_str());
            if is_kept {
                needed.extend(step.needs.iter().map(String::as_str));
            }
            is_kept
        })
    }
}

impl PlannedStep {
    /// What it writes, in the folder of the outputs.
    pub fn outputs(&self) -> impl Iterator<Item = &Path> {
        let named = self.pieces().filter_map(|piece| match piece {
            Piece::Output(path) => Some(path.as_path()),
            _ => None,
        });
        named.chain(self.stdout.as_deref())
    }

    /// All that its arguments are given.
    pub fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.arguments.iter().flat_map(|argument| &argument.pieces)
    }

    /// The command line as a shell takes it, with the outputs in `folder`. A value that a report will have is
    /// shown by its place there.
    #[must_use]
    pub fn described(&self, folder: &Path) -> String {
        let described = command_line(&self.command, &self.arguments, |_, piece| {
            Ok::<_, std::convert::Infallible>(match piece {
                Piece::Reported { report, pointer } => format!("({}{pointer})", report.display()).into(),
                other => other.on_command_line(folder, ""),
            })
        });
        let words = described.unwrap_or_default();
        let line = words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ");
        match &self.stdout {
            Some(stdout) => format!("{line} > {}", quoted(&folder.join(stdout).to_string_lossy())),
            None => line,
        }
    }
}

/// An argument as a shell takes it. Of `NAME=VALUE` only the value is quoted.
#[must_use]
pub fn quoted(argument: &str) -> String {
    let quote = |text: &str| shlex::try_quote(text).map_or_else(|_| text.to_owned(), Cow::into_owned);
    match argument.split_once('=') {
        Some((name, value)) if quote(name) == name => format!("{name}={}", quote(value)),
        _ => quote(argument),
    }
}

fn spec_of(recipe: &Recipe, step: &Step, catalogue: &dyn Catalogue) -> Result<CommandSpec, RecipeError> {
    catalogue.command(&step.command).ok_or_else(|| {
        if catalogue.is_no_step(&step.command) {
            let message = format!("step {}: {:?} cannot be a step of a recipe", step.name, step.command);
            return recipe.bad(step.line, message, "run it by itself, after the recipe".to_owned());
        }
        let names = catalogue.names();
        let hint = did_you_mean(&step.command, names.iter().map(String::as_str));
        recipe.bad(step.line, format!("step {} has the unknown command {:?}", step.name, step.command), hint)
    })
}

fn in_order(recipe: &Recipe, steps: Vec<PlannedStep>) -> Result<Vec<PlannedStep>, RecipeError> {
    let index: HashMap<&str, usize> =
        steps.iter().enumerate().map(|(at, step)| (step.name.as_str(), at)).collect();
    let needs: Vec<Vec<usize>> = steps
        .iter()
        .map(|step| step.needs.iter().filter_map(|name| index.get(name.as_str()).copied()).collect())
        .collect();
    match order(&needs) {
        Ok(order) => {
            let mut steps: Vec<Option<PlannedStep>> = steps.into_iter().map(Some).collect();
            Ok(order.into_iter().filter_map(|at| steps.get_mut(at)?.take()).collect())
        }
        Err(cycle) => {
            let of = |at: &usize| format!("{} (line {})", steps[*at].name, recipe.steps[*at].line);
            let round = cycle.iter().chain(cycle.first()).map(of).collect::<Vec<_>>();
            let line = cycle.first().map_or(1, |at| recipe.steps[*at].line);
            let message = format!("steps wait for each other: {}", round.join(" needs "));
            Err(recipe.bad(line, message, "let one of them read something else"))
        }
    }
}

//! The arguments of steps, from what their options say.

use std::path::{Path, PathBuf};
use std::slice;

use super::argument::{Argument, Piece, command_line};
use super::catalogue::{Catalogue, CommandSpec, OptionSpec, Takes};
use super::closest::did_you_mean;
use super::error::RecipeError;
use super::expect::{Expected, ReportPlace};
use super::outputs::Outputs;
use super::read::{Recipe, Step, Value};
use super::variables::Variables;

/// What a step's arguments are made of.
pub(super) struct Planner<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) variables: &'a Variables<'a>,
    pub(super) outputs: &'a Outputs,
}

impl Planner<'_> {
    pub(super) fn arguments(&self, step: &Step, spec: &CommandSpec) -> Result<Vec<Argument>, RecipeError> {
        let mut arguments = Vec::with_capacity(step.options.len());
        for (name, value, line) in &step.options {
            let option = spec.options.iter().find(|option| option.name == *name).ok_or_else(|| {
                let known = spec.options.iter().map(|option| option.name.as_str());
                self.recipe.bad(
                    *line,
                    format!("`toller {}` has no option {name:?}", step.command),
                    did_you_mean(name, known),
                )
            })?;
            if let Some(pieces) = self.pieces(option, value, *line)? {
                let (option, positional) = (name.clone(), option.positional);
                arguments.push(Argument { option, positional, pieces, line: *line });
            }
        }
        Ok(arguments)
    }

    /// What an option is given; `None` where it is a flag that is not given.
    fn pieces(
        &self,
        option: &OptionSpec,
        value: &Value,
        line: usize,
    ) -> Result<Option<Vec<Piece>>, RecipeError> {
        match (value, option.takes) {
            (Value::Flag(given), Takes::Nothing) => Ok(given.then(Vec::new)),
            (Value::Flag(_), _) => {
                let message = format!("{:?} takes a value", option.name);
                Err(self.recipe.bad(line, message, "give it a string, a number or a list"))
            }
            (_, Takes::Nothing) => {
                let message = format!("{:?} is a flag", option.name);
                Err(self.recipe.bad(line, message, "write true or false"))
            }
            (Value::Texts(texts), _) => {
                let pieces = texts.iter().map(|text| self.piece(option, text, line));
                Ok(Some(pieces.collect::<Result<_, _>>()?))
            }
            (Value::Reported { report, pointer }, Takes::Value) => {
                self.variables.check(report, line)?;
                let path = PathBuf::from(self.variables.in_text(report));
                self.check_report(&path, line)?;
                Ok(Some(vec![Piece::Reported { report: path, pointer: pointer.clone() }]))
            }
            (Value::Reported { .. }, _) => {
                let message = format!("{:?} takes a path, and reports have values", option.name);
                Err(self.recipe.bad(line, message, "write the path"))
            }
        }
    }

    fn piece(&self, option: &OptionSpec, text: &str, line: usize) -> Result<Piece, RecipeError> {
        self.variables.check(text, line)?;
        Ok(match option.takes {
            Takes::Nothing | Takes::Value => Piece::Text(self.variables.in_text(text)),
            Takes::Output => Piece::Output(PathBuf::from(self.variables.in_text(text))),
            Takes::Cache => Piece::Cache(self.variables.in_path(text)),
            Takes::Input => match self.variables.in_path(text) {
                path if path.as_os_str() == "-" => {
                    let message =
                        format!("{:?} would read stdin, whose content may differ each time", option.name);
                    return Err(self.recipe.bad(line, message, "name a file"));
                }
                path if self.outputs.writer(&path).is_some() => Piece::Upstream(path),
                path => Piece::Input(self.relative_to_recipe(path)),
            },
            Takes::Model => match self.variables.in_path(text) {
                path if self.outputs.writer(&path).is_some() => Piece::Upstream(path),
                path => self.model("", path),
            },
            Takes::ModelAfter(after) => {
                match text.strip_prefix(after).map(|name| self.variables.in_path(name)) {
                    None => Piece::Text(self.variables.in_text(text)),
                    Some(path) if self.outputs.writer(&path).is_some() => {
                        let message = format!("{:?} takes a model that no step makes", option.name);
                        return Err(self.recipe.bad(line, message, "name the model that is trained there"));
                    }
                    Some(path) => self.model(after, path),
                }
            }
        })
    }

    /// A model that no step makes: a directory next to the recipe, or a name.
    fn model(&self, after: &'static str, path: PathBuf) -> Piece {
        let near = self.relative_to_recipe(path.clone());
        let directory = if near.is_dir() { near } else { path };
        Piece::Model { after, name: directory.to_string_lossy().into_owned() }
    }

    fn relative_to_recipe(&self, path: PathBuf) -> PathBuf {
        let folder = self.recipe.file.parent();
        match folder.filter(|folder| path.is_relative() && !folder.as_os_str().is_empty()) {
            Some(folder) => folder.join(path),
            None => path,
        }
    }

    /// Checks that a step writes the report.
    fn check_report(&self, report: &Path, line: usize) -> Result<(), RecipeError> {
        if self.outputs.writer(report).is_some() {
            return Ok(());
        }
        let message = format!("no step writes the report {}", report.display());
        Err(self.recipe.bad(line, message, did_you_mean(&report.to_string_lossy(), self.outputs.paths())))
    }

    /// What is expected, with the values of variables.
    ///
    /// # Errors
    /// An unknown variable, and a report that no step writes.
    pub(super) fn expected(&self) -> Result<Vec<Expected>, RecipeError> {
        let mut expected = self.recipe.expected.clone();
        for Expected { places, line, .. } in &mut expected {
            for ReportPlace { report, run, qrels, group } in &mut *places {
                for text in [report, run].into_iter().chain(qrels).chain(group) {
                    self.variables.check(text, *line)?;
                    *text = self.variables.in_text(text);
                }
            }
            places.iter().try_for_each(|place| self.check_report(Path::new(&place.report), *line))?;
        }
        Ok(expected)
    }

    /// Checks that the command takes the arguments; paths need not exist.
    pub(super) fn check(
        &self,
        step: &Step,
        arguments: &[Argument],
        catalogue: &dyn Catalogue,
    ) -> Result<(), RecipeError> {
        // A value that is not known yet is replaced by 1, which is a number and a text.
        let stand_in = "1";
        let line = command_line(&step.command, arguments, |_, piece| {
            Ok::<_, RecipeError>(match piece {
                Piece::Text(text) if !is_known(text) => stand_in.into(),
                piece => piece.on_command_line(Path::new(""), stand_in),
            })
        })?;
        let Err(bad) = catalogue.check(&line) else { return Ok(()) };
        // What is said of a stand-in need not be true of the value.
        let named = bad.option.as_ref().and_then(|option| arguments.iter().find(|one| one.option == *option));
        let about = if bad.option.is_none() { arguments } else { named.map_or(&[][..], slice::from_ref) };
        if about.iter().flat_map(|argument| &argument.pieces).any(is_stood_in_for) {
            return Ok(());
        }
        let at = named.map_or(step.line, |argument| argument.line);
        let hint =
            bad.hint.unwrap_or_else(|| format!("the help of `toller {}` lists its options", step.command));
        Err(self.recipe.bad(at, format!("step {}: {}", step.name, bad.message), hint))
    }

    /// The steps whose outputs a step reads, in the order of its arguments.
    pub(super) fn needs(&self, arguments: &[Argument]) -> Vec<String> {
        let mut needs: Vec<String> = Vec::new();
        for piece in arguments.iter().flat_map(|argument| &argument.pieces) {
            let (Piece::Upstream(path) | Piece::Reported { report: path, .. }) = piece else { continue };
            match self.outputs.writer(path) {
                Some(writer) if !needs.iter().any(|need| need == writer) => needs.push(writer.to_owned()),
                _ => {}
            }
        }
        needs
    }
}

/// Whether all variables in a text have values.
fn is_known(text: &str) -> bool {
    Variables::names_in(text).next().is_none()
}

/// Whether another value stands in for this one while a step is checked.
fn is_stood_in_for(piece: &Piece) -> bool {
    match piece {
        Piece::Text(text) => !is_known(text),
        piece => matches!(piece, Piece::Reported { .. }),
    }
}

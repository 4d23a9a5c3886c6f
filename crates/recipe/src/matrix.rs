//! The matrix of a recipe: the values of its axes, such as languages, and the cells that they make.
//!
//! A step that names an axis is one step for each of its values; a step that names none is shared by all
//! cells.

use toml::Spanned;
use toml::de::DeValue;

use super::closest::did_you_mean;
use super::error::{Place, RecipeError};
use super::read::{Step, Value};
use super::source::Source;

/// The axes of a recipe, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// The axes.
    pub axes: Vec<Axis>,
}

/// An axis: `${name}` in strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<AxisValue>,
    /// Whether values were chosen.
    is_chosen: bool,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisValue {
    /// What stands for `${axis}`.
    pub name: String,
    /// What stands for `${axis.attribute}`.
    pub attributes: Vec<(String, String)>,
}

/// The most cells of a matrix: each may become a step.
const MOST_CELLS: usize = 10_000;

/// A choice of values, one for each of some axes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    choices: Vec<(String, AxisValue)>,
}

impl Matrix {
    /// Reads `[matrix]`: a list of values for each axis, or a table of values with their attributes.
    pub(super) fn parse(source: Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<Self, RecipeError> {
        let mut axes = Vec::new();
        for (name, value) in source.entries(source.table(value, "matrix")?) {
            let name = name.get_ref().to_string();
            let values = match value.get_ref() {
                DeValue::Table(table) => source
                    .entries(table)
                    .into_iter()
                    .map(|(key, value)| axis_value(source, key.get_ref(), value))
                    .collect::<Result<Vec<_>, _>>()?,
                _ => {
                    let names = source.texts_of(value, &name)?;
                    names.into_iter().map(|name| AxisValue { name, attributes: Vec::new() }).collect()
                }
            };
            if values.is_empty() {
                return Err(source.bad(&value.span(), format!("the axis {name} has no values"), "give some"));
            }
            axes.push(Axis { name, values, is_chosen: false });
        }
        let cells = axes.iter().fold(1_usize, |cells, axis| cells.saturating_mul(axis.values.len()));
        if cells > MOST_CELLS {
            let message = format!("the matrix has {cells} cells; a recipe may have {MOST_CELLS}");
            return Err(source.bad(&value.span(), message, "make several recipes of it"));
        }
        Ok(Self { axes })
    }

    /// Keeps the chosen values of the axes that are named.
    pub(super) fn choose(
        &mut self,
        source: Source<'_>,
        chosen: &[(String, String)],
    ) -> Result<(), RecipeError> {
        let bad = |message: String, remedy: String| RecipeError::Bad {
            place: Place { file: source.file.to_owned(), line: 1 },
            message,
            remedy: Some(remedy.into()),
        };
        for (name, value) in chosen {
            let Some(axis) = self.axes.iter().find(|axis| axis.name == *name) else {
                let known = self.axes.iter().map(|axis| axis.name.as_str());
                let hint = match self.axes.is_empty() {
                    true => "it has no matrix".to_owned(),
                    false => did_you_mean(name, known),
                };
                return Err(bad(format!("the matrix has no axis {name:?}"), hint));
            };
            if !axis.values.iter().any(|known| known.name == *value) {
                let known = axis.values.iter().map(|known| known.name.as_str());
                return Err(bad(format!("{name} has no {value:?}"), did_you_mean(value, known)));
            }
        }
        for axis in &mut self.axes {
            let of_axis: Vec<&str> = chosen
                .iter()
                .filter(|(name, _)| *name == axis.name)
                .map(|(_, value)| value.as_str())
                .collect();
            if !of_axis.is_empty() {
                axis.values.retain(|value| of_axis.contains(&value.name.as_str()));
                axis.is_chosen = true;
            }
        }
        Ok(())
    }

    /// The cells of the axes that texts name; one cell without choices if they name none.
    pub(super) fn cells_of<'t>(&self, texts: impl Iterator<Item = &'t str> + Clone) -> Vec<Cell> {
        let mut cells = vec![Cell::default()];
        for axis in self.axes.iter().filter(|axis| texts.clone().any(|text| axis.is_named_in(text))) {
            cells = cells
                .iter()
                .flat_map(|cell| axis.values.iter().map(|value| cell.with(&axis.name, value)))
                .collect();
        }
        cells
    }

    /// How many of a cell's axes have a chosen value.
    pub(super) fn chosen_in(&self, cell: &Cell) -> usize {
        let chosen = self.axes.iter().filter(|axis| axis.is_chosen);
        chosen.filter(|axis| cell.choices().any(|(name, _)| name == axis.name)).count()
    }

    /// Whether all values of the axes that texts name, and `except` does not, are there.
    pub(super) fn is_whole_for<'t>(
        &self,
        texts: impl Iterator<Item = &'t str> + Clone,
        except: &str,
    ) -> bool {
        let mut chosen = self.axes.iter().filter(|axis| axis.is_chosen && !axis.is_named_in(except));
        !chosen.any(|axis| texts.clone().any(|text| axis.is_named_in(text)))
    }

    /// A step for each cell of the axes that it names.
    pub(super) fn expand(&self, step: &Step) -> Vec<Step> {
        let cells = self.cells_of(step.texts());
        let of_cell = |cell: &Cell| match cell.choices.is_empty() {
            true => step.clone(),
            false => Step {
                name: format!("{}.{}", step.name, cell.label()),
                cell: cell.clone(),
                stdout: step.stdout.as_ref().map(|(name, line)| (cell.fill(name), *line)),
                options: step
                    .options
                    .iter()
                    .map(|(name, value, line)| (name.clone(), filled(value, cell), *line))
                    .collect(),
                ..step.clone()
            },
        };
        cells.iter().map(of_cell).collect()
    }
}

impl Axis {
    fn is_named_in(&self, text: &str) -> bool {
        text.contains(&format!("${{{}}}", self.name)) || text.contains(&format!("${{{}.", self.name))
    }
}

impl Cell {
    fn with(&self, axis: &str, value: &AxisValue) -> Self {
        let mut choices = self.choices.clone();
        choices.push((axis.to_owned(), value.clone()));
        Self { choices }
    }

    /// The text with the values of the cell; an attribute that a value does not have stays.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (axis, value) in &self.choices {
            text = text.replace(&format!("${{{axis}}}"), &value.name);
            for (attribute, of_value) in &value.attributes {
                text = text.replace(&format!("${{{axis}.{attribute}}}"), of_value);
            }
        }
        text
    }

    /// Whether it has all choices of another cell.
    pub(super) fn is_in(&self, other: &Self) -> bool {
        other.choices.iter().all(|choice| self.choices.contains(choice))
    }

    /// The values, as in `ar` or `ar.sentence`.
    #[must_use]
    pub fn label(&self) -> String {
        self.choices.iter().map(|(_, value)| value.name.as_str()).collect::<Vec<_>>().join(".")
    }

    /// The axes with their values.
    pub fn choices(&self) -> impl Iterator<Item = (&str, &str)> {
        self.choices.iter().map(|(axis, value)| (axis.as_str(), value.name.as_str()))
    }
}

fn filled(value: &Value, cell: &Cell) -> Value {
    match value {
        Value::Flag(given) => Value::Flag(*given),
        Value::Texts(texts) => Value::Texts(texts.iter().map(|text| cell.fill(text)).collect()),
        Value::Reported { report, pointer } => {
            Value::Reported { report: cell.fill(report), pointer: pointer.clone() }
        }
    }
}

fn axis_value(
    source: Source<'_>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<AxisValue, RecipeError> {
    let mut attributes = Vec::new();
    for (key, value) in source.entries(source.table(value, name)?) {
        attributes.push((key.get_ref().to_string(), source.string(value, key.get_ref())?));
    }
    Ok(AxisValue { name: name.to_owned(), attributes })
}

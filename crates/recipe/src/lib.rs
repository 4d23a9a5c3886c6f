//! Recipes: experiments as files. What a recipe says, the plan that follows from it, and the folder in which
//! it is carried out, which knows what is done.
//!
//! A recipe is TOML: steps, each a command of `toller` with its options; variables, mostly for folders; and
//! measures that are expected of the reports that steps write. A [`Matrix`] makes a step for each language
//! or relation of one. [`Figures`] are published values, which recipes name. docs/recipes.md describes the
//! format. A [`Catalogue`] knows the commands and what their options take; its owner runs the steps.
//!
//! - [`Recipe::read`] reads the file: what is written where.
//! - [`Plan::new`] sets variables, finds which step reads what another one writes, and puts the steps in
//!   order.
//! - [`Work`] is the folder of the outputs. It remembers the content that each finished step was made of, and
//!   so knows whether the step has to be done again.
//! - [`Verdict::of`] compares a report with what is expected.

mod argument;
mod arguments;
mod catalogue;
mod closest;
mod content;
mod error;
mod expect;
mod figures;
mod matrix;
mod missing;
mod order;
mod outputs;
mod plan;
mod read;
mod source;
mod state;
mod variables;
mod verdict;
mod work;

pub use argument::{Argument, Piece};
pub use catalogue::{BadArguments, Catalogue, CommandSpec, OptionSpec, Takes};
pub use error::{Place, RecipeError};
pub use expect::{Expected, ReportPlace};
pub use figures::{Figure, FigureId, FigureTable, Figures, is_of_figures};
pub use matrix::{Axis, AxisValue, Cell, Matrix};
pub use missing::Missing;
pub use plan::{Plan, PlannedStep, quoted};
pub use read::{Recipe, Step, Value, Variable};
pub use verdict::Verdict;
pub use work::{Models, Status, Work};

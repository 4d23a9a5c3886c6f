//! `toller models`: the known models and their properties.

use std::iter;

use console::Term;
use serde_json::{Value, json};
use toller_checkpoint::KnownModel;
use toller_hub::known_models;

use crate::error::UsageError;
use crate::table::{Align, table};
use crate::ui::Ui;

/// List the known models, or show one.
///
/// `--model` takes their names. Each stands for a model on Hugging Face with its pooling, prompts and
/// lengths.
#[derive(Debug, clap::Args)]
pub struct ModelsArgs {
    /// The name of a model, or its Hugging Face id
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// Prints the table, or one model, or JSON. An unknown property is a hyphen, or null. A terminal that is too
/// narrow for the sources shows the table without them.
pub fn run(args: &ModelsArgs, ui: &Ui) -> crate::Result<()> {
    let models = known_models()?;
    if let Some(name) = &args.name {
        let is_it = |model: &&KnownModel| model.name == *name || model.source.as_ref() == Some(name);
        let model = models.iter().find(is_it).ok_or_else(|| unknown(name, &models))?;
        return ui.show(|| object(model), |out| out.write_all(properties(model).as_bytes()));
    }
    let terminal = Term::stdout();
    let columns = if terminal.is_term() { usize::from(terminal.size().1) } else { usize::MAX };
    ui.show(
        || json!({ "models": models.iter().map(object).collect::<Vec<_>>() }),
        |out| out.write_all(rows(&models, columns).as_bytes()),
    )
}

fn unknown(name: &str, models: &[KnownModel]) -> UsageError {
    const SHOWN: usize = 5;
    let asked = name.to_lowercase();
    let near = models.iter().map(|model| model.name).filter(|known| known.to_lowercase().contains(&asked));
    let near: Vec<&str> = near.take(SHOWN).collect();
    let mut remedy = "see `toller models` for all names".to_owned();
    if !near.is_empty() {
        remedy = format!("there is {}; {remedy}", near.join(", "));
    }
    UsageError::new(format!("no known model is called {name}"), remedy)
}

fn object(model: &KnownModel) -> Value {
    json!({
        "name": model.name,
        "source": model.source,
        "revision": model.revision,
        "license": model.license,
        "dimensions": model.dimensions,
        "pooling": model.pooling,
        "normalize": model.normalize,
        "max_length": model.max_length,
        "title_mode": model.title_mode,
        "similarity": model.similarity,
        "prompts": model.prompts,
        "checkpoint": model.checkpoint.as_ref().map(|copy| &copy.url),
    })
}

/// A line for each property that is known; what the model's own files decide is missing.
fn properties(model: &KnownModel) -> String {
    let mut rows = Vec::new();
    for (name, value) in object(model).as_object().into_iter().flatten() {
        match value {
            Value::Null => {}
            Value::String(text) => rows.push(vec![name.clone(), text.clone()]),
            // In quotes: blanks at the end of a prompt count.
            Value::Object(prompts) => {
                rows.extend(
                    prompts.iter().map(|(role, text)| vec![format!("{name} {role}"), text.to_string()]),
                );
            }
            other => rows.push(vec![name.clone(), other.to_string()]),
        }
    }
    table(&rows, &[Align::Left, Align::Left])
}

fn rows(models: &[KnownModel], columns: usize) -> String {
    let titles = ["name", "similarity", "dimensions", "licence", "source"].map(str::to_owned).to_vec();
    let row = |model: &KnownModel| {
        let source = model.source.clone().or_else(|| Some(model.checkpoint.as_ref()?.url.clone()));
        let dimensions = model.dimensions.map(|dimensions| dimensions.to_string());
        let cells = [model.similarity.clone(), dimensions, model.license.clone(), source];
        let cells = cells.map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
        iter::once(model.name.to_owned()).chain(cells).collect()
    };
    let mut rows: Vec<Vec<String>> = iter::once(titles).chain(models.iter().map(row)).collect();
    let align = [Align::Left, Align::Left, Align::Right];
    let whole = table(&rows, &align);
    if whole.lines().all(|line| line.chars().count() <= columns) {
        return whole;
    }
    rows.iter_mut().for_each(|row| row.truncate(4));
    table(&rows, &align)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_of_80_columns_shows_no_sources() {
        let models = known_models().unwrap();
        let narrow = rows(&models, 80);
        assert_eq!(narrow.lines().count(), models.len() + 1);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80));
        assert!(!narrow.contains("source"));
        assert!(rows(&models, usize::MAX).contains("BAAI/bge-base-en-v1.5"));
    }
}

//! `toller models`: the known models and their properties.

use std::iter;

use console::Term;
use serde_json::{Value, json};
use toller_checkpoint::KnownModel;
use toller_hub::known_models;

use crate::table::{Align, table};
use crate::ui::Ui;

/// Prints the table, or JSON. An unknown property is a hyphen, or null. A terminal that is too narrow for the
/// sources shows the table without them.
pub fn run(ui: &Ui) -> crate::Result<()> {
    let models = known_models()?;
    let terminal = Term::stdout();
    let columns = if terminal.is_term() { usize::from(terminal.size().1) } else { usize::MAX };
    ui.show(
        || json!({ "models": models.iter().map(object).collect::<Vec<_>>() }),
        |out| out.write_all(rows(&models, columns).as_bytes()),
    )
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
        "similarity": model.similarity,
        "prompts": model.prompts,
        "checkpoint": model.checkpoint.as_ref().map(|copy| &copy.url),
    })
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

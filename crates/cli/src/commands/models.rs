//! `toller models`: the known models and their properties.

use std::io::Write;

use serde_json::json;
use toller_hub::known_models;

use crate::ui::Ui;

/// Arguments of `toller models`.
#[derive(Debug, clap::Args)]
pub struct ModelsArgs {}

/// Prints the table, or JSON. An unknown property is a hyphen, or null.
pub fn run(_: &ModelsArgs, ui: &Ui) -> crate::Result<()> {
    let models = known_models()?;
    if ui.json {
        return ui.json(|| {
            models
                .iter()
                .map(|model| {
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
                })
                .collect()
        });
    }
    let widest = models.iter().map(|model| model.name.len()).max().unwrap_or(0);
    let mut out = ui.out();
    writeln!(
        out,
        "{:<widest$}  {:<13}  {:>10}  {:<12}  source",
        "name", "similarity", "dimensions", "licence"
    )?;
    for model in &models {
        let or_hyphen = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let source = model.source.clone().or_else(|| model.checkpoint.as_ref().map(|copy| copy.url.clone()));
        writeln!(
            out,
            "{:<widest$}  {:<13}  {:>10}  {:<12}  {}",
            model.name,
            or_hyphen(&model.similarity),
            or_hyphen(&model.dimensions.map(|dimensions| dimensions.to_string())),
            or_hyphen(&model.license),
            or_hyphen(&source),
        )?;
    }
    out.flush()?;
    Ok(())
}

//! `--keep-model-scores`: the scores of each model.

use std::fs;

use toller_files::{AtomicFile, FileError, commit_together};
use toller_pipeline::rerank::{Candidates, Reranked};

use crate::args::paths::{ModelName, OutputPath, last_part};
use crate::args::run_output::RunOutputArgs;

/// Writes a run for each model: the hits that it scored, by its own scores, ties in the first stage's order.
pub(super) fn write(
    directory: &OutputPath,
    output: &RunOutputArgs,
    models: &[ModelName],
    candidates: &[Candidates<'_>],
    reranked: &Reranked,
) -> crate::Result<()> {
    fs::create_dir_all(directory).map_err(FileError::on("create", directory))?;
    let mut complete = Vec::new();
    for (path, (model, scores)) in files(directory, models).zip(models.iter().zip(&reranked.model_scores)) {
        let mut run = output.tagged_writer(AtomicFile::create(&*path)?, &path, &tag(model))?;
        for (query, scores) in candidates.iter().zip(scores) {
            let scored = query.hits.iter().zip(scores);
            let mut hits: Vec<(&str, f32)> =
                scored.filter_map(|((document, _), score)| Some((*document, (*score)?))).collect();
            // Stable.
            hits.sort_by(|a, b| b.1.total_cmp(&a.1));
            run.write_query(query.query_id, hits)?;
        }
        complete.push(run.finish()?.complete()?);
    }
    Ok(commit_together(complete)?)
}

/// The file of each model.
pub(super) fn files(directory: &OutputPath, models: &[ModelName]) -> impl Iterator<Item = OutputPath> {
    (1..).zip(models).map(|(number, model)| directory.file(format!("{number}-{}.run", tag(model))))
}

/// A model's name as one word that can be part of a file name.
fn tag(model: &str) -> String {
    let name = last_part(model);
    let word = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.chars().map(word).collect()
}

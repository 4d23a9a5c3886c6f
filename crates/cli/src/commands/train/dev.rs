//! The dev set of a run, from its options.

use toller_corpus::{ReadOptions, open_collection, read_queries, read_run};
use toller_engine::Engine;
use toller_files::expand;
use toller_texts::TextsOptions;
use toller_train::{Dev, DevSet, Evaluation, Judge, Task};

use super::args::{DevArgs, TrainArgs};
use crate::args::evaluation::measures;
use crate::args::qrels::read_judgments;
use crate::error::UsageError;
use crate::ui::Ui;

/// Hits that a cross-encoder ranks, by default.
const DEPTH: usize = 100;

/// The dev set, if there is one.
pub fn open(train: &TrainArgs, task: &Task, engine: &Engine, ui: &Ui) -> crate::Result<Option<Dev>> {
    let args = &train.dev;
    let (queries, qrels) = match (&args.dev_queries, &args.dev_qrels) {
        (Some(queries), Some(qrels)) => (queries, qrels),
        (None, None) => return no_dev_set(args),
        _ => {
            return Err(
                UsageError::new("a dev set is judged queries", "give --dev-queries and --dev-qrels").into()
            );
        }
    };
    let corpus = if args.dev_corpus.is_empty() { &train.corpus } else { &args.dev_corpus };
    if corpus.is_empty() {
        return Err(UsageError::new("the dev set has no collection", "give --dev-corpus").into());
    }
    let corpus = expand(corpus)?;
    let relevance_level = train.relevance_level.unwrap_or(1);
    let level = u32::try_from(relevance_level).map_err(|_| {
        UsageError::new(format!("--relevance-level {relevance_level}"), "give 0 or more for a dev set")
    })?;
    let judge = Judge {
        qrels: read_judgments(qrels, None, false, ui)?,
        measures: measures(&[args.dev_measures.clone().unwrap_or_else(|| "nDCG@10".to_owned())])?,
        relevance_level: level,
    };
    let (queries, _) = read_queries(&[queries.input()], &ReadOptions::default())?;
    let set = match (task, &args.dev_run) {
        (Task::Dual { .. }, None) => {
            DevSet::search(task, &queries, open_collection(&corpus, &ReadOptions::default())?, judge)?
        }
        (Task::Cross { .. }, Some(run)) => {
            let (run, _) = read_run(&run.input(), &ReadOptions::default())?;
            let texts = engine.texts(&corpus, &TextsOptions::default())?;
            let depth = args.dev_depth.map_or(DEPTH, |depth| depth as usize);
            DevSet::rerank(task, &queries, &run, depth, &texts, judge)?
        }
        (Task::Dual { .. }, Some(_)) => {
            let remedy = "omit --dev-run: a dual encoder is evaluated by searching --dev-corpus";
            return Err(UsageError::new("--dev-run is for a cross-encoder", remedy).into());
        }
        (Task::Cross { .. }, None) => {
            let remedy = "give --dev-run RUN, whose hits it ranks";
            return Err(UsageError::new("a cross-encoder is evaluated by reranking a run", remedy).into());
        }
    };
    Ok(Some(Dev { set, every: args.eval_every, patience: args.patience, saves_last: args.save_last }))
}

/// Refuses options that need a dev set.
fn no_dev_set(args: &DevArgs) -> crate::Result<Option<Dev>> {
    let given = [
        (!args.dev_corpus.is_empty(), "--dev-corpus"),
        (args.dev_run.is_some(), "--dev-run"),
        (args.dev_depth.is_some(), "--dev-depth"),
        (args.dev_measures.is_some(), "--dev-measures"),
        (args.eval_every.is_some(), "--eval-every"),
        (args.patience.is_some(), "--patience"),
        (args.save_last, "--save-last"),
    ];
    match given.iter().find(|(is_given, _)| *is_given) {
        None => Ok(None),
        Some((_, flag)) => {
            let remedy = "give --dev-queries and --dev-qrels";
            Err(UsageError::new(format!("{flag} needs a dev set"), remedy).into())
        }
    }
}

/// An evaluation as a line.
pub fn line(evaluation: &Evaluation) -> String {
    let values: Vec<String> =
        evaluation.measures.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
    format!("step {}: {}, in {:.1} s", evaluation.step, values.join(", "), evaluation.seconds)
}

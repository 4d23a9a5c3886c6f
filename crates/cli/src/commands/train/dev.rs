//! The dev set of a run, from its options.

use toller_corpus::{ReadOptions, open_collection, read_queries, read_run};
use toller_engine::Engine;
use toller_files::expand;
use toller_texts::TextsOptions;
use toller_train::{Dev, DevSet, Evaluation, Judge, MarkedFile, MarkedSet, RankedSet, Task, TokenTask};

use super::args::{RankingArgs, RunArgs, TokenArgs};
use crate::args::evaluation::measures;
use crate::args::qrels::read_judgments;
use crate::error::UsageError;
use crate::ui::Ui;

/// Hits that a cross-encoder ranks, by default.
const DEPTH: usize = 100;

/// The dev set of what ranks passages, if there is one.
pub fn open(train: &RankingArgs, task: &Task, engine: &Engine, ui: &Ui) -> crate::Result<Option<Dev>> {
    let args = &train.dev;
    let (queries, qrels) = match (&args.dev_queries, &args.dev_qrels) {
        (Some(queries), Some(qrels)) => (queries, qrels),
        (None, None) => return no_dev_set(train),
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
        qrels: read_judgments(qrels, None, train.skip_bad_lines, ui)?,
        measures: measures(&[args.dev_measures.clone().unwrap_or_else(|| "nDCG@10".to_owned())])?,
        relevance_level: level,
    };
    let reading = ReadOptions { skip_bad_lines: train.skip_bad_lines, ..ReadOptions::default() };
    let of_queries = queries.input();
    let (queries, skipped) = read_queries(std::slice::from_ref(&of_queries), &reading)?;
    ui.skipped(&format!("{of_queries}: "), &skipped);
    let collection = ReadOptions { skip_bad_lines: train.skip_bad_lines, ..ReadOptions::default() };
    let set = match (task, &args.dev_run) {
        (Task::Dual { .. }, None) if args.dev_depth.is_some() => {
            let remedy = "omit --dev-depth: a dual encoder searches --dev-corpus for 1,000 hits";
            return Err(UsageError::new("--dev-depth is for a cross-encoder", remedy).into());
        }
        (Task::Dual { .. }, None) => {
            let mut passages = open_collection(&corpus, &collection)?;
            let set = RankedSet::search(task, &queries, passages.by_ref(), judge)?;
            ui.skipped("", passages.skipped());
            set
        }
        (Task::Cross { .. }, Some(run)) => {
            let (run, _) = read_run(&run.input(), &ReadOptions::default())?;
            let options = TextsOptions { reading: collection, ..TextsOptions::default() };
            let texts = engine.texts(&corpus, &options)?;
            let depth = args.dev_depth.map_or(DEPTH, |depth| depth as usize);
            RankedSet::rerank(task, &queries, &run, depth, &texts, judge)?
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
    Ok(Some(dev(set, &train.run)))
}

/// The dev set of a token classifier, if there is one.
pub fn open_marked(args: &TokenArgs, task: &TokenTask) -> crate::Result<Option<Dev>> {
    if args.dev_data.is_empty() {
        refuse(&of_every_run(&args.run), "give --dev-data")?;
        return Ok(None);
    }
    let files = args.dev_data.iter().map(|path| MarkedFile::open(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(dev(MarkedSet::new(task, &files)?, &args.run)))
}

fn dev(set: impl Into<DevSet>, run: &RunArgs) -> Dev {
    Dev { set: set.into(), every: run.eval_every, patience: run.patience, saves_last: run.save_last }
}

/// No dev set, and no option that needs one.
fn no_dev_set(train: &RankingArgs) -> crate::Result<Option<Dev>> {
    let args = &train.dev;
    let given = [
        (!args.dev_corpus.is_empty(), "--dev-corpus"),
        (args.dev_run.is_some(), "--dev-run"),
        (args.dev_depth.is_some(), "--dev-depth"),
        (args.dev_measures.is_some(), "--dev-measures"),
    ];
    refuse(&[&given[..], &of_every_run(&train.run)].concat(), "give --dev-queries and --dev-qrels")?;
    Ok(None)
}

/// The options of every run that need a dev set, and whether they are given.
fn of_every_run(run: &RunArgs) -> [(bool, &'static str); 3] {
    [
        (run.eval_every.is_some(), "--eval-every"),
        (run.patience.is_some(), "--patience"),
        (run.save_last, "--save-last"),
    ]
}

/// Refuses the first option that is given.
fn refuse(options: &[(bool, &str)], remedy: &'static str) -> Result<(), UsageError> {
    match options.iter().find(|(is_given, _)| *is_given) {
        None => Ok(()),
        Some((_, flag)) => Err(UsageError::new(format!("{flag} needs a dev set"), remedy)),
    }
}

/// An evaluation as a line.
pub fn line(evaluation: &Evaluation) -> String {
    let values: Vec<String> =
        evaluation.measures.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
    format!("step {}: {}, in {:.1} s", evaluation.step, values.join(", "), evaluation.seconds)
}

//! The dev set of a run, from its options.

use std::path::PathBuf;
use std::sync::Arc;

use toller_corpus::{ReadOptions, read_run};
use toller_engine::DevData;
use toller_train::{Dev, Evaluation};

use super::args::{RankingArgs, RunArgs, TokenArgs};
use super::data::{collection, queries};
use crate::args::measures::of_all;
use crate::args::paths::InputPath;
use crate::args::qrels::read_judgments;
use crate::error::UsageError;
use crate::ui::Ui;

/// The dev set of what ranks passages, if there is one.
pub fn ranked(train: &RankingArgs, ui: &Ui) -> crate::Result<Option<Dev<DevData>>> {
    let args = &train.dev;
    let (dev_queries, qrels) = match (&args.dev_queries, &args.dev_qrels) {
        (Some(queries), Some(qrels)) => (queries, qrels),
        (None, None) => return no_dev_set(train),
        _ => {
            return Err(
                UsageError::new("a dev set is judged queries", "give --dev-queries and --dev-qrels").into()
            );
        }
    };
    let run = args.dev_run.as_ref().map(|run| read_run(&run.input(), &ReadOptions::default())).transpose()?;
    let set = DevData {
        queries: queries(dev_queries, train.skip_bad_lines)?,
        qrels: Arc::new(read_judgments(qrels, None, train.skip_bad_lines, ui)?),
        corpus: collection(&args.dev_corpus, train.skip_bad_lines)?,
        run: run.map(|(run, _)| Arc::new(run)),
        depth: args.dev_depth.map(|depth| depth as usize),
        measures: of_all(&args.dev_measures.clone().map_or_else(|| "nDCG@10".parse(), Ok)),
    };
    Ok(Some(dev(set, &train.run)))
}

/// The dev set of a token classifier, if there is one.
pub fn marked(args: &TokenArgs) -> crate::Result<Option<Dev<Vec<PathBuf>>>> {
    if args.dev_data.is_empty() {
        refuse(&of_every_run(&args.run), "give --dev-data")?;
        return Ok(None);
    }
    Ok(Some(dev(InputPath::all(&args.dev_data), &args.run)))
}

fn dev<S>(set: S, run: &RunArgs) -> Dev<S> {
    Dev { set, every: run.eval_every, patience: run.patience, saves_last: run.save_last }
}

/// No dev set, and no option that needs one.
fn no_dev_set(train: &RankingArgs) -> crate::Result<Option<Dev<DevData>>> {
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

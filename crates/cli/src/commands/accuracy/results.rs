//! `toller accuracy` without a collection: DPR's results have questions, answers and texts themselves.

use rayon::prelude::*;
use toller_corpus::DprResult;
use toller_datasets::first_rank;
use toller_ir::Query;

use super::{AccuracyArgs, Answered, NOT_ANSWERED, RunRanks, by_file};
use crate::args::paths::InputPath;
use crate::args::runs::warn_of_questions;
use crate::ui::Ui;

/// Questions whose passages are in memory at a time.
const QUESTIONS_PER_BLOCK: usize = 256;

/// Reads each file or folder of results, and looks for the answers of its own questions.
pub fn answered(args: &AccuracyArgs, depth: usize, ui: &Ui) -> crate::Result<Vec<Answered>> {
    let all = args.runs.iter().map(|path| of_run(args, path, depth, ui));
    let all = all.collect::<crate::Result<Vec<Answered>>>()?;
    let mut read = all.iter().zip(&args.runs);
    if let Some((first, first_path)) = read.next() {
        for (_, path) in read.filter(|(other, _)| !have_same_texts(&other.questions, &first.questions)) {
            let (path, first) = (path.display(), first_path.display());
            ui.warning(format!(
                "{path}: its questions are not those of {first}, so the two cannot be compared"
            ));
        }
    }
    Ok(all)
}

fn have_same_texts(some: &[Query], others: &[Query]) -> bool {
    some.iter().map(|query| &query.text).eq(others.iter().map(|query| &query.text))
}

fn of_run(args: &AccuracyArgs, path: &InputPath, depth: usize, ui: &Ui) -> crate::Result<Answered> {
    let mode = args.answers.matching.mode();
    let (mut questions, mut ranks, mut block) = (Vec::new(), Vec::new(), Vec::new());
    let mut missing = 0;
    let bar = ui.progress("reading", "questions", 0);
    let mut look = |block: &mut Vec<DprResult>| {
        let rank = |DprResult { query, passages }: &DprResult| {
            first_rank(query, passages.iter().take(depth).map(|passage| passage.text.as_str()), mode)
        };
        ranks.par_extend(block.par_iter().map(rank));
        missing += block.iter().filter(|result| result.passages.is_empty()).count();
        questions.extend(block.drain(..).map(|result| result.query));
        bar.set(questions.len() as u64);
    };
    let files = args.input.read_results(path, ui, |result| {
        block.push(result);
        if block.len() == QUESTIONS_PER_BLOCK {
            look(&mut block);
        }
    })?;
    look(&mut block);
    drop(bar);
    args.answers.matching.check(&questions, ui)?;
    let by_file = by_file(args, &files, &questions, "RUN")?;
    warn_of_questions(path, missing, questions.len(), NOT_ANSWERED, ui);
    Ok(Answered { questions, by_file, runs: vec![RunRanks { ranks, missing }] })
}

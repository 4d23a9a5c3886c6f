//! The flags of questions with answers, and looking for the answers in what runs retrieved.

use std::collections::HashMap;

use toller_corpus::{QueriesOfFile, open_collection};
use toller_datasets::{AnswerMatcher, AnswerSearch, MatchMode, is_unspaced, refused_patterns};
use toller_engine::collection_files;
use toller_eval::ranked_documents;
use toller_ir::{Passage, Query, Setting};

use super::input::{CORPUS_FORMAT, CollectionArgs, QueriesArgs};
use super::paths::InputPath;
use super::runs::{RunInputArgs, check_questions};
use crate::error::{Context, Remedied};
use crate::ui::Ui;

/// Passages that are looked into at a time.
const PASSAGES_PER_BLOCK: usize = 4096;

/// Flags of the commands that look for answers.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("queries_format", |format| format.requires("queries")),
    mut_arg("corpus_format", |format| format.requires("corpus")),
    mut_arg("id_column", |column| column.requires("corpus")),
    mut_arg("title_column", |column| column.requires("corpus")),
    mut_arg("text_column", |column| column.requires("corpus"))
)]
pub struct AnswerArgs {
    /// Questions with their answers: files or folders of DPR, EntityQuestions or JSONL
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "corpus")]
    pub queries: Vec<InputPath>,

    #[command(flatten)]
    queries_input: QueriesArgs,

    /// Collection, for the texts of the passages
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "queries")]
    corpus: Vec<InputPath>,

    #[command(flatten)]
    collection: CollectionArgs,

    #[command(flatten)]
    pub matching: MatchingArgs,
}

/// The flag of how answers are looked for.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct MatchingArgs {
    /// How answers are looked for
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    matching: Matching,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Matching {
    /// As sequences of words, in any case and Unicode form
    #[default]
    String,
    /// As regular expressions, in any case (CuratedTREC)
    Regex,
    /// As sequences of characters, in any case, whatever the spaces (Chinese, Japanese, Thai)
    Substring,
}

impl MatchingArgs {
    /// How answers are looked for.
    pub fn mode(self) -> MatchMode {
        match self.matching {
            Matching::String => MatchMode::Tokens,
            Matching::Regex => MatchMode::Patterns,
            Matching::Substring => MatchMode::Characters,
        }
    }

    /// Checks that some questions have answers, and notes answers that are hard to find.
    pub fn check(self, questions: &[Query], ui: &Ui) -> Result<(), Remedied> {
        check_answers(questions, self.mode(), ui)?;
        if self.mode() == MatchMode::Tokens {
            note_answers_that_are_not_words(questions, ui);
        }
        Ok(())
    }
}

/// Checks that some questions have answers. Those without are reported, and answers that should be patterns
/// and are not.
fn check_answers(questions: &[Query], mode: MatchMode, ui: &Ui) -> Result<(), Remedied> {
    let (without, all) = (questions.iter().filter(|query| query.answers.is_empty()).count(), questions.len());
    if without == all {
        let remedy = "give --queries a file with answers: DPR's, EntityQuestions', or JSONL with `answers`";
        return Err(Remedied::new("no question has answers", remedy));
    }
    if without > 0 {
        ui.warning(format!("{without} of {all} questions have no answers and count as not answered"));
    }
    let answers = || questions.iter().flat_map(|query| &query.answers);
    let empty = answers().filter(|answer| AnswerMatcher::new([answer.as_str()], mode).is_in("")).count();
    if empty > 0 {
        ui.warning(format!(
            "{empty} of {} answers match the empty text, and so every passage",
            answers().count()
        ));
    }
    let refused = if mode == MatchMode::Patterns { refused_patterns(questions) } else { Vec::new() };
    if let Some(example) = refused.first() {
        let answers: usize = questions.iter().map(|query| query.answers.len()).sum();
        ui.warning(format!(
            "{} of {answers} answers are not regular expressions and never match, such as {example:?}",
            refused.len()
        ));
    }
    Ok(())
}

/// The part of all answers, one in this many, from which on other answers than words are worth a note.
const FEW: usize = 10;

/// Says that answers are in scripts without spaces, or look like patterns: few of them are found as words.
fn note_answers_that_are_not_words(questions: &[Query], ui: &Ui) {
    let answers: Vec<&String> = questions.iter().flat_map(|query| &query.answers).collect();
    let count = |is: &dyn Fn(&str) -> bool| answers.iter().filter(|answer| is(answer)).count();
    let (unspaced, all) = (count(&is_unspaced), answers.len());
    if unspaced * FEW > all {
        ui.warning(format!(
            "{unspaced} of {all} answers are in a script without spaces between words, and few of them are whole words of a passage; --matching substring compares characters"
        ));
    }
    let patterns = count(&|answer| answer.contains(['|', '\\']));
    if patterns * FEW > all {
        ui.warning(format!(
            "{patterns} of {all} answers look like regular expressions; --matching regex takes them as such"
        ));
    }
}

impl AnswerArgs {
    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = &InputPath> {
        self.queries.iter().chain(&self.corpus)
    }

    /// Reads the questions, and which of them are whose. Some must have answers.
    pub fn questions(
        &self,
        skip_bad_lines: bool,
        ui: &Ui,
    ) -> crate::Result<(Vec<Query>, Vec<QueriesOfFile>)> {
        let (questions, files) = self.queries_input.read_by_file(&self.queries, skip_bad_lines, ui)?;
        self.matching.check(&questions, ui)?;
        Ok((questions, files))
    }

    /// A search for the answers of these questions.
    pub fn search<'a>(&self, questions: &'a [Query]) -> AnswerSearch<'a> {
        AnswerSearch::new(questions, self.matching.mode())
    }

    /// Adds the first `depth` documents of a run, or of a folder of DPR's results. Returns the number of
    /// questions without results.
    pub fn add_run(
        &self,
        search: &mut AnswerSearch<'_>,
        path: &InputPath,
        questions: &[Query],
        depth: usize,
        input: &RunInputArgs,
        ui: &Ui,
    ) -> crate::Result<usize> {
        let run = input.read_file_or_folder(path, ui)?;
        let missing = check_questions(path, &run, questions)?;
        let rankings: HashMap<&str, Vec<&str>> = run
            .queries
            .iter()
            .map(|(query, entries)| {
                let ranked = ranked_documents(query, entries)?;
                Ok((query.as_str(), ranked.iter().take(depth).map(|entry| entry.doc_id.as_str()).collect()))
            })
            .collect::<Result<_, toller_eval::EvalError>>()
            .context(format!("cannot evaluate {}", path.input()))?;
        search.add_run(rankings);
        Ok(missing)
    }

    /// Reads the collection once.
    pub fn look_into_collection(
        &self,
        search: &mut AnswerSearch<'_>,
        skip_bad_lines: bool,
        ui: &Ui,
    ) -> crate::Result<()> {
        let collection =
            open_collection(&collection_files(&self.corpus)?, &self.collection.options(skip_bad_lines));
        let mut collection = collection.with_flag(Setting::Format, CORPUS_FORMAT)?;
        let bar = ui.progress("reading", "passages retrieved", search.retrieved() as u64);
        let (mut block, mut found): (Vec<Passage>, usize) = (Vec::with_capacity(PASSAGES_PER_BLOCK), 0);
        for passage in collection.by_ref() {
            let passage = passage.with_flag(Setting::Format, CORPUS_FORMAT)?;
            if search.is_retrieved(&passage.id) {
                block.push(passage);
            }
            if block.len() == PASSAGES_PER_BLOCK {
                search.look_into(&block);
                found += block.len();
                bar.set(found as u64);
                block.clear();
            }
        }
        search.look_into(&block);
        found += block.len();
        drop(bar);
        ui.skipped("", collection.skipped());
        let retrieved = search.retrieved();
        if found == 0 && retrieved > 0 {
            let message = format!("none of the {retrieved} retrieved passages is in the collection");
            return Err(Remedied::new(message, "give --corpus the collection that was searched").into());
        }
        if found < retrieved {
            ui.warning(format!(
                "{} of {retrieved} retrieved passages are not in the collection and count as without an answer",
                retrieved - found
            ));
        }
        Ok(())
    }
}

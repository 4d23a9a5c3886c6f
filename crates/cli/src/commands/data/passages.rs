//! `toller data passages`: documents into windows.

use clap::ArgGroup;
use toller_corpus::open_collection;
use toller_datasets::{PassageFolder, SentenceRules, WindowUnit, Windows};
use toller_engine::collection_files;
use toller_ir::Setting;

use super::folder::FolderArgs;
use crate::args::choice::by_name;
use crate::args::input::{BadLinesArgs, CORPUS_FORMAT, CollectionArgs};
use crate::args::paths::InputPath;
use crate::error::{Context, UsageError};
use crate::ui::Ui;

/// Cut documents into passages: windows of words, sentences or characters, which may overlap.
///
/// Passages are called as their document, with a number: D1#0, D1#1, ... They have its title. A search with
/// --max-passage ranks the documents by their best passages (MaxP).
#[derive(Debug, clap::Args)]
#[command(
    group(ArgGroup::new("window").required(true).args(["words", "sentences", "characters"])),
    override_usage = "toller data passages [OPTIONS] --output <DIR>\n           <--words <N>|--sentences <N>|--characters <N>> <DOCUMENTS>..."
)]
pub struct PassagesArgs {
    /// Documents: a collection
    #[arg(value_name = "DOCUMENTS", required = true)]
    documents: Vec<InputPath>,

    #[command(flatten)]
    folder: FolderArgs,

    /// Words of a passage, at most: what is between white space (MaxP: 150 with a stride of 75; DPR: 100)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    words: Option<u32>,

    /// Sentences of a passage, at most (Castorini's MS MARCO documents: 10 with a stride of 5)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sentences: Option<u32>,

    /// Characters of a passage, at most, for languages without spaces between words
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    characters: Option<u32>,

    /// Words, sentences or characters from the start of a passage to the start of the next [default: no
    /// overlap]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    stride: Option<u32>,

    /// How sentences are found [default: unicode]
    #[arg(long, value_name = "RULES", value_parser = by_name::<SentenceRules>(SentenceRules::NAMES))]
    sentence_rules: Option<SentenceRules>,

    /// What is between a document's identifier and the number of a passage
    #[arg(long, value_name = "TEXT", default_value = "#", value_parser = delimiter)]
    delimiter: String,

    #[command(flatten)]
    collection: CollectionArgs,

    #[command(flatten)]
    bad_lines: BadLinesArgs,
}

fn delimiter(text: &str) -> Result<String, String> {
    let is_word = !text.is_empty() && !text.contains(char::is_whitespace);
    if is_word { Ok(text.to_owned()) } else { Err("a word, as in #".to_owned()) }
}

impl PassagesArgs {
    fn windows(&self) -> Result<Windows, UsageError> {
        let (unit, length) = match (self.words, self.sentences, self.characters) {
            (Some(words), _, _) => (WindowUnit::Words, words),
            (_, Some(sentences), _) => {
                let rules = self.sentence_rules.unwrap_or(SentenceRules::Unicode);
                (WindowUnit::Sentences(rules), sentences)
            }
            (_, _, Some(characters)) => (WindowUnit::Characters, characters),
            (None, None, None) => {
                return Err(UsageError::new("passages have no length", "give --words N"));
            }
        };
        if self.sentence_rules.is_some() && self.sentences.is_none() {
            let message = "--sentence-rules is for --sentences, which is not given";
            return Err(UsageError::new(message, "leave it out, or give --sentences N"));
        }
        let stride = self.stride.unwrap_or(length);
        if stride > length {
            let message = format!("--stride {stride} leaves out what is between passages of {length}");
            return Err(UsageError::new(message, format!("give --stride at most {length}")));
        }
        Ok(Windows { unit, length: length as usize, stride: stride as usize })
    }
}

/// Documents between two updates of the progress.
const PROGRESS: u64 = 1024;

/// Cuts documents.
pub fn run(args: &PassagesArgs, ui: &Ui) -> crate::Result<()> {
    let windows = args.windows()?;
    let _claim = args.folder.claim(&args.documents, ui)?;
    let options = args.collection.options(args.bad_lines.skip_bad_lines);
    let mut documents = open_collection(&collection_files(&args.documents)?, &options)
        .with_flag(Setting::Format, CORPUS_FORMAT)?;
    let mut passages = PassageFolder::create(&args.folder.output, windows, &args.delimiter)?;
    let bar = ui.progress("cutting", "documents", 0);
    let mut done = 0;
    while let Some(document) = documents.next().transpose().with_flag(Setting::Format, CORPUS_FORMAT)? {
        passages.add(&document)?;
        done += 1;
        if done % PROGRESS == 0 {
            bar.set(done);
        }
    }
    drop(bar);
    ui.skipped("", documents.skipped());
    if let Some(warning) = passages.warning() {
        ui.warning(format!("{warning}: --characters N cuts such texts"));
    }
    let (files, statistics) = passages.finish()?;
    args.folder.report(&files, &statistics, ui)
}

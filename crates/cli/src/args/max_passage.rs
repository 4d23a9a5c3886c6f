//! The flags of runs of documents that are found by their passages.

use std::io::Write;

use clap::builder::NonEmptyStringValueParser;
use toller_corpus::{MaxPassage, TrecRunWriter};

use crate::ui::Ui;

/// Flags of commands that find passages. The names are Pyserini's.
#[derive(Debug, clap::Args)]
pub struct MaxPassageArgs {
    /// List documents instead of passages, each with the score of its best passage (MaxP). A document's id is
    /// that of its passages up to the first delimiter
    #[arg(long)]
    max_passage: bool,

    /// What separates a document's id from the rest of a passage's
    #[arg(long, value_name = "TEXT", default_value = "#", requires = "max_passage")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    max_passage_delimiter: String,

    /// Documents to keep for each query [default: those of all passages]
    #[arg(long, value_name = "N", requires = "max_passage", value_parser = clap::value_parser!(u32).range(1..))]
    max_passage_hits: Option<u32>,
}

impl MaxPassageArgs {
    /// How passages become documents, if they do.
    pub fn max_passage(&self) -> Option<MaxPassage> {
        self.max_passage.then(|| MaxPassage {
            delimiter: self.max_passage_delimiter.clone(),
            hits: self.max_passage_hits.map_or(usize::MAX, |hits| hits as usize),
        })
    }

    /// Warns of a run without passages: the delimiter may be another.
    pub fn warn_if_idle(&self, run: &TrecRunWriter<impl Write>, ui: &Ui) {
        if self.max_passage && run.hits() > 0 && !run.has_passages() {
            ui.warning(format!(
                "--max-passage changed nothing: no hit's id has {:?}; --max-passage-delimiter names what it has",
                self.max_passage_delimiter
            ));
        }
    }
}

//! `toller data t2ranking segment`: documents into passages.

use rayon::prelude::*;
use toller_datasets::{ScoredWords, Segmentation};
use toller_encoder::{Document, EncoderError, TokenClassifier, TokenClassifierOptions};
use toller_engine::Engine;
use toller_ir::{Passage, Setting};

use super::folder::FolderArgs;
use crate::args::device::ComputeArgs;
use crate::args::input::{BadLinesArgs, CORPUS_FORMAT, CollectionArgs};
use crate::args::paths::{InputPath, ModelName};
use crate::engine;
use crate::error::Context;
use crate::ui::Ui;

/// Cut documents into passages after the words that a token classifier finds to be the last of a paragraph.
///
/// Each threshold of --sigma has a file, sigma-S.jsonl, and a row of the table. `toller train token` trains
/// the model.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "toller data t2ranking segment [OPTIONS] --output <DIR>\n           <DOCUMENTS>... --model <M> --sigma <S>..."
)]
pub struct SegmentArgs {
    /// Documents: a collection
    #[arg(value_name = "DOCUMENTS", required = true)]
    documents: Vec<InputPath>,

    #[command(flatten)]
    folder: FolderArgs,

    /// Token classifier: a directory, a Hugging Face id or a known name
    #[arg(long, value_name = "M")]
    model: ModelName,

    /// The lowest score of a passage's last word, from 0 to 1
    #[arg(long, value_name = "S", required = true, num_args = 1.., value_parser = score)]
    sigma: Vec<f64>,

    /// Label of the last words, from 0 [default: the second of two]
    #[arg(long, value_name = "N")]
    label: Option<usize>,

    /// Read documents in windows of N tokens, special tokens included [default: the model's own maximum]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_length: Option<u32>,

    /// Tokens from the start of a window to the start of the next [default: half a window]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..))]
    stride: Option<u32>,

    #[command(flatten)]
    compute: ComputeArgs,

    #[command(flatten)]
    collection: CollectionArgs,

    #[command(flatten)]
    bad_lines: BadLinesArgs,
}

/// Tokens of documents that are scored together, for each thread.
const TOKENS: usize = 1 << 14;

fn score(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok();
    value
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// A token classifier that scores documents.
struct Scorer {
    model: TokenClassifier,
    label: usize,
    stride: Option<usize>,
    threads: usize,
}

impl Scorer {
    fn open(args: &SegmentArgs, engine: &Engine) -> crate::Result<Self> {
        let options = TokenClassifierOptions {
            max_length: args.max_length.map(|length| length as usize),
            batch_tokens: args.compute.batch_tokens(),
            dtype: args.compute.dtype,
            compute: args.compute.open(engine)?,
            ..TokenClassifierOptions::default()
        };
        let model = TokenClassifier::load(&engine.resolve(&args.model)?.directory, &options)?;
        Ok(Self {
            label: model.label(args.label)?,
            model,
            stride: args.stride.map(|stride| stride as usize),
            threads: rayon::current_num_threads(),
        })
    }

    /// The words of each document with their scores.
    fn score(&self, documents: &[Passage]) -> Result<Vec<ScoredWords>, EncoderError> {
        let tokens = documents.par_iter().map(|document| self.model.document(&document.text, self.stride));
        let tokens: Vec<Document> = tokens.collect::<Result<_, _>>()?;
        let logits = self.model.logits(&tokens, self.threads)?;
        let words = documents.par_iter().zip(tokens).zip(logits).map(|((document, tokens), logits)| {
            let scores = self.model.shares(&logits, self.label);
            ScoredWords::new(&document.text, tokens.places.into_iter().zip(scores))
        });
        Ok(words.collect())
    }
}

/// Cuts documents.
pub fn run(args: &SegmentArgs, ui: &Ui) -> crate::Result<()> {
    args.compute.check()?;
    let _claim = args.folder.claim(&args.documents, ui)?;
    let engine = engine::open(ui)?;
    let options = args.collection.options(args.bad_lines.skip_bad_lines);
    let documents = engine.collection_files(&args.documents)?;
    let source = engine
        .collection(&documents, &args.folder.output, &options)
        .with_flag(Setting::Format, CORPUS_FORMAT)?;
    let scorer = Scorer::open(args, &engine)?;
    let all = 0..source.texts();
    let mut reader = source.passages(vec![all])?;
    let mut segmentation = Segmentation::create(&args.folder.output, &args.sigma)?;
    let bar = ui.progress("segmenting", "documents", source.texts());
    let (mut done, most) = (0, TOKENS * scorer.threads);
    loop {
        // A token has at least a byte.
        let (mut documents, mut bytes) = (Vec::new(), 0);
        while bytes < most
            && let Some(document) = reader.next().transpose()?
        {
            // A document without text takes memory, too.
            bytes += document.text.len().max(1);
            documents.push(document);
        }
        if documents.is_empty() {
            break;
        }
        for (document, words) in documents.iter().zip(scorer.score(&documents)?) {
            segmentation.add(document, &words)?;
        }
        done += documents.len() as u64;
        bar.set(done);
    }
    drop(bar);
    ui.skipped("", source.skipped());
    let (files, statistics) = segmentation.finish()?;
    args.folder.report(&files, &statistics, ui)
}

//! The flags of a reranker, and opening it: models, texts, options.

use std::path::Path;

use toller_encoder::CrossEncoderOptions;
use toller_engine::Engine;
use toller_ir::Setting;
use toller_pipeline::rerank::{Aggregate, Combine, PassageWindows, RerankOptions, Reranker, Unavailable};

use super::cross_encoder::CrossEncoderArgs;
use super::input::CORPUS_FORMAT;
use super::paths::{CachePath, InputPath, ModelName};
use super::text_index::TextIndexArgs;
use crate::error::{Context, UsageError};
use crate::interrupt;

/// Flags of a reranker.
#[derive(Debug, clap::Args)]
pub struct RerankerArgs {
    /// Cross-encoder to rerank with; several form an ensemble
    #[arg(long = "model", value_name = "M", num_args = 1.., required = true)]
    pub models: Vec<ModelName>,

    #[command(flatten)]
    pub reranking: RerankingArgs,

    #[command(flatten)]
    cross_encoder: CrossEncoderArgs,
}

/// Flags of what is reranked and how.
#[derive(Debug, clap::Args)]
pub struct RerankingArgs {
    /// Collection that the documents are in: files, directories, or - for stdin
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    pub corpus: Vec<InputPath>,

    /// Hits of each query that are scored
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: u32,

    /// Leave out the hits below --depth
    #[arg(long)]
    cut: bool,

    /// How the scores of several models become one: mean, mean-rank, rrf or softmax-mean
    #[arg(long, value_name = "HOW", default_value_t)]
    combine: Combine,

    /// Weight of the models, from 0 to 1; the run gets the rest. Both are scaled to [0, 1] over the reranked
    /// hits of a query
    #[arg(long, value_name = "W", value_parser = share)]
    interpolate: Option<f64>,

    /// Keep documents that are missing from the collection below the reranked ones, and leave hits of queries
    /// without text as they are
    #[arg(long)]
    skip_unavailable: bool,

    /// Directory in which scores are kept for other jobs on the same texts
    #[arg(long, value_name = "DIR")]
    pub cache: Option<CachePath>,

    #[command(flatten)]
    text_index: TextIndexArgs,

    #[command(flatten)]
    passages: PassageArgs,
}

/// Flags of what a cross-encoder is given of a passage.
#[derive(Debug, clap::Args)]
struct PassageArgs {
    /// Score passages in windows of N tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    passage_window: Option<u32>,

    /// Tokens from the start of a window to the start of the next [default: half a window]
    #[arg(long, value_name = "M", requires = "passage_window", value_parser = clap::value_parser!(u32).range(1..))]
    stride: Option<u32>,

    /// How the scores of its windows become a passage's score: max, first or mean
    #[arg(long, value_name = "HOW", requires = "passage_window", default_value_t)]
    aggregate: Aggregate,

    /// Text between a passage's title and its text; `" [SEP] "` gives BERT's separator, as in DPR's reader
    #[arg(long, value_name = "TEXT", default_value = " ", allow_hyphen_values = true)]
    title_separator: String,

    /// Leave titles out
    #[arg(long, conflicts_with = "title_separator")]
    no_title: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a number from 0 to 1".to_owned())
}

impl RerankerArgs {
    /// Refuses wrong usage before anything is read.
    pub fn check(&self) -> Result<(), UsageError> {
        self.cross_encoder.check()?;
        self.reranking.check()
    }

    /// Opens texts and models.
    pub fn open(&self, skip_bad_lines: bool, engine: &Engine) -> crate::Result<Reranker> {
        self.reranking.open(&self.models, &self.cross_encoder.options(engine)?, skip_bad_lines, engine)
    }
}

impl RerankingArgs {
    /// Refuses wrong usage before anything is read.
    pub fn check(&self) -> Result<(), UsageError> {
        if let (Some(window), Some(stride)) = (self.passages.passage_window, self.passages.stride)
            && stride > window
        {
            return Err(UsageError::new(
                format!("--stride {stride} would leave out tokens between windows of {window}"),
                "give --stride at most the length of --passage-window",
            ));
        }
        Ok(())
    }

    /// The directories that are written.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.cache.as_deref().into_iter().chain(self.text_index.directory())
    }

    /// Opens the models of these names, then the texts, whose index can take long to make.
    pub fn open(
        &self,
        models: &[ModelName],
        options: &CrossEncoderOptions,
        skip_bad_lines: bool,
        engine: &Engine,
    ) -> crate::Result<Reranker> {
        let texts = self.text_index.options(skip_bad_lines);
        let load = |name: &ModelName| engine.cross_encoder(name, options);
        let models = models.iter().map(load).collect::<Result<_, _>>()?;
        let files = engine.collection_files(&self.corpus)?;
        // Waiting for another process, and indexing, may take minutes.
        let texts = interrupt::at_once(|| engine.texts(&files, &texts))?;
        let texts = texts.with_flag(Setting::Format, CORPUS_FORMAT)?;
        Ok(engine.reranker(models, texts, self.options())?)
    }

    fn options(&self) -> RerankOptions {
        let PassageArgs { passage_window, stride, aggregate, title_separator, no_title } = &self.passages;
        RerankOptions {
            depth: self.depth as usize,
            cut: self.cut,
            combine: self.combine,
            interpolate: self.interpolate,
            title_separator: (!no_title).then(|| title_separator.clone()),
            windows: passage_window.map(|length| PassageWindows {
                length: length as usize,
                stride: stride.unwrap_or(length.div_ceil(2)) as usize,
                aggregate: *aggregate,
            }),
            cut_queries: false,
            unavailable: if self.skip_unavailable { Unavailable::KeepBelow } else { Unavailable::Refuse },
        }
    }
}

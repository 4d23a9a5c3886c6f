//! The options of a run. None has a default here: a file may give what the flags leave out.

use toller_encoder::{TextPooling, TitleName};
use toller_engine::{Backend, Device};
use toller_ir::Role;
use toller_nn::Precision;
use toller_tokenizer::PairTruncation;
use toller_train::{CrossLoss, DualLossName, Rule, Schedule, Similarity};

use super::config;
use crate::args::choice::by_name;
use crate::args::measures::MeasureList;
use crate::args::model::pooling;
use crate::args::paths::{InputPath, ModelName, OutputPath};

/// Options of every run.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RunArgs {
    /// Model to start from: a directory, a Hugging Face id or a known name
    #[arg(long, value_name = "M")]
    pub model: Option<ModelName>,

    /// Directory for checkpoints, log and the trained model; the same run goes on where it was interrupted
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<OutputPath>,

    /// TOML file with options, named as the flags are; flags win
    #[arg(long, value_name = "FILE")]
    pub config: Option<InputPath>,

    /// Where to train; GPUs in builds with the feature `candle-cuda` [default: auto]
    #[arg(long, value_name = "auto|cpu|cuda[:N]|cuda:all")]
    pub device: Option<Device>,

    /// What trains: native (on the CPU) or candle (built with the feature `candle`) [default: candle on GPUs]
    #[arg(long, value_name = "native|candle")]
    pub backend: Option<Backend>,

    /// What factors of products are rounded to, through candle [default: f32 on the CPU, bf16 on a GPU]
    #[arg(long, value_name = "f32|bf16")]
    pub dtype: Option<Precision>,

    /// Passes over the examples [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "steps")]
    pub epochs: Option<f64>,

    /// Steps of the optimizer, instead of --epochs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: Option<u64>,

    /// Examples of a batch [default: 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch_size: Option<u32>,

    /// Batches whose gradients are added for a step [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub accumulate: Option<u32>,

    /// Learning rate [default: 2e-5]
    #[arg(long, value_name = "X")]
    pub lr: Option<f64>,

    /// How the learning rate falls: linear, bert, constant or cosine [default: linear]
    #[arg(long, value_name = "NAME")]
    pub schedule: Option<Schedule>,

    /// Warm-up, in steps, or below 1 as a share of them [default: 0.1]
    #[arg(long, value_name = "N")]
    pub warmup: Option<f64>,

    /// adamw or lamb [default: adamw]
    #[arg(long, value_name = "NAME")]
    pub optimizer: Option<Rule>,

    /// Weight decay of matrices [default: 0]
    #[arg(long, value_name = "X")]
    pub weight_decay: Option<f64>,

    /// Largest norm of the gradient; 0 for any [default: 1]
    #[arg(long, value_name = "X")]
    pub max_grad_norm: Option<f64>,

    /// Dropout of states and attention [default: the model's own]
    #[arg(long, value_name = "P")]
    pub dropout: Option<f32>,

    /// Learn at word embeddings that are moved by this much to where the loss grows fastest (FGM; DuReader's
    /// cross-encoder has 0.01). Takes two passes a step [default: off]
    #[arg(long, value_name = "EPSILON")]
    pub perturb: Option<f64>,

    /// Seed of batches, choices and dropout [default: 42]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Sequences that are computed at a time, for batches that do not fit in memory (GradCache). Changes no
    /// bit on the CPU [default: the batch, or what takes about 512 MiB of one that takes more than 1 GiB; on
    /// a GPU 4 times as much]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub chunk_size: Option<u32>,

    /// Steps between checkpoints [default: 500]
    #[arg(long, value_name = "N")]
    pub save_every: Option<u64>,

    /// Checkpoints that are kept [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_checkpoints: Option<u32>,

    /// Truncate texts to N tokens [default: the model's own maximum]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_length: Option<u32>,

    /// Steps between evaluations [default: those of an epoch]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub eval_every: Option<u64>,

    /// Stop after this many evaluations without a better one [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub patience: Option<u64>,

    /// Save the model of the last step, not that of the best evaluation
    #[arg(long)]
    pub save_last: bool,
}

/// Options of what ranks passages.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RankingArgs {
    /// Examples (JSON lines, a JSON array, tab-separated, CSV or Parquet, also compressed):
    /// sentence-transformers' columns, DPR, Tevatron, FlagEmbedding, RocketQA, or what `toller mine` writes
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub data: Vec<InputPath>,

    /// Queries to learn from, with --corpus and --qrels: a file or a folder of files
    #[arg(long, value_name = "FILE")]
    pub queries: Option<InputPath>,

    /// Collection of the passages that have only identifiers
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub corpus: Vec<InputPath>,

    /// Relevance judgments: which documents are positives
    #[arg(long, value_name = "FILE")]
    pub qrels: Option<InputPath>,

    /// The lowest grade that is relevant [default: 1]
    #[arg(long, short = 'l', value_name = "GRADE")]
    pub relevance_level: Option<i32>,

    /// Negatives of the queries, by identifier, as `toller mine` writes them (jsonl, pairs, t2ranking)
    #[arg(long, value_name = "FILE")]
    pub negatives: Option<InputPath>,

    /// Negatives of each example, at most [default: 1]
    #[arg(long, value_name = "N")]
    pub negatives_per_query: Option<u32>,

    /// Text between a title and its text [default: " "; of a dual encoder, the model's own]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub title_separator: Option<String>,

    /// Count and skip bad records of examples, queries, collection and judgments instead of stopping at the
    /// first
    #[arg(long)]
    pub skip_bad_lines: bool,

    #[command(flatten)]
    pub run: RunArgs,

    #[command(flatten)]
    pub dev: DevArgs,
}

/// Options of the evaluation of what ranks passages.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DevArgs {
    /// Queries on which the model is evaluated while it is trained, with --dev-qrels. The model of the best
    /// evaluation is saved
    #[arg(long, value_name = "FILE")]
    pub dev_queries: Option<InputPath>,

    /// Relevance judgments of the dev queries
    #[arg(long, value_name = "FILE")]
    pub dev_qrels: Option<InputPath>,

    /// Collection that is searched for the dev queries [default: --corpus]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub dev_corpus: Vec<InputPath>,

    /// Run whose hits a cross-encoder ranks again
    #[arg(long, value_name = "RUN")]
    pub dev_run: Option<InputPath>,

    /// Hits of a query in --dev-run that are ranked [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub dev_depth: Option<u32>,

    /// Measures of the evaluations; the first decides which is the best [default: nDCG@10]
    #[arg(long, value_name = "LIST")]
    pub dev_measures: Option<MeasureList>,
}

/// `toller train dual`. It refuses the flags of what only cross-encoders do.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(mut_arg("dev_run", |run| run.hide(true)), mut_arg("dev_depth", |depth| depth.hide(true)))]
pub struct DualArgs {
    #[command(flatten)]
    pub train: RankingArgs,

    /// What is learned: contrastive, margin-mse or kl; the last two from the scores in the data [default:
    /// contrastive]
    #[arg(long, value_name = "NAME", value_parser = by_name::<DualLossName>(DualLossName::NAMES))]
    pub loss: Option<DualLossName>,

    /// dot or cosine [default: cosine for a model of unit vectors, else what its files say, else dot]
    #[arg(long, value_name = "NAME", value_parser = by_name::<Similarity>(Similarity::NAMES))]
    pub similarity: Option<Similarity>,

    /// What similarities are divided by [default: 0.05 for cosine, 1 for dot]
    #[arg(long, value_name = "T")]
    pub temperature: Option<f64>,

    /// Also learn to find the query by its passage
    #[arg(long)]
    pub symmetric: bool,

    /// Take no passages of other queries as negatives
    #[arg(long, conflicts_with = "symmetric")]
    pub no_in_batch: bool,

    /// Let no query and no passage occur twice in a batch, where it would be its own negative
    #[arg(long)]
    pub no_duplicates: bool,

    /// How a title is given to the model: joined with the text by --title-separator; as `title [SEP] text` in
    /// one segment (DPR); or as a pair of segments (RocketQA). It is saved with the model [default: the
    /// model's own, else join]
    #[arg(long, value_name = "join|sep|pair", value_parser = by_name::<TitleName>(TitleName::NAMES))]
    pub title_mode: Option<TitleName>,

    /// Train separate encoders for queries and passages, from one
    #[arg(long)]
    pub untie: bool,

    /// Train only the encoder of queries or of passages; of two encoders, or with --untie
    #[arg(long, value_name = "query|passage")]
    pub only: Option<Role>,

    /// Train keys and values of N tokens in front of every layer, and leave the model as it is (P-tuning v2;
    /// DPTDR has 32 or 128, and a learning rate of 7e-3). A model that has such tokens trains only them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub prefix_tokens: Option<u32>,

    /// Truncate queries to N tokens [default: as passages]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub query_max_length: Option<u32>,

    /// Text before every query, such as "query: "; "" for none. It is saved with the model [default: the
    /// model's own]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub query_prompt: Option<String>,

    /// Text before every passage, such as "passage: "; "" for none. It is saved with the model [default: the
    /// model's own]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub passage_prompt: Option<String>,

    /// How token states become a vector [default: the model's own, else mean]
    #[arg(long, value_name = "NAME", value_parser = pooling())]
    pub pooling: Option<TextPooling>,

    /// Model of the queries, if it is not --model, which then is the model of the passages
    #[arg(long, value_name = "Q")]
    pub query_model: Option<ModelName>,
}

/// `toller train cross`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct CrossArgs {
    #[command(flatten)]
    pub train: RankingArgs,

    /// What is learned: binary, two-labels, listwise, ranknet or lambda [default: by the labels of the model]
    #[arg(long, value_name = "NAME", value_parser = by_name::<CrossLoss>(CrossLoss::NAMES))]
    pub loss: Option<CrossLoss>,

    /// Which text is cut when a pair is too long: only_second (the passage) or longest_first [default:
    /// only_second]
    #[arg(long, value_name = "HOW")]
    pub truncation: Option<PairTruncation>,

    /// Labels of a new classifier, for a model that has none [default: 2 for two-labels, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2))]
    pub labels: Option<u32>,
}

/// `toller train token`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TokenArgs {
    /// Marked texts (JSON lines, a JSON array or Parquet, also compressed): "text" with "boundaries", the
    /// numbers of characters after which segments end, or "segments"
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub data: Vec<InputPath>,

    #[command(flatten)]
    pub run: RunArgs,

    /// Marked texts on which the model is evaluated while it is trained: precision, recall and F1 of the
    /// boundaries. The model of the best F1 is saved
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub dev_data: Vec<InputPath>,
}

/// What the flags give, and for the rest what a file gives.
macro_rules! completed {
    ($flags:expr, $file:expr, options: [$($option:ident),*], lists: [$($list:ident),*], switches: [$($switch:ident),*]) => {{
        let (mut completed, file) = ($flags, $file);
        $(completed.$option = completed.$option.or(file.$option);)*
        $(if completed.$list.is_empty() { completed.$list = file.$list; })*
        $(completed.$switch |= file.$switch;)*
        completed
    }};
}

impl RunArgs {
    fn over(self, mut file: Self) -> Self {
        if self.steps.is_some() || self.epochs.is_some() {
            (file.steps, file.epochs) = (None, None);
        }
        completed!(self, file,
            options: [model, output, device, backend, dtype, epochs, steps, batch_size, accumulate, lr, schedule,
                warmup, optimizer, weight_decay, max_grad_norm, dropout, perturb, seed, chunk_size, save_every,
                keep_checkpoints, max_length, eval_every, patience],
            lists: [], switches: [save_last])
    }
}

impl RankingArgs {
    fn over(self, file: Self) -> Self {
        let run = self.run.clone().over(file.run.clone());
        let dev = completed!(self.dev.clone(), file.dev.clone(),
            options: [dev_queries, dev_qrels, dev_run, dev_depth, dev_measures], lists: [dev_corpus], switches: []);
        let completed = completed!(self, file,
            options: [queries, qrels, relevance_level, negatives, negatives_per_query, title_separator],
            lists: [data, corpus], switches: [skip_bad_lines]);
        Self { run, dev, ..completed }
    }
}

impl DualArgs {
    /// With the options of the file, if there is one.
    pub fn complete(&self) -> crate::Result<Self> {
        let Some(path) = &self.train.run.config else { return Ok(self.clone()) };
        let file: Self = config::read(path)?;
        let train = self.train.clone().over(file.train.clone());
        let completed = completed!(self.clone(), file,
            options: [loss, similarity, temperature, title_mode, only, prefix_tokens, query_max_length,
                query_prompt, passage_prompt, pooling, query_model],
            lists: [], switches: [symmetric, no_in_batch, no_duplicates, untie]);
        Ok(Self { train, ..completed })
    }
}

impl CrossArgs {
    /// With the options of the file, if there is one.
    pub fn complete(&self) -> crate::Result<Self> {
        let Some(path) = &self.train.run.config else { return Ok(self.clone()) };
        let file: Self = config::read(path)?;
        let train = self.train.clone().over(file.train.clone());
        let completed =
            completed!(self.clone(), file, options: [loss, truncation, labels], lists: [], switches: []);
        Ok(Self { train, ..completed })
    }
}

impl TokenArgs {
    /// With the options of the file, if there is one.
    pub fn complete(&self) -> crate::Result<Self> {
        let Some(path) = &self.run.config else { return Ok(self.clone()) };
        let file: Self = config::read(path)?;
        let run = self.run.clone().over(file.run.clone());
        let completed = completed!(self.clone(), file, options: [], lists: [data, dev_data], switches: []);
        Ok(Self { run, ..completed })
    }
}

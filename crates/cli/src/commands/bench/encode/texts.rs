//! What `toller bench encode` encodes: texts of chosen lengths, or a collection.

use std::time::Duration;

use toller_bench::Words;
use toller_corpus::open_collection;
use toller_encoder::TextEncoder;
use toller_engine::collection_files;
use toller_ir::Setting;

use crate::args::input::{BadLinesArgs, CORPUS_FORMAT, CollectionArgs};
use crate::args::paths::InputPath;
use crate::error::{Context, UsageError};

/// What is encoded.
#[derive(Debug, clap::Args)]
pub(super) struct TextArgs {
    /// Lengths of made-up texts, in tokens [default: 16,64,256, up to the model's maximum]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    lengths: Vec<u32>,

    /// Collection to encode instead, each title joined with its text
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "lengths")]
    corpus: Vec<InputPath>,

    /// Passages of --corpus to encode, from its start
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "corpus", value_parser = clap::value_parser!(u32).range(1..))]
    passages: u32,

    /// Text between a title and its text
    #[arg(long, value_name = "TEXT", default_value = " ", allow_hyphen_values = true, requires = "corpus")]
    title_separator: String,

    #[command(flatten)]
    collection: CollectionArgs,

    #[command(flatten)]
    bad_lines: BadLinesArgs,
}

/// Texts of a kind.
pub(super) struct Texts {
    pub(super) name: String,
    pub(super) texts: Vec<String>,
}

const DEFAULT_LENGTHS: [u32; 3] = [16, 64, 256];

/// Texts of a trial, which estimates how many texts make a pass.
const FEW_TEXTS: usize = 64;
/// The most texts of a pass, which keeps memory small.
const MOST_TEXTS: usize = 50_000;

impl TextArgs {
    /// The texts for `tower`. Of made-up texts there are as many as take about `pass_time`, by `estimate`.
    pub(super) fn open(
        &self,
        tower: &TextEncoder,
        pass_time: Duration,
        estimate: impl Fn(&[String]) -> crate::Result<Duration>,
    ) -> crate::Result<Vec<Texts>> {
        if !self.corpus.is_empty() {
            return Ok(vec![self.collection()?]);
        }
        let longest = tower.max_length() as u32;
        let mut lengths = self.lengths.clone();
        if let Some(too_long) = lengths.iter().find(|&&length| length > longest) {
            return Err(UsageError::new(
                format!("--lengths {too_long}: texts are cut to {longest} tokens"),
                "give shorter --lengths, or a larger --max-length",
            )
            .into());
        }
        if lengths.is_empty() {
            lengths = DEFAULT_LENGTHS.iter().map(|&length| length.min(longest)).collect();
        }
        lengths.sort_unstable();
        lengths.dedup();
        let words = Words::new(|text| Ok(tower.tokenize(text)?.len()))?;
        let of_length = |length: u32| {
            let text = |seed| words.text(length as usize, seed);
            let few: Vec<String> = (0..FEW_TEXTS as u64).map(text).collect();
            // The first pass warms up.
            estimate(&few)?;
            let each_secs = estimate(&few)?.as_secs_f64() / FEW_TEXTS as f64;
            let count = ((pass_time.as_secs_f64() / each_secs) as usize).clamp(FEW_TEXTS, MOST_TEXTS);
            let texts = (0..count as u64).map(text).collect();
            Ok(Texts { name: format!("{length} tokens"), texts })
        };
        lengths.into_iter().map(of_length).collect()
    }

    fn collection(&self) -> crate::Result<Texts> {
        let inputs = collection_files(&self.corpus)?;
        let passages = open_collection(&inputs, &self.collection.options(self.bad_lines.skip_bad_lines))
            .with_flag(Setting::Format, CORPUS_FORMAT)?
            .take(self.passages as usize);
        let texts: Vec<String> = passages
            .map(|passage| Ok(passage?.joined(&self.title_separator)))
            .collect::<crate::Result<_>>()?;
        let names: Vec<String> = self.corpus.iter().map(|path| path.display().to_string()).collect();
        if texts.is_empty() {
            let message = format!("{} holds no passages", names.join(" "));
            return Err(UsageError::new(message, "give --corpus a collection with passages").into());
        }
        Ok(Texts { name: names.join(" "), texts })
    }
}

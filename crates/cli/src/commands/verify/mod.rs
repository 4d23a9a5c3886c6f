//! `toller verify`: does this machine compute a model's vectors, or a cross-encoder's logits, correctly?

mod expected;
mod pairs;
mod report;
mod vectors;

use std::path::{Path, PathBuf};

use toller_encoder::{Compute, CrossEncoder};
use toller_nn::Precision;

use crate::args::model::{self, ModelArgs};
use crate::args::paths::{InputPath, ModelName};
use crate::engine;
use crate::error::Remedied;
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Model: a directory, a Hugging Face id (org/name, org/name@revision) or a known name (`toller models`
    /// lists them)
    #[arg(long, value_name = "M")]
    model: ModelName,

    /// Expected output, one JSON object per line: text, input_ids, embedding, and perhaps role; for a
    /// cross-encoder query, passage, input_ids and logits [default: expected.jsonl in the model's directory,
    /// if it exists and no flag changes the model]
    #[arg(long, value_name = "FILE")]
    expected: Option<InputPath>,

    #[command(flatten)]
    args: ModelArgs,
}

/// The largest relative errors.
#[derive(Clone, Copy)]
struct Tolerances {
    /// What is promised for a number format; for int8 nothing is promised.
    error: Option<f64>,
    /// How far a text's vector, or a pair's logits, may differ if others are in the same batch.
    batch: f64,
}

impl Tolerances {
    /// A sparse model's weights are what remains above zero of large logits, whose errors they have.
    fn of(compute: &Compute, dtype: Precision, is_sparse: bool) -> Self {
        let error = match dtype {
            Precision::F32 => Some(1e-5),
            Precision::F16 => Some(2e-3),
            Precision::Bf16 => Some(1e-2),
            Precision::Int8 => None,
        };
        let error = error.map(|error| if is_sparse { 10.0 * error } else { error });
        let batch = if compute.keeps_bits() { Some(1e-6) } else { error };
        Self { error, batch: batch.unwrap_or(f64::MAX) }
    }
}

/// Texts in many languages; some are hard for tokenizers.
const TEXTS: [&str; 18] = [
    "",
    "dog",
    "Who wrote the first dictionary of the English language?",
    "Quelle est la capitale de la Nouvelle-Zélande ?",
    "Straße, Größe, Übermut: Wörter mit Umlauten",
    "¿Cuándo empezó la construcción de la catedral?",
    "Когда был основан город на реке?",
    "Ποια είναι η μεγαλύτερη λίμνη;",
    "ما هي عاصمة البلاد؟",
    "מתי נבנה הגשר הראשון?",
    "भारत की सबसे लंबी नदी कौन सी है?",
    "ประเทศไทยมีกี่จังหวัด",
    "黑豹队的防守丢了多少分？",
    "日本で一番高い山は何ですか。",
    "한국의 수도는 어디입니까?",
    "Thành phố nào lớn nhất Việt Nam?",
    "emoji 🐕 and e\u{301} combining, a\u{200b}zero width, nul \u{0} and [SEP] [MASK]",
    "x = 3.14159 * (r ** 2); // https://example.org/a?b=c#d",
];

/// The sentence of the long texts.
const SENTENCE: &str =
    "The river rises in the hills, crosses the plain and reaches the sea by the old harbour. ";
/// How often each long text repeats the sentence.
const REPEATS: [usize; 2] = [4, 40];

/// The built-in texts.
fn texts() -> Vec<String> {
    TEXTS.iter().map(ToString::to_string).chain(REPEATS.map(|times| SENTENCE.repeat(times))).collect()
}

/// The result for a text, or for a pair of texts.
struct Row {
    /// The text's role.
    role: String,
    /// The text, or the passage of a pair.
    text: String,
    /// The query of a pair.
    query: Option<String>,
    tokens: usize,
    /// Relative errors: of the text alone, and of the text in a batch compared with the text alone.
    error: f64,
    batch_error: f64,
    /// Whether the token ids are as expected, if any are.
    same_ids: bool,
}

impl Row {
    fn is_good(&self, allowed: Tolerances) -> bool {
        // Even if no error is promised, NaN fails.
        self.same_ids && self.error <= allowed.error.unwrap_or(f64::MAX) && self.batch_error <= allowed.batch
    }
}

/// Compares, and prints a table or JSON. Fails if a difference is too large.
pub fn run(args: &VerifyArgs, ui: &Ui) -> crate::Result<()> {
    let flags = &args.args;
    flags.compute.check()?;
    let engine = engine::open(ui)?;
    let source = engine.resolve(&args.model)?;
    // With --pooling, a classifier's transformer is a dual encoder.
    let is_cross_encoder = flags.pooling.is_none() && CrossEncoder::is_in(&source.directory)?;
    let expected =
        args.expected.as_ref().map(PathBuf::from).or_else(|| expected_of(&source.directory, flags));
    let ((rows, built_in), compute, dtype, is_sparse) = if is_cross_encoder {
        let model = model::load_cross_encoder(&source, flags, &engine)?;
        let rows =
            join(pairs::against_reference(&model)?, || pairs::against_expected(&model, expected.as_deref()))?;
        (rows, model.compute().clone(), model.dtype(), false)
    } else {
        let encoder = engine.encoder_from(source, &args.model, &flags.encoder()).map_err(engine::in_flags)?;
        let model = encoder.model();
        let expected = || vectors::against_expected(model, expected.as_deref());
        let rows = join(vectors::against_reference(model)?, expected)?;
        (rows, encoder.compute().clone(), encoder.dtype(), encoder.is_sparse())
    };
    model::note_dtype(&compute, dtype, ui);
    let allowed = Tolerances::of(&compute, dtype, is_sparse);
    report::write(&rows, built_in, allowed, ui)?;
    let bad = rows.iter().filter(|row| !row.is_good(allowed)).count();
    if bad > 0 {
        let message = format!("{bad} of {} texts differ too much", rows.len());
        return Err(Remedied::without_remedy(message).into());
    }
    Ok(())
}

/// Both lists of rows as one, with the length of the first.
fn join(
    mut rows: Vec<Row>,
    more: impl FnOnce() -> crate::Result<Vec<Row>>,
) -> crate::Result<(Vec<Row>, usize)> {
    let built_in = rows.len();
    rows.extend(more()?);
    Ok((rows, built_in))
}

/// The expected output in a model's directory, which holds for the model without changes.
fn expected_of(directory: &Path, flags: &ModelArgs) -> Option<PathBuf> {
    let is_as_it_is = flags.pooling.is_none()
        && !flags.normalize_embeddings
        && !flags.append_eos_token
        && flags.dim.is_none()
        && flags.prompt.is_none()
        && flags.max_length.is_none()
        && flags.query_model.is_none();
    let expected = directory.join("expected.jsonl");
    (is_as_it_is && expected.is_file()).then_some(expected)
}

/// |found - expected| / |expected|; infinite if the dimensions differ or a number is not finite.
fn relative_error(found: &[f64], expected: &[f64]) -> f64 {
    error_to(found, expected, length(expected))
}

/// |found - expected| / scale; infinite if the dimensions differ or a number is not finite.
fn error_to(found: &[f64], expected: &[f64], scale: f64) -> f64 {
    let difference: Vec<f64> = found.iter().zip(expected).map(|(a, b)| a - b).collect();
    let difference = length(&difference);
    let error = if difference == 0.0 { 0.0 } else { difference / scale };
    if found.len() == expected.len() && error.is_finite() { error } else { f64::INFINITY }
}

fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn wide(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().map(|&x| f64::from(x)).collect()
}

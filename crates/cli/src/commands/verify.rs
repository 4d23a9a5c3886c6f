//! `toller verify`: does this machine compute the model's vectors as they should be?

use std::io::Write;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Deserialize;
use serde_json::json;
use toller_compute::Precision;
use toller_encoder::{DualEncoder, Role, Tokens};
use toller_files::FileError;

use crate::error::UsageError;
use crate::model::{self, ModelArgs};
use crate::ui::Ui;

/// Arguments of `toller verify`.
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Model: a directory, a Hugging Face id (org/name, org/name@revision) or a known name (`toller models` lists them)
    #[arg(long, value_name = "M")]
    model: String,

    /// Token ids and embeddings to compare with, a JSON object a line: text, input_ids, embedding, and perhaps role [default:
    /// expected.jsonl in the model's directory, if there is one and no flag changes the model]
    #[arg(long, value_name = "FILE")]
    expected: Option<PathBuf>,

    #[command(flatten)]
    args: ModelArgs,
}

/// The largest relative error that a vector may have, by what it is computed in.
fn tolerance(dtype: Precision) -> anyhow::Result<f64> {
    match dtype {
        Precision::F32 => Ok(1e-5),
        Precision::F16 => Ok(2e-3),
        Precision::Bf16 => Ok(1e-2),
        Precision::Int8 => Err(UsageError::new(
            "--dtype int8: there is no promise of a vector's error to verify",
            "compare the measures of a run instead, with toller eval",
        )
        .into()),
    }
}

/// How far a text's vector may differ when other texts are encoded beside it.
const BATCH_TOLERANCE: f64 = 1e-6;

/// Texts in many languages, without and with what makes tokenizers stumble.
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

/// The long texts: this sentence, so many times.
const SENTENCE: &str =
    "The river rises in the hills, crosses the plain and reaches the sea by the old harbour. ";
const REPEATS: [usize; 2] = [4, 40];

/// A line of an expected file.
#[derive(Deserialize)]
struct Expected {
    text: String,
    role: Option<String>,
    input_ids: Vec<u32>,
    embedding: Vec<f64>,
}

/// What was found for a text.
struct Row {
    role: Role,
    text: String,
    tokens: usize,
    /// Relative errors: of the vector, and of the vector among others to the vector alone.
    error: f64,
    batch_error: f64,
    /// Whether the token ids are as expected, where some are.
    same_ids: bool,
}

impl Row {
    fn is_good(&self, tolerance: f64) -> bool {
        self.same_ids && self.error <= tolerance && self.batch_error <= BATCH_TOLERANCE
    }
}

/// Compares, and prints a table or JSON. Fails if a difference is larger than it may be.
pub fn run(args: &VerifyArgs, ui: &Ui) -> anyhow::Result<()> {
    let tolerance = tolerance(args.args.dtype())?;
    let loaded = model::load(&args.model, &args.args, ui)?;
    let mut rows = Vec::new();
    for role in roles(&loaded.encoder) {
        rows.extend(against_reference(&loaded.encoder, role)?);
    }
    // What lies beside a model is of the model as it is.
    let flags = &args.args;
    let is_as_it_is = flags.pooling.is_none()
        && flags.dim.is_none()
        && flags.prompt.is_none()
        && flags.max_length.is_none()
        && flags.query_model.is_none();
    let beside = loaded.directory.join("expected.jsonl");
    let expected = args.expected.clone().or_else(|| (is_as_it_is && beside.is_file()).then_some(beside));
    let built_in = rows.len();
    if let Some(path) = &expected {
        rows.extend(against_expected(&loaded.encoder, &read_expected(path)?)?);
    }
    let bad = rows.iter().filter(|row| !row.is_good(tolerance)).count();
    report(&rows, built_in, tolerance, ui)?;
    if bad > 0 {
        anyhow::bail!("{bad} of {} texts differ by more than they may ({tolerance:e})", rows.len());
    }
    Ok(())
}

/// Both roles, or one where they are the same.
fn roles(encoder: &DualEncoder) -> Vec<Role> {
    if encoder.is_tied() { vec![Role::Passage] } else { vec![Role::Query, Role::Passage] }
}

/// The built-in texts, against the same model computed slowly.
fn against_reference(encoder: &DualEncoder, role: Role) -> anyhow::Result<Vec<Row>> {
    let texts: Vec<String> =
        TEXTS.iter().map(ToString::to_string).chain(REPEATS.map(|times| SENTENCE.repeat(times))).collect();
    let reference = encoder.reference(role)?;
    let tokens = tokenize(encoder, role, &texts)?;
    let exact: Vec<Vec<f32>> =
        tokens.par_iter().map(|tokens| reference.encode(tokens)).collect::<Result<_, _>>()?;
    let exact: Vec<Vec<f64>> =
        exact.iter().map(|vector| vector.iter().map(|&x| f64::from(x)).collect()).collect();
    compare(encoder, role, texts, &tokens, &exact)
}

/// The texts of a file, against what it says.
fn against_expected(encoder: &DualEncoder, expected: &[Expected]) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for role in [Role::Query, Role::Passage] {
        let of_role = |case: &&Expected| (case.role.as_deref() == Some("query")) == (role == Role::Query);
        let cases: Vec<&Expected> = expected.iter().filter(of_role).collect();
        let texts: Vec<String> = cases.iter().map(|case| case.text.clone()).collect();
        let tokens = tokenize(encoder, role, &texts)?;
        let vectors: Vec<Vec<f64>> = cases.iter().map(|case| case.embedding.clone()).collect();
        let mut found = compare(encoder, role, texts, &tokens, &vectors)?;
        for ((row, case), tokens) in found.iter_mut().zip(&cases).zip(&tokens) {
            row.same_ids = tokens.input_ids == case.input_ids;
        }
        rows.extend(found);
    }
    Ok(rows)
}

/// The tokens of texts, each after the role's prompt.
fn tokenize(encoder: &DualEncoder, role: Role, texts: &[String]) -> anyhow::Result<Vec<Tokens>> {
    let (tower, prompt) = (encoder.tower(role), encoder.prompt(role));
    texts.iter().map(|text| Ok(tower.tokenize(&format!("{prompt}{text}"))?)).collect()
}

/// Encodes each text alone and all together.
fn compare(
    encoder: &DualEncoder,
    role: Role,
    texts: Vec<String>,
    tokens: &[Tokens],
    exact: &[Vec<f64>],
) -> anyhow::Result<Vec<Row>> {
    let tower = encoder.tower(role);
    let together = tower.encode(tokens)?;
    let mut rows = Vec::new();
    for (index, (text, vector)) in texts.into_iter().zip(exact).enumerate() {
        let alone = tower.encode(&tokens[index..=index])?;
        let alone: Vec<f64> = alone.into_iter().map(f64::from).collect();
        let among: Vec<f64> =
            together[index * tower.dim()..][..tower.dim()].iter().map(|&x| f64::from(x)).collect();
        rows.push(Row {
            role,
            text,
            tokens: tokens[index].len(),
            error: relative_error(&alone, vector),
            batch_error: relative_error(&among, &alone),
            same_ids: true,
        });
    }
    Ok(rows)
}

/// |found - expected| / |expected|; infinite where the dimensions differ or a number is none.
fn relative_error(found: &[f64], expected: &[f64]) -> f64 {
    let difference: f64 = found.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum();
    let length: f64 = expected.iter().map(|x| x * x).sum();
    let error = if difference == 0.0 { 0.0 } else { (difference / length).sqrt() };
    if found.len() == expected.len() && error.is_finite() { error } else { f64::INFINITY }
}

fn read_expected(path: &Path) -> anyhow::Result<Vec<Expected>> {
    let text = std::fs::read_to_string(path).map_err(FileError::on("read", path))?;
    let mut cases = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let case = serde_json::from_str(line).map_err(|error| {
            UsageError::new(
                format!("{}, line {}: {error}", path.display(), index + 1),
                "a line is {\"text\": ..., \"input_ids\": [...], \"embedding\": [...]}, perhaps with a \"role\"",
            )
        })?;
        cases.push(case);
    }
    Ok(cases)
}

/// The start of a text, on one line.
fn shown(text: &str) -> String {
    let visible = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().take(40).map(visible).collect()
}

fn report(rows: &[Row], built_in: usize, tolerance: f64, ui: &Ui) -> anyhow::Result<()> {
    let largest = |part: fn(&Row) -> f64| rows.iter().map(part).fold(0.0, f64::max);
    let verdict = if rows.iter().all(|row| row.is_good(tolerance)) { "good" } else { "bad" };
    if ui.json {
        return ui.json(|| {
            let texts: Vec<_> = rows
                .iter()
                .enumerate()
                .map(|(index, row)| {
                    json!({
                        "role": row.role.to_string(),
                        "against": if index < built_in { "reference" } else { "expected" },
                        "text": row.text,
                        "tokens": row.tokens,
                        "error": row.error,
                        "batch_error": row.batch_error,
                        "same_ids": row.same_ids,
                        "good": row.is_good(tolerance),
                    })
                })
                .collect();
            json!({
                "verdict": verdict,
                "tolerance": tolerance,
                "batch_tolerance": BATCH_TOLERANCE,
                "largest_error": largest(|row| row.error),
                "largest_batch_error": largest(|row| row.batch_error),
                "texts": texts,
            })
        });
    }
    let mut out = ui.out();
    writeln!(out, "{:<8}  {:>6}  {:>9}  {:>9}  {:<4}  text", "role", "tokens", "error", "in batch", "")?;
    for row in rows {
        let mark = if row.is_good(tolerance) {
            ""
        } else if row.same_ids {
            "BAD"
        } else {
            "IDS"
        };
        let text = shown(&row.text);
        writeln!(
            out,
            "{:<8}  {:>6}  {:>9.1e}  {:>9.1e}  {mark:<4}  {text}",
            row.role.to_string(),
            row.tokens,
            row.error,
            row.batch_error,
        )?;
    }
    writeln!(
        out,
        "{verdict}: the largest error is {:.1e} (allowed {tolerance:.0e}), {:.1e} in a batch (allowed {BATCH_TOLERANCE:.0e})",
        largest(|row| row.error),
        largest(|row| row.batch_error),
    )?;
    out.flush()?;
    Ok(())
}

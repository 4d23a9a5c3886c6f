//! XLM-R's and CamemBERT's tokenizers from SentencePiece's own model file (Kudo and Richardson 2018).

mod protobuf;

use std::path::Path;

use tokenizers::AddedToken;
use tokenizers::models::unigram::Unigram;
use tokenizers::normalizers::Precompiled;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::metaspace::{Metaspace, PrependScheme};
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::whitespace::WhitespaceSplit;
use tokenizers::processors::roberta::RobertaProcessing;
use toller_files::FileError;

use self::protobuf::{Value, fields};
use super::TokenizerConfig;
use super::special::Specials;
use crate::TokenizerError;
use toller_checkpoint::Fingerprint;
use toller_checkpoint::ModelError;

/// What is used of a SentencePiece model.
#[derive(Debug, Default, PartialEq)]
struct Model {
    pieces: Vec<Piece>,
    /// The algorithm; 1 is the unigram language model.
    kind: u64,
    /// The compiled rules of normalization; empty for none.
    charsmap: Vec<u8>,
}

#[derive(Debug, PartialEq)]
struct Piece {
    text: String,
    score: f32,
    /// 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
    kind: u64,
}

const UNIGRAM: u64 = 1;
const CONTROL: u64 = 3;
const USER_DEFINED: u64 = 4;

/// The tokenizer of a SentencePiece model as fairseq numbers its pieces, which is what both models are trained with.
pub(super) fn sentence_piece(
    path: &Path,
    config: &TokenizerConfig,
    model_type: &str,
    fingerprint: &mut Fingerprint,
) -> Result<tokenizers::Tokenizer, TokenizerError> {
    let bytes = std::fs::read(path).map_err(FileError::on("read", path))?;
    fingerprint.value("sentencepiece model", &bytes);
    let problem = |problem: String| ModelError::Config { problem, path: path.to_owned() };
    let library = |error: tokenizers::Error| problem(error.to_string());
    let model = Model::parse(&bytes).ok_or_else(|| problem("is no SentencePiece model".to_owned()))?;
    let unsupported = |what: String| ModelError::Unsupported {
        path: path.to_owned(),
        what,
        supported: format!("unigram models of xlm-roberta and camembert; {}", super::CONVERT),
    };
    if model.kind != UNIGRAM {
        return Err(unsupported(format!("a SentencePiece model of kind {}", model.kind)).into());
    }
    let special = |name: &str, default: &str| config.special(name, default).content;
    let [unknown, pad, mask] = [("unk_token", "<unk>"), ("pad_token", "<pad>"), ("mask_token", "<mask>")]
        .map(|(name, default)| special(name, default));
    let (first, skipped) = match model_type {
        "xlm-roberta" => {
            let [cls, sep] = [special("bos_token", "<s>"), special("eos_token", "</s>")];
            (vec![(cls, 0.0), (pad, 0.0), (sep, 0.0), (unknown, 0.0)], 3)
        }
        "camembert" => {
            let unused = |name: &str, score| (format!("{name}NOTUSED"), score);
            let first = vec![
                unused("<s>", 0.0),
                (pad, 0.0),
                unused("</s>", 0.0),
                (unknown, 0.0),
                unused("<unk>", -100.0),
            ];
            (first, 1)
        }
        other => return Err(unsupported(format!("a SentencePiece model with model_type {other:?}")).into()),
    };
    let symbols = model.pieces.iter().filter(|piece| [CONTROL, USER_DEFINED].contains(&piece.kind));
    let symbols = symbols
        .map(|piece| AddedToken::from(piece.text.clone(), piece.kind == CONTROL).normalized(false))
        .collect();
    let pieces = model.pieces.into_iter().skip(skipped).map(|piece| (piece.text, f64::from(piece.score)));
    let vocabulary = first.into_iter().chain(pieces).chain([(mask, 0.0)]).collect();

    let mut tokenizer =
        tokenizers::Tokenizer::new(Unigram::from(vocabulary, Some(3), false).map_err(library)?);
    if !model.charsmap.is_empty() {
        let normalizer = Precompiled::from(&model.charsmap).map_err(|error| problem(error.to_string()))?;
        tokenizer.with_normalizer(Some(normalizer)).map_err(library)?;
    }
    tokenizer.with_pre_tokenizer(Some(Sequence::new(vec![
        PreTokenizerWrapper::WhitespaceSplit(WhitespaceSplit),
        PreTokenizerWrapper::Metaspace(Metaspace::new('▁', prepend_scheme(config), true)),
    ])));
    let specials = Specials::read(
        config,
        &[
            ("bos_token", "<s>"),
            ("eos_token", "</s>"),
            ("unk_token", "<unk>"),
            ("sep_token", "</s>"),
            ("pad_token", "<pad>"),
            ("cls_token", "<s>"),
            ("mask_token", "<mask>"),
        ],
    );
    let specials = if model_type == "camembert" { specials.with_lstrip("mask_token") } else { specials };
    specials.with(symbols).add_to(&mut tokenizer, path, fingerprint)?;
    let around = |name: &str, default: &str| {
        let token = config.special(name, default).content;
        let id = tokenizer.token_to_id(&token);
        id.map(|id| (token.clone(), id)).ok_or_else(|| problem(format!("has no piece {token:?}")))
    };
    let (cls, sep) = (around("bos_token", "<s>")?, around("eos_token", "</s>")?);
    tokenizer.with_post_processor(Some(RobertaProcessing::new(sep, cls)));
    Ok(tokenizer)
}

fn prepend_scheme(config: &TokenizerConfig) -> PrependScheme {
    if config.add_prefix_space.unwrap_or(true) { PrependScheme::Always } else { PrependScheme::Never }
}

impl Model {
    /// Reads `ModelProto` of sentencepiece_model.proto; `None` where the bytes are none.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut model = Self { kind: UNIGRAM, ..Self::default() };
        for field in fields(bytes) {
            match field? {
                (1, piece) => model.pieces.push(Piece::parse(piece.bytes()?)?),
                (2, trainer) => {
                    if let Some(kind) = last(trainer.bytes()?, 3)? {
                        model.kind = kind.integer()?;
                    }
                }
                (3, normalizer) => {
                    if let Some(charsmap) = last(normalizer.bytes()?, 2)? {
                        model.charsmap = charsmap.bytes()?.to_vec();
                    }
                }
                _ => {}
            }
        }
        (!model.pieces.is_empty()).then_some(model)
    }
}

impl Piece {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut piece = Self { text: String::new(), score: 0.0, kind: 1 };
        for field in fields(bytes) {
            match field? {
                (1, text) => piece.text = String::from_utf8(text.bytes()?.to_vec()).ok()?,
                (2, score) => piece.score = score.float()?,
                (3, kind) => piece.kind = kind.integer()?,
                _ => {}
            }
        }
        piece.score.is_finite().then_some(piece)
    }
}

/// The last value of a field, which is the one that counts; the outer `None` is for bytes that are no message.
fn last(message: &[u8], number: u64) -> Option<Option<Value<'_>>> {
    let mut found = None;
    for field in fields(message) {
        let (of, value) = field?;
        if of == number {
            found = Some(value);
        }
    }
    Some(found)
}

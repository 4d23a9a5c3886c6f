//! XLM-R's and CamemBERT's tokenizers from SentencePiece's own model file (Kudo and Richardson 2018).

use std::path::Path;

use prost::Message;
use tokenizers::AddedToken;
use tokenizers::models::unigram::Unigram;
use tokenizers::normalizers::Precompiled;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::metaspace::{Metaspace, PrependScheme};
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::whitespace::WhitespaceSplit;
use tokenizers::processors::roberta::RobertaProcessing;
use toller_checkpoint::{Fingerprint, ModelError, ModelType, read_file};

use super::TokenizerConfig;
use super::special::{ROBERTA, Specials};
use crate::TokenizerError;

/// The parts of `ModelProto` in sentencepiece_model.proto that are used.
#[derive(Message)]
struct Model {
    #[prost(message, repeated, tag = "1")]
    pieces: Vec<Piece>,
    #[prost(message, optional, tag = "2")]
    trainer: Option<Trainer>,
    #[prost(message, optional, tag = "3")]
    normalizer: Option<Normalizer>,
}

#[derive(Message)]
struct Piece {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(float, tag = "2")]
    score: f32,
    /// 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
    #[prost(int32, optional, tag = "3", default = "1")]
    kind: Option<i32>,
}

#[derive(Message)]
struct Trainer {
    /// The algorithm; 1 is the unigram language model.
    #[prost(int32, optional, tag = "3", default = "1")]
    kind: Option<i32>,
}

#[derive(Message)]
struct Normalizer {
    /// The compiled rules of normalization; empty for none.
    #[prost(bytes = "vec", tag = "2")]
    charsmap: Vec<u8>,
}

const UNIGRAM: i32 = 1;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;

/// The tokenizer of a SentencePiece model, its pieces numbered as in fairseq, with which both models are
/// trained.
pub(super) fn sentence_piece(
    path: &Path,
    config: &TokenizerConfig,
    model_type: ModelType,
    fingerprint: &mut Fingerprint,
) -> Result<tokenizers::Tokenizer, TokenizerError> {
    let bytes = read_file(path)?;
    fingerprint.value("sentencepiece model", &bytes);
    let problem = |problem: String| ModelError::Config { problem, path: path.to_owned() };
    let library = |error: tokenizers::Error| problem(error.to_string());
    let model = Model::decode(&*bytes)
        .ok()
        .filter(|model| !model.pieces.is_empty() && model.pieces.iter().all(|piece| piece.score.is_finite()));
    let model = model.ok_or_else(|| problem("is not a SentencePiece model".to_owned()))?;
    let supported = format!("unigram models of xlm-roberta and camembert; {}", super::CONVERT);
    let unsupported = |what: String| ModelError::unsupported(path, what, &*supported);
    let kind = model.trainer.unwrap_or_default().kind();
    if kind != UNIGRAM {
        return Err(unsupported(format!("a SentencePiece model of kind {kind}")).into());
    }
    let special = |name: &str, default: &str| config.special(name, default).content;
    let [unknown, pad, mask] = [("unk_token", "<unk>"), ("pad_token", "<pad>"), ("mask_token", "<mask>")]
        .map(|(name, default)| special(name, default));
    let (first, skipped) = match model_type {
        ModelType::XlmRoberta => {
            let [cls, sep] = [special("bos_token", "<s>"), special("eos_token", "</s>")];
            (vec![(cls, 0.0), (pad, 0.0), (sep, 0.0), (unknown, 0.0)], 3)
        }
        ModelType::Camembert => {
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
        other => {
            let what = format!("a SentencePiece model with model_type {:?}", other.name());
            return Err(unsupported(what).into());
        }
    };
    let symbols = model.pieces.iter().filter(|piece| [CONTROL, USER_DEFINED].contains(&piece.kind()));
    let symbols = symbols
        .map(|piece| AddedToken::from(piece.text.clone(), piece.kind() == CONTROL).normalized(false))
        .collect();
    let pieces = model.pieces.into_iter().skip(skipped).map(|piece| (piece.text, f64::from(piece.score)));
    let vocabulary = first.into_iter().chain(pieces).chain([(mask, 0.0)]).collect();

    let mut tokenizer =
        tokenizers::Tokenizer::new(Unigram::from(vocabulary, Some(3), false).map_err(library)?);
    let charsmap = model.normalizer.unwrap_or_default().charsmap;
    if !charsmap.is_empty() {
        let normalizer = Precompiled::from(&charsmap).map_err(|error| problem(error.to_string()))?;
        tokenizer.with_normalizer(Some(normalizer)).map_err(library)?;
    }
    tokenizer.with_pre_tokenizer(Some(Sequence::new(vec![
        PreTokenizerWrapper::WhitespaceSplit(WhitespaceSplit),
        PreTokenizerWrapper::Metaspace(Metaspace::new('▁', prepend_scheme(config), true)),
    ])));
    let specials = Specials::read(config, &ROBERTA);
    let specials =
        if model_type == ModelType::Camembert { specials.with_lstrip("mask_token") } else { specials };
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

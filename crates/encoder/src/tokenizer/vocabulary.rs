//! BERT's tokenizer from `vocab.txt`.

use std::path::Path;

use tokenizers::AddedToken;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::template::TemplateProcessing;
use toller_files::FileError;

use super::TokenizerConfig;
use crate::EncoderError;
use crate::fingerprint::Fingerprint;

/// BERT's tokenizer from its vocabulary, a token a line (Devlin et al. 2019).
pub(super) fn word_piece(
    path: &Path,
    config: &TokenizerConfig,
    fingerprint: &mut Fingerprint,
) -> Result<tokenizers::Tokenizer, EncoderError> {
    let config_error = |problem: String| EncoderError::Config { problem, path: path.to_owned() };
    let text = std::fs::read_to_string(path).map_err(FileError::on("read", path))?;
    fingerprint.value("vocab.txt", text.as_bytes());
    let lowercase = config.do_lower_case.unwrap_or(true);
    let chinese = config.tokenize_chinese_chars.unwrap_or(true);

    let vocabulary: Vec<(String, u32)> = text
        .strip_suffix('\n')
        .unwrap_or(&text)
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned())
        .zip(0..)
        .collect();
    let specials = [
        ("pad_token", "[PAD]"),
        ("unk_token", "[UNK]"),
        ("cls_token", "[CLS]"),
        ("sep_token", "[SEP]"),
        ("mask_token", "[MASK]"),
    ]
    .map(|(name, default)| config.special(name, default));
    fingerprint.value("special tokens", specials.join("\n").as_bytes());
    let [_, unknown, cls, sep, _] = &specials;
    let id_of = |token: &str| {
        let found = vocabulary.iter().rev().find(|(known, _)| known == token).map(|(_, id)| *id);
        found.ok_or_else(|| config_error(format!("the special token {token} is not in the vocabulary")))
    };
    let (cls_id, sep_id) = (id_of(cls)?, id_of(sep)?);
    id_of(unknown)?;

    let model = WordPiece::builder()
        .vocab(vocabulary.iter().cloned().collect::<ahash::AHashMap<_, _>>())
        .unk_token(unknown.clone())
        .build()
        .map_err(|error| config_error(error.to_string()))?;
    let mut tokenizer = tokenizers::Tokenizer::new(model);
    let template = TemplateProcessing::builder()
        .try_single(vec![format!("{cls}:0"), "$A:0".to_owned(), format!("{sep}:0")])
        .and_then(|builder| {
            builder.try_pair(
                [
                    format!("{cls}:0"),
                    "$A:0".to_owned(),
                    format!("{sep}:0"),
                    "$B:1".to_owned(),
                    format!("{sep}:1"),
                ]
                .to_vec(),
            )
        })
        .map_err(|error| config_error(error.to_string()))?
        .special_tokens(vec![(cls.clone(), cls_id), (sep.clone(), sep_id)])
        .build()
        .map_err(|error| config_error(error.to_string()))?;
    let normalizer = BertNormalizer::new(true, chinese, config.strip_accents, lowercase);
    tokenizer.with_normalizer(Some(normalizer)).map_err(|error| config_error(error.to_string()))?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    tokenizer.with_post_processor(Some(template));
    let known = specials.iter().filter(|token| id_of(token).is_ok());
    tokenizer
        .add_special_tokens(known.map(|token| AddedToken::from(token.clone(), true)))
        .map_err(|error| config_error(error.to_string()))?;
    Ok(tokenizer)
}

//! RoBERTa's tokenizer from `vocab.json` and `merges.txt` (Radford et al. 2019, section 2.2).

use std::path::Path;

use tokenizers::models::bpe::{BPE, Merges};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::processors::roberta::RobertaProcessing;
use toller_checkpoint::{Fingerprint, ModelError, ModelType, read_text, required_json};

use super::TokenizerConfig;
use super::special::{ROBERTA, Specials};
use crate::TokenizerError;

/// The tokenizer of a vocabulary of byte pairs, whose merges are in the file next to it.
pub(super) fn byte_pairs(
    vocabulary_path: &Path,
    config: &TokenizerConfig,
    model_type: ModelType,
    fingerprint: &mut Fingerprint,
) -> Result<tokenizers::Tokenizer, TokenizerError> {
    // They split words in other ways, which only tokenizer.json says.
    if model_type.is_like_llama() {
        let what = format!("a vocabulary of byte pairs with model_type {:?}", model_type.name());
        let supported = format!("tokenizer.json; {}", super::CONVERT);
        return Err(ModelError::unsupported(vocabulary_path, what, supported).into());
    }
    let merges_path = vocabulary_path.with_file_name("merges.txt");
    let vocabulary: std::collections::BTreeMap<String, u32> = required_json(vocabulary_path)?;
    let text = read_text(&merges_path)?;
    for (token, id) in &vocabulary {
        fingerprint.value(token, &id.to_le_bytes());
    }
    fingerprint.value("merges.txt", text.as_bytes());
    let merges = merges(&text).map_err(|line| ModelError::Config {
        path: merges_path,
        problem: format!("line {line} is not a pair"),
    })?;

    let problem = |problem: String| ModelError::Config { problem, path: vocabulary_path.to_owned() };
    let around = |name: &str, default: &str| {
        let token = config.special(name, default).content;
        let id = vocabulary.get(&token).copied();
        id.map(|id| (token.clone(), id))
            .ok_or_else(|| problem(format!("the special token {token} is not in the vocabulary")))
    };
    let (cls, sep) = (around("cls_token", "<s>")?, around("sep_token", "</s>")?);
    let model = BPE::builder()
        .vocab_and_merges(vocabulary.into_iter().collect::<ahash::AHashMap<_, _>>(), merges)
        .build()
        .map_err(|error| problem(error.to_string()))?;
    let mut tokenizer = tokenizers::Tokenizer::new(model);
    let prefix = config.add_prefix_space.unwrap_or(false);
    fingerprint.value("prefix", prefix.to_string().as_bytes());
    tokenizer.with_pre_tokenizer(Some(ByteLevel::default().add_prefix_space(prefix)));
    tokenizer.with_post_processor(Some(RobertaProcessing::new(sep, cls).add_prefix_space(prefix)));
    Specials::read(config, &ROBERTA).add_to(&mut tokenizer, vocabulary_path, fingerprint)?;
    Ok(tokenizer)
}

/// The pairs, one a line, after a line with the version; the error is the number of a bad line.
fn merges(text: &str) -> Result<Merges, usize> {
    let lines =
        text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with("#version"));
    lines
        .map(|(number, line)| {
            let (left, right) = line.split_once(' ').ok_or(number + 1)?;
            Ok((left.to_owned(), right.to_owned()))
        })
        .collect()
}

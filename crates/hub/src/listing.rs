//! Which files of a repository a model needs.

use toller_checkpoint::{ADAPTER_CONFIG, ADAPTER_WEIGHTS, ModuleEntry, TOWERS, choose_weights};

use crate::directory::inside;

/// Configuration and tokenizer files. Any of them may be absent.
const SMALL_FILES: &[&str] = &[
    ADAPTER_CONFIG, "added_tokens.json", "chat_template.jinja", "config.json",
    "config_sentence_transformers.json", "merges.txt", "modules.json", "router_config.json",
    "sentencepiece.bpe.model", "special_tokens_map.json", "spiece.model", "tokenizer.json",
    "tokenizer_config.json", "vocab.json", "vocab.txt",
];

/// The files whose presence changes what a model means. A snapshot that other software cached in part is used
/// without asking only if each is present or known to be absent.
pub(crate) const DECISIVE_FILES: [&str; 4] =
    ["modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", ADAPTER_CONFIG];

/// The files of a repository that a model needs: those of the root, of the folders of its modules, and of the
/// two encoders of a dual model.
pub(crate) fn needed<'a>(files: &'a [String], modules: &[ModuleEntry]) -> Vec<&'a str> {
    let mut folders: Vec<&str> = vec![""];
    folders.extend(modules.iter().map(|module| module.path.as_str()).filter(|path| !path.is_empty()));
    folders.extend(TOWERS);
    let mut needed: Vec<&str> =
        folders.into_iter().flat_map(|folder| needed_of_folder(files, folder)).collect();
    needed.sort_unstable();
    needed.dedup();
    needed
}

fn needed_of_folder<'a>(files: &'a [String], folder: &str) -> Vec<&'a str> {
    let prefix = inside(folder, "");
    let inside_folder = |file: &'a String| file.strip_prefix(&prefix).filter(|name| !name.contains('/'));
    let names: Vec<&str> = files.iter().filter_map(inside_folder).collect();
    let mut chosen = choose_weights(&names);
    if names.contains(&ADAPTER_CONFIG) {
        chosen.extend(ADAPTER_WEIGHTS.into_iter().find(|name| names.contains(name)));
    }
    files
        .iter()
        .filter(|file| inside_folder(file).is_some_and(|name| is_small(name) || chosen.contains(&name)))
        .map(String::as_str)
        .collect()
}

/// The configuration and tokenizer files, with `sentence_bert_config.json` and its relatives.
fn is_small(name: &str) -> bool {
    SMALL_FILES.contains(&name) || (name.starts_with("sentence_") && name.ends_with("_config.json"))
}

#[cfg(test)]
mod tests {
    use toller_checkpoint::ModuleEntry;

    use super::needed;

    fn module(path: &str) -> ModuleEntry {
        ModuleEntry { path: path.to_owned(), class: String::new() }
    }

    #[test]
    fn only_what_is_needed() {
        let files = [
            ".gitattributes", "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/pytorch_model.bin",
            "README.md", "chat_template.jinja", "config.json", "flax_model.msgpack", "model.safetensors",
            "modules.json", "onnx/config.json", "onnx/model.onnx", "openvino/openvino_model.bin",
            "pytorch_model.bin", "sentence_bert_config.json", "tf_model.h5", "tokenizer.json",
            "train_script.py",
        ]
        .map(str::to_owned);
        let modules =
            [module(""), module("1_Pooling"), module("2_Dense"), module("3_Normalize"), module("../..")];
        let expected = [
            "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/pytorch_model.bin",
            "chat_template.jinja", "config.json", "model.safetensors", "modules.json",
            "sentence_bert_config.json", "tokenizer.json",
        ];
        assert_eq!(needed(&files, &modules), expected);
    }

    #[test]
    fn an_adapter_is_part_of_its_model() {
        let files = ["adapter_config.json", "adapter_model.safetensors", "config.json", "model.safetensors"]
            .map(str::to_owned);
        assert_eq!(needed(&files, &[]), files);
        let without = files.get(1..).unwrap_or_default();
        assert_eq!(needed(without, &[]), ["config.json", "model.safetensors"]);
    }

    #[test]
    fn both_encoders() {
        let files = [
            "ctx_encoder/config.json", "ctx_encoder/model.safetensors", "question_encoder/vocab.txt",
            "other/config.json",
        ]
        .map(str::to_owned);
        assert_eq!(needed(&files, &[]), files.get(..3).unwrap_or_default());
    }
}

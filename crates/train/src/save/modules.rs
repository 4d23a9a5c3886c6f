//! sentence-transformers' files around a transformer: modules, pooling, lengths and prompts.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use toller_checkpoint::read_json;
use toller_encoder::{TitleMode, prompt_names};
use toller_files::{FileError, names_in};
use toller_ir::Role;

use super::files::{change_json, write_json};
use super::{CONFIG, MODULES};
use crate::TrainError;
use crate::loss::Similarity;

/// transformers' configuration of a tokenizer.
const TOKENIZER_CONFIG: &str = "tokenizer_config.json";

/// sentence-transformers' own configuration: prompts, and how vectors are compared.
const SENTENCE_TRANSFORMERS_CONFIG: &str = "config_sentence_transformers.json";

/// The setting of the mean of all tokens.
const MEAN: &str = "pooling_mode_mean_tokens";

/// The modules of a model that had none, under the names that sentence-transformers knows since 2.
pub(super) fn write_modules(output: &Path, pooling: &str) -> Result<(), TrainError> {
    let config: Map<String, Value> = read_json(&output.join(CONFIG))?.unwrap_or_default();
    let folder = output.join("1_Pooling");
    fs::create_dir_all(&folder).map_err(FileError::on("create", &folder))?;
    let mut settings = Map::new();
    settings.insert(
        "word_embedding_dimension".to_owned(),
        json!(config.get("hidden_size").or(config.get("dim"))),
    );
    settings.extend(modes(pooling));
    write_json(&folder.join(CONFIG), &Value::Object(settings))?;
    let modules = json!([module(0, "", "Transformer"), module(1, "1_Pooling", "Pooling")]);
    write_json(&output.join(MODULES), &modules)
}

/// The settings of sentence-transformers for a pooling, with a boolean for each.
fn modes(pooling: &str) -> impl Iterator<Item = (String, Value)> {
    let names = [
        ("pooling_mode_cls_token", "cls"),
        (MEAN, "mean"),
        ("pooling_mode_max_tokens", "max"),
        ("pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"),
        ("pooling_mode_weightedmean_tokens", "weightedmean"),
        ("pooling_mode_lasttoken", "lasttoken"),
    ];
    let is_on = |name: &str| json!(pooling.split('+').any(|pooling| pooling == name));
    names.map(|(key, name)| (key.to_owned(), is_on(name))).into_iter()
}

/// Writes the pooling that was trained into the modules of a model that had another.
pub(super) fn change_pooling(output: &Path, pooling: &str) -> Result<(), TrainError> {
    let modules: Vec<Map<String, Value>> = read_json(&output.join(MODULES))?.unwrap_or_default();
    let text =
        |module: &Map<String, Value>, key: &str| module.get(key).and_then(Value::as_str).map(str::to_owned);
    let is_pooling =
        |module: &&Map<String, Value>| text(module, "type").is_some_and(|of| of.ends_with(".Pooling"));
    let Some(folder) = modules.iter().find(is_pooling).and_then(|module| text(module, "path")) else {
        return Ok(());
    };
    let names: Vec<&str> = pooling.split('+').collect();
    change_json(&output.join(folder).join(CONFIG), |settings| {
        match (settings.get_mut("pooling_mode"), names.as_slice()) {
            (Some(mode @ Value::String(_)), [name]) => *mode = json!(name),
            (Some(mode), names) => *mode = json!(names),
            // What says the same already stays as it is. Without a word, sentence-transformers takes the
            // mean.
            (None, _) => {
                let is_on = |key: &str| settings.get(key).map_or(key == MEAN, |on| on == &json!(true));
                if modes(pooling).any(|(key, on)| json!(is_on(&key)) != on) {
                    settings.extend(modes(pooling));
                }
            }
        }
    })
}

/// Scales the vectors to unit length, unless that is the last step: the cosine that was trained is then their
/// inner product.
pub(super) fn append_normalize(output: &Path) -> Result<(), TrainError> {
    let path = output.join(MODULES);
    let mut modules: Vec<Value> = read_json(&path)?.unwrap_or_default();
    let is_normalize = |module: &Value| module["type"].as_str().is_some_and(|of| of.ends_with(".Normalize"));
    if modules.last().is_some_and(is_normalize) {
        return Ok(());
    }
    let name = format!("{}_Normalize", modules.len());
    let folder = output.join(&name);
    fs::create_dir_all(&folder).map_err(FileError::on("create", &folder))?;
    modules.push(module(modules.len(), &name, "Normalize"));
    write_json(&path, &Value::Array(modules))
}

/// Writes the length to which texts were cut next to a transformer: for sentence-transformers, and for
/// transformers.
pub(super) fn write_length(transformer: &Path, length: usize, has_modules: bool) -> Result<(), TrainError> {
    if !has_modules {
        return change_json(&transformer.join(TOKENIZER_CONFIG), |config| {
            config.insert("model_max_length".to_owned(), json!(length));
        });
    }
    let is_config = |name: &String| name.starts_with("sentence_") && name.ends_with("_config.json");
    let name = names_in(transformer)?.into_iter().find(is_config);
    change_json(&transformer.join(name.as_deref().unwrap_or("sentence_bert_config.json")), |config| {
        config.insert("max_seq_length".to_owned(), json!(length));
        // They would win over the length of the training.
        for own in ["query_length", "document_length"] {
            config.remove(own);
        }
        config.entry("do_lower_case").or_insert(json!(false));
    })
}

/// Writes how vectors are compared, as in training.
pub(super) fn write_similarity(output: &Path, similarity: Similarity) -> Result<(), TrainError> {
    change_json(&output.join(SENTENCE_TRANSFORMERS_CONFIG), |config| {
        config.insert("similarity_fn_name".to_owned(), json!(similarity.name()));
    })
}

/// Writes how titles were given to the model, for Toller: other programs take no notice of it.
pub(super) fn write_titles(output: &Path, titles: &TitleMode) -> Result<(), TrainError> {
    change_json(&output.join(SENTENCE_TRANSFORMERS_CONFIG), |config| {
        config.insert("title_mode".to_owned(), json!(titles.name()));
        match titles {
            TitleMode::Join(separator) => config.insert("title_separator".to_owned(), json!(separator)),
            _ => config.remove("title_separator"),
        };
    })
}

/// Writes the prompts that texts had before them in training, where the directory does not say them.
/// sentence-transformers takes the first name of a role even where it is said by another or by default, so a
/// prompt is always written under it. Other names keep their place, with the same text.
pub(super) fn write_prompts(output: &Path, prompts: [(Role, &str); 2]) -> Result<(), TrainError> {
    change_json(&output.join(SENTENCE_TRANSFORMERS_CONFIG), |config| {
        let default = config.get("default_prompt_name").and_then(Value::as_str).map(str::to_owned);
        let mut named = config.get("prompts").and_then(Value::as_object).cloned().unwrap_or_default();
        for (role, prompt) in prompts {
            let (names, first) = (prompt_names(role), prompt_names(role)[0]);
            let mut said = names.iter().copied().chain(default.as_deref()).filter_map(|name| named.get(name));
            if prompt.is_empty() && said.find_map(Value::as_str).unwrap_or_default().is_empty() {
                continue;
            }
            named.insert(first.to_owned(), json!(prompt));
            let others = named.iter_mut().filter(|(name, _)| names.contains(&name.as_str()));
            others.for_each(|(_, text)| *text = json!(prompt));
        }
        if !named.is_empty() {
            config.insert("prompts".to_owned(), Value::Object(named));
        }
    })
}

/// An entry of `modules.json`.
fn module(index: usize, path: &str, class: &str) -> Value {
    let class = format!("sentence_transformers.models.{class}");
    json!({"idx": index, "name": index.to_string(), "path": path, "type": class})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use serde_json::{Value, json};
    use toller_ir::Role;

    use super::write_prompts;

    #[test]
    fn a_prompt_is_written_under_the_first_name_of_its_role() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config_sentence_transformers.json");
        let written = |before: Value, query: &str, passage: &str| -> Value {
            fs::write(&path, before.to_string()).unwrap();
            write_prompts(folder.path(), [(Role::Query, query), (Role::Passage, passage)]).unwrap();
            serde_json::from_slice::<Value>(&fs::read(&path).unwrap()).unwrap()["prompts"].clone()
        };
        let e5 = json!({"prompts": {"query": "query: ", "passage": "passage: ", "clustering": "c"}});
        assert_eq!(
            written(e5, "query: ", "passage: "),
            json!({"query": "query: ", "passage": "passage: ", "document": "passage: ", "clustering": "c"})
        );
        let by_default = json!({"prompts": {"retrieval": "r: "}, "default_prompt_name": "retrieval"});
        let all = json!({"retrieval": "r: ", "query": "r: ", "document": "r: "});
        assert_eq!(written(by_default, "r: ", "r: "), all);
        assert_eq!(written(json!({}), "q: ", ""), json!({"query": "q: "}));
        let empty = json!({"query": "q: ", "document": ""});
        assert_eq!(written(json!({"prompts": empty}), "q: ", ""), empty);
        assert_eq!(written(json!({}), "", ""), Value::Null);
    }
}

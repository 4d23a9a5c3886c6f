//! Model directories: the files of the model that was trained, with new weights.

mod files;
mod modules;
mod prefix;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use toller_checkpoint::{ModelError, ModelType, Parameters, TOWERS, Tensor, read_json, read_modules};
use toller_encoder::{Class, EncoderError, TokenClassifier};
use toller_ir::Role;

pub(crate) use self::files::write;
use self::files::{change_config, check_files, copy_files};
use self::modules::{
    append_normalize, change_pooling, write_length, write_modules, write_prompts, write_similarity,
    write_titles,
};
use self::prefix::write_prefix;

use crate::TrainError;
use crate::loss::Similarity;
use crate::model::Model;
use crate::network::{Parameter, TensorName, Weights};
use crate::task::Task;

/// The file in which sentence-transformers lists the modules of a model.
const MODULES: &str = "modules.json";

/// The file of transformers' configuration.
const CONFIG: &str = "config.json";

/// The README of a trained model, its last file.
pub(crate) const CARD: &str = "README.md";

/// Writes a trained model, with `card` as its README.
pub(crate) fn save(task: &Task, model: &Model, output: &Path, card: &str) -> Result<(), TrainError> {
    match task {
        Task::Cross { encoder, .. } => {
            let (folder, weights) = (encoder.folder(), model.towers()[0].weights());
            match encoder.new_class() {
                Some(class) => save_classifier(folder, class, encoder.labels(), weights, output)?,
                None => save_tower(folder, folder, weights, output)?,
            }
            write_length(output, encoder.max_length(), false)?;
        }
        Task::Dual { encoder, similarity, titles, .. } => {
            let folders = model.towers().len();
            let towers = [Role::Query, Role::Passage].map(|role| (role, encoder.tower(role)));
            let lengths = towers.map(|(_, tower)| tower.max_length());
            for (index, (_, tower)) in towers.into_iter().take(folders).enumerate() {
                let target = if folders == 1 { output.to_owned() } else { output.join(TOWERS[index]) };
                let root = tower.directory();
                save_tower(root, tower.folder(), model.towers()[index].weights(), &target)?;
                if target.join(MODULES).exists() {
                    change_pooling(&target, &tower.pooling())?;
                } else if !is_dpr(tower.folder())? {
                    write_modules(&target, &tower.pooling())?;
                }
                // DPR's layout has no modules: no place for prompts.
                let has_modules = target.join(MODULES).exists();
                if has_modules {
                    if *similarity == Similarity::Cosine || tower.normalizes() {
                        append_normalize(&target)?;
                    }
                    write_similarity(&target, *similarity)?;
                    write_prompts(&target, towers.map(|(role, tower)| (role, tower.prompt())))?;
                }
                write_titles(&target, titles)?;
                // One model for both roles takes the longer texts.
                let length = if folders == 1 { lengths[0].max(lengths[1]) } else { lengths[index] };
                let inside = tower.folder().strip_prefix(root).unwrap_or(Path::new(""));
                write_length(&target.join(inside), length, has_modules)?;
            }
        }
    }
    write(&output.join(CARD), card.as_bytes())
}

/// Writes a trained token classifier, with `card` as its README.
pub(crate) fn save_token_classifier(
    classifier: &TokenClassifier,
    model: &Model,
    output: &Path,
    card: &str,
) -> Result<(), TrainError> {
    let weights = model.towers()[0].weights();
    save_classifier(classifier.folder(), classifier.class(), classifier.labels(), weights, output)?;
    write_length(output, classifier.max_length(), false)?;
    write(&output.join(CARD), card.as_bytes())
}

/// Writes a classifier in the layout of transformers. Only the transformer and the classifier are written, by
/// their names in the class: the model before training may have had another head, or none.
fn save_classifier(
    folder: &Path,
    class: &Class,
    labels: &[String],
    weights: &Weights,
    output: &Path,
) -> Result<(), TrainError> {
    copy_files(folder, output, false)?;
    let mut tensors = Vec::new();
    for parameter in weights.parameters() {
        let of_class = |(tensor, values): (&TensorName, Tensor)| (class.name_of(&tensor.name), values);
        tensors.extend(parameter.tensors.iter().zip(split(parameter)?).map(of_class));
    }
    let parameters = Parameters::from_tensors(folder, tensors);
    parameters.write_changed(&output.join("model.safetensors"), &BTreeMap::new())?;
    let by_number: Map<String, Value> =
        labels.iter().enumerate().map(|(number, label)| (number.to_string(), json!(label))).collect();
    let by_name: Map<String, Value> =
        labels.iter().enumerate().map(|(number, label)| (label.clone(), json!(number))).collect();
    change_config(&output.join(CONFIG), |config| {
        config.insert("architectures".to_owned(), json!([class.name()]));
        config.insert("id2label".to_owned(), Value::Object(by_number));
        config.insert("label2id".to_owned(), Value::Object(by_name));
        // How sentence-transformers scored pairs with the model before.
        config.remove("sentence_transformers");
    })
}

/// Refuses a task whose model cannot be saved as it is trained: the layout has no place for its pooling,
/// for the scaling of its vectors or for its prompts, or a file of the model cannot be read.
pub(crate) fn check(task: &Task) -> Result<(), TrainError> {
    let (encoder, similarity) = match task {
        Task::Cross { encoder, .. } => return check_files(encoder.folder(), encoder.new_class().is_none()),
        Task::Dual { encoder, similarity, .. } => (encoder, similarity),
    };
    for role in [Role::Query, Role::Passage] {
        let tower = encoder.tower(role);
        let (folder, pooling) = (tower.folder(), tower.pooling());
        let has_modules = tower.directory().join(MODULES).is_file();
        let has_no_place = !has_modules && is_dpr(folder)?;
        let fits = if has_no_place { pooling == "cls" } else { pooling != "pooler" };
        if !fits {
            return Err(TrainError::Pooling(pooling));
        }
        if has_no_place && *similarity == Similarity::Cosine && !tower.normalizes() {
            return Err(TrainError::Scaling);
        }
        if has_no_place && !tower.prompt().is_empty() {
            return Err(TrainError::Prompts);
        }
        check_modules(tower.directory())?;
        check_files(tower.directory(), true)?;
    }
    Ok(())
}

/// Refuses modules that are not changed in place: those of a sparse encoder, also where only its transformer
/// is trained, and those of a router, which are in folders of their own.
fn check_modules(directory: &Path) -> Result<(), EncoderError> {
    for entry in read_modules(directory)?.unwrap_or_default() {
        let class = entry.class.rsplit('.').next().unwrap_or_default();
        if ["Router", "SpladePooling", "SparseStaticEmbedding"].contains(&class) {
            let what = format!("training a model with the module {class}");
            let supported = "a Transformer, Pooling, and what may follow";
            return Err(ModelError::unsupported(directory.join(MODULES), what, supported).into());
        }
    }
    Ok(())
}

fn is_dpr(folder: &Path) -> Result<bool, TrainError> {
    let config: Option<Map<String, Value>> = read_json(&folder.join(CONFIG))?;
    Ok(config.is_some_and(|config| config.get("model_type") == Some(&json!(ModelType::Dpr.name()))))
}

/// Copies the files of a model from `root`, and writes its weights.
fn save_tower(root: &Path, transformer: &Path, weights: &Weights, output: &Path) -> Result<(), TrainError> {
    copy_files(root, output, true)?;
    let mut folders: BTreeMap<&Path, BTreeMap<String, Tensor>> = BTreeMap::new();
    let inside = transformer.strip_prefix(root).unwrap_or(Path::new(""));
    for parameter in weights.parameters() {
        for (tensor, changed) in parameter.tensors.iter().zip(split(parameter)?) {
            if tensor.is_prefix() {
                write_prefix(&output.join(inside), changed)?;
                continue;
            }
            folders.entry(&tensor.folder).or_default().insert(tensor.name.clone(), changed);
        }
    }
    for (folder, changed) in folders {
        let inside = folder.strip_prefix(root).unwrap_or(Path::new(""));
        let target = output.join(inside);
        Parameters::open(folder)?
            .with_lora(folder)?
            .write_changed(&target.join("model.safetensors"), &changed)?;
    }
    change_config(&output.join(inside).join(CONFIG), |_| ())
}

/// The tensors of a parameter with their values.
fn split(parameter: &Parameter) -> Result<Vec<Tensor>, TrainError> {
    let mut values = parameter.values.as_slice();
    let tensor = |tensor: &TensorName| {
        let (own, rest) = values.split_at(tensor.len());
        values = rest;
        Ok(Tensor::new(tensor.shape.clone(), own.to_vec())?)
    };
    parameter.tensors.iter().map(tensor).collect()
}

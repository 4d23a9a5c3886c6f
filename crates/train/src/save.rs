//! Model directories: the files of the model that was trained, with new weights.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toller_checkpoint::{Parameters, TOWERS, Tensor, read_json};
use toller_encoder::TokenClassifier;
use toller_files::{AtomicFile, FileError, names_in};
use toller_ir::Role;

use crate::TrainError;
use crate::loss::Similarity;
use crate::model::Model;
use crate::network::{Parameter, TensorName, Weights};
use crate::task::Task;

/// Endings of files that hold weights, which are not copied.
const WEIGHTS: [&str; 9] =
    [".safetensors", ".bin", ".h5", ".msgpack", ".ot", ".onnx", ".pt", ".pth", ".index.json"];

/// The file in which sentence-transformers lists the modules of a model.
const MODULES: &str = "modules.json";

/// The file of transformers' configuration.
const CONFIG: &str = "config.json";

/// Writes a trained model, with `card` as its README.
pub(crate) fn save(task: &Task, model: &Model, output: &Path, card: &str) -> Result<(), TrainError> {
    match task {
        Task::Cross { encoder, .. } => {
            save_tower(encoder.folder(), encoder.folder(), model.towers()[0].weights(), output)?;
        }
        Task::Dual { queries, passages, similarity, .. } => {
            let folders = model.towers().len();
            let longest =
                queries.tower(Role::Query).max_length().max(passages.tower(Role::Passage).max_length());
            let towers = [(queries, Role::Query), (passages, Role::Passage)];
            for (index, (encoder, role)) in towers.into_iter().take(folders).enumerate() {
                let tower = encoder.tower(role);
                let target = if folders == 1 { output.to_owned() } else { output.join(TOWERS[index]) };
                let root = root_of(tower.folder());
                save_tower(&root, tower.folder(), model.towers()[index].weights(), &target)?;
                if target.join(MODULES).exists() {
                    change_pooling(&target, &tower.pooling())?;
                } else if !is_dpr(tower.folder())? {
                    // One model for both roles takes the longer texts.
                    let max_length = if folders == 1 { longest } else { tower.max_length() };
                    write_modules(&target, &tower.pooling(), max_length)?;
                }
                // DPR's layout has no modules, so the vectors of its models are saved without a step that
                // scales them.
                let has_modules = target.join(MODULES).exists();
                if has_modules && *similarity == Similarity::Cosine && !tower.normalizes() {
                    append_normalize(&target)?;
                }
            }
        }
    }
    write(&output.join("README.md"), card.as_bytes())
}

/// Writes a trained token classifier in the layout of transformers, with `card` as its README. Only the
/// transformer and the classifier are written, by their names there: the model before training may have had
/// another head, or none.
pub(crate) fn save_token_classifier(
    classifier: &TokenClassifier,
    model: &Model,
    output: &Path,
    card: &str,
) -> Result<(), TrainError> {
    let folder = classifier.folder();
    copy_files(folder, output, false)?;
    let mut tensors = Vec::new();
    for parameter in model.towers()[0].weights().parameters() {
        let of_class =
            |(tensor, values): (&TensorName, Tensor)| (classifier.class_name_of(&tensor.name), values);
        tensors.extend(parameter.tensors.iter().zip(split(parameter)?).map(of_class));
    }
    let parameters = Parameters::from_tensors(folder, tensors);
    parameters.write_changed(&output.join("model.safetensors"), &BTreeMap::new())?;
    let labels = || classifier.labels().iter().enumerate();
    let by_number: Map<String, Value> =
        labels().map(|(number, label)| (number.to_string(), json!(label))).collect();
    let by_name: Map<String, Value> =
        labels().map(|(number, label)| (label.clone(), json!(number))).collect();
    change_config(&output.join(CONFIG), |config| {
        config.insert("architectures".to_owned(), json!([classifier.class()]));
        config.insert("id2label".to_owned(), Value::Object(by_number));
        config.insert("label2id".to_owned(), Value::Object(by_name));
        // How sentence-transformers scores pairs with it.
        config.remove("sentence_transformers");
    })?;
    write(&output.join("README.md"), card.as_bytes())
}

/// The model's directory: that of the transformer, or the one above with `modules.json`.
fn root_of(transformer: &Path) -> PathBuf {
    match transformer.parent() {
        Some(parent) if !transformer.join(MODULES).is_file() && parent.join(MODULES).is_file() => {
            parent.to_owned()
        }
        _ => transformer.to_owned(),
    }
}

/// Refuses a task whose model cannot be saved as it is trained: the layout has no place for its pooling.
pub(crate) fn check(task: &Task) -> Result<(), TrainError> {
    let Task::Dual { queries, passages, .. } = task else { return Ok(()) };
    for (encoder, role) in [(queries, Role::Query), (passages, Role::Passage)] {
        let tower = encoder.tower(role);
        let (folder, pooling) = (tower.folder(), tower.pooling());
        let has_modules = root_of(folder).join(MODULES).is_file();
        let fits = if !has_modules && is_dpr(folder)? { pooling == "cls" } else { pooling != "pooler" };
        if !fits {
            return Err(TrainError::Pooling(pooling));
        }
    }
    Ok(())
}

fn is_dpr(folder: &Path) -> Result<bool, TrainError> {
    let config: Option<Map<String, Value>> = read_json(&folder.join(CONFIG))?;
    Ok(config.is_some_and(|config| config.get("model_type") == Some(&json!("dpr"))))
}

/// Copies the files of a model from `root`, and writes its weights.
fn save_tower(root: &Path, transformer: &Path, weights: &Weights, output: &Path) -> Result<(), TrainError> {
    copy_files(root, output, true)?;
    let mut folders: BTreeMap<&Path, BTreeMap<String, Tensor>> = BTreeMap::new();
    for parameter in weights.parameters() {
        for (tensor, changed) in parameter.tensors.iter().zip(split(parameter)?) {
            folders.entry(&tensor.folder).or_default().insert(tensor.name.clone(), changed);
        }
    }
    for (folder, changed) in folders {
        let inside = folder.strip_prefix(root).unwrap_or(Path::new(""));
        let target = output.join(inside);
        Parameters::open(folder)?.write_changed(&target.join("model.safetensors"), &changed)?;
    }
    let inside = transformer.strip_prefix(root).unwrap_or(Path::new(""));
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

/// Changes a configuration. The weights are f32 now, whatever they were.
fn change_config(path: &Path, change: impl FnOnce(&mut Map<String, Value>)) -> Result<(), TrainError> {
    let mut config: Map<String, Value> = read_json(path)?.unwrap_or_default();
    for name in ["dtype", "torch_dtype"] {
        if let Some(dtype) = config.get_mut(name) {
            *dtype = json!("float32");
        }
    }
    change(&mut config);
    write_json(path, &Value::Object(config))
}

/// Whether a file is sentence-transformers' own.
fn is_of_sentence_transformers(name: &str) -> bool {
    name == MODULES || name == "config_sentence_transformers.json" || name.starts_with("sentence_")
}

/// Copies small files. With `modules`, also those of sentence-transformers, and of the modules' folders:
/// `1_Pooling`, `2_Dense`.
fn copy_files(from: &Path, to: &Path, modules: bool) -> Result<(), TrainError> {
    fs::create_dir_all(to).map_err(FileError::on("create", to))?;
    for name in names_in(from)? {
        let (source, target) = (from.join(&name), to.join(&name));
        let is_module = name.starts_with(|first: char| first.is_ascii_digit()) && name.contains('_');
        if source.is_dir() {
            if is_module && modules {
                copy_files(&source, &target, true)?;
            }
        } else if !WEIGHTS.iter().any(|ending| name.ends_with(ending))
            && !name.starts_with('.')
            && name != "README.md"
            && (modules || !is_of_sentence_transformers(&name))
        {
            let bytes = fs::read(&source).map_err(FileError::on("read", &source))?;
            write(&target, &bytes)?;
        }
    }
    Ok(())
}

/// The modules of a model that had none, under the names that sentence-transformers knows since 2.
fn write_modules(output: &Path, pooling: &str, max_length: usize) -> Result<(), TrainError> {
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
    write_json(
        &output.join("sentence_bert_config.json"),
        &json!({"max_seq_length": max_length, "do_lower_case": false}),
    )?;
    let modules = json!([module(0, "", "Transformer"), module(1, "1_Pooling", "Pooling")]);
    write_json(&output.join(MODULES), &modules)
}

/// The settings of sentence-transformers for a pooling, with a boolean for each.
fn modes(pooling: &str) -> impl Iterator<Item = (String, Value)> {
    let names = [
        ("pooling_mode_cls_token", "cls"),
        ("pooling_mode_mean_tokens", "mean"),
        ("pooling_mode_max_tokens", "max"),
        ("pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"),
        ("pooling_mode_weightedmean_tokens", "weightedmean"),
        ("pooling_mode_lasttoken", "lasttoken"),
    ];
    let is_on = |name: &str| json!(pooling.split('+').any(|pooling| pooling == name));
    names.map(|(key, name)| (key.to_owned(), is_on(name))).into_iter()
}

/// Writes the pooling that was trained into the modules of a model that had another.
fn change_pooling(output: &Path, pooling: &str) -> Result<(), TrainError> {
    let modules: Vec<Map<String, Value>> = read_json(&output.join(MODULES))?.unwrap_or_default();
    let text =
        |module: &Map<String, Value>, key: &str| module.get(key).and_then(Value::as_str).map(str::to_owned);
    let is_pooling =
        |module: &&Map<String, Value>| text(module, "type").is_some_and(|of| of.ends_with(".Pooling"));
    let Some(folder) = modules.iter().find(is_pooling).and_then(|module| text(module, "path")) else {
        return Ok(());
    };
    let path = output.join(folder).join(CONFIG);
    let before: Map<String, Value> = read_json(&path)?.unwrap_or_default();
    let mut settings = before.clone();
    let names: Vec<&str> = pooling.split('+').collect();
    match (settings.get_mut("pooling_mode"), names.as_slice()) {
        (Some(mode @ Value::String(_)), [name]) => *mode = json!(name),
        (Some(mode), names) => *mode = json!(names),
        (None, _) => settings.extend(modes(pooling)),
    }
    if settings == before { Ok(()) } else { write_json(&path, &Value::Object(settings)) }
}

/// Scales the vectors to unit length: the cosine that was trained is then their inner product.
fn append_normalize(output: &Path) -> Result<(), TrainError> {
    let path = output.join(MODULES);
    let mut modules: Vec<Value> = read_json(&path)?.unwrap_or_default();
    let name = format!("{}_Normalize", modules.len());
    let folder = output.join(&name);
    fs::create_dir_all(&folder).map_err(FileError::on("create", &folder))?;
    modules.push(module(modules.len(), &name, "Normalize"));
    write_json(&path, &Value::Array(modules))
}

/// An entry of `modules.json`.
fn module(index: usize, path: &str, class: &str) -> Value {
    let class = format!("sentence_transformers.models.{class}");
    json!({"idx": index, "name": index.to_string(), "path": path, "type": class})
}

fn write_json(path: &Path, value: &Value) -> Result<(), TrainError> {
    write(path, format!("{value:#}\n").as_bytes())
}

/// Writes a file, whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), TrainError> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(FileError::on("write", path))?;
    Ok(file.commit()?)
}

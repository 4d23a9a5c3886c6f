//! Which files a model directory needs, and which of them are missing.
//!
//! Three layouts are known: sentence-transformers (`modules.json` names a folder for each module), plain
//! transformers (`config.json`), and two encoders in two folders, as in DPR.

use std::fs;
use std::path::Path;

use toller_checkpoint::{
    ADAPTER_WEIGHTS, AdapterConfig, ShardIndex, TOKENIZER_FILES, TOWERS, choose_weights, is_index, read_route,
};
use toller_files::FileError;

use crate::ResolveError;
use crate::adapter::is_alone;

/// What a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A model.
    Model,
    /// An adapter of LoRA, which names the model that it changes.
    Adapter,
}

/// Checks that a model directory has the files that its layout needs.
///
/// # Errors
/// [`ResolveError::Incomplete`] with every file that is missing.
pub(crate) fn check(directory: &Path) -> Result<Found, ResolveError> {
    let mut missing = Vec::new();
    if let Some(modules) = read_route(directory, None)? {
        for module in modules {
            let class = module.class.rsplit('.').next().unwrap_or_default();
            match class {
                "Transformer" | "MLMTransformer" => {
                    missing.extend(missing_of_transformer(directory, &module.path)?)
                }
                "Pooling" | "SpladePooling" => missing.extend(missing_config(directory, &module.path)),
                "SparseStaticEmbedding" => {
                    missing.extend(missing_tokenizer(directory, &module.path));
                    missing.extend(missing_weights(directory, &module.path)?);
                }
                "Dense" => {
                    missing.extend(missing_config(directory, &module.path));
                    missing.extend(missing_weights(directory, &module.path)?);
                }
                _ => {}
            }
        }
    } else if directory.join("config.json").is_file()
        || !TOWERS.iter().any(|tower| directory.join(tower).is_dir())
    {
        missing = missing_of_transformer(directory, "")?;
    } else {
        for tower in TOWERS {
            missing.extend(missing_of_transformer(directory, tower)?);
        }
    }
    if missing.is_empty() {
        return Ok(Found::Model);
    }
    if is_alone(directory)? {
        let adapter = AdapterConfig::read(directory)?;
        let names_its_base =
            adapter.is_some_and(|adapter| adapter.is_lora() && adapter.base_model_name_or_path.is_some());
        if !names_its_base {
            return Err(ResolveError::Adapter { directory: directory.to_owned() });
        }
        if ADAPTER_WEIGHTS.iter().any(|name| directory.join(name).is_file()) {
            return Ok(Found::Adapter);
        }
        missing = vec![ADAPTER_WEIGHTS[0].to_owned()];
    }
    Err(ResolveError::Incomplete { directory: directory.to_owned(), missing })
}

fn missing_of_transformer(directory: &Path, folder: &str) -> Result<Vec<String>, ResolveError> {
    let mut missing = missing_config(directory, folder);
    missing.extend(missing_tokenizer(directory, folder));
    missing.extend(missing_weights(directory, folder)?);
    Ok(missing)
}

fn missing_tokenizer(directory: &Path, folder: &str) -> Option<String> {
    let is_there = TOKENIZER_FILES.iter().any(|name| directory.join(folder).join(name).is_file());
    (!is_there).then(|| format!("{} (or vocab.txt)", inside(folder, "tokenizer.json")))
}

fn missing_config(directory: &Path, folder: &str) -> Vec<String> {
    let name = inside(folder, "config.json");
    if directory.join(&name).is_file() { Vec::new() } else { vec![name] }
}

/// The weights that are missing: all of them, or the shards that the index names and the folder does not
/// have.
fn missing_weights(directory: &Path, folder: &str) -> Result<Vec<String>, ResolveError> {
    let names = files_of(&directory.join(folder))?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let chosen = choose_weights(&names);
    if chosen.is_empty() {
        return Ok(vec![format!("{} (or pytorch_model.bin)", inside(folder, "model.safetensors"))]);
    }
    let Some(index) = chosen.iter().find(|name| is_index(name)) else { return Ok(Vec::new()) };
    let index = ShardIndex::read(&directory.join(folder).join(index))?;
    let missing = index.shards().into_iter().filter(|shard| !names.contains(shard));
    Ok(missing.map(|shard| inside(folder, shard)).collect())
}

/// The names of the files of a folder; none if the folder does not exist. A link counts as what it points to,
/// so a link that leads nowhere is not a file.
fn files_of(folder: &Path) -> Result<Vec<String>, FileError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(FileError::on("list", folder))? {
        let entry = entry.map_err(FileError::on("list", folder))?;
        if entry.path().is_file() {
            names.extend(entry.file_name().into_string());
        }
    }
    Ok(names)
}

/// The path of a file inside a folder of the model; an empty folder is the model itself.
pub(crate) fn inside(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{}/{name}", folder.trim_end_matches('/')) }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fs;
    use std::path::Path;

    use super::{Found, check};
    use crate::ResolveError;

    fn missing(directory: &Path) -> Result<Vec<String>, ResolveError> {
        match check(directory) {
            Ok(_) => Ok(Vec::new()),
            Err(ResolveError::Incomplete { missing, .. }) => Ok(missing),
            Err(error) => Err(error),
        }
    }

    /// As PEFT saves LoRA.
    #[test]
    fn an_adapter_alone_is_no_model() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        write(folder.path(), &[("adapter_model.safetensors", ""), ("tokenizer.json", "{}")])?;
        for config in
            [r#"{"peft_type": "LORA"}"#, r#"{"peft_type": "IA3", "base_model_name_or_path": "a/b"}"#]
        {
            write(folder.path(), &[("adapter_config.json", config)])?;
            let error = check(folder.path()).err().ok_or("no error")?;
            assert!(matches!(error, ResolveError::Adapter { .. }), "{error}");
        }
        let config = r#"{"peft_type": "LORA", "base_model_name_or_path": "a/b"}"#;
        write(folder.path(), &[("adapter_config.json", config)])?;
        assert_eq!(check(folder.path())?, Found::Adapter);
        write(folder.path(), &[("config.json", "{}"), ("model.safetensors", "")])?;
        check(folder.path())?;
        Ok(())
    }

    fn write(directory: &Path, files: &[(&str, &str)]) -> std::io::Result<()> {
        for (name, text) in files {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().unwrap_or(directory))?;
            fs::write(path, text)?;
        }
        Ok(())
    }

    #[test]
    fn every_missing_file_of_a_plain_model_is_named() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let all =
            ["config.json", "tokenizer.json (or vocab.txt)", "model.safetensors (or pytorch_model.bin)"];
        assert_eq!(missing(folder.path())?, all);
        write(folder.path(), &[("config.json", "{}"), ("model.onnx", "")])?;
        assert_eq!(missing(folder.path())?, all.get(1..).unwrap_or_default());
        write(folder.path(), &[("vocab.txt", ""), ("pytorch_model.bin", "")])?;
        assert_eq!(missing(folder.path())?, [""; 0]);
        Ok(())
    }

    #[test]
    fn the_modules_say_which_folders_are_needed() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let modules = r#"[
            {"idx": 0, "name": "0", "path": "0_Transformer", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"},
            {"idx": 3, "name": "3", "path": "3_Normalize", "type": "sentence_transformers.models.Normalize"}]"#;
        let transformer = [
            ("modules.json", modules),
            ("0_Transformer/config.json", "{}"),
            ("0_Transformer/tokenizer.json", "{}"),
            ("0_Transformer/model.safetensors", ""),
        ];
        write(folder.path(), &transformer)?;
        let dense = "2_Dense/model.safetensors (or pytorch_model.bin)";
        assert_eq!(missing(folder.path())?, ["1_Pooling/config.json", "2_Dense/config.json", dense]);
        Ok(())
    }

    #[test]
    fn the_index_says_which_shards_are_needed() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let index = r#"{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}"#;
        let files = [
            ("config.json", "{}"),
            ("tokenizer.json", "{}"),
            ("model.safetensors.index.json", index),
            ("model-00001-of-00002.safetensors", ""),
        ];
        write(folder.path(), &files)?;
        assert_eq!(missing(folder.path())?, ["model-00002-of-00002.safetensors"]);
        Ok(())
    }

    #[test]
    fn weights_lie_in_the_folder_of_their_index() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let elsewhere = folder.path().join("model.safetensors").display().to_string();
        for shard in [elsewhere.as_str(), "../model.safetensors"] {
            let index = format!("{{\"weight_map\": {{\"a\": {shard:?}}}}}");
            let files =
                [("config.json", "{}"), ("tokenizer.json", "{}"), ("model.safetensors.index.json", &index)];
            write(folder.path(), &files)?;
            let error = check(folder.path()).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains("index.json: the file") && error.contains(shard), "{error}");
        }
        Ok(())
    }

    #[test]
    fn two_encoders_need_both() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let tower = |name: &str| {
            ["config.json", "vocab.txt", "pytorch_model.bin"].map(|file| format!("{name}/{file}"))
        };
        let files = tower("question_encoder");
        write(folder.path(), &files.each_ref().map(|file| (file.as_str(), "")))?;
        assert_eq!(missing(folder.path())?.len(), 3);
        assert!(missing(folder.path())?.iter().all(|file| file.starts_with("ctx_encoder/")));
        let files = tower("ctx_encoder");
        write(folder.path(), &files.each_ref().map(|file| (file.as_str(), "")))?;
        assert_eq!(missing(folder.path())?, [""; 0]);
        Ok(())
    }

    #[test]
    fn unreadable_modules_name_the_file() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        write(folder.path(), &[("modules.json", "[{")])?;
        let error = check(folder.path()).err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("modules.json")));
        Ok(())
    }
}

//! Adapters of LoRA and the models that they change.

use std::fs;
use std::path::Path;

use toller_ir::Explain;

use super::{options, resolve};
use crate::{Origin, ResolveError};

/// No server listens at this address.
const NOWHERE: &str = "http://127.0.0.1:9";

fn write(folder: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
}

fn write_model(folder: &Path) {
    write(folder, &[("config.json", "{}"), ("tokenizer.json", "model"), ("model.safetensors", "weights")]);
    write(&folder.join("1_Pooling"), &[("config.json", "{}")]);
}

fn write_adapter(folder: &Path, base: &str) {
    let config = format!(r#"{{"peft_type": "LORA", "base_model_name_or_path": "{base}"}}"#);
    write(
        folder,
        &[
            ("adapter_config.json", &config),
            ("adapter_model.safetensors", "adapter"),
            ("tokenizer.json", "adapter"),
        ],
    );
    fs::create_dir_all(folder.join("checkpoint-5")).unwrap();
}

#[test]
fn an_adapter_brings_its_model() {
    let folder = tempfile::tempdir().unwrap();
    let (model, adapter) = (folder.path().join("model"), folder.path().join("adapter"));
    write_model(&model);
    let options = options(folder.path(), NOWHERE);
    let find = || resolve(adapter.to_str().unwrap(), &options).0;
    // By its whole path, and from the adapter's own place.
    for base in [model.to_str().unwrap(), "../model"] {
        write_adapter(&adapter, base);
        let source = find().unwrap();
        assert!(matches!(source.origin, Origin::Directory));
        assert!(source.directory.starts_with(&options.toller_cache), "{}", source.directory.display());
        let read = |name: &str| fs::read_to_string(source.directory.join(name)).unwrap();
        assert_eq!(
            ["model.safetensors", "adapter_model.safetensors", "tokenizer.json", "1_Pooling/config.json"]
                .map(read),
            ["weights", "adapter", "adapter", "{}"]
        );
        assert!(!source.directory.join("checkpoint-5").exists());
        assert_eq!(find().unwrap().directory, source.directory);
    }
    assert_eq!(fs::read_dir(options.toller_cache.join("adapters")).unwrap().count(), 1);
}

/// Tokenizer files of two models do not go together, and what is said of the model is not said of the
/// adapter.
#[test]
fn the_adapters_tokenizer_takes_the_place_of_the_models() {
    let folder = tempfile::tempdir().unwrap();
    let (model, adapter) = (folder.path().join("model"), folder.path().join("adapter"));
    write_model(&model);
    write(&model, &[("chat_template.jinja", ""), ("expected.jsonl", ""), ("README.md", "")]);
    write_adapter(&adapter, "../model");
    fs::rename(adapter.join("tokenizer.json"), adapter.join("vocab.txt")).unwrap();
    write(&adapter, &[("config.json", "other")]);
    let source = resolve(adapter.to_str().unwrap(), &options(folder.path(), NOWHERE)).0.unwrap();
    let has = |name: &str| source.directory.join(name).is_file();
    assert!(has("vocab.txt"));
    for name in ["tokenizer.json", "chat_template.jinja", "expected.jsonl", "README.md"] {
        assert!(!has(name), "{name}");
    }
    assert_eq!(fs::read_to_string(source.directory.join("config.json")).unwrap(), "{}");
}

#[test]
fn what_cannot_be_the_model_of_an_adapter_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path(), NOWHERE);
    let (model, adapter) = (folder.path().join("model"), folder.path().join("adapter"));
    write_adapter(&adapter, "../model");
    let error = || resolve(adapter.to_str().unwrap(), &options).0.unwrap_err();
    // A transformer in a folder of its own.
    write_model(&model.join("0_Transformer"));
    let modules = r#"[{"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"}]"#;
    write(&model, &[("modules.json", modules)]);
    assert!(error().to_string().contains("in a folder of its own"), "{}", error());
    fs::remove_dir_all(&model).unwrap();
    // A model that has an adapter of its own.
    write_model(&model);
    write_adapter(&model, "x");
    assert!(error().to_string().contains("an adapter of an adapter"), "{}", error());
    // The adapter's weights.
    fs::remove_file(adapter.join("adapter_model.safetensors")).unwrap();
    assert!(error().to_string().ends_with("has no adapter_model.safetensors"), "{}", error());
}

#[test]
fn an_adapter_without_its_model_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path(), NOWHERE);
    let adapter = folder.path().join("adapter");
    let error_of = |base: &str| {
        write_adapter(&adapter, base);
        resolve(adapter.to_str().unwrap(), &options).0.unwrap_err()
    };
    let error = error_of("/no/such/model");
    assert!(error.to_string().contains("the model of the adapter in"), "{error}");
    assert!(error.to_string().contains("/no/such/model"), "{error}");
    assert!(error.remedy().unwrap().to_string().contains("base_model_name_or_path"));
    for of_itself in ["../adapter", "../other"] {
        write_adapter(&folder.path().join("other"), "../adapter");
        let error = error_of(of_itself);
        assert!(matches!(error, ResolveError::BaseOfAdapter { .. }), "{error}");
    }
    assert!(matches!(error_of(""), ResolveError::Adapter { .. }));
}

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

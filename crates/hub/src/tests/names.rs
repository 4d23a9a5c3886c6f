//! Directories, and names that no model has.

use std::fs;

use toller_ir::Explain;

use super::{options, resolve};
use crate::Origin;

/// No server listens at this address, and no test of this file asks it.
const NOWHERE: &str = "http://127.0.0.1:9";

#[test]
fn a_directory_is_used_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("config.json", "{}"), ("tokenizer.json", "{}"), ("model.safetensors", "")] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let source = resolve(folder.path().to_str().unwrap(), &options(folder.path(), NOWHERE)).0.unwrap();
    assert_eq!(source.directory, folder.path());
    assert!(matches!(source.origin, Origin::Directory));

    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    let error = resolve(folder.path().to_str().unwrap(), &options(folder.path(), NOWHERE)).0.unwrap_err();
    assert!(error.to_string().ends_with("has no tokenizer.json (or vocab.txt)"), "{error}");
}

#[test]
fn a_file_is_no_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    fs::write(&path, "").unwrap();
    let error = resolve(path.to_str().unwrap(), &options(folder.path(), NOWHERE)).0.unwrap_err();
    assert!(error.to_string().contains("is a file"), "{error}");
    assert!(error.remedy().unwrap().to_string().contains(folder.path().to_str().unwrap()));
}

#[test]
fn what_cannot_be_an_id_is_not_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["", "minilm", "./no/such/model", "/no/such/model", "../up", "a/b@../../c", "a b/c", "a/b\0"]
    {
        let error = resolve(name, &options(folder.path(), NOWHERE)).0.unwrap_err();
        assert!(error.to_string().contains("not asked"), "{name:?}: {error}");
        assert!(error.to_string().contains("models/: no such name"), "{error}");
        assert!(error.remedy().is_some());
    }
}

#[test]
fn similar_names_are_suggested() {
    let folder = tempfile::tempdir().unwrap();
    let error = resolve("e5-base-v3", &options(folder.path(), NOWHERE)).0.unwrap_err();
    assert!(error.to_string().contains("similar names: e5-base-v2"), "{error}");
    let error = resolve("xyzzy", &options(folder.path(), NOWHERE)).0.unwrap_err();
    assert!(error.to_string().contains("`toller models` lists"), "{error}");
}

#[test]
fn a_checkpoint_must_be_converted_first() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path(), NOWHERE);
    let error = resolve("rocketqa-zh-dureader-de", &options).0.unwrap_err();
    let hint = error.remedy().unwrap().to_string();
    assert!(hint.contains("zh_dureader_de.tar.gz") && hint.contains("convert FOLDER output"), "{hint}");
    let converted = options.toller_cache.join("models/rocketqa-zh-dureader-de");
    fs::create_dir_all(&converted).unwrap();
    assert_eq!(resolve("rocketqa-zh-dureader-de", &options).0.unwrap().directory, converted);
}

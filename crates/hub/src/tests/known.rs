//! Known models: wherever their files come from, the files have the checksums of the manifest.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sha2::Sha256;
use toller_checkpoint::KnownModel;
use toller_ir::Explain;

use super::stand_in::{COMMIT, StandIn};
use super::{options, tree};
use crate::cache::RepoCache;
use crate::id::RepoId;
use crate::{Looked, ResolveError, ResolveOptions, digest, known};

const FILES: [(&str, &[u8]); 3] =
    [("config.json", b"{}"), ("model.safetensors", b"weights"), ("vocab.txt", b"a")];

/// A manifest of the stand-in's model.
fn model() -> KnownModel {
    let folder = tempfile::tempdir().unwrap();
    let sum = |(name, bytes): &(&str, &[u8])| {
        fs::write(folder.path().join(name), bytes).unwrap();
        ((*name).to_owned(), digest::of_file::<Sha256>(&folder.path().join(name)).unwrap())
    };
    KnownModel {
        name: "known",
        source: Some("org/model".to_owned()),
        revision: Some(COMMIT.to_owned()),
        license: None,
        dimensions: None,
        pooling: None,
        normalize: None,
        max_length: None,
        title_mode: None,
        similarity: None,
        prompts: BTreeMap::new(),
        checkpoint: None,
        pypi: None,
        files: FILES.iter().map(sum).collect(),
    }
}

fn write(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for (name, bytes) in FILES {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

fn fetch(options: &ResolveOptions) -> Result<std::path::PathBuf, (ResolveError, Vec<Looked>)> {
    let mut looked = Vec::new();
    known::fetch(&model(), options, &mut looked, &mut |_| std::ops::ControlFlow::Continue(()))
        .map_err(|error| (error, looked))
}

#[test]
fn is_downloaded_at_its_commit_and_then_found() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&FILES));
    let mut options = options(folder.path(), &hub.endpoint);
    let directory = fetch(&options).unwrap();
    assert!(directory.ends_with(format!("models--org--model/snapshots/{COMMIT}")));
    assert_eq!(tree(&directory), FILES.map(|(name, _)| name));
    options.offline = true;
    assert_eq!(fetch(&options).unwrap(), directory);
}

#[test]
fn is_found_in_tollers_cache_and_in_any_snapshot_with_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let options = ResolveOptions { offline: true, ..options(folder.path(), "http://127.0.0.1:9") };
    let id = RepoId::parse("org/model").unwrap();
    let snapshot = RepoCache::new(&options.hub_cache, &id).snapshot("another-commit");
    write(&snapshot);
    assert_eq!(fetch(&options).unwrap(), snapshot);
    fs::write(snapshot.join("vocab.txt"), "another").unwrap();
    assert!(matches!(fetch(&options), Err((ResolveError::Offline, _))));

    let own = options.toller_cache.join("models/known");
    write(&own);
    assert_eq!(fetch(&options).unwrap(), own);
}

#[test]
fn damaged_files_are_an_error_that_names_the_file() {
    let (folder, hub) = (
        tempfile::tempdir().unwrap(),
        StandIn::start(&[FILES[0], ("model.safetensors", b"others!"), FILES[2]]),
    );
    let options = options(folder.path(), &hub.endpoint);
    let (error, _) = fetch(&options).unwrap_err();
    assert!(matches!(error, ResolveError::Checksum { .. }), "{error}");
    assert!(error.to_string().contains("model.safetensors"));
    assert!(error.remedy().unwrap().to_string().contains(COMMIT));

    let own = options.toller_cache.join("models/known");
    write(&own);
    fs::write(own.join("config.json"), "{ }").unwrap();
    let (error, _) = fetch(&options).unwrap_err();
    assert!(error.to_string().contains("toller/models/known/config.json"), "{error}");
}

#[test]
fn says_where_it_looked() {
    let folder = tempfile::tempdir().unwrap();
    let options = ResolveOptions { offline: true, ..options(folder.path(), "http://127.0.0.1:9") };
    let (_, looked) = fetch(&options).unwrap_err();
    let places: Vec<_> = looked.iter().map(|looked| looked.place.as_str()).collect();
    assert!(
        places[0].ends_with("toller/models/known") && places[1].ends_with("models--org--model"),
        "{places:?}"
    );
}

#[test]
fn without_checksums_the_hub_decides() {
    let folder = tempfile::tempdir().unwrap();
    let hub = StandIn::start(&super::hub::model_files());
    let options = options(folder.path(), &hub.endpoint);
    let model = KnownModel { revision: None, files: BTreeMap::new(), ..model() };
    let fetch =
        || known::fetch(&model, &options, &mut Vec::new(), &mut |_| std::ops::ControlFlow::Continue(()));
    let directory = fetch().unwrap();
    assert!(directory.ends_with(format!("models--org--model/snapshots/{COMMIT}")));
    assert!(directory.join("model.safetensors").is_file());
}

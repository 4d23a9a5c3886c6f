//! Downloads, and the cache that they leave behind.

use std::fs;
use std::ops::ControlFlow;
use std::thread;

use super::stand_in::{COMMIT, Mood, StandIn};
use super::{options, resolve, tree};
use crate::{Origin, Proxy, ResolveError, ResolveEvent, Token, resolve_model};

const MODULES: &[u8] = br#"[
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]"#;

/// A sentence-transformers model, with weights for other frameworks.
pub(super) fn model_files() -> Vec<(&'static str, &'static [u8])> {
    vec![
        (".gitattributes", b"x"),
        ("../escape.json", b"x"),
        ("1_Pooling/config.json", b"{\"pooling_mode_mean_tokens\": true}"),
        ("README.md", b"x"),
        ("config.json", b"{}"),
        ("config_sentence_transformers.json", br#"{"prompts": {}}"#),
        ("model.safetensors", &[7; 300_000]),
        ("modules.json", MODULES),
        ("onnx/model.onnx", b"x"),
        ("pytorch_model.bin", b"x"),
        ("sentence_bert_config.json", br#"{"max_seq_length": 8}"#),
        ("tf_model.h5", b"x"),
        ("tokenizer.json", br#"{"model": {}}"#),
    ]
}

const NEEDED: [&str; 7] = [
    "1_Pooling/config.json", "config.json", "config_sentence_transformers.json", "model.safetensors",
    "modules.json", "sentence_bert_config.json", "tokenizer.json",
];

#[test]
fn downloads_what_is_needed_into_the_layout_of_the_hub() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
    let options = options(folder.path(), &hub.endpoint);
    let (source, events) = resolve("org/model", &options);
    let source = source.unwrap();

    let repo = options.hub_cache.join("models--org--model");
    assert_eq!(source.directory, repo.join("snapshots").join(COMMIT));
    assert!(
        matches!(source.origin, Origin::Hub { id, commit, known: None } if id == "org/model" && commit == COMMIT)
    );
    assert_eq!(hub.downloaded(), NEEDED);
    assert_eq!(tree(&source.directory), NEEDED);
    assert_eq!(fs::read(source.directory.join("model.safetensors")).unwrap(), [7; 300_000]);
    assert_eq!(fs::read(source.directory.join("1_Pooling/config.json")).unwrap(), model_files()[2].1);
    assert_eq!(fs::read_to_string(repo.join("refs/main")).unwrap(), COMMIT);
    assert_eq!(tree(&repo.join("blobs")).len(), NEEDED.len(), "no other file remains");
    assert!(!folder.path().join("escape.json").exists());
    assert!(events.contains(&"start model.safetensors 300000".to_owned()));
    assert!(events.contains(&"advance model.safetensors 300000".to_owned()));
    assert!(events.contains(&"finish model.safetensors".to_owned()));
}

/// A pinned E5 has the prompts that its files leave open.
#[test]
fn a_revision_of_a_known_model_is_known() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
    let options = options(folder.path(), &hub.endpoint);
    let pinned = resolve("intfloat/e5-small-v2@main", &options).0.unwrap();
    assert!(matches!(&pinned.origin, Origin::Hub { commit, .. } if commit == COMMIT));
    assert_eq!(pinned.known().unwrap().prompts["passage"], "passage: ");
    assert!(resolve("org/model@main", &options).0.unwrap().known().is_none());
}

#[test]
fn links_are_relative_so_that_the_cache_can_be_moved() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
    let mut options = options(folder.path(), &hub.endpoint);
    resolve("org/model", &options).0.unwrap();
    let moved = folder.path().join("moved");
    fs::rename(&options.hub_cache, &moved).unwrap();
    options.hub_cache = moved;
    options.offline = true;
    let source = resolve("org/model", &options).0.unwrap();
    assert_eq!(fs::read(source.directory.join("1_Pooling/config.json")).unwrap(), model_files()[2].1);
}

#[test]
fn what_is_in_the_cache_needs_no_network() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
    let mut options = options(folder.path(), &hub.endpoint);
    let first = resolve("org/model", &options).0.unwrap();
    let count = hub.requests().len();
    let (second, events) = resolve("org/model", &options);
    assert_eq!(second.unwrap().directory, first.directory);
    assert_eq!(hub.requests().len(), count);
    assert_eq!(events, [""; 0]);
    options.offline = true;
    options.ca_file = Some(folder.path().join("gone.pem"));
    assert_eq!(resolve(&format!("org/model@{COMMIT}"), &options).0.unwrap().directory, first.directory);
}

/// transformers caches no `modules.json`. What it caches would be a model without pooling.
#[test]
fn a_part_that_other_software_cached_is_completed() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
    let mut options = options(folder.path(), &hub.endpoint);
    let repo = options.hub_cache.join("models--org--model");
    let snapshot = repo.join("snapshots").join(COMMIT);
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir_all(repo.join("refs")).unwrap();
    fs::write(repo.join("refs/main"), format!("{COMMIT}\n")).unwrap();
    for (name, bytes) in model_files() {
        if ["config.json", "tokenizer.json", "model.safetensors"].contains(&name) {
            fs::write(snapshot.join(name), bytes).unwrap();
        }
    }

    let asleep = super::options(folder.path(), "http://127.0.0.1:9");
    let (source, events) = resolve("org/model", &asleep);
    assert_eq!(source.unwrap().directory, snapshot);
    assert!(events.iter().any(|event| event.starts_with("unconfirmed")), "{events:?}");

    // A page to log in answers instead of the hub, and then a connection breaks.
    for mood in [Mood::Portal, Mood::Dies { file: "modules.json", times: usize::MAX }] {
        hub.set(mood.clone());
        let (source, events) = resolve("org/model", &options);
        assert_eq!(source.unwrap().directory, snapshot, "{mood:?}");
        assert!(events.iter().any(|event| event.starts_with("unconfirmed")), "{mood:?} {events:?}");
    }

    hub.set(Mood::Good);
    resolve("org/model", &options).0.unwrap();
    assert_eq!(tree(&snapshot), NEEDED);
    assert!(!hub.downloaded().contains(&"model.safetensors".to_owned()));

    options.offline = true;
    assert_eq!(resolve("org/model", &options).1, [""; 0], "it is known to be complete");
}

/// As a cache that many share, and that this user cannot write.
#[test]
fn a_cache_that_cannot_be_written_is_used_as_it_is() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
    let options = options(folder.path(), &hub.endpoint);
    let repo = options.hub_cache.join("models--org--model");
    let snapshot = repo.join("snapshots").join(COMMIT);
    fs::create_dir_all(&snapshot).unwrap();
    for (name, bytes) in model_files() {
        if ["config.json", "tokenizer.json", "model.safetensors"].contains(&name) {
            fs::write(snapshot.join(name), bytes).unwrap();
        }
    }
    // Files where folders should be refuse everybody.
    fs::write(options.hub_cache.join(".locks"), "").unwrap();
    fs::create_dir_all(repo.join("refs")).unwrap();
    fs::write(repo.join("refs/main"), COMMIT).unwrap();
    let (source, events) = resolve("org/model", &options);
    assert_eq!(source.unwrap().directory, snapshot);
    assert!(events.iter().any(|event| event.starts_with("unconfirmed")), "{events:?}");
}

#[test]
fn records_that_cannot_be_written_are_left_out() {
    let plain: [(&str, &[u8]); 3] =
        [("config.json", b"{}"), ("vocab.txt", b"a"), ("pytorch_model.bin", b"w")];
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&plain));
    let options = options(folder.path(), &hub.endpoint);
    let repo = options.hub_cache.join("models--org--model");
    fs::create_dir_all(&repo).unwrap();
    fs::write(repo.join(".no_exist"), "").unwrap();
    fs::write(repo.join("refs"), "").unwrap();
    let (source, events) = resolve("org/model", &options);
    assert_eq!(tree(&source.unwrap().directory), ["config.json", "pytorch_model.bin", "vocab.txt"]);
    assert!(!events.iter().any(|event| event.starts_with("unconfirmed")), "{events:?}");
}

#[test]
fn the_first_models_are_known_by_their_names_alone() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
    let options = options(folder.path(), &hub.endpoint);
    let error = resolve("bert-base-uncased", &options).0.unwrap_err();
    assert!(error.to_string().contains("models--bert-base-uncased"), "{error}");
    assert!(hub.requests().iter().any(|request| request.path.contains("/api/models/bert-base-uncased/")));
}

#[test]
fn after_its_download_a_plain_model_is_known_to_have_no_modules() {
    let plain: [(&str, &[u8]); 3] =
        [("config.json", b"{}"), ("vocab.txt", b"a"), ("pytorch_model.bin", b"w")];
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&plain));
    let mut options = options(folder.path(), &hub.endpoint);
    resolve("org/model", &options).0.unwrap();
    options.offline = true;
    let (source, events) = resolve("org/model", &options);
    assert_eq!(tree(&source.unwrap().directory), ["config.json", "pytorch_model.bin", "vocab.txt"]);
    assert_eq!(events, [""; 0]);
}

/// As OpenSearch publishes its models: the passages' model is in the root.
#[test]
fn the_modules_of_all_routes_are_downloaded() {
    let modules = br#"[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Router"}]"#;
    let routes =
        br#"{"types": {"q": "a.SparseStaticEmbedding", "": "a.MLMTransformer", "s": "a.SpladePooling"},
        "structure": {"query": ["q"], "document": ["", "s"]}, "parameters": {"route_mappings": {}}}"#;
    let files: [(&str, &[u8]); 9] = [
        ("config.json", b"{}"),
        ("model.safetensors", b"w"),
        ("modules.json", modules),
        ("other/model.safetensors", b"w"),
        ("q/model.safetensors", b"w"),
        ("q/tokenizer.json", b"{}"),
        ("router_config.json", routes),
        ("s/config.json", b"{}"),
        ("tokenizer.json", b"{}"),
    ];
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&files));
    let found = resolve("org/model", &options(folder.path(), &hub.endpoint)).0.unwrap();
    let needed: Vec<&str> =
        files.iter().map(|(name, _)| *name).filter(|name| !name.starts_with("other")).collect();
    assert_eq!(tree(&found.directory), needed);
}

#[test]
fn the_token_is_sent_to_the_hub_and_to_no_other_server() {
    let hub = StandIn::start(&model_files());
    let with_token = |token: Option<&str>| {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path(), &hub.endpoint);
        options.token = token.and_then(Token::new);
        let before = hub.requests().len();
        resolve("org/model", &options).0.unwrap();
        let sent = hub.requests().split_off(before);
        sent.iter().map(|request| request.headers.get("authorization").cloned()).collect::<Vec<_>>()
    };
    assert!(with_token(None).iter().all(Option::is_none));
    assert!(with_token(Some("hf_secret")).iter().all(|header| header.as_deref() == Some("Bearer hf_secret")));

    hub.set(Mood::Renamed);
    assert!(with_token(Some("hf_secret")).iter().all(|header| header.as_deref() == Some("Bearer hf_secret")));

    // Another port of the same host, and another host.
    for host in ["127.0.0.1", "localhost"] {
        let store = StandIn::start(&model_files());
        hub.set(Mood::Redirects { to: store.endpoint.replace("127.0.0.1", host) });
        let sent = with_token(Some("hf_secret"));
        assert!(sent.iter().all(|header| header.as_deref() == Some("Bearer hf_secret")));
        assert_eq!(store.downloaded(), NEEDED);
        assert!(store.requests().iter().all(|request| !request.headers.contains_key("authorization")));
    }
}

#[test]
fn first_downloads_at_the_same_time_all_end_well() {
    for _ in 0..5 {
        let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
        let options = options(folder.path(), &hub.endpoint);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let source = resolve("org/model", &options).0.unwrap();
                    assert_eq!(tree(&source.directory), NEEDED);
                });
            }
        });
        assert_eq!(hub.downloaded(), NEEDED, "each file is downloaded once");
        assert_eq!(tree(&options.hub_cache.join("models--org--model/refs")), ["main"]);
    }
}

#[test]
fn a_file_that_another_process_is_downloading_is_waited_for() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
    let options = options(folder.path(), &hub.endpoint);
    let mut waited_for = Vec::new();
    let first = resolve_model("org/model", &options, &mut |event| {
        if let ResolveEvent::Started { file: "model.safetensors", .. } = event {
            let second = resolve_model("org/model", &options, &mut |event| match event {
                ResolveEvent::Waiting { file } => {
                    waited_for.push(file.to_owned());
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            });
            assert!(matches!(second, Err(ResolveError::Interrupted)));
        }
        ControlFlow::Continue(())
    });
    assert!(first.is_ok());
    assert_eq!(waited_for, ["model.safetensors"]);
}

#[test]
fn the_proxy_of_the_options_is_used() {
    let (folder, proxy) = (tempfile::tempdir().unwrap(), StandIn::start(&[]));
    let mut options = options(folder.path(), "http://hub.test");
    options.proxy = Some(Proxy::new(&proxy.endpoint).unwrap());
    resolve("org/model", &options).0.unwrap_err();
    let request = proxy.requests().swap_remove(0);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("CONNECT", "hub.test:80"));
}

#[test]
fn a_download_continues_where_it_broke_off() {
    for mood in [Mood::Dies { file: "model.safetensors", times: 2 }, Mood::IgnoresRanges] {
        let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
        let options = options(folder.path(), &hub.endpoint);
        if mood == Mood::IgnoresRanges {
            hub.set(Mood::Dies { file: "model.safetensors", times: usize::MAX });
            resolve("org/model", &options).0.unwrap_err();
        }
        hub.set(mood);
        let source = resolve("org/model", &options).0.unwrap();
        assert_eq!(fs::read(source.directory.join("model.safetensors")).unwrap(), [7; 300_000]);
        let ranges: Vec<_> =
            hub.requests().into_iter().filter_map(|request| request.headers.get("range").cloned()).collect();
        assert!(ranges.contains(&"bytes=150000-".to_owned()), "{ranges:?}");
    }
}

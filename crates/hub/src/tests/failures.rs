//! What can go wrong with a hub: the messages, and what remains in the cache.

use std::fs;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use toller_ir::Explain;

use super::hub::model_files;
use super::stand_in::{COMMIT, Mood, StandIn};
use super::{options, resolve, tree};
use crate::{ResolveError, ResolveEvent, Token, resolve_model};

/// The error as the command line prints it, and its hint.
fn failure(name: &str, hub: &StandIn, token: Option<&str>) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path(), &hub.endpoint);
    options.token = token.and_then(Token::new);
    let error = resolve(name, &options).0.unwrap_err();
    (error.to_string(), error.remedy().map(|remedy| remedy.to_string()).unwrap_or_default())
}

#[test]
fn without_a_network_the_error_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path(), "http://127.0.0.1:9");
    let error = resolve("org/model", &options).0.unwrap_err();
    assert!(error.to_string().contains("http://127.0.0.1:9"), "{error}");
    options.offline = true;
    let error = resolve("org/model", &options).0.unwrap_err();
    assert!(error.to_string().contains("the network is not allowed"), "{error}");
    assert!(error.to_string().contains("models--org--model"), "{error}");
    assert!(error.remedy().unwrap().to_string().contains("HF_HUB_OFFLINE"));
    assert!(!options.hub_cache.exists(), "nothing is written");
}

#[test]
fn a_refusal_names_the_token_and_never_shows_it() {
    let hub = StandIn::start(&[]);
    hub.set(Mood::Status(401, "Invalid username or password."));
    let (error, hint) = failure("org/model", &hub, None);
    assert!(error.contains("401") && error.contains("Invalid username"), "{error}");
    assert!(hint.contains("set HF_TOKEN") && hint.contains("spelling"), "{hint}");
    let (error, hint) = failure("org/model", &hub, Some("hf_secret"));
    assert!(hint.contains("check HF_TOKEN"), "{hint}");
    assert!(!error.contains("hf_secret") && !hint.contains("hf_secret"));
    hub.set(Mood::Status(403, "Access to this model is restricted"));
    assert!(failure("org/model", &hub, Some("hf_secret")).1.contains("terms"));
}

#[test]
fn an_unknown_model_lists_every_place() {
    let hub = StandIn::start(&model_files());
    let (error, hint) = failure("org/other", &hub, None);
    for place in ["directory org/other", "models/: no such name", "models--org--other", &hub.endpoint, "404"]
    {
        assert!(error.contains(place), "{place} is not in {error}");
    }
    assert!(hint.contains("spelling"));
    let (error, _) = failure("org/model@v2", &hub, None);
    assert!(error.contains("has no revision v2"), "{error}");
}

#[test]
fn a_server_that_dies_leaves_no_half_file() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
    let options = options(folder.path(), &hub.endpoint);
    hub.set(Mood::Dies { file: "model.safetensors", times: usize::MAX });
    let error = resolve("org/model", &options).0.unwrap_err();
    assert!(error.to_string().contains("model.safetensors"), "{error}");
    assert!(error.remedy().is_some());

    let repo = options.hub_cache.join("models--org--model");
    assert!(!repo.join("snapshots").join(COMMIT).join("model.safetensors").exists());
    assert!(!repo.join("refs/main").exists(), "the revision counts as downloaded only when it is complete");
    let unfinished: Vec<_> =
        tree(&repo.join("blobs")).into_iter().filter(|name| name.contains('.')).collect();
    assert_eq!(unfinished.len(), 1);
    assert!(unfinished[0].ends_with(".incomplete"), "{unfinished:?}");
}

#[test]
fn damaged_bytes_are_never_used() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
    let options = options(folder.path(), &hub.endpoint);
    hub.set(Mood::Corrupts);
    let error = resolve("org/model", &options).0.unwrap_err();
    assert!(matches!(error, ResolveError::Checksum { .. }), "{error}");
    hub.set(Mood::Good);
    let source = resolve("org/model", &options).0.unwrap();
    assert_eq!(fs::read(source.directory.join("model.safetensors")).unwrap(), [7; 300_000]);
}

#[test]
fn an_error_page_and_a_short_answer_are_never_cached() {
    for (status, bytes) in [(404, 12), (200, 10)] {
        let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
        let options = options(folder.path(), &hub.endpoint);
        hub.set(Mood::Weights { status, bytes });
        let error = resolve("org/model", &options).0.unwrap_err().to_string();
        assert!(error.contains("404") || error.contains("10 of 300000 bytes"), "{error}");
        hub.set(Mood::Good);
        let source = resolve("org/model", &options).0.unwrap();
        assert_eq!(fs::read(source.directory.join("model.safetensors")).unwrap(), [7; 300_000]);
    }
}

#[test]
fn a_hub_that_answers_nonsense_is_an_error() {
    let hub = StandIn::start(&model_files());
    hub.set(Mood::Portal);
    let (error, hint) = failure("org/model", &hub, None);
    assert!(error.contains("does not answer as a hub"), "{error}");
    assert!(hint.contains("HF_ENDPOINT"));
    hub.set(Mood::Status(503, "down"));
    assert!(failure("org/model", &hub, None).0.contains("503"));
    assert_eq!(hub.requests().len(), 5, "a failure that may pass is tried again");
}

#[test]
fn the_error_names_the_weights_that_a_repository_does_not_have() {
    let hub = StandIn::start(&[("config.json", b"{}"), ("tokenizer.json", b"{}"), ("onnx/model.onnx", b"x")]);
    let (error, _) = failure("org/model", &hub, None);
    assert!(error.contains("has no model.safetensors (or pytorch_model.bin)"), "{error}");
}

#[test]
fn the_caller_can_stop_a_download_and_resume_it() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
    let options = options(folder.path(), &hub.endpoint);
    let stopped = resolve_model("org/model", &options, &mut |event| match event {
        ResolveEvent::Advanced { file: "model.safetensors", .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert!(matches!(stopped, Err(ResolveError::Interrupted)));
    assert!(resolve("org/model", &options).0.is_ok());
    assert!(hub.requests().iter().any(|request| request.headers.contains_key("range")));
}

#[test]
fn a_server_that_sends_more_than_it_announced_is_cut_off() {
    let hub = StandIn::start(&model_files());
    for (announced, limit) in [(true, 300_000), (false, 64 << 20)] {
        let folder = tempfile::tempdir().unwrap();
        let options = options(folder.path(), &hub.endpoint);
        hub.set(Mood::Endless { announced });
        let error = resolve("org/model", &options).0.unwrap_err();
        assert!(
            matches!(error, ResolveError::Oversized { limit_bytes, .. } if limit_bytes == limit),
            "{error}"
        );
        assert!(error.to_string().contains("model.safetensors") && error.remedy().is_some(), "{error}");
        hub.set(Mood::Good);
        assert!(resolve("org/model", &options).0.is_ok(), "nothing remains of the download");
    }
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let (folder, hub) = (tempfile::tempdir().unwrap(), StandIn::start(&model_files()));
    let mut options = options(folder.path(), &hub.endpoint);
    options.answer_timeout = Duration::from_millis(200);
    options.stall_timeout = Duration::from_millis(200);
    for mood in [Mood::Silent, Mood::Stalls] {
        hub.set(mood);
        let start = Instant::now();
        let error = resolve("org/model", &options).0.unwrap_err();
        let network =
            if let ResolveError::NotFound { cause: Some(cause), .. } = error { *cause } else { error };
        assert!(matches!(network, ResolveError::Network { .. }), "{network}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }
    hub.set(Mood::Good);
    assert!(resolve("org/model", &options).0.is_ok());
    assert!(hub.requests().iter().any(|request| request.headers.contains_key("range")));
}

//! Stores on their way: whole or not at all, resumed, verified, and by one of two writers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use toller_hub::ResolveOptions;
use toller_ir::Explain;
use toller_remote::{Client, Transfer, TransferError, Transferred};
use toller_store::{
    Codes, DType, Encoding, ModelInfo, OpenOptions, Part, Role, Source, Store, StoreSpec, StoreWriter,
    quantize,
};
use toller_testing::{Fault, ObjectServer, files};

/// A store whose vectors depend on `seed`: `rows` of the 12 that it is to have, four a shard.
fn write_store(path: &Path, dim: usize, seed: f32, rows: u64, part: Option<Part>) {
    let spec = StoreSpec {
        model: ModelInfo::new("m", "f"),
        encoding: Encoding {
            role: Role::Passage,
            prompt: String::new(),
            max_length: 8,
            title_mode: "join".into(),
            title_separator: " ".into(),
            context_field: None,
            compute_dtype: "f32".into(),
            normalized: false,
            pooling: "mean".into(),
        },
        dim,
        content: DType::F32.into(),
        rows_per_shard: 4,
        source: Source { fingerprint: "s".into(), passages: 12 },
        part,
    };
    let range = part.map_or(0..12, |part| part.rows(12));
    let mut writer = StoreWriter::create_or_resume(path, spec).unwrap();
    for row in (range.start + writer.rows_done()..range.end).take((rows - writer.rows_done()) as usize) {
        writer.push(&format!("d{row}"), &vec![seed + row as f32; dim]).unwrap();
    }
    if rows == range.end - range.start {
        writer.finish().unwrap();
    }
}

struct World {
    server: ObjectServer,
    folder: tempfile::TempDir,
}

const URL: &str = "s3://bucket/stores/st";

impl World {
    fn new() -> Self {
        let server = ObjectServer::start(&["bucket"]).unwrap();
        Self { server, folder: tempfile::tempdir().unwrap() }
    }

    fn client(&self) -> Client {
        Client::new(ResolveOptions::from_env(), self.server.variables())
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn push(&self, name: &str, overwrite: bool) -> Result<Transferred, TransferError> {
        let transfer = Transfer { overwrite, stop: &AtomicBool::new(false), progress: &|_, _| {} };
        self.client().push(&self.at(name), URL, &transfer)
    }

    fn pull(&self, name: &str) -> Result<Transferred, TransferError> {
        let transfer = Transfer { overwrite: false, stop: &AtomicBool::new(false), progress: &|_, _| {} };
        self.client().pull(URL, &self.at(name), &transfer)
    }

    /// Whether both directories have the same files.
    fn is_same(&self, a: &str, b: &str) -> bool {
        let content = |name: &str| {
            let mut files = files(&self.at(name)).unwrap();
            files.retain(|name, _| !name.ends_with(".lock"));
            files
        };
        content(a) == content(b)
    }

    /// The objects below the store's folder.
    fn names(&self) -> Vec<String> {
        let names = self.server.names().into_iter();
        names.map(|name| name.replace("bucket/stores/st/", "")).collect()
    }
}

const SHARDS: [&str; 3] = ["shard-00000.safetensors", "shard-00001.safetensors", "shard-00002.safetensors"];

#[test]
fn a_store_arrives_as_it_was_sent() {
    let world = World::new();
    // A shard of more than one part.
    write_store(&world.at("st"), 1_100_000, 1.0, 12, None);
    let done = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = |now, all| {
        done.0.fetch_max(now, Ordering::Relaxed);
        done.1.store(all, Ordering::Relaxed);
    };
    let transfer = Transfer { overwrite: false, stop: &AtomicBool::new(false), progress: &progress };
    let sent = world.client().push(&world.at("st"), URL, &transfer).unwrap();
    assert_eq!((sent.files, sent.moved_files), (3, 3));
    assert_eq!(done.0.load(Ordering::Relaxed), sent.bytes);
    assert_eq!(done.1.load(Ordering::Relaxed), sent.bytes);
    assert_eq!(world.names(), [&["manifest.json"][..], &SHARDS].concat());
    assert_eq!(world.pull("copy").unwrap().moved_files, 3);
    assert!(world.is_same("st", "copy"));
    let store = Store::open(&[world.at("copy")], &OpenOptions::default()).unwrap();
    assert_eq!(store.count(), 12);
    assert_eq!(sent.moved_bytes, sent.bytes);
    // Again there is nothing to do.
    for again in [world.push("st", false).unwrap(), world.pull("copy").unwrap()] {
        assert_eq!((again.moved_files, again.moved_bytes), (0, 0));
    }
}

#[test]
fn an_unfinished_store_grows_on_another_machine() {
    let world = World::new();
    write_store(&world.at("a"), 4, 1.0, 8, None);
    world.push("a", false).unwrap();
    world.pull("b").unwrap();
    write_store(&world.at("b"), 4, 1.0, 12, None);
    assert_eq!(world.push("b", false).unwrap().moved_files, 1);
    let error = world.push("a", false).unwrap_err();
    assert!(matches!(error, TransferError::OtherStore(_)), "less than what is there: {error}");
    assert_eq!(world.pull("a").unwrap().moved_files, 1);
    assert!(world.is_same("a", "b"));
}

#[test]
fn parts_are_sent_by_the_machines_that_have_them() {
    let world = World::new();
    for index in 1..=3 {
        let part = Part::new(index, 3, 12).unwrap();
        write_store(&world.at(&format!("machine-{index}")), 4, 1.0, 4, Some(part));
        write_store(&world.at("all"), 4, 1.0, 4, Some(part));
        world.push(&format!("machine-{index}"), false).unwrap();
    }
    assert_eq!(world.pull("copy").unwrap().files, 3);
    assert!(world.is_same("all", "copy"));
    write_store(&world.at("whole"), 4, 1.0, 12, None);
    let error = world.push("whole", false).unwrap_err();
    assert!(matches!(error, TransferError::InUse { .. }), "{error}");
}

#[test]
fn broken_connections_and_busy_servers_are_overcome() {
    let world = World::new();
    write_store(&world.at("st"), 1_100_000, 1.0, 12, None);
    world.server.fail(Fault::HangsUp, "PUT bucket/stores/st/shard-00001", 1);
    world.server.fail(Fault::Status(503), "PUT bucket/stores/st/shard-00002", 2);
    world.server.fail(Fault::LosesAnswer, "PUT bucket/stores/st/manifest.json", 2);
    // The first request begins an upload in parts, and the second completes the upload.
    world.server.fail(Fault::Waits(Duration::ZERO), "POST bucket/stores/st/shard-00000", 1);
    world.server.fail(Fault::LosesAnswer, "POST bucket/stores/st/shard-00000", 1);
    world.push("st", false).unwrap();
    assert_eq!(world.names(), [&["manifest.json"][..], &SHARDS].concat(), "no upload is left open");
    world.server.fail(Fault::CutsBody, "GET bucket/stores/st/shard", 3);
    world.server.fail(Fault::Status(503), "GET bucket/stores/st/shard", 2);
    world.pull("copy").unwrap();
    assert!(world.is_same("st", "copy"));
}

/// As on a slow line, where the system still sends a body while its answer is waited for.
#[test]
fn the_answer_to_a_body_may_take_longer_than_others() {
    let world = World::new();
    write_store(&world.at("st"), 4, 1.0, 12, None);
    let shard = "PUT bucket/stores/st/shard-00001";
    world.server.fail(Fault::Waits(Duration::from_secs(1)), shard, 1);
    let options = ResolveOptions { answer_timeout: Duration::from_millis(300), ..ResolveOptions::from_env() };
    let client = Client::new(options, world.server.variables());
    let transfer = Transfer { overwrite: false, stop: &AtomicBool::new(false), progress: &|_, _| {} };
    client.push(&world.at("st"), URL, &transfer).unwrap();
    let sent = world.server.requests().iter().filter(|request| request.starts_with(shard)).count();
    assert_eq!(sent, 1, "{:?}", world.server.requests());
}

#[test]
fn a_stopped_transfer_goes_on_with_what_has_arrived() {
    let world = World::new();
    write_store(&world.at("st"), 1_100_000, 1.0, 12, None);
    let stop = AtomicBool::new(false);
    let stop_at = |bytes: u64| move |done: u64| done >= bytes;
    let run = |limit: u64, work: &dyn Fn(&Transfer<'_>) -> Result<Transferred, TransferError>| {
        stop.store(false, Ordering::Relaxed);
        let is_enough = stop_at(limit);
        let progress = |done, _| {
            if is_enough(done) {
                stop.store(true, Ordering::Relaxed);
            }
        };
        work(&Transfer { overwrite: false, stop: &stop, progress: &progress })
    };
    let push = |transfer: &Transfer<'_>| world.client().push(&world.at("st"), URL, transfer);
    assert!(matches!(run(1, &push), Err(TransferError::Interrupted)));
    assert!(
        !world.names().iter().any(|name| name == "manifest.json" || name.contains("upload")),
        "{:?}",
        world.names()
    );
    assert!(matches!(world.pull("copy"), Err(TransferError::NoStore(_))));
    world.push("st", false).unwrap();

    let pull = |transfer: &Transfer<'_>| world.client().pull(URL, &world.at("copy"), transfer);
    assert!(matches!(run(20 << 20, &pull), Err(TransferError::Interrupted)));
    assert!(!world.at("copy/manifest.json").exists());
    let before = world.server.requests().len();
    let rest = world.pull("copy").unwrap();
    assert!((1..=rest.bytes - (20 << 20)).contains(&rest.moved_bytes), "{rest:?}");
    let later = world.server.requests().split_off(before);
    let goes_on = |request: &String| request.contains("shard") && request.contains("bytes=8388608-");
    assert!(later.iter().any(goes_on), "{later:?}");
    assert!(world.is_same("st", "copy"));
}

#[test]
fn damage_is_noticed_on_both_sides() {
    let world = World::new();
    write_store(&world.at("st"), 4, 1.0, 12, None);
    let shard = world.at("st").join(SHARDS[1]);
    let good = fs::read(&shard).unwrap();
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    fs::write(&shard, &bad).unwrap();
    let error = world.push("st", false).unwrap_err();
    assert!(matches!(&error, TransferError::Damaged { path, .. } if *path == shard), "{error}");
    fs::write(&shard, &good).unwrap();
    world.push("st", false).unwrap();

    world.pull("copy").unwrap();
    fs::write(world.at("copy").join(SHARDS[1]), &bad).unwrap();
    assert_eq!(world.pull("copy").unwrap().moved_files, 1, "a damaged file is fetched again");
    assert!(world.is_same("st", "copy"));

    // The beginning of another version is thrown away.
    fs::remove_file(world.at("copy").join(SHARDS[2])).unwrap();
    fs::write(world.at("copy").join(format!(".{}.pulled.tmp", SHARDS[2])), "wrong").unwrap();
    world.pull("copy").unwrap();
    assert!(world.is_same("st", "copy"));

    world.server.write(&format!("bucket/stores/st/{}", SHARDS[1]), bad);
    let error = world.pull("other").unwrap_err();
    assert!(matches!(&error, TransferError::Mismatch(url) if url.ends_with(SHARDS[1])), "{error}");
    assert!(!world.at("other/manifest.json").exists());
    assert_eq!(
        world.push("st", false).unwrap().moved_files,
        1,
        "an object without its checksum is sent again"
    );
    world.pull("other").unwrap();
    assert!(world.is_same("st", "other"));
    // An object may say the right checksum of wrong bytes.
    assert_eq!(world.push("st", false).unwrap().moved_files, 0);
    assert_eq!(world.push("st", true).unwrap().moved_files, 3);
}

#[test]
fn of_two_writers_one_wins() {
    for _ in 0..8 {
        let world = World::new();
        for (name, seed) in [("a", 1.0), ("b", 2.0)] {
            write_store(&world.at(name), 4, seed, 12, None);
        }
        let start = Barrier::new(2);
        let race = |name| {
            start.wait();
            world.push(name, false)
        };
        let (a, b) = std::thread::scope(|scope| {
            let other = scope.spawn(|| race("b"));
            (race("a"), other.join().unwrap())
        });
        let lost = [&a, &b].into_iter().filter_map(|result| result.as_ref().err()).collect::<Vec<_>>();
        assert_eq!(lost.len(), 1, "{a:?} {b:?}");
        assert!(
            matches!(
                lost[0],
                TransferError::Claimed(_) | TransferError::Lost(_) | TransferError::OtherStore(_)
            ),
            "{lost:?}"
        );
        assert!(lost[0].remedy().is_some());
        world.pull("copy").unwrap();
        assert!(world.is_same("copy", if a.is_ok() { "a" } else { "b" }));
    }
}

#[test]
fn a_writer_that_is_overtaken_damages_nothing() {
    // The requests at which the first writer is held up while the second one sends everything.
    for held in ["HEAD bucket/stores/st/shard-00002", "PUT bucket/stores/st/shard-00002"] {
        let world = World::new();
        for (name, seed) in [("a", 1.0), ("b", 2.0)] {
            write_store(&world.at(name), 4, seed, 12, None);
        }
        world.server.fail(Fault::Waits(Duration::from_secs(3)), held, 1);
        let (a, b) = std::thread::scope(|scope| {
            let first = scope.spawn(|| world.push("a", true));
            let began = Instant::now();
            while !world.server.requests().iter().any(|request| request.starts_with(held)) {
                assert!(began.elapsed() < Duration::from_secs(60), "{:?}", world.server.requests());
                std::thread::sleep(Duration::from_millis(5));
            }
            let second = world.push("b", true);
            (first.join().unwrap(), second)
        });
        assert!(matches!(a, Err(TransferError::Lost(_))), "{held}: {a:?}");
        b.unwrap();
        assert_eq!(world.names(), [&["manifest.json"][..], &SHARDS].concat());
        world.pull("copy").unwrap();
        assert!(world.is_same("copy", "b"), "{held}");
    }
}

#[test]
fn a_claim_that_was_taken_over_stays() {
    let world = World::new();
    write_store(&world.at("st"), 4, 1.0, 12, None);
    let claim = "bucket/stores/st/manifest.json.sending";
    let taken = AtomicBool::new(false);
    let progress = |_, _| {
        if !taken.swap(true, Ordering::Relaxed) {
            world.server.write(claim, "another's");
        }
    };
    let transfer = Transfer { overwrite: true, stop: &AtomicBool::new(false), progress: &progress };
    let error = world.client().push(&world.at("st"), URL, &transfer).unwrap_err();
    assert!(matches!(error, TransferError::Lost(_)), "{error}");
    assert_eq!(world.server.read(claim).unwrap(), b"another's");
    assert!(matches!(world.pull("copy"), Err(TransferError::NoStore(_))));
}

#[test]
fn parts_do_not_mix_with_other_stores() {
    let world = World::new();
    let part = |index, of| Some(Part::new(index, of, 12).unwrap());
    write_store(&world.at("a"), 4, 1.0, 4, part(1, 3));
    write_store(&world.at("b"), 8, 1.0, 4, part(2, 3));
    write_store(&world.at("whole"), 4, 1.0, 12, None);
    world.server.write("bucket/stores/st/manifest.json.sending", "{}");
    let error = world.push("a", false).unwrap_err();
    assert!(matches!(error, TransferError::InUse { .. }), "a whole store is being sent: {error}");
    assert!(matches!(world.push("a", true), Err(TransferError::InUse { .. })));
    assert_eq!(world.names(), ["manifest.json.sending"]);

    let world = World { server: ObjectServer::start(&["bucket"]).unwrap(), ..world };
    world.push("a", false).unwrap();
    let error = world.push("b", false).unwrap_err();
    assert!(matches!(error, TransferError::OtherStore(_)), "another dimension: {error}");
    let error = world.pull("whole").unwrap_err();
    assert!(matches!(error, TransferError::InUse { .. }), "the whole store would be searched: {error}");
    write_store(&world.at("halves"), 4, 1.0, 6, part(1, 2));
    assert!(matches!(world.pull("halves"), Err(TransferError::InUse { .. })));
    world.pull("copy").unwrap();
    assert!(world.is_same("a", "copy"));
}

#[test]
fn codes_are_more_of_a_store() {
    let world = World::new();
    write_store(&world.at("plain"), 4, 1.0, 12, None);
    write_store(&world.at("coded"), 4, 1.0, 12, None);
    quantize(&world.at("coded"), Codes::Int8, false, None).unwrap();
    world.push("plain", false).unwrap();
    assert_eq!(world.push("coded", false).unwrap().moved_files, 3);
    assert!(matches!(world.push("plain", false), Err(TransferError::OtherStore(_))));
    world.pull("plain").unwrap();
    assert!(world.is_same("plain", "coded"));
    write_store(&world.at("again"), 4, 1.0, 12, None);
    world.push("again", true).unwrap();
    let error = world.pull("coded").unwrap_err();
    assert!(matches!(error, TransferError::OtherStoreHere(_)), "{error}");
    let remedy = error.remedy().unwrap().to_string();
    assert!(remedy.contains("another directory"), "{remedy}");
}

#[test]
fn another_store_is_replaced_on_request_alone() {
    let world = World::new();
    write_store(&world.at("a"), 4, 1.0, 12, None);
    write_store(&world.at("b"), 4, 2.0, 12, None);
    world.push("a", false).unwrap();
    assert!(matches!(world.push("b", false), Err(TransferError::OtherStore(_))));
    world.pull("copy").unwrap();
    world.push("b", true).unwrap();
    let error = world.pull("copy").unwrap_err();
    assert!(matches!(error, TransferError::OtherStoreHere(_)), "{error}");
    world.pull("copy-b").unwrap();
    assert!(world.is_same("b", "copy-b"));

    // A writer that was killed has left its claim, which keeps others away.
    world.server.write("bucket/stores/st/manifest.json.sending", "{}");
    let error = world.push("b", false).unwrap_err();
    assert!(matches!(error, TransferError::Claimed(_)), "{error}");
    world.push("b", true).unwrap();
    assert!(!world.names().iter().any(|name| name.ends_with("sending")));
}

#[test]
fn what_is_no_store_is_an_error() {
    let world = World::new();
    assert!(matches!(world.push("none", false), Err(TransferError::Store(_))));
    assert!(matches!(world.pull("copy"), Err(TransferError::NoStore(_))));
    world.server.write("bucket/stores/st/manifest.json", "{}");
    assert!(matches!(world.pull("copy"), Err(TransferError::Store(_))));
    write_store(&world.at("st"), 4, 1.0, 12, None);
    let transfer = Transfer { overwrite: false, stop: &AtomicBool::new(false), progress: &|_, _| {} };
    let error = world.client().push(&world.at("st"), "s3://none/st", &transfer).unwrap_err();
    assert!(error.to_string().contains("s3://none/st") && error.to_string().contains("bucket"), "{error}");
    fs::create_dir(world.at("full")).unwrap();
    fs::write(world.at("full/notes.txt"), "mine").unwrap();
    world.push("st", true).unwrap();
    assert!(matches!(world.pull("full"), Err(TransferError::InUse { .. })));
}

//! The hub's answers: no bytes of a server make the client panic, write outside of its cache, or go on
//! without end.
#![no_main]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use toller_hub::{ResolveOptions, resolve_model};

/// A server that answers every request with the next of the answers, and then with nothing.
struct Server {
    endpoint: String,
    answers: Arc<Mutex<Vec<Vec<u8>>>>,
}

fn serve() -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("a port"));
    let answers = Arc::new(Mutex::new(Vec::<Vec<u8>>::new()));
    let next = Arc::clone(&answers);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
            let _ = stream.read(&mut [0; 4096]);
            let answer = next.lock().expect("the answers").pop();
            let _ = stream.write_all(&answer.unwrap_or_default());
        }
    });
    Server { endpoint, answers }
}

fuzz_target!(|bytes: &[u8]| {
    static SERVER: OnceLock<Server> = OnceLock::new();
    let server = SERVER.get_or_init(serve);
    let mut answers: Vec<Vec<u8>> = bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
    answers.reverse();
    *server.answers.lock().expect("the answers") = answers;
    let folder = tempfile::tempdir().expect("a temporary directory");
    let options = ResolveOptions {
        endpoint: server.endpoint.clone(),
        hub_cache: folder.path().join("hub"),
        toller_cache: folder.path().join("toller"),
        token: None,
        offline: false,
        proxy: None,
        ca_file: None,
        answer_timeout: Duration::from_millis(100),
        stall_timeout: Duration::from_millis(100),
        retry_wait: Duration::ZERO,
    };
    let _ = resolve_model("org/name", &options, &mut |_| ControlFlow::Continue(()));
    let mut found = std::fs::read_dir(folder.path()).expect("the directory");
    assert!(found.all(|entry| entry.is_ok_and(|entry| entry.file_name() == "hub")));
});

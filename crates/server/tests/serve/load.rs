//! More than fits, clients that hang up, and the end under load.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use toller_server::{Limits, ServerError};

use crate::support::Running;

#[test]
fn what_does_not_fit_is_refused_with_the_time_to_come_back() {
    let limits = Limits { queued_tokens: 2000, batch_tokens: Some(512), ..Limits::default() };
    let server = Running::with(limits, None, Duration::from_secs(20));
    let texts: Vec<String> = (0..40).map(|number| format!("ducks {number} ").repeat(10)).collect();
    let (answered, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                let mut client = server.client();
                for _ in 0..10 {
                    let answer = client.post("/embed", &json!({ "inputs": texts }));
                    match answer.status {
                        200 => {
                            // Whole, or not at all.
                            assert_eq!(answer.ok().as_array().unwrap().len(), texts.len());
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        429 => {
                            assert_eq!(answer.json()["error_type"], "Overloaded");
                            assert!(answer.headers["retry-after"].parse::<u64>().unwrap() >= 1);
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                        other => panic!("status {other}"),
                    }
                }
            });
        }
    });
    assert!(answered.into_inner() > 0);
    assert!(refused.into_inner() > 0);
    assert_eq!(server.post("/embed", &json!({ "inputs": texts })).status, 200);
}

#[test]
fn a_client_that_hangs_up_frees_its_work() {
    let limits = Limits { batch_tokens: Some(64), ..Limits::default() };
    let server = Running::with(limits, None, Duration::from_secs(20));
    let texts: Vec<String> = (0..2000).map(|number| format!("ducks {number} ").repeat(40)).collect();
    let body = json!({ "inputs": texts }).to_string();
    let request = format!("POST /embed HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    for _ in 0..4 {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    let waiting = "toller_queue_waiting{queue=\"embed\"} 0";
    loop {
        // What is asked next makes the queue look at who is gone.
        assert_eq!(server.post("/embed", &json!({ "inputs": "x" })).status, 200);
        let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
        if metrics.contains(waiting) && metrics.contains("toller_queue_abandoned_total{queue=\"embed\"} 4") {
            break;
        }
        assert!(Instant::now() < deadline, "{metrics}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_is_under_way_is_answered_before_the_end() {
    let mut server = Running::start();
    let texts: Vec<String> = (0..100).map(|number| format!("ducks {number} ").repeat(40)).collect();
    let address = server.address;
    let clients: Vec<_> = (0..16)
        .map(|_| {
            let texts = texts.clone();
            std::thread::spawn(move || {
                let answer = crate::support::Client::new(address).post("/embed", &json!({ "inputs": texts }));
                assert_eq!(answer.ok().as_array().unwrap().len(), texts.len());
            })
        })
        .collect();
    let in_flight = |server: &Running| {
        let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
        let line = metrics.lines().find_map(|line| line.strip_prefix("toller_requests_in_flight "));
        line.unwrap().parse::<f64>().unwrap()
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while in_flight(&server) < 17.0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    server.control.drain();
    let started = Instant::now();
    let refused = loop {
        let answer = server.post("/embed", &json!({ "inputs": "x" }));
        if answer.status != 200 || started.elapsed() > Duration::from_secs(5) {
            break answer;
        }
    };
    assert_eq!(refused.status, 503);
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(server.get("/readyz").status, 503);
    assert_eq!(server.get("/livez").status, 200);
    for client in clients {
        client.join().unwrap();
    }
    assert!(server.end().is_ok());
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn an_end_without_time_says_what_was_lost() {
    let mut server = Running::with(Limits::default(), None, Duration::ZERO);
    let texts: Vec<String> = (0..2000).map(|number| format!("ducks {number} ").repeat(40)).collect();
    let body = json!({ "inputs": texts }).to_string();
    let request = format!("POST /embed HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(matches!(server.end(), Err(ServerError::Undrained { requests: 1 })));
}

//! More than fits, clients that hang up, and the end under load.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use toller_server::{Limits, ServerError};

use crate::support::{Client, Running, read_answer};

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

/// The value of a metric, if it is there.
fn metric(client: &mut Client, name: &str) -> Option<f64> {
    let metrics = String::from_utf8(client.send("GET", "/metrics", &[], b"").body).unwrap();
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map(|value| value.parse().unwrap())
}

/// Waits until a metric is as expected.
fn wait_for(server: &Running, name: &str, expected: impl Fn(f64) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    // One connection: an answer is sent before the next request is counted.
    let mut client = server.client();
    while !metric(&mut client, name).is_some_and(&expected) {
        assert!(Instant::now() < deadline, "{name}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_client_that_hangs_up_frees_its_work() {
    let limits = Limits { batch_tokens: Some(64), queued_tokens: usize::MAX, ..Limits::default() };
    let server = Running::with(limits, None, Duration::from_secs(20));
    let texts: Vec<String> = (0..2000).map(|number| format!("ducks {number} ").repeat(40)).collect();
    let body = json!({ "inputs": texts }).to_string();
    let request =
        format!("POST /embed HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let ask = |_: usize| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let streams: Vec<TcpStream> = (0..4).map(ask).collect();
    wait_for(&server, "toller_queue_waiting{queue=\"embed\"}", |waiting| waiting > 0.0);
    drop(streams);
    wait_for(&server, "toller_queue_abandoned_total{queue=\"embed\"}", |abandoned| abandoned > 0.0);
    wait_for(&server, "toller_requests_in_flight", |in_flight| in_flight == 1.0);
    wait_for(&server, "toller_queue_waiting{queue=\"embed\"}", |waiting| waiting == 0.0);
    let mut client = server.client();
    assert!(
        metric(&mut client, "toller_batch_items_sum{queue=\"embed\"}").is_some_and(|texts| texts < 8000.0)
    );
}

/// Sends a request without its last byte: it is under way until that comes.
fn begin(server: &Running) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head =
        "POST /embed HTTP/1.1\r\nhost: localhost\r\ncontent-length: 15\r\nexpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    // The server asks for the body when it has counted the request. The metrics would say so too, but their
    // own request may still be counted after they are here.
    let mut asked = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{\"inputs\": \"a\"").unwrap();
    stream
}

#[test]
fn what_is_under_way_is_answered_before_the_end() {
    let mut server = Running::start();
    let mut begun = begin(&server);
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = server.client();
                let texts: Vec<String> = (0..50).map(|number| format!("ducks {number} ").repeat(9)).collect();
                loop {
                    let answer = client.post("/embed", &json!({ "inputs": texts }));
                    match answer.status {
                        200 => drop(answered.fetch_add(1, Ordering::Relaxed)),
                        503 => break assert!(answer.headers.contains_key("retry-after")),
                        other => panic!("status {other}"),
                    }
                }
            });
        }
        while answered.load(Ordering::Relaxed) < 20 {
            std::thread::sleep(Duration::from_millis(1));
        }
        server.drain();
    });
    assert_eq!(server.get("/readyz").status, 503);
    assert_eq!(server.get("/health").status, 503);
    assert_eq!(server.get("/livez").status, 200);
    begun.write_all(b"}").unwrap();
    let (answer, _) = read_answer(&mut BufReader::new(begun)).unwrap();
    assert_eq!(answer.ok().as_array().unwrap().len(), 1);
    assert!(server.end().is_ok());
    assert!(TcpStream::connect(server.address).is_err());
}

/// A client that has asked for an answer of more bytes than the system keeps for it, and reads the first one.
fn begin_reading(server: &Running) -> TcpStream {
    let body = json!({ "inputs": "a duck, ".repeat(120_000) }).to_string();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head =
        format!("POST /tokenize HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream.peek(&mut [0; 1]).unwrap();
    stream
}

#[test]
fn an_answer_that_is_being_sent_is_sent_to_its_end() {
    let mut server = Running::start();
    let stream = begin_reading(&server);
    server.drain();
    // Longer than idle connections have to end.
    std::thread::sleep(Duration::from_millis(2500));
    let (answer, _) = read_answer(&mut BufReader::new(stream)).unwrap();
    assert!(answer.body.len() > 20_000_000, "{}", answer.body.len());
    assert_eq!(answer.ok().as_array().unwrap().len(), 1);
    assert!(server.end().is_ok());
}

#[test]
fn an_answer_that_is_cut_by_the_end_is_counted() {
    let mut server = Running::with(Limits::default(), None, Duration::from_millis(100));
    let _stream = begin_reading(&server);
    let end = server.end();
    assert!(matches!(end, Err(ServerError::Undrained { requests: 1 })), "{end:?}");
}

#[test]
fn a_client_that_does_not_read_is_not_waited_for() {
    let limits = Limits { write_timeout: Duration::from_millis(300), ..Limits::default() };
    let server = Running::with(limits, None, Duration::from_secs(20));
    let stream = begin_reading(&server);
    // Those of the metrics are left.
    wait_for(&server, "toller_requests_in_flight", |in_flight| in_flight == 1.0);
    wait_for(&server, "toller_connections", |connections| connections == 1.0);
    assert!(read_answer(&mut BufReader::new(stream)).is_err());
}

#[test]
fn the_second_request_to_end_waits_for_nobody() {
    let mut server = Running::with(Limits::default(), None, Duration::from_secs(600));
    let _begun = begin(&server);
    server.control.drain();
    let end = server.end();
    assert!(matches!(end, Err(ServerError::Stopped { requests: 1 })), "{end:?}");
}

#[test]
fn an_end_without_time_says_what_was_lost() {
    let mut server = Running::with(Limits::default(), None, Duration::ZERO);
    let _begun = begin(&server);
    let end = server.end();
    assert!(matches!(end, Err(ServerError::Undrained { requests: 1 })), "{end:?}");
}

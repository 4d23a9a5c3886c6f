//! Requests of random damage: always an answer, never a failure of the server's own.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{Client, Running, read_answer};

/// Bodies that are right, and the routes that take them.
const RIGHT: [(&str, &str); 12] = [
    ("/embed", r#"{"inputs": ["ducks", "dogs"], "truncate": true, "normalize": true, "dimensions": 4}"#),
    ("/embed_all", r#"{"inputs": "ducks", "prompt_name": "query"}"#),
    ("/similarity", r#"{"inputs": {"source_sentence": "a", "sentences": ["b", "c"]}}"#),
    ("/tokenize", r#"{"inputs": ["ducks \u00e9"], "add_special_tokens": false}"#),
    ("/decode", r#"{"ids": [[1, 2, 3], [4]], "skip_special_tokens": true}"#),
    ("/rerank", r#"{"query": "ducks", "texts": ["a", "b"], "raw_scores": true, "return_text": true}"#),
    ("/predict", r#"{"inputs": [["a"], ["b", "c"]], "raw_scores": false}"#),
    ("/v1/embeddings", r#"{"input": "ducks", "model": "tiny-bert", "encoding_format": "base64"}"#),
    (
        "/v2/rerank",
        r#"{"query": "ducks", "documents": ["a", {"text": "b"}], "top_n": 1, "model": "tiny-reranker"}"#,
    ),
    (
        "/v1/search",
        r#"{"query": ["ducks"], "k": 3, "system": "hybrid", "rerank": true, "texts": true, "filter": {"ids": ["d1"], "exclude": ["d2"]}}"#,
    ),
    ("/v1/explain", r#"{"query": "ducks", "ids": ["d0", "d1"], "k": 2, "filter": {"ids": ["d1"]}}"#),
    (
        "/mcp",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "ducks", "k": 1}}}"#,
    ),
];

/// What is put into a body.
const PIECES: [&str; 16] = [
    "null", "-1", "1e999", "18446744073709551616", "\"\\ud800\"", "[]", "{}", "[[[[[[", "\"", "\u{0}",
    "\u{feff}", "true", "\"\u{1f986}\"", "9999999999", ",", "\"k\":0,",
];

/// A generator of numbers (Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// A body with some damage.
fn damaged(body: &str, random: &mut Random) -> Vec<u8> {
    let mut bytes = body.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..(at + 1 + random.below(9)).min(bytes.len()))),
            2 => bytes.insert(at, random.below(256) as u8),
            3 => bytes[at] = random.below(256) as u8,
            _ => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].bytes())),
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

#[test]
fn malformed_requests_are_the_clients_fault() {
    let server = Running::start();
    let mut client = server.client();
    for (path, body) in RIGHT {
        let headers = [("content-type", "application/json")];
        let answer = client.send("POST", path, &headers, body.as_bytes());
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut refused = 0;
    for _ in 0..100_000 {
        let (path, body) = RIGHT[random.below(RIGHT.len())];
        let body = damaged(body, &mut random);
        let answer = client.send("POST", path, &[("content-type", "application/json")], &body);
        let shown = String::from_utf8_lossy(&body);
        assert!(answer.status < 500, "{path} {shown}: {}", String::from_utf8_lossy(&answer.body));
        refused += usize::from(answer.status >= 400);
    }
    assert!(refused > 25_000, "{refused}");
}

#[test]
fn broken_http_ends_a_connection_and_nothing_else() {
    let server = Running::start();
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let request = "POST /embed HTTP/1.1\r\nhost: localhost\r\ncontent-length: 15\r\n\r\n{\"inputs\": \"a\"}";
    for _ in 0..500 {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        stream.write_all(&damaged(request, &mut random)).unwrap();
        // Many of them are unfinished: nobody waits for the rest.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        if let Ok((answer, _)) = read_answer(&mut BufReader::new(&*answer)) {
            assert!(answer.status < 500, "{}", answer.status);
        }
    }
    for path in [
        "/v1/documents/%00", "/v1/documents/%ff%fe", "/v1/sparse/search", "/v1/x/doc/1",
        "/v1/sparse/search?query=a&hits=-1", "/v1/sparse/doc/d0?parse=poem", "//",
        "/v1/documents/../../etc/passwd",
    ] {
        let status = server.get(path).status;
        assert!((400..500).contains(&status), "{path}: {status}");
    }
    assert_eq!(Client::new(server.address).send("PUT", "/embed", &[], b"").status, 405);
    assert_eq!(server.get("/health").status, 200);
}

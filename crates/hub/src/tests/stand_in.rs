//! A small hub, HTTP/1.1 on a port of 127.0.0.1, whose behaviour a test can change.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use sha2::{Digest, Sha256};

pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// How the stand-in behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// As a hub should.
    Good,
    /// Every answer has this status and this message.
    Status(u16, &'static str),
    /// The first `times` bodies of this file end after half of their bytes.
    Dies { file: &'static str, times: usize },
    /// The whole file is sent, whatever range is requested.
    IgnoresRanges,
    /// Files with a sha256 as their ETag are sent with other bytes.
    Corrupts,
    /// Every request is redirected to another server, as the hub does for large files.
    Redirects { to: String },
    /// Every request is redirected to another name of the repository.
    Renamed,
    /// The request for the weights has this status, and only the first `bytes` of them.
    Weights { status: u16, bytes: usize },
    /// The weights have no end. Their size may be announced.
    Endless { announced: bool },
    /// No request is answered.
    Silent,
    /// The weights stop after half of their bytes, and the connection stays open.
    Stalls,
    /// It answers HTML.
    Portal,
}

#[derive(Debug)]
struct State {
    files: BTreeMap<String, Vec<u8>>,
    mood: Mutex<Mood>,
    requests: Mutex<Vec<Request>>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
}

/// A running stand-in. Its thread ends with the process.
#[derive(Debug)]
pub(crate) struct StandIn {
    pub(crate) endpoint: String,
    state: Arc<State>,
}

impl StandIn {
    pub(crate) fn start(files: &[(&str, &[u8])]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
        let state = State { files, mood: Mutex::new(Mood::Good), requests: Mutex::default() };
        let state = Arc::new(state);
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A client may hang up at any time.
                thread::spawn(move || shared.serve(stream).ok());
            }
        });
        Self { endpoint, state }
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.state.mood.lock().unwrap() = mood;
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }

    /// The files whose bytes were requested.
    pub(crate) fn downloaded(&self) -> Vec<String> {
        let name = |request: Request| {
            request.path.rsplit_once(COMMIT).map(|(_, file)| file.trim_start_matches('/').to_owned())
        };
        let gets = self.requests().into_iter().filter(|request| request.method == "GET");
        let mut files: Vec<_> = gets.filter_map(name).collect();
        files.sort_unstable();
        files
    }
}

impl State {
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let request = Request { method, path, headers };
        self.requests.lock().unwrap().push(request.clone());
        self.answer(&request, stream)
    }

    fn answer(&self, request: &Request, mut stream: TcpStream) -> std::io::Result<()> {
        let mood = self.mood.lock().unwrap().clone();
        match mood {
            Mood::Status(status, message) => {
                return respond(&mut stream, status, &[("X-Error-Message", message)], b"", 0);
            }
            Mood::Portal => return respond(&mut stream, 200, &[], b"<html>Please log in</html>", 26),
            Mood::Renamed if request.path.contains("/org/model/") => {
                let place = request.path.replace("/org/model/", "/new/name/");
                return respond(&mut stream, 307, &[("Location", &place)], b"moved", 5);
            }
            Mood::Silent => return wait_for_end(stream),
            _ => {}
        }
        let path = request.path.replace("/new/name/", "/org/model/");
        let listed = ["org/model", "intfloat/e5-small-v2"];
        if listed.iter().any(|id| path == format!("/api/models/{id}/revision/main")) {
            if let Mood::Redirects { to } = &mood {
                let place = format!("{to}{path}");
                return respond(&mut stream, 302, &[("Location", &place)], b"moved", 5);
            }
            let siblings: Vec<_> =
                self.files.keys().map(|file| serde_json::json!({"rfilename": file})).collect();
            let body = serde_json::json!({"sha": COMMIT, "siblings": siblings}).to_string();
            return respond(&mut stream, 200, &[], body.as_bytes(), body.len());
        }
        let file = path.split_once(&format!("/resolve/{COMMIT}/")).map(|(_, file)| file);
        let Some((file, bytes)) = file.and_then(|file| self.files.get_key_value(file)) else {
            return respond(&mut stream, 404, &[("X-Error-Message", "no such thing")], b"", 0);
        };
        self.send(request, &mut stream, &mood, file, bytes)
    }

    fn send(
        &self,
        request: &Request,
        stream: &mut TcpStream,
        mood: &Mood,
        file: &str,
        bytes: &[u8],
    ) -> std::io::Result<()> {
        let large = file.ends_with(".safetensors");
        let etag: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        // The hub names small files by their git blob, which is shorter.
        let etag = format!("\"{}\"", if large { etag.as_str() } else { &etag[..40] });
        let size = bytes.len().to_string();
        if let Mood::Redirects { to } = mood {
            let place = format!("{to}{}", request.path);
            let headers = [("Location", place.as_str()), ("X-Linked-Etag", &etag), ("X-Linked-Size", &size)];
            return respond(stream, 302, &headers, b"moved", 5);
        }
        if let (Mood::Endless { announced: false }, "HEAD") = (mood, request.method.as_str()) {
            return write!(stream, "HTTP/1.1 200 OK\r\nETag: {etag}\r\nConnection: close\r\n\r\n");
        }
        if request.method == "HEAD" {
            return respond(stream, 200, &[("ETag", &etag), ("X-Repo-Commit", COMMIT)], b"", bytes.len());
        }
        let start = request
            .headers
            .get("range")
            .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
        let start = start.filter(|_| *mood != Mood::IgnoresRanges);
        let rest = &bytes[start.unwrap_or_default()..];
        let range = format!("bytes {}-{}/{size}", start.unwrap_or_default(), bytes.len().saturating_sub(1));
        let headers = [("ETag", etag.as_str()), ("Content-Range", &range)];
        let (status, headers) = if start.is_some() { (206, &headers[..]) } else { (200, &headers[..1]) };
        match mood {
            Mood::Dies { file: dying, times } if *dying == file && *times > 0 => {
                self.set_dying(dying, times - 1);
                respond(stream, status, headers, &rest[..rest.len() / 2], rest.len())
            }
            Mood::Weights { status, bytes: count } if large => {
                respond(stream, *status, &[], &bytes[..*count], *count)
            }
            Mood::Stalls if large => {
                respond(stream, status, headers, &rest[..rest.len() / 2], rest.len())?;
                wait_for_end(stream.try_clone()?)
            }
            Mood::Endless { .. } if large => {
                write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
                loop {
                    write!(stream, "{:x}\r\n{}\r\n", 1 << 16, "x".repeat(1 << 16))?;
                }
            }
            Mood::Corrupts if large => respond(stream, status, headers, &vec![b'!'; rest.len()], rest.len()),
            _ => respond(stream, status, headers, rest, rest.len()),
        }
    }

    fn set_dying(&self, file: &'static str, times: usize) {
        *self.mood.lock().unwrap() = Mood::Dies { file, times };
    }
}

/// Waits until the client hangs up.
fn wait_for_end(mut stream: TcpStream) -> std::io::Result<()> {
    std::io::copy(&mut stream, &mut std::io::sink()).map(|_| ())
}

fn respond(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(&str, &str)],
    body: &[u8],
    length: usize,
) -> std::io::Result<()> {
    let mut head =
        format!("HTTP/1.1 {status} Something\r\nContent-Length: {length}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}

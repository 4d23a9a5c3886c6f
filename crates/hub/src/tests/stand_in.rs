//! A small hub: HTTP/1.1 over a socket of 127.0.0.1, with the answers that a test gives it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use sha2::{Digest, Sha256};

pub(super) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// How the stand-in misbehaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    /// It does not.
    Good,
    /// Every answer has this status and these words.
    Status(u16, &'static str),
    /// The first so many bodies of this file end after half of their bytes.
    Dies { file: &'static str, times: usize },
    /// It answers a range with the whole file.
    IgnoresRanges,
    /// It sends other bytes than its ETag promises, for files that are named by their sha256.
    Corrupts,
    /// It sends files from another address, as the hub sends large ones.
    Redirects { to: String },
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
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
}

/// A running stand-in. Its thread ends with the process.
#[derive(Debug)]
pub(super) struct StandIn {
    pub(super) endpoint: String,
    state: Arc<State>,
}

impl StandIn {
    pub(super) fn start(files: &[(&str, &[u8])]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
        let state = State { files, mood: Mutex::new(Mood::Good), requests: Mutex::default() };
        let state = Arc::new(state);
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A client that hangs up is no concern of the server's.
                thread::spawn(move || shared.serve(stream).ok());
            }
        });
        Self { endpoint, state }
    }

    pub(super) fn set(&self, mood: Mood) {
        *self.state.mood.lock().unwrap() = mood;
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }

    /// The files whose bytes were asked for.
    pub(super) fn downloaded(&self) -> Vec<String> {
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
            _ => {}
        }
        if request.path == "/api/models/org/model/revision/main" {
            let siblings: Vec<_> =
                self.files.keys().map(|file| serde_json::json!({"rfilename": file})).collect();
            let body = serde_json::json!({"sha": COMMIT, "siblings": siblings}).to_string();
            return respond(&mut stream, 200, &[], body.as_bytes(), body.len());
        }
        let file = request.path.split_once(&format!("/resolve/{COMMIT}/")).map(|(_, file)| file);
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
            Mood::Corrupts if large => respond(stream, status, headers, &vec![b'!'; rest.len()], rest.len()),
            _ => respond(stream, status, headers, rest, rest.len()),
        }
    }

    fn set_dying(&self, file: &'static str, times: usize) {
        *self.mood.lock().unwrap() = Mood::Dies { file, times };
    }
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

//! A small object store with the interface of S3, on a port of 127.0.0.1, whose behaviour a test can change.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The access key that the server accepts; any secret will do.
pub const ACCESS_KEY: &str = "retriever";

/// What the server does to the next requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The body of an object ends after half of its bytes.
    CutsBody,
    /// The connection ends before an answer, and nothing is done.
    HangsUp,
    /// An object is written, and the connection ends before the answer.
    LosesAnswer,
    /// The answer is this status.
    Status(u16),
    /// The answer comes this much later.
    Waits(Duration),
}

/// A running server. Its thread ends with the process.
#[derive(Clone, Debug)]
pub struct ObjectServer {
    /// The address, for AWS_ENDPOINT_URL.
    pub endpoint: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    buckets: BTreeSet<String>,
    /// By bucket and key, as `bucket/key`.
    objects: BTreeMap<String, Stored>,
    uploads: BTreeMap<String, Upload>,
    faults: Vec<(Fault, &'static str, usize)>,
    requests: Vec<String>,
    written: u64,
}

#[derive(Clone, Debug)]
struct Stored {
    bytes: Arc<Vec<u8>>,
    etag: String,
    checksum: Option<String>,
}

#[derive(Debug)]
struct Upload {
    name: String,
    checksum: Option<String>,
    parts: BTreeMap<u32, Vec<u8>>,
}

#[derive(Debug, Default)]
struct Request {
    method: String,
    /// `bucket/key`.
    name: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

#[derive(Debug, Default)]
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl ObjectServer {
    /// A server with these empty buckets.
    ///
    /// # Errors
    /// When no port can be opened.
    pub fn start(buckets: &[&str]) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let buckets = buckets.iter().map(|name| (*name).to_owned()).collect();
        let server = Self { endpoint, state: Arc::new(Mutex::new(State { buckets, ..State::default() })) };
        let serving = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                // A client may hang up at any time.
                thread::spawn(move || serving.serve(stream).ok());
            }
        });
        Ok(server)
    }

    /// The environment with which clients find the server.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        vec![
            set("AWS_ENDPOINT_URL", &self.endpoint),
            set("AWS_ACCESS_KEY_ID", ACCESS_KEY),
            set("AWS_SECRET_ACCESS_KEY", "secret"),
        ]
    }

    /// Does this to the next `times` requests whose method and name contain `what`, as in `GET bucket/key`.
    pub fn fail(&self, fault: Fault, what: &'static str, times: usize) {
        self.state().faults.push((fault, what, times));
    }

    /// Writes an object, as another client would: `bucket/key`.
    pub fn write(&self, name: &str, bytes: impl Into<Vec<u8>>) {
        self.state().store(name, bytes.into(), None);
    }

    /// The bytes of an object.
    #[must_use]
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.state().objects.get(name).map(|stored| stored.bytes.to_vec())
    }

    /// The names of all objects, and of uploads that have not ended.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let state = self.state();
        let uploads = state.uploads.values().map(|upload| format!("upload of {}", upload.name));
        state.objects.keys().cloned().chain(uploads).collect()
    }

    /// The requests so far, as `GET bucket/key bytes=0-9`.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let request = Request::read(&stream)?;
        let fault = {
            let mut state = self.state();
            let range = request.headers.get("range").map(|range| format!(" {range}")).unwrap_or_default();
            let line = format!("{} {}{range}", request.method, request.name);
            let fault = state.fault(&line);
            state.requests.push(line);
            fault
        };
        let mut answer = match fault {
            Some(Fault::HangsUp) => return Ok(()),
            Some(Fault::Status(status)) => refusal(status, "SlowDown", "Please reduce your request rate."),
            _ => self.state().answer(&request),
        };
        match fault {
            Some(Fault::LosesAnswer) => return Ok(()),
            Some(Fault::Waits(time)) => thread::sleep(time),
            _ => {}
        }
        let length = answer.body.len();
        if fault == Some(Fault::CutsBody) {
            answer.body.truncate(length / 2);
        }
        let mut head =
            format!("HTTP/1.1 {} X\r\ncontent-length: {length}\r\nconnection: close\r\n", answer.status);
        for (name, value) in &answer.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let body = if request.method == "HEAD" { &[] } else { answer.body.as_slice() };
        (&stream).write_all((head + "\r\n").as_bytes())?;
        (&stream).write_all(body)
    }
}

impl Request {
    fn read(stream: &TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace();
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let mut request = Self {
            method: method.to_owned(),
            name: decoded(path.trim_start_matches('/')),
            query: pairs.map(|(name, value)| (decoded(name), decoded(value))).collect(),
            ..Self::default()
        };
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            request.headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = request.headers.get("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        reader.take(length).read_to_end(&mut request.body)?;
        Ok(request)
    }

    fn has(&self, header: &str, value: &str) -> bool {
        self.headers.get(header).is_some_and(|found| found == value)
    }

    /// The bytes that are requested of an object of this length.
    fn range(&self, length: usize) -> Option<Range<usize>> {
        let (start, end) = self.headers.get("range")?.strip_prefix("bytes=")?.split_once('-')?;
        let end = end.parse::<usize>().map_or(length, |last| length.min(last + 1));
        start.parse().ok().filter(|start| *start < end).map(|start| start..end)
    }
}

impl State {
    fn fault(&mut self, line: &str) -> Option<Fault> {
        let (fault, _, times) =
            self.faults.iter_mut().find(|(_, what, times)| *times > 0 && line.contains(what))?;
        *times -= 1;
        Some(*fault)
    }

    fn store(&mut self, name: &str, bytes: Vec<u8>, checksum: Option<String>) -> Answer {
        self.written += 1;
        let mut hasher = DefaultHasher::new();
        (&bytes, self.written).hash(&mut hasher);
        let etag = format!("\"{:016x}\"", hasher.finish());
        let stored = Stored { bytes: Arc::new(bytes), etag: etag.clone(), checksum };
        self.objects.insert(name.to_owned(), stored);
        Answer { status: 200, headers: vec![("etag", etag)], ..Answer::default() }
    }

    fn answer(&mut self, request: &Request) -> Answer {
        let key = format!("Credential={ACCESS_KEY}/");
        if !request.headers.get("authorization").is_some_and(|value| value.contains(&key)) {
            return refusal(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist.");
        }
        let bucket = request.name.split('/').next().unwrap_or_default();
        if !self.buckets.contains(bucket) {
            return refusal(404, "NoSuchBucket", "The specified bucket does not exist");
        }
        let checksum = || request.headers.get("x-amz-meta-checksum").cloned();
        let upload = request.query.get("uploadId");
        match (request.method.as_str(), upload) {
            ("GET", _) if request.query.contains_key("list-type") => self.list(bucket, request),
            ("GET" | "HEAD", _) => self.get(request),
            ("PUT", Some(id)) => self.put_part(id, request),
            ("PUT", None) => {
                let found = self.objects.get(&request.name);
                let wanted = request.headers.get("if-match");
                if (request.has("if-none-match", "*") && found.is_some())
                    || wanted.is_some_and(|etag| found.is_some_and(|found| found.etag != *etag))
                {
                    return refusal(
                        412,
                        "PreconditionFailed",
                        "At least one of the conditions did not hold.",
                    );
                }
                if wanted.is_some() && found.is_none() {
                    return refusal(404, "NoSuchKey", "The specified key does not exist.");
                }
                self.store(&request.name, request.body.clone(), checksum())
            }
            ("POST", Some(id)) => {
                let Some(upload) = self.uploads.remove(id) else { return no_upload() };
                let bytes = upload.parts.into_values().flatten().collect();
                let etag = self.store(&upload.name, bytes, upload.checksum).headers.remove(0).1;
                let etag = etag.replace('"', "&quot;");
                let body = format!(
                    "<CompleteMultipartUploadResult><Location>x</Location><Bucket>x</Bucket><Key>x</Key>\
                     <ETag>{etag}</ETag></CompleteMultipartUploadResult>"
                );
                Answer { status: 200, body: body.into(), ..Answer::default() }
            }
            ("POST", None) => {
                self.written += 1;
                let (id, name) = (self.written.to_string(), request.name.clone());
                let body = format!(
                    "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                );
                self.uploads.insert(id, Upload { name, checksum: checksum(), parts: BTreeMap::new() });
                Answer { status: 200, body: body.into(), ..Answer::default() }
            }
            ("DELETE", Some(id)) => {
                self.uploads.remove(id);
                Answer { status: 204, ..Answer::default() }
            }
            ("DELETE", None) => {
                self.objects.remove(&request.name);
                Answer { status: 204, ..Answer::default() }
            }
            _ => refusal(405, "MethodNotAllowed", "The specified method is not allowed."),
        }
    }

    fn get(&self, request: &Request) -> Answer {
        let Some(found) = self.objects.get(&request.name) else {
            return refusal(404, "NoSuchKey", "The specified key does not exist.");
        };
        if request.headers.get("if-match").is_some_and(|etag| *etag != found.etag) {
            return refusal(412, "PreconditionFailed", "At least one of the conditions did not hold.");
        }
        let length = found.bytes.len();
        let mut headers =
            vec![("etag", found.etag.clone()), ("last-modified", "Mon, 23 Nov 2026 10:00:00 GMT".to_owned())];
        headers.extend(found.checksum.clone().map(|checksum| ("x-amz-meta-checksum", checksum)));
        let Some(range) = request.range(length) else {
            return Answer { status: 200, headers, body: found.bytes.to_vec() };
        };
        headers.push(("content-range", format!("bytes {}-{}/{length}", range.start, range.end - 1)));
        Answer { status: 206, headers, body: found.bytes.get(range).unwrap_or_default().to_vec() }
    }

    fn put_part(&mut self, id: &str, request: &Request) -> Answer {
        let number = request.query.get("partNumber").and_then(|number| number.parse().ok());
        let (Some(upload), Some(number)) = (self.uploads.get_mut(id), number) else { return no_upload() };
        upload.parts.insert(number, request.body.clone());
        Answer { status: 200, headers: vec![("etag", format!("\"part-{number}\""))], ..Answer::default() }
    }

    fn list(&self, bucket: &str, request: &Request) -> Answer {
        let prefix = request.query.get("prefix").map_or("", String::as_str);
        let delimiter = request.query.get("delimiter").filter(|delimiter| !delimiter.is_empty());
        let (mut contents, mut folders) = (String::new(), BTreeSet::new());
        let start = format!("{bucket}/");
        for (name, stored) in &self.objects {
            let Some(key) = name.strip_prefix(&start).filter(|key| key.starts_with(prefix)) else { continue };
            let rest = key.get(prefix.len()..).unwrap_or_default();
            if let Some((folder, _)) = delimiter.and_then(|delimiter| rest.split_once(delimiter.as_str())) {
                folders.insert(format!("{prefix}{folder}/"));
                continue;
            }
            contents += &format!(
                "<Contents><Key>{key}</Key><Size>{}</Size><LastModified>2026-11-23T10:00:00.000Z</LastModified>\
                 <ETag>{}</ETag></Contents>",
                stored.bytes.len(),
                stored.etag.replace('"', "&quot;")
            );
        }
        for folder in folders {
            contents += &format!("<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>");
        }
        let body = format!("<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>");
        Answer { status: 200, body: body.into(), ..Answer::default() }
    }
}

fn no_upload() -> Answer {
    refusal(404, "NoSuchUpload", "The specified upload does not exist.")
}

fn refusal(status: u16, code: &str, message: &str) -> Answer {
    let body = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
    Answer { status, body: body.into(), ..Answer::default() }
}

/// Text without its percent-encoding.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = tail.get(..2).filter(|_| first == b'%').and_then(|hex| str::from_utf8(hex).ok());
        let escaped = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

//! Servers of tiny models over a small collection, and a client.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use toller_engine::{
    Collections, CrossEncoderOptions, DenseOptions, EncodeOptions, Encoder, EncoderOptions, Engine,
    IndexOptions, Method, QuerySource, ReadOptions, RerankOptions, Searcher, SparseOptions, TextsOptions,
};
use toller_ir::{AnyError, Qrels};
use toller_server::{
    Control, Keys, Limits, Log, Named, Runs, Server, ServerError, Service, Signals, Systems, Tls,
};

/// The collection.
pub(crate) const PASSAGES: [(&str, &str); 5] = [
    ("Tollers", "A toller is a dog that lures ducks within range of its hunter."),
    ("Lists", "An inverted index lists the documents of each term."),
    ("Vectors", "Dense retrieval compares the vectors of queries and passages."),
    ("Cross", "A cross-encoder reads a query and a passage together."),
    ("Ducks", "Ducks swim on lakes; a dog fetches the ducks that a hunter shoots."),
];

/// A server that runs, and what it serves.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) control: Control,
    /// Whether the server was asked to end.
    is_draining: AtomicBool,
    pub(crate) engine: Arc<Engine>,
    pub(crate) encoder: Encoder,
    pub(crate) systems: Systems,
    pub(crate) log: Captured,
    thread: Option<JoinHandle<Result<(), ServerError>>>,
    pub(crate) folder: TempDir,
}

/// What was logged.
#[derive(Clone, Default)]
pub(crate) struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Captured {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

pub(crate) fn fixture(name: &str) -> String {
    toller_testing::repository("tests/fixtures").join(name).display().to_string()
}

/// Writes the collection to a file of a folder.
pub(crate) fn write_corpus(folder: &Path) -> PathBuf {
    let line = |(number, (title, text)): (usize, &(&str, &str))| {
        format!("{{\"_id\": \"d{number}\", \"title\": \"{title}\", \"text\": \"{text}\"}}\n")
    };
    let path = folder.join("corpus.jsonl");
    std::fs::write(&path, PASSAGES.iter().enumerate().map(line).collect::<String>()).unwrap();
    path
}

/// Encodes and indexes the collection in a folder.
fn prepare(engine: &Engine, encoder: &Encoder, folder: &Path) {
    let path = write_corpus(folder);
    let (store, index, stop) = (folder.join("store"), folder.join("index"), AtomicBool::new(false));
    let source = engine
        .collection(&engine.collection_files(&[path]).unwrap(), &store, &ReadOptions::default())
        .unwrap();
    engine.encode(encoder, &source, &store, &EncodeOptions::default(), &stop).unwrap();
    let analyzer = engine.analyzer("en").unwrap();
    engine.index(&source, &analyzer, &index, &IndexOptions::default(), &stop).unwrap();
}

/// Two runs for three judged queries, and a file that is not a run.
fn runs(folder: &Path) -> Result<Runs, AnyError> {
    let place = folder.join("runs");
    std::fs::create_dir_all(&place).unwrap();
    for (name, content) in [
        ("first.run", "q1 Q0 d0 1 9.5 a\nq1 Q0 d1 2 3.0 a\nq2 Q0 d3 1 2.5 a\nq3 Q0 d4 1 1.0 a\n"),
        ("second.run", "q1 Q0 d1 1 0.9 b\nq1 Q0 d0 2 0.8 b\nq2 Q0 d1 1 0.7 b\nq3 Q0 d2 1 0.1 b\n"),
        ("broken.run", "poem\n"),
        (".hidden", ""),
    ] {
        std::fs::write(place.join(name), content).unwrap();
    }
    let mut qrels = Qrels::new();
    for (query, document) in [("q1", "d0"), ("q2", "d1"), ("q3", "d4")] {
        qrels.insert(query, document, 1);
    }
    let queries = [("q1".to_owned(), "who lures <b>ducks</b>?".to_owned())];
    Ok(Runs::open(place, "judged".to_owned(), qrels, queries.into())?)
}

impl Running {
    /// Serves everything to everybody.
    pub(crate) fn start() -> Self {
        Self::with(Limits::default(), None, Duration::from_secs(20))
    }

    pub(crate) fn with(limits: Limits, keys: Option<Keys>, drain: Duration) -> Self {
        Self::over(limits, keys, drain, None)
    }

    pub(crate) fn over(limits: Limits, keys: Option<Keys>, drain: Duration, tls: Option<Tls>) -> Self {
        Self::build(EncoderOptions::default(), |all| all, limits, keys, drain, tls)
    }

    /// Encodes queries by another model than passages.
    pub(crate) fn with_query_model(model: &Path) -> Self {
        let query_model = Some(model.display().to_string());
        let options = EncoderOptions { query_model, ..EncoderOptions::default() };
        Self::build(options, |all| all, Limits::default(), None, Duration::from_secs(20), None)
    }

    /// Serves a part of what there is to search.
    pub(crate) fn with_part(part: fn(Systems) -> Systems) -> Self {
        Self::build(EncoderOptions::default(), part, Limits::default(), None, Duration::from_secs(20), None)
    }

    fn build(
        options: EncoderOptions,
        part: fn(Systems) -> Systems,
        limits: Limits,
        keys: Option<Keys>,
        drain: Duration,
        tls: Option<Tls>,
    ) -> Self {
        let engine = Arc::new(Engine::builder().threads(2).build().unwrap());
        let cut_queries = limits.truncate;
        let encoder = engine.encoder(&fixture("tiny-bert"), &options).unwrap();
        let reranker =
            engine.cross_encoder(&fixture("cross-encoders/roberta"), &CrossEncoderOptions::default());
        let reranker = Arc::new(reranker.unwrap());
        let folder = tempfile::tempdir().unwrap();
        prepare(&engine, &encoder, folder.path());
        let open = {
            let (engine, encoder, reranker) = (engine.clone(), encoder.clone(), reranker.clone());
            let path = folder.path().to_owned();
            move || -> Result<Systems, AnyError> {
                let sparse = engine.sparse(&path.join("index"), &SparseOptions::default())?;
                let queries = QuerySource::from(encoder.clone());
                let dense: Arc<dyn Searcher> =
                    engine.dense(&[path.join("store")], queries, &DenseOptions::default())?;
                let fusion = "rrf".parse::<&Method>().unwrap().fusion();
                let searchers = vec![sparse.clone() as Arc<dyn Searcher>, dense.clone()];
                let hybrid = engine.hybrid(searchers, fusion, 100, Collections::Same)?;
                let files = engine.collection_files(&[path.join("corpus.jsonl")])?;
                let texts = Arc::new(engine.texts(&files, &TextsOptions::default())?);
                let options = RerankOptions { depth: 3, cut_queries, ..RerankOptions::default() };
                let reranker = engine.reranker(vec![reranker.clone()], texts.clone(), options)?;
                Ok(part(Systems {
                    sparse: Some(sparse),
                    dense: Some(dense),
                    hybrid: Some(hybrid),
                    reranker: Some(reranker.into()),
                    texts: Some(texts),
                    runs: Some(runs(&path)?.into()),
                }))
            }
        };
        let systems = open().unwrap();
        let log = Captured::default();
        let name = |name: &str| vec![name.to_owned(), format!("org/{name}")];
        let service = Service {
            engine: engine.clone(),
            encoder: Some(Named { names: name("tiny-bert"), model: encoder.clone() }),
            role: toller_engine::Role::Passage,
            reranker: Some(Named { names: name("tiny-reranker"), model: reranker }),
            systems: Some(Box::new(open)),
            keys,
            tls,
            protect_metrics: false,
            tei_metrics: true,
            limits,
            log: Log::json(log.clone()),
        };
        Self::run(service, drain, (encoder, systems), log, folder)
    }

    /// Serves only an encoder.
    pub(crate) fn of_encoder(model: &str) -> Self {
        let engine = Arc::new(Engine::builder().threads(2).build().unwrap());
        let encoder = engine.encoder(&fixture(model), &EncoderOptions::default()).unwrap();
        let log = Captured::default();
        let service = Service {
            engine,
            encoder: Some(Named { names: vec![model.to_owned()], model: encoder.clone() }),
            role: toller_engine::Role::Passage,
            reranker: None,
            systems: None,
            keys: None,
            tls: None,
            protect_metrics: false,
            tei_metrics: true,
            limits: Limits::default(),
            log: Log::json(log.clone()),
        };
        let (folder, drain) = (tempfile::tempdir().unwrap(), Duration::from_secs(20));
        Self::run(service, drain, (encoder, Systems::default()), log, folder)
    }

    fn run(
        service: Service,
        drain: Duration,
        (encoder, systems): (Encoder, Systems),
        log: Captured,
        folder: TempDir,
    ) -> Self {
        let engine = service.engine.clone();
        let server = Server::start("127.0.0.1:0".parse().unwrap(), service).unwrap();
        let (control, signals) = Signals::controlled();
        let address = server.address();
        let thread = std::thread::spawn(move || server.run(signals, drain, |_| {}));
        let is_draining = AtomicBool::new(false);
        Self { address, control, is_draining, engine, encoder, systems, log, thread: Some(thread), folder }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Posts to a new connection.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.client().post(path, body)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.client().send("GET", path, &[], b"")
    }

    /// Drains the server. The second time would stop it.
    pub(crate) fn drain(&self) {
        if !self.is_draining.swap(true, Ordering::Relaxed) {
            self.control.drain();
        }
    }

    /// Drains the server, and waits for its end.
    pub(crate) fn end(&mut self) -> Result<(), ServerError> {
        self.drain();
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = self.end();
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The JSON of an answer that went well.
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        self.json()
    }
}

/// A connection that is kept, and made again when the server ends it.
pub(crate) struct Client {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json")];
        self.send("POST", path, &headers, body.to_string().as_bytes())
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
        if headers.iter().all(|(name, _)| *name != "host") {
            head += "host: localhost\r\n";
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let request = [format!("{head}\r\n").as_bytes(), body].concat();
        // A server may end an idle connection at any time: then the request is sent again.
        let answer = self.try_send(&request);
        answer.or_else(|_| self.try_send(&request)).unwrap()
    }

    fn try_send(&mut self, request: &[u8]) -> std::io::Result<Answer> {
        let mut reader = match self.stream.take() {
            Some(reader) => reader,
            None => BufReader::new(TcpStream::connect(self.address)?),
        };
        reader.get_mut().set_read_timeout(Some(Duration::from_secs(60)))?;
        reader.get_mut().write_all(request)?;
        let (answer, keep) = read_answer(&mut reader)?;
        self.stream = keep.then_some(reader);
        Ok(answer)
    }
}

/// Reads an answer, and whether the connection is kept.
pub(crate) fn read_answer(reader: &mut impl BufRead) -> std::io::Result<(Answer, bool)> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).unwrap().parse().unwrap();
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let keep = headers.get("connection").is_none_or(|value| value != "close");
    Ok((Answer { status, headers, body }, keep))
}

//! `toller serve`: models and searches over HTTP.

mod known_texts;
mod limits;
mod runs;
mod systems;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toller_engine::Role;
use toller_ir::counted;
use toller_server::{Event, Keys, Log, Named, Server, Service, Signals, Tls};

use self::limits::LimitArgs;
use self::systems::{Models, SystemArgs};
use crate::args::cross_encoder::ScoringArgs;
use crate::args::dense;
use crate::args::device;
use crate::args::model::ModelArgs;
use crate::args::paths::{InputPath, ModelName, last_part};
use crate::engine;
use crate::error::{Remedied, UsageError};
use crate::flags::first_given;
use crate::ui::Ui;

/// Serves models and searches over HTTP.
///
/// The routes have the shapes of text-embeddings-inference, OpenAI, Cohere, Jina and Pyserini. Answers have
/// the bits of the other commands. SIGTERM and Ctrl-C answer what is under way and end; SIGHUP opens stores,
/// indexes and collections again. docs/serving.md has the details.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("truncation", |flag| flag.requires("reranker")),
    mut_arg("rerank_prompt", |flag| flag.requires("reranker")),
    mut_arg("label", |flag| flag.requires("reranker")),
    mut_arg("activation", |flag| flag.requires("reranker")),
    mut_arg("corpus_format", |flag| flag.requires("corpus")),
    mut_arg("id_column", |flag| flag.requires("corpus")),
    mut_arg("title_column", |flag| flag.requires("corpus")),
    mut_arg("text_column", |flag| flag.requires("corpus"))
)]
pub struct ServeArgs {
    /// Model that encodes texts and queries [default: the one that --dense was encoded with]. A sparse model
    /// answers /embed_sparse
    #[arg(long, value_name = "M")]
    model: Option<ModelName>,

    /// Cross-encoder that scores pairs of texts
    #[arg(long, value_name = "M")]
    reranker: Option<ModelName>,

    /// Address or name to listen on; 0.0.0.0 and :: are all addresses of this machine
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: String,

    /// Port to listen on; 0 for any free port
    #[arg(long, value_name = "N", default_value_t = 3000)]
    port: u16,

    /// Keys of clients: in each line `read KEY` or `admin KEY` [default: everybody may ask]
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<InputPath>,

    /// Certificates for HTTPS, the server's own first (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<InputPath>,

    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<InputPath>,

    /// Ask for a key for /metrics, too
    #[arg(long, requires = "api_key_file")]
    protect_metrics: bool,

    /// Add the metrics of text-embeddings-inference (te_*) to /metrics
    #[arg(long)]
    tei_metrics: bool,

    /// More names that clients may use for the models, as in an OpenAI client's `model`
    #[arg(long, value_name = "NAME", num_args = 1..)]
    served_model_name: Vec<String>,

    /// Role of texts whose request does not say it: passage or query [default: passage]
    #[arg(long, value_name = "ROLE", value_parser = role)]
    role: Option<Role>,

    /// Log of requests on stderr: text, json or none
    #[arg(long, value_name = "FORMAT", default_value_t, value_enum)]
    log: LogFormat,

    /// Time for requests under way after the server was asked to end, in seconds
    #[arg(long, value_name = "N", default_value_t = 30)]
    drain_seconds: u64,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    systems: SystemArgs,

    #[command(flatten)]
    model_args: ModelArgs,

    #[command(flatten)]
    scoring: ScoringArgs,
}

/// How requests are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum LogFormat {
    /// A line of text for each request
    #[default]
    Text,
    /// A line of JSON for each request
    Json,
    /// Nothing
    None,
}

fn role(name: &str) -> Result<Role, String> {
    match name {
        "passage" => Ok(Role::Passage),
        "query" => Ok(Role::Query),
        _ => Err("passage or query".to_owned()),
    }
}

pub fn run(args: &ServeArgs, ui: &Ui) -> crate::Result<()> {
    args.check()?;
    // What is cheap and may be wrong comes first.
    let address = address(&args.host, args.port)?;
    let tls = args.tls_cert.as_ref().zip(args.tls_key.as_ref());
    let tls = tls.map(|(certificates, key)| Tls::read(certificates, key)).transpose()?;
    let keys = args.api_key_file.as_ref().map(|path| Keys::read(path)).transpose()?;
    let engine = Arc::new(engine::open(ui)?);
    let ModelArgs { max_length, compute, .. } = &args.model_args;
    let encoder = args
        .encodes()
        .then(|| dense::load(args.model.as_ref(), args.systems.dense(), &args.model_args, &engine, ui));
    let scoring = args.scoring.options(*max_length, compute, &engine)?;
    let reranker = args.reranker.as_ref().map(|name| engine.cross_encoder(name, &scoring));
    let encoder = encoder.transpose()?;
    let models = Models { encoder, reranker: reranker.transpose()?.map(Arc::new) };
    let limits = args.limits.limits();
    let service = Service {
        encoder: models.encoder.clone().map(|encoder| {
            let name = encoder.info().name.clone();
            named(&name, &args.served_model_name, encoder)
        }),
        reranker: args
            .reranker
            .as_deref()
            .zip(models.reranker.clone())
            .map(|(name, reranker)| named(name, &args.served_model_name, reranker)),
        systems: args.systems.opener(models, compute, limits.truncate, &engine, ui)?,
        role: args.role.unwrap_or(Role::Passage),
        keys,
        tls,
        protect_metrics: args.protect_metrics,
        tei_metrics: args.tei_metrics,
        limits,
        log: match args.log {
            LogFormat::Text if !ui.quiet => Log::text(std::io::stderr()),
            LogFormat::Json => Log::json(std::io::stderr()),
            LogFormat::Text | LogFormat::None => Log::none(),
        },
        engine,
    };
    let server = Server::start(address, service)?;
    let address = server.address();
    if !address.ip().is_loopback() && args.api_key_file.is_none() {
        ui.warning(format!("{address} can be reached from other machines, and there is no --api-key-file"));
    }
    let url = format!("{}://{address}", if args.tls_cert.is_some() { "https" } else { "http" });
    ui.status(format!("serving on {url}/, a page to search and compare; /openapi.json lists the routes"));
    ui.json(|| serde_json::json!({ "url": url }))?;
    let narrator = ui.clone();
    let drain_seconds = args.drain_seconds;
    let on_event = move |event| match event {
        Event::Reloaded(Ok(())) => narrator.status("opened everything again"),
        Event::Reloaded(Err(error)) => {
            narrator.warning(format!("what was served before is still served: {error}"));
        }
        Event::Draining { requests: 0 } => narrator.status("shutting down"),
        Event::Draining { requests } => narrator.status(format!(
            "shutting down: {} under way, for up to {drain_seconds} s; a second signal ends it at once",
            counted(requests, "request")
        )),
    };
    Ok(server.run(Signals::of_system(), Duration::from_secs(drain_seconds), on_event)?)
}

impl ServeArgs {
    /// Refuses wrong usage before anything is opened.
    fn check(&self) -> Result<(), UsageError> {
        self.check_unused()?;
        let compute = &self.model_args.compute;
        compute.check()?;
        if self.systems.has_dense() {
            // Stores are searched by Toller's own kernels, whatever computes the model.
            device::check(compute.device)?;
        }
        self.systems.check(self.model.is_some(), self.reranker.is_some())
    }

    /// Whether a model encodes: that of --model, or that of --dense.
    fn encodes(&self) -> bool {
        self.model.is_some() || self.systems.has_dense()
    }

    /// Refuses flags of models that are not served. Stores are searched on --device without a model, too.
    fn check_unused(&self) -> Result<(), UsageError> {
        if !self.served_model_name.is_empty() && !self.encodes() && self.reranker.is_none() {
            let message = "--served-model-name is for a model, and none is served";
            return Err(UsageError::new(message, "give --model or --reranker, or leave it out"));
        }
        let ModelArgs { compute, .. } = &self.model_args;
        let [of_encoder @ .., max_length] = self.model_args.flags();
        let compute = compute.flags().into_iter().filter(|(flag, _)| *flag != "--device");
        let compute = compute.filter(|_| !self.systems.has_sparse_model());
        let of_both = compute.chain([max_length]).filter(|_| self.reranker.is_none());
        let role = ("--role", self.role.is_some());
        let unused = of_encoder.into_iter().chain([role]).chain(of_both);
        match first_given(unused.filter(|_| !self.encodes())) {
            None => Ok(()),
            Some(flag) => Err(UsageError::new(
                format!("{flag} is for a model that encodes, and none is served"),
                format!("give --model or --dense, or leave {flag} out"),
            )),
        }
    }
}

/// The address of a name or of an address; of several, the first of IPv4, which most clients try.
fn address(host: &str, port: u16) -> Result<SocketAddr, Remedied> {
    let failed = |reason: String| {
        let remedy = "give an address or a name of this machine, such as 127.0.0.1 or localhost";
        Remedied::new(format!("--host {host}: {reason}"), remedy)
    };
    let found: Vec<SocketAddr> =
        (host, port).to_socket_addrs().map_err(|error| failed(error.to_string()))?.collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| failed("no address has this name".to_owned()))
}

/// A model with its names: those of the user, and that on the command line, or the last part of a directory.
/// Clients learn nothing of where files are.
fn named<M>(name: &str, more: &[String], model: M) -> Named<M> {
    let last = last_part(name);
    let mut names = more.to_vec();
    names.push(last.to_owned());
    if last != name && !Path::new(name).is_dir() {
        names.push(name.to_owned());
    }
    Named { names, model }
}

//! What the handlers share.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};
use std::time::Instant;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use toller_encoder::CrossEncoder;
use toller_engine::{Encoder, Engine, Role};
use toller_ir::AnyError;

use crate::ServerError;
use crate::collection::{Collection, Systems};
use crate::embedder::Embedder;
use crate::failure::{Failure, Reason};
use crate::keys::Keys;
use crate::limits::Limits;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::scorer::Scorer;
use crate::tei_metrics::TeiMetrics;
use crate::tls::Tls;

/// Opens what is searched; called again for a reload.
pub type OpenSystems = Box<dyn Fn() -> Result<Systems, AnyError> + Send + Sync>;

/// A model with the names that clients may use for it. The first name is the one in answers.
pub struct Named<M> {
    /// The names.
    pub names: Vec<String>,
    /// The model.
    pub model: M,
}

/// What is served, and how.
pub struct Service {
    /// Computes.
    pub engine: Arc<Engine>,
    /// Makes vectors of texts.
    pub encoder: Option<Named<Encoder>>,
    /// The role of texts whose request does not say it.
    pub role: Role,
    /// Scores pairs of texts.
    pub reranker: Option<Named<Arc<CrossEncoder>>>,
    /// Opens what is searched.
    pub systems: Option<OpenSystems>,
    /// Who may ask; `None` for everybody.
    pub keys: Option<Keys>,
    /// How connections are encrypted; `None` for plain HTTP.
    pub tls: Option<Tls>,
    /// Whether metrics need a key, too.
    pub protect_metrics: bool,
    /// Whether there are TEI's metrics, too.
    pub tei_metrics: bool,
    /// How much a client may ask for.
    pub limits: Limits,
    /// Where requests are logged.
    pub log: Log,
}

/// What the handlers share.
pub(crate) struct App {
    engine: Arc<Engine>,
    embedder: Option<Named<Arc<Embedder>>>,
    scorer: Option<Named<Arc<Scorer>>>,
    open: Option<OpenSystems>,
    collection: RwLock<Option<Arc<Collection>>>,
    reloading: Mutex<()>,
    /// Has a permit for each token that may be inspected at a time.
    inspecting: Arc<Semaphore>,
    pub(crate) keys: Option<Keys>,
    /// Whether only names of this machine are answered to: nothing else keeps pages of other sites out.
    pub(crate) only_local_names: bool,
    pub(crate) tls: Option<Tls>,
    pub(crate) protect_metrics: bool,
    pub(crate) tei_metrics: Option<TeiMetrics>,
    pub(crate) limits: Limits,
    pub(crate) log: Log,
    pub(crate) metrics: Metrics,
    pub(crate) phase: Phase,
}

impl App {
    /// Opens what is searched, and starts the queues. `is_local` says that only this machine can connect.
    pub(crate) fn start(service: Service, is_local: bool) -> Result<Arc<Self>, ServerError> {
        let Service {
            engine,
            encoder,
            role,
            reranker,
            systems,
            keys,
            tls,
            protect_metrics,
            tei_metrics,
            limits,
            log,
        } = service;
        let metrics = Metrics::new();
        let embedder = encoder.map(|Named { names, model }| {
            let embedder = Embedder::start(model, role, engine.threads(), &limits, &metrics)?;
            Ok::<_, ServerError>(Named { names, model: Arc::new(embedder) })
        });
        let scorer = reranker.map(|Named { names, model }| {
            let scorer = Scorer::start(engine.clone(), model, &limits, &metrics)?;
            Ok::<_, ServerError>(Named { names, model: Arc::new(scorer) })
        });
        let app = Self {
            embedder: embedder.transpose()?,
            scorer: scorer.transpose()?,
            collection: RwLock::new(None),
            reloading: Mutex::default(),
            inspecting: Arc::new(Semaphore::new(most_inspected(&limits) as usize)),
            phase: Phase::default(),
            open: systems,
            engine,
            only_local_names: is_local && keys.is_none(),
            keys,
            tls,
            protect_metrics,
            tei_metrics: tei_metrics.then(TeiMetrics::new),
            limits,
            log,
            metrics,
        };
        app.open()?;
        Ok(Arc::new(app))
    }

    /// Opens what is searched, and serves it from now on. Requests that are under way keep what they have.
    fn open(&self) -> Result<(), ServerError> {
        let Some(open) = &self.open else { return Ok(()) };
        let collection = Collection::start(open()?, &self.engine, &self.limits, &self.metrics)?;
        let before =
            self.collection.write().unwrap_or_else(PoisonError::into_inner).replace(collection.into());
        drop(before);
        Ok(())
    }

    /// Opens what is searched again. If that fails, what was served before stays.
    pub(crate) fn reload(&self) -> Result<(), Failure> {
        if self.open.is_none() {
            return Err(Failure::new(Reason::NotServed, "the server has nothing to search"));
        }
        let _reloading = match self.reloading.try_lock() {
            Ok(guard) => guard,
            // A reload panicked. What was served before is served still.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::overloaded("a reload is under way", std::time::Duration::ZERO));
            }
        };
        toller_files::forget_objects();
        let opened = self.open();
        self.metrics.reloaded(opened.is_ok());
        opened.map_err(|error| Failure::of(Reason::Backend, &error))
    }

    /// The name of a GPU that only a new process can use again.
    pub(crate) fn lost_device(&self) -> Option<String> {
        self.engine.lost_device()
    }

    pub(crate) fn embedder(&self) -> Result<&Arc<Embedder>, Failure> {
        let without = || Failure::new(Reason::NotServed, "the server has no model that makes vectors");
        Ok(&self.embedder.as_ref().ok_or_else(without)?.model)
    }

    pub(crate) fn scorer(&self) -> Result<&Arc<Scorer>, Failure> {
        let without = || Failure::new(Reason::NotServed, "the server has no reranker");
        Ok(&self.scorer.as_ref().ok_or_else(without)?.model)
    }

    pub(crate) fn collection(&self) -> Result<Arc<Collection>, Failure> {
        let collection = self.collection.read().unwrap_or_else(PoisonError::into_inner).clone();
        collection.ok_or_else(|| Failure::new(Reason::NotServed, "the server has nothing to search"))
    }

    /// All names of the embedding model and of the reranker.
    fn names(&self) -> [&[String]; 2] {
        let embedder = self.embedder.as_ref().map(|named| named.names.as_slice());
        let scorer = self.scorer.as_ref().map(|named| named.names.as_slice());
        [embedder, scorer].map(Option::unwrap_or_default)
    }

    /// The names of the embedding model and of the reranker, as answers have them.
    pub(crate) fn model_names(&self) -> [Option<&str>; 2] {
        self.names().map(|names| names.first().map(String::as_str))
    }

    /// Every name that a request may give.
    pub(crate) fn served_names(&self) -> impl Iterator<Item = &str> {
        let [of_embedder, of_scorer] = self.names();
        let others = of_scorer.iter().filter(|name| !of_embedder.contains(name));
        of_embedder.iter().chain(others).map(String::as_str)
    }

    /// The name of the embedding model in answers. An error if a request names another model.
    pub(crate) fn embedder_named(&self, asked: Option<&str>) -> Result<(&Arc<Embedder>, &str), Failure> {
        self.embedder()?;
        named(self.embedder.as_ref(), asked)
    }

    /// The same for the reranker.
    pub(crate) fn scorer_named(&self, asked: Option<&str>) -> Result<(&Arc<Scorer>, &str), Failure> {
        self.scorer()?;
        named(self.scorer.as_ref(), asked)
    }

    /// Waits until the tokens of texts of this many bytes may be in memory, which takes many times their
    /// size. Texts above the limit wait until no others are there.
    pub(crate) async fn inspecting(
        &self,
        bytes: usize,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, Failure> {
        let most = most_inspected(&self.limits);
        let permits = u32::try_from(bytes).unwrap_or(most).min(most);
        let permit = self.inspecting.clone().acquire_many_owned(permits);
        let late = || Failure::new(Reason::Timeout, "the deadline passed before the texts were tokenized");
        match tokio::time::timeout_at(deadline.into(), permit).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(late()),
        }
    }

    /// An error for too many texts, or none.
    pub(crate) fn check_count(&self, field: &str, count: usize) -> Result<(), Failure> {
        let most = self.limits.texts;
        match count {
            0 => Err(Failure::new(Reason::Empty, format!("`{field}` is empty"))),
            _ if count > most => {
                Err(Failure::invalid(format!("`{field}` has {count} entries; a request may have {most}")))
            }
            _ => Ok(()),
        }
    }
}

/// Tokens that may be inspected at a time.
fn most_inspected(limits: &Limits) -> u32 {
    u32::try_from(limits.queued_tokens).unwrap_or(u32::MAX >> 3)
}

fn named<'a, M>(model: Option<&'a Named<M>>, asked: Option<&str>) -> Result<(&'a M, &'a str), Failure> {
    let names = model.map(|named| named.names.as_slice()).unwrap_or_default();
    match (model, asked) {
        (Some(found), None) => Ok((&found.model, names.first().map_or("", String::as_str))),
        (Some(found), Some(asked)) if names.iter().any(|name| name == asked) => {
            Ok((&found.model, names.first().map_or("", String::as_str)))
        }
        (_, asked) => {
            let (asked, names) = (asked.unwrap_or_default(), names.join(", "));
            let message = format!("there is no model {asked:?} here; served: {names}");
            Err(Failure::new(Reason::ModelNotFound, message))
        }
    }
}

/// Whether the server takes requests, and how many it is answering.
#[derive(Default)]
pub(crate) struct Phase {
    is_draining: AtomicBool,
    in_flight: AtomicUsize,
    left: Notify,
}

impl Phase {
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }

    pub(crate) fn drain(&self) {
        self.is_draining.store(true, Ordering::SeqCst);
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    /// Waits until no request is being answered.
    pub(crate) async fn until_idle(&self) {
        loop {
            let left = self.left.notified();
            if self.in_flight() == 0 {
                return;
            }
            left.await;
        }
    }
}

/// A request that is being answered, until the answer is sent. Clients that hang up end it, too.
pub(crate) struct InFlight(Arc<App>);

impl InFlight {
    pub(crate) fn enter(app: &Arc<App>) -> Self {
        app.phase.in_flight.fetch_add(1, Ordering::SeqCst);
        app.metrics.in_flight.increment(1.0);
        Self(app.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.metrics.in_flight.decrement(1.0);
        if self.0.phase.in_flight.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.phase.left.notify_waiters();
        }
    }
}

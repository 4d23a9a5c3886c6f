//! Connections: accepting, limiting, draining.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::{App, Service};
use crate::routes::router;
use crate::sending::Patient;
use crate::signals::{Signal, Signals};
use crate::texts::blocking;
use crate::upkeep::keep_up;
use crate::{Limits, ServerError};

/// Threads that read and write requests. Computing has its own.
const IO_THREADS: usize = 2;

/// Threads for work that holds others up: tokenizing many texts, reading documents, reloading.
const BLOCKING_THREADS: usize = 16;

/// The time for connections to end once no request is under way.
const GOODBYE: Duration = Duration::from_secs(2);

/// The time between two upkeeps.
const UPKEEP: Duration = Duration::from_secs(5);

/// The time before the next connection is accepted after the system refused one because of too many open
/// files.
const PAUSE: Duration = Duration::from_millis(50);

/// What a running server has to say.
#[derive(Debug)]
pub enum Event {
    /// The collection was opened again because a signal asked for it, or could not be.
    Reloaded(Result<(), String>),
    /// The server was asked to end, while it was answering this many requests.
    Draining {
        /// How many.
        requests: usize,
    },
}

/// A server that is ready to run.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Opens what is served, and listens. Nobody is answered before [`Server::run`].
    ///
    /// # Errors
    /// An address that cannot be listened on; what cannot be opened.
    pub fn start(address: SocketAddr, service: Service) -> Result<Self, ServerError> {
        // First what is cheap, so that a wrong port is found at once.
        let listen = |source| ServerError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        Ok(Self { app: App::start(service, address.ip().is_loopback())?, listener, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until it is asked to end. Then requests under way have `drain_time`, unless it is
    /// asked again; new ones are refused with 503 meanwhile.
    ///
    /// # Errors
    /// [`ServerError::Undrained`] if the time was too short, [`ServerError::Stopped`] if it was asked again;
    /// what the system refuses.
    pub fn run(
        self,
        mut signals: Signals,
        drain_time: Duration,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<(), ServerError> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(IO_THREADS).max_blocking_threads(BLOCKING_THREADS).enable_all();
        let runtime = runtime.thread_name("toller-http").build().map_err(ServerError::Start)?;
        let app = self.app.clone();
        let ended = runtime.block_on(async move {
            signals.listen()?;
            let listener = tokio::net::TcpListener::from_std(self.listener).map_err(ServerError::Start)?;
            let connections = Arc::new(Connections::new(&self.app));
            let accepting = tokio::spawn(accept(listener, connections.clone()));
            // Ends with the runtime.
            tokio::spawn(keep_up(self.app.clone(), UPKEEP));
            let on_event = Arc::new(on_event);
            // The loop ends at a drain, or when no control is left that could ask for one.
            while let Some(Signal::Reload) = signals.received.recv().await {
                let (app, on_event) = (self.app.clone(), on_event.clone());
                tokio::spawn(async move {
                    let reloaded = blocking(move || app.reload()).await;
                    on_event(Event::Reloaded(reloaded.map_err(|failure| failure.message)));
                });
            }
            let phase = &self.app.phase;
            phase.drain();
            on_event(Event::Draining { requests: phase.in_flight() });
            let drained = tokio::select! {
                biased;
                () = phase.until_idle() => Ok(()),
                () = signals.asked_to_end() => Err(ServerError::Stopped { requests: phase.in_flight() }),
                () = tokio::time::sleep(drain_time) => {
                    Err(ServerError::Undrained { requests: phase.in_flight() })
                }
            };
            accepting.abort();
            // The task ends when it next waits; then this is the last owner.
            let _ = accepting.await;
            if let Some(connections) = Arc::into_inner(connections) {
                let goodbye = if drained.is_ok() { GOODBYE } else { Duration::ZERO };
                let _ = tokio::time::timeout(goodbye, connections.graceful.shutdown()).await;
            }
            drained
        });
        runtime.shutdown_timeout(Duration::from_millis(100));
        drop(app);
        ended
    }
}

/// What every connection needs.
struct Connections {
    app: Arc<App>,
    router: Router,
    room: Arc<Semaphore>,
    graceful: GracefulShutdown,
}

impl Connections {
    fn new(app: &Arc<App>) -> Self {
        Self {
            router: router(app),
            room: Arc::new(Semaphore::new(app.limits.connections)),
            graceful: GracefulShutdown::new(),
            app: app.clone(),
        }
    }

    fn serve(&self, stream: TcpStream, room: OwnedSemaphorePermit) {
        let Limits { head_timeout, write_timeout, .. } = self.app.limits;
        // Small answers are not held back to be sent together. A stream without the option works as well.
        let _ = stream.set_nodelay(true);
        let (app, router, watcher) = (self.app.clone(), self.router.clone(), self.graceful.watcher());
        tokio::spawn(async move {
            app.metrics.connections.increment(1.0);
            match &app.tls {
                None => speak(Patient::new(stream, write_timeout), router, watcher, head_timeout).await,
                Some(tls) => {
                    if let Some(stream) = tls.accept(stream, head_timeout).await {
                        speak(Patient::new(stream, write_timeout), router, watcher, head_timeout).await;
                    }
                }
            }
            app.metrics.connections.decrement(1.0);
            drop(room);
        });
    }
}

/// Answers the requests of a connection until its end.
async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    watcher: Watcher,
    head_timeout: Duration,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // What is wrong with a connection is the client's affair.
    let _ = watcher.watch(connection).await;
}

/// Accepts connections while there is room.
async fn accept(listener: tokio::net::TcpListener, connections: Arc<Connections>) {
    loop {
        let Ok(room) = connections.room.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => connections.serve(stream, room),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

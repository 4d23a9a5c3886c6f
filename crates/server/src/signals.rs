//! Requests to a running server: reload, drain.

#[cfg(unix)]
use std::sync::{Arc, OnceLock};
#[cfg(unix)]
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::ServerError;

/// A request to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Open the collection again.
    Reload,
    /// Answer what is under way, and end.
    Drain,
}

/// Where a server receives requests to reload and to drain.
pub struct Signals {
    pub(crate) received: UnboundedReceiver<Signal>,
    from_system: Option<Control>,
}

/// Asks a server to reload or to drain.
#[derive(Clone)]
pub struct Control(UnboundedSender<Signal>);

impl Control {
    /// Opens the collection again. Requests go on.
    pub fn reload(&self) {
        // A server that has ended receives nothing.
        let _ = self.0.send(Signal::Reload);
    }

    /// Answers what is under way, and ends. The second time, ends at once.
    pub fn drain(&self) {
        let _ = self.0.send(Signal::Drain);
    }
}

/// How long requests of the system to end count as one.
#[cfg(unix)]
const AS_ONE: Duration = Duration::from_secs(1);

/// Whether a request to end repeats the first one, which this may be.
#[cfg(unix)]
fn is_echo(first: &OnceLock<Instant>) -> bool {
    first.set(Instant::now()).is_err() && first.get().is_some_and(|first| first.elapsed() < AS_ONE)
}

impl Signals {
    /// The control of a server, and its other end.
    #[must_use]
    pub fn controlled() -> (Control, Self) {
        let (sender, received) = unbounded_channel();
        (Control(sender), Self { received, from_system: None })
    }

    /// Those of the system: SIGTERM and Ctrl-C drain, and stop at the second time; SIGHUP reloads. What comes
    /// within a second of the first repeats it: `timeout` signals its child and the group.
    #[must_use]
    pub fn of_system() -> Self {
        let (control, signals) = Self::controlled();
        Self { from_system: Some(control), ..signals }
    }

    /// Waits until something asks for the end; for ever when no control is left that could.
    pub(crate) async fn asked_to_end(&mut self) {
        loop {
            match self.received.recv().await {
                Some(Signal::Drain) => return,
                Some(Signal::Reload) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Begins to listen to the system, inside the server's runtime.
    #[cfg(unix)]
    pub(crate) fn listen(&mut self) -> Result<(), ServerError> {
        use tokio::signal::unix::{SignalKind, signal};

        let Some(Control(sender)) = self.from_system.take() else { return Ok(()) };
        let first = Arc::new(OnceLock::new());
        let kinds = [
            (SignalKind::terminate(), Signal::Drain),
            (SignalKind::interrupt(), Signal::Drain),
            (SignalKind::hangup(), Signal::Reload),
        ];
        for (kind, request) in kinds {
            let mut signals = signal(kind).map_err(ServerError::Start)?;
            let (sender, first) = (sender.clone(), first.clone());
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    if request == Signal::Reload || !is_echo(&first) {
                        let _ = sender.send(request);
                    }
                }
            });
        }
        Ok(())
    }

    /// Begins to listen to the system, inside the server's runtime.
    #[cfg(not(unix))]
    pub(crate) fn listen(&mut self) -> Result<(), ServerError> {
        let Some(Control(sender)) = self.from_system.take() else { return Ok(()) };
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                let _ = sender.send(Signal::Drain);
            }
        });
        Ok(())
    }
}

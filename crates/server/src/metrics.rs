//! What is counted, for Prometheus.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, Recorder, SharedString, Unit};

use crate::registry::{Registry, labelled};

/// Upper ends of the buckets of times, in seconds.
const SECONDS: [f64; 16] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// Upper ends of the buckets of other numbers.
const COUNTS: [f64; 10] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0];

/// A metric: its name, what it counts.
struct Described(&'static str, &'static str);

const REQUESTS: Described = Described("toller_requests_total", "Requests by route, method and status.");
const REQUEST_SECONDS: Described =
    Described("toller_request_seconds", "From the head of a request to its answer.");
const IN_FLIGHT: Described =
    Described("toller_requests_in_flight", "Requests whose answers are not sent yet.");
const CONNECTIONS: Described = Described("toller_connections", "Open connections.");
const TEXTS: Described =
    Described("toller_texts_total", "Texts or pairs that a model was given, except by searches.");
const TOKENS: Described =
    Described("toller_tokens_total", "Tokens that a model was given, except by searches.");
const WAITING: Described =
    Described("toller_queue_waiting", "Tokens or queries that wait or are being computed.");
const REFUSED: Described = Described("toller_queue_refused_total", "Requests that had no room in a queue.");
const ABANDONED: Described =
    Described("toller_queue_abandoned_total", "Requests whose client left, or whose deadline passed.");
const BATCH_ITEMS: Described = Described("toller_batch_items", "Texts, pairs or queries of a batch.");
const BATCH_COST: Described = Described("toller_batch_cost", "Tokens or queries of a batch.");
const BATCH_SECONDS: Described = Described("toller_batch_seconds", "Time to compute a batch.");
const RELOADS: Described = Described("toller_reloads_total", "Reloads of the collection, by result.");

/// The metrics of a server.
pub(crate) struct Metrics {
    pub(crate) registry: Registry,
    pub(crate) in_flight: Gauge,
    pub(crate) connections: Gauge,
}

/// The metrics of a queue.
pub(crate) struct QueueMetrics {
    pub(crate) waiting: Gauge,
    pub(crate) refused: Counter,
    pub(crate) abandoned: Counter,
    pub(crate) batch_items: Histogram,
    pub(crate) batch_cost: Histogram,
    pub(crate) batch_seconds: Histogram,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let registry = Registry::new(&[("_seconds", &SECONDS), ("", &COUNTS)]);
        let recorder = registry.recorder();
        for Described(name, about) in [REQUESTS, TEXTS, TOKENS, REFUSED, ABANDONED, RELOADS] {
            recorder.describe_counter(name.into(), Some(Unit::Count), about.into());
        }
        for Described(name, about) in [IN_FLIGHT, CONNECTIONS, WAITING] {
            recorder.describe_gauge(name.into(), None, about.into());
        }
        for Described(name, about) in [REQUEST_SECONDS, BATCH_ITEMS, BATCH_COST, BATCH_SECONDS] {
            recorder.describe_histogram(name.into(), None, about.into());
        }
        let gauge = |metric: Described| registry.gauge(&Key::from_name(metric.0));
        let (in_flight, connections) = (gauge(IN_FLIGHT), gauge(CONNECTIONS));
        Self { registry, in_flight, connections }
    }

    /// The metrics of a queue of this name.
    pub(crate) fn queue(&self, queue: &'static str) -> QueueMetrics {
        let registry = &self.registry;
        let key = |metric: Described| of(metric, [("queue", queue.into())]);
        QueueMetrics {
            waiting: registry.gauge(&key(WAITING)),
            refused: registry.counter(&key(REFUSED)),
            abandoned: registry.counter(&key(ABANDONED)),
            batch_items: registry.histogram(&key(BATCH_ITEMS)),
            batch_cost: registry.histogram(&key(BATCH_COST)),
            batch_seconds: registry.histogram(&key(BATCH_SECONDS)),
        }
    }

    /// Counts an answered request.
    pub(crate) fn answered(&self, route: &str, method: &'static str, status: u16, time: Duration) {
        let route: SharedString = route.to_owned().into();
        let labels =
            [("route", route.clone()), ("method", method.into()), ("status", status.to_string().into())];
        self.registry.counter(&of(REQUESTS, labels)).increment(1);
        let key = of(REQUEST_SECONDS, [("route", route)]);
        self.registry.histogram(&key).record(time.as_secs_f64());
    }

    /// Counts what a model was given.
    pub(crate) fn given(&self, model: &'static str, texts: usize, tokens: usize) {
        for (metric, count) in [(TEXTS, texts), (TOKENS, tokens)] {
            let key = of(metric, [("model", model.into())]);
            self.registry.counter(&key).increment(count as u64);
        }
    }

    /// Counts a reload.
    pub(crate) fn reloaded(&self, is_done: bool) {
        let result = if is_done { "done" } else { "failed" };
        self.registry.counter(&of(RELOADS, [("result", result.into())])).increment(1);
    }
}

fn of<const N: usize>(metric: Described, labels: [(&'static str, SharedString); N]) -> Key {
    labelled(metric.0, labels)
}

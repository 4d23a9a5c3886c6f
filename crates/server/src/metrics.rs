//! What is counted, for Prometheus. The recorder belongs to a server: nothing is global.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder, SharedString, Unit};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

/// Upper ends of the buckets of times, in seconds.
const SECONDS: [f64; 16] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// Upper ends of the buckets of other numbers.
const COUNTS: [f64; 10] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0];

const METADATA: Metadata<'static> = Metadata::new("toller_server", Level::INFO, None);

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
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
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
        // Neither list of buckets is empty, which is all that can be wrong with one.
        let builder = PrometheusBuilder::new();
        let builder = match builder.set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS) {
            Ok(builder) => builder.set_buckets(&COUNTS),
            Err(error) => Err(error),
        };
        let recorder = builder.unwrap_or_default().build_recorder();
        for Described(name, about) in [REQUESTS, TEXTS, TOKENS, REFUSED, ABANDONED, RELOADS] {
            recorder.describe_counter(name.into(), Some(Unit::Count), about.into());
        }
        for Described(name, about) in [IN_FLIGHT, CONNECTIONS, WAITING] {
            recorder.describe_gauge(name.into(), None, about.into());
        }
        for Described(name, about) in [REQUEST_SECONDS, BATCH_ITEMS, BATCH_COST, BATCH_SECONDS] {
            recorder.describe_histogram(name.into(), None, about.into());
        }
        let gauge = |metric: Described| recorder.register_gauge(&Key::from_name(metric.0), &METADATA);
        let (in_flight, connections) = (gauge(IN_FLIGHT), gauge(CONNECTIONS));
        Self { handle: recorder.handle(), recorder, in_flight, connections }
    }

    /// The metrics of a queue of this name.
    pub(crate) fn queue(&self, queue: &'static str) -> QueueMetrics {
        let recorder = &self.recorder;
        let key = |metric: Described| of(metric, [("queue", queue.into())]);
        QueueMetrics {
            waiting: recorder.register_gauge(&key(WAITING), &METADATA),
            refused: recorder.register_counter(&key(REFUSED), &METADATA),
            abandoned: recorder.register_counter(&key(ABANDONED), &METADATA),
            batch_items: recorder.register_histogram(&key(BATCH_ITEMS), &METADATA),
            batch_cost: recorder.register_histogram(&key(BATCH_COST), &METADATA),
            batch_seconds: recorder.register_histogram(&key(BATCH_SECONDS), &METADATA),
        }
    }

    /// Counts an answered request.
    pub(crate) fn answered(&self, route: &str, method: &'static str, status: u16, time: Duration) {
        let route: SharedString = route.to_owned().into();
        let labels =
            [("route", route.clone()), ("method", method.into()), ("status", status.to_string().into())];
        self.recorder.register_counter(&of(REQUESTS, labels), &METADATA).increment(1);
        let key = of(REQUEST_SECONDS, [("route", route)]);
        self.recorder.register_histogram(&key, &METADATA).record(time.as_secs_f64());
    }

    /// Counts what a model was given.
    pub(crate) fn given(&self, model: &'static str, texts: usize, tokens: usize) {
        for (metric, count) in [(TEXTS, texts), (TOKENS, tokens)] {
            let key = of(metric, [("model", model.into())]);
            self.recorder.register_counter(&key, &METADATA).increment(count as u64);
        }
    }

    /// Counts a reload.
    pub(crate) fn reloaded(&self, is_done: bool) {
        let result = if is_done { "done" } else { "failed" };
        self.recorder.register_counter(&of(RELOADS, [("result", result.into())]), &METADATA).increment(1);
    }

    /// All metrics, as Prometheus reads them.
    pub(crate) fn render(&self) -> String {
        self.handle.render()
    }

    /// Adds up the samples of histograms, which take memory one by one until then. Reading does it, too.
    pub(crate) fn upkeep(&self) {
        self.handle.run_upkeep();
    }
}

fn of<const N: usize>(metric: Described, labels: [(&'static str, SharedString); N]) -> Key {
    let labels = labels.map(|(name, value)| Label::new(name, value));
    Key::from_parts(metric.0, labels.to_vec())
}

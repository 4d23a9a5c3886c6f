//! The metrics of text-embeddings-inference by its names, for dashboards that were made for it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use metrics::Key;

use crate::app::App;
use crate::failure::{Failure, Reason};
use crate::registry::{Registry, labelled};

/// What a request on TEI's routes took. Its response carries this to the metrics.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    /// TEI's word for the kind of model: `embed` or `predict`.
    pub(crate) kind: &'static str,
    /// Tokens of each text.
    pub(crate) lengths: Vec<usize>,
    pub(crate) total: Duration,
    pub(crate) tokenization: Duration,
    pub(crate) queue: Duration,
    pub(crate) inference: Duration,
}

/// The metrics.
pub(crate) struct TeiMetrics {
    pub(crate) registry: Registry,
}

impl TeiMetrics {
    pub(crate) fn new() -> Self {
        // TEI's own buckets.
        let durations: Vec<f64> = (0..35).map(|power| 1e-5 * 1.5_f64.powi(power)).collect();
        let lengths: Vec<f64> = (0..20).map(|power| 2_f64.powi(power)).collect();
        Self { registry: Registry::new(&[("_duration", &durations), ("_length", &lengths)]) }
    }

    fn count(&self, name: String, label: Option<(&'static str, &'static str)>, by: usize) {
        let labels = label.into_iter().map(|(name, value)| (name, value.into()));
        self.registry.counter(&labelled(name, labels)).increment(by as u64);
    }

    fn record(&self, name: String, value: f64) {
        self.registry.histogram(&Key::from_name(name)).record(value);
    }

    pub(crate) fn answered(&self, answered: &Answered) {
        let Answered { kind, lengths, total, tokenization, queue, inference } = answered;
        let method = ("method", if lengths.len() == 1 { "single" } else { "batch" });
        self.count("te_request_count".to_owned(), Some(method), 1);
        self.count("te_request_success".to_owned(), Some(method), 1);
        self.count(format!("te_{kind}_count"), None, lengths.len());
        self.count(format!("te_{kind}_success"), None, lengths.len());
        for of in ["request", *kind] {
            self.record(format!("te_{of}_duration"), total.as_secs_f64());
            for (stage, time) in [("tokenization", tokenization), ("queue", queue), ("inference", inference)]
            {
                self.record(format!("te_{of}_{stage}_duration"), time.as_secs_f64());
            }
        }
        for length in lengths {
            self.record("te_request_input_length".to_owned(), *length as f64);
        }
    }

    fn failed(&self, reason: Reason) {
        let error = match reason {
            Reason::Overloaded => "overloaded",
            Reason::NotServed => "model_type",
            Reason::Backend => "inference",
            Reason::Timeout => "dropped",
            _ => "validation",
        };
        // How many texts there were is not known of every failure.
        self.count("te_request_count".to_owned(), Some(("method", "single")), 1);
        self.count("te_request_failure".to_owned(), Some(("err", error)), 1);
    }
}

/// Counts a response of a route whose requests a model computes.
pub(crate) async fn observe(State(app): State<Arc<App>>, response: Response) -> Response {
    if let Some(metrics) = &app.tei_metrics {
        if let Some(answered) = response.extensions().get::<Answered>() {
            metrics.answered(answered);
        } else if let Some(failure) = response.extensions().get::<Failure>() {
            metrics.failed(failure.reason);
        }
    }
    response
}

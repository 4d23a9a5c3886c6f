//! Metrics of a server of its own: nothing is global.

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder, SharedString};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

const METADATA: Metadata<'static> = Metadata::new("toller_server", Level::INFO, None);

/// Metrics by their names and labels.
pub(crate) struct Registry {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
}

impl Registry {
    /// Without metrics. A histogram has the upper ends of buckets of the first suffix that its name has; an
    /// empty suffix is for all names.
    pub(crate) fn new(buckets: &[(&str, &[f64])]) -> Self {
        let with_buckets = |builder: PrometheusBuilder, (suffix, ends): &(&str, &[f64])| match *suffix {
            "" => builder.set_buckets(ends),
            suffix => builder.set_buckets_for_metric(Matcher::Suffix(suffix.to_owned()), ends),
        };
        // No list of buckets is empty, which is all that can be wrong with one.
        let builder = buckets.iter().try_fold(PrometheusBuilder::new(), with_buckets).unwrap_or_default();
        let recorder = builder.build_recorder();
        Self { handle: recorder.handle(), recorder }
    }

    /// What describes metrics.
    pub(crate) fn recorder(&self) -> &PrometheusRecorder {
        &self.recorder
    }

    pub(crate) fn counter(&self, key: &Key) -> Counter {
        self.recorder.register_counter(key, &METADATA)
    }

    pub(crate) fn gauge(&self, key: &Key) -> Gauge {
        self.recorder.register_gauge(key, &METADATA)
    }

    pub(crate) fn histogram(&self, key: &Key) -> Histogram {
        self.recorder.register_histogram(key, &METADATA)
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

/// A metric with labels.
pub(crate) fn labelled(
    name: impl Into<SharedString>,
    labels: impl IntoIterator<Item = (&'static str, SharedString)>,
) -> Key {
    let labels = labels.into_iter().map(|(name, value)| Label::new(name, value));
    Key::from_parts(name.into(), labels.collect::<Vec<_>>())
}

//! What a server does now and then, asked or not.

use std::sync::Arc;
use std::time::Duration;

use crate::app::App;

/// Adds up the samples of all histograms now and then: nobody has to read the metrics for it. Never ends.
pub(crate) async fn keep_up(app: Arc<App>, every: Duration) {
    let mut times = tokio::time::interval(every);
    loop {
        times.tick().await;
        app.metrics.registry.upkeep();
        if let Some(metrics) = &app.tei_metrics {
            metrics.registry.upkeep();
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use toller_engine::{Engine, Role};

    use super::keep_up;
    use crate::app::{App, Service};
    use crate::{Limits, Log};

    /// Megabytes of this process that are not mapped files.
    fn memory() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1000
    }

    #[test]
    fn unread_metrics_take_no_memory() {
        let service = Service {
            engine: Arc::new(Engine::builder().threads(1).build().unwrap()),
            encoder: None,
            role: Role::Passage,
            reranker: None,
            systems: None,
            keys: None,
            tls: None,
            protect_metrics: false,
            tei_metrics: true,
            limits: Limits::default(),
            log: Log::none(),
        };
        let app = App::start(service, true).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build();
        let runtime = runtime.unwrap();
        runtime.spawn(keep_up(app.clone(), Duration::from_millis(1)));
        let before = memory();
        let answered = crate::tei_metrics::Answered {
            kind: "embed",
            lengths: vec![9; 2000],
            total: Duration::from_millis(1),
            tokenization: Duration::ZERO,
            queue: Duration::ZERO,
            inference: Duration::ZERO,
        };
        // Four million samples of 24 bytes.
        for _ in 0..1000 {
            for _ in 0..2000 {
                app.metrics.answered("/embed", "POST", 200, Duration::from_millis(1));
            }
            app.tei_metrics.as_ref().unwrap().answered(&answered);
        }
        let grown = memory().saturating_sub(before);
        assert!(grown < 40, "{grown} MB more");
    }
}

//! Model resolution against a stand-in hub on this machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod adapter;
mod failures;
mod hub;
mod known;
mod names;
mod public;
pub(crate) mod stand_in;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use crate::{ModelSource, ResolveError, ResolveEvent, ResolveOptions, resolve_model};

/// Options that use nothing outside `folder` and ask only `endpoint`.
pub(crate) fn options(folder: &Path, endpoint: &str) -> ResolveOptions {
    ResolveOptions {
        endpoint: endpoint.to_owned(),
        hub_cache: folder.join("hub"),
        toller_cache: folder.join("toller"),
        token: None,
        offline: false,
        proxy: None,
        ca_file: None,
        answer_timeout: Duration::from_secs(5),
        stall_timeout: Duration::from_secs(5),
        retry_wait: Duration::from_millis(200),
    }
}

/// The result of a resolution, and its events as text.
fn resolve(name: &str, options: &ResolveOptions) -> (Result<ModelSource, ResolveError>, Vec<String>) {
    let mut events = Vec::new();
    let result = resolve_model(name, options, &mut |event| {
        events.push(match event {
            ResolveEvent::Waiting { file } => format!("wait {file}"),
            ResolveEvent::Started { file, total_bytes } => {
                format!("start {file} {}", total_bytes.unwrap_or_default())
            }
            ResolveEvent::Advanced { file, done_bytes } => format!("advance {file} {done_bytes}"),
            ResolveEvent::Finished { file } => format!("finish {file}"),
            ResolveEvent::Unconfirmed { reason } => format!("unconfirmed {reason}"),
        });
        ControlFlow::Continue(())
    });
    (result, events)
}

/// Every file and link below a folder, as paths relative to it, sorted.
fn tree(folder: &Path) -> Vec<String> {
    toller_testing::files(folder).unwrap_or_default().into_keys().collect()
}

//! Tests of whole gradients and of whole runs.

mod prefix;
mod reference;

#[cfg(feature = "candle")]
mod candle;
mod dev;
#[cfg(feature = "candle")]
mod devices;
mod gradient;
mod refused;
mod run;
mod saved;
mod tokens;
mod torch;

use std::path::PathBuf;

/// A model to train: that of the shared data, or else one of the repository that is like it.
fn model(name: &str) -> Option<PathBuf> {
    let shared = format!("golden/{name}");
    match name {
        "bert-mean" if !toller_testing::shared_path(&shared).exists() => {
            Some(toller_testing::repository("tests/fixtures/tiny-bert"))
        }
        _ => toller_testing::shared(&shared),
    }
}

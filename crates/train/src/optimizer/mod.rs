//! From gradients to new parameters.

mod rule;
mod schedule;

pub use rule::{Moments, Optimizer, Rule, global_norm};
pub use schedule::{Schedule, Warmup};

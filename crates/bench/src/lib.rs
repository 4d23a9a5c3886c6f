//! Measuring: how fast this machine could be, how fast Toller is on it, and where the rest goes.
//!
//! A figure says something only next to its floor. [`limits`] measures what the machine allows: the rate at
//! which all threads read memory, and at which they multiply matrices in f32. [`search`], [`sparse`],
//! [`encode`] and [`Passes`] measure the engine in the same units, and [`figures`] draws both.

pub mod encode;
mod error;
pub mod figures;
pub mod limits;
pub mod memory;
mod passes;
pub mod search;
pub mod sparse;
mod texts;
mod timings;
mod vectors;

pub use error::BenchError;
pub use passes::{Pass, Passes};
pub use texts::Words;
pub use timings::{Budget, Timings, measure, timed};
pub use vectors::{RandomVectors, unit_vectors};

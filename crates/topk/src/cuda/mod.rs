//! The exact top-k inner product on devices: nominate in the type of the store or in int8, score in f64, as on the CPU.
//!
//! The rows of a collection are divided among the devices ([`layout`]); of its share, a device keeps what fits its memory ([`plan`]) and is
//! given the rest anew for every search, slab by slab: a thread fills one while the other is scanned ([`shard`]). Queries go in groups whose
//! candidates fit beside ([`group`], where the search itself is described). What the kernels compute is in `docs/kernels.md`; that they are
//! right about what they drop is proved in `kernels/common/bounds.cuh`.
//!
//! Cost model: few queries cost bytes / copy rate, many 2 * queries * rows * dim / matrix rate; chunks of rows that grow geometrically add two
//! short waits each, and a collection that does not fit costs its bytes / rate of the bus instead.

mod abi;
mod filters;
mod group;
mod kernels;
mod layout;
mod plan;
mod rows;
mod schedule;
mod search;
mod shard;

#[cfg(test)]
pub(crate) mod tests;

pub use self::plan::DevicePlan;
pub use self::search::DeviceSearch;

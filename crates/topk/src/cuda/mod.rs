//! The exact top-k inner product on devices: nominate in the store's type or int8, score in f64.
//!
//! The rows of a collection are divided among the devices (`layout`). A device keeps as much of its share
//! as fits its memory (`plan`) and is given the rest again for every search, slab by slab: a thread fills
//! one slab while the other is scanned (`shard`). Queries go in groups whose candidates fit in the memory
//! that is left (`group`, which describes the search itself). `docs/kernels.md` says what the kernels
//! compute; `kernels/ip_topk/bounds.cuh` proves that they drop no hit.
//!
//! Cost model: few queries cost bytes / copy rate, many cost 2 * queries * rows * dim / matrix rate. Chunks
//! of rows grow geometrically and add two short waits each. A collection that does not fit costs its bytes /
//! rate of the bus instead.

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

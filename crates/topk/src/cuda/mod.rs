//! The exact top-k inner product on devices: nominate in the store's type or int8, score in f64.
//!
//! The rows of a collection are divided among the devices (`layout`). A device keeps as much of its share
//! as fits its memory (`plan`) and is given the rest again for every search, slab by slab: threads fill
//! one slab (`upload`) while the other is scanned (`shard`). Queries go in groups whose candidates fit in
//! the memory that is left (`group`). A group is searched with guesses, without waiting (`optimistic`);
//! what a guess misjudged is searched again without (`safe`). `docs/kernels.md` says what the kernels
//! compute; `kernels/ip_topk/bounds.cuh` proves that they drop no hit.
//!
//! Cost model: few queries cost bytes / copy rate, many cost 2 * queries * rows * dim / matrix rate. A group
//! waits for the device twice, however many chunks the rows have. A collection that does not fit costs its
//! bytes / rate of the bus instead.

mod abi;
mod filters;
mod group;
mod kernels;
mod layout;
mod optimistic;
mod plan;
mod rows;
mod safe;
mod schedule;
mod search;
mod shard;
mod sizes;
mod threads;
mod upload;
mod workspace;

#[cfg(test)]
pub(crate) mod tests;

pub use self::plan::DevicePlan;
pub use self::search::DeviceSearch;

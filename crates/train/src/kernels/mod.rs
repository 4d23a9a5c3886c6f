//! The operations of a training step over sixteen lanes, forward and backward.
//!
//! Their bits depend neither on the instruction set nor on what else is in a batch: a product is one chain of
//! fused multiply-adds, and a sum over a row has sixteen lanes that are folded in halves.

pub(crate) mod activation;
pub(crate) mod attention;
pub(crate) mod linear;
pub(crate) mod norm;
pub(crate) mod product;

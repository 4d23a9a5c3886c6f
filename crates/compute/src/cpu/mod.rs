//! The operations on the CPU, over sixteen lanes.

pub(crate) mod attention;
pub(crate) mod gated_linear;
pub(crate) mod ip_topk;
pub(crate) mod layer_norm;
pub(crate) mod linear;
pub(crate) mod prefetch;
pub(crate) mod product;
pub(crate) mod quantize;
pub(crate) mod tile;
pub(crate) mod weight;

//! The operations on the CPU, over sixteen lanes.

pub(crate) mod attention;
pub(crate) mod gated_linear;
pub(crate) mod layer_norm;
pub(crate) mod linear;
pub(crate) mod weight;

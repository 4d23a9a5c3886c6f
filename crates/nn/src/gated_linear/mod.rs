//! Gated linear layers. In f64 a gated layer is two linear ones and a product.

pub(crate) mod cpu;

//! Every operation slow and obviously right, in f64: what the backends are tested against.

mod attention;
mod gated_linear;
mod layer_norm;
mod linear;
mod reduced_linear;

pub use attention::attention;
pub use gated_linear::gated_linear;
pub use layer_norm::layer_norm;
pub use linear::linear;
pub use reduced_linear::reduced_linear;

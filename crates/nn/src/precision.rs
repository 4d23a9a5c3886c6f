//! What matrix products are computed in.

use toller_ir::named;

named! {
    /// What the matrix products of a model are computed in. Sums are f32, or exact. Everything else
    /// (embeddings, layer norm, softmax, pooling) is f32.
    #[derive(Default)]
    pub enum Precision: "a dtype to compute in" {
        /// Single precision.
        #[default]
        F32 = "f32",
        /// Weights and inputs of linear layers rounded to f16, multiplied in f32: the accuracy of f16, not
        /// its speed.
        F16 = "f16",
        /// Weights and inputs of linear layers, and attention, in bf16. On every CPU the bits of the
        /// instruction VDPBF16PS.
        Bf16 = "bf16",
        /// Linear layers in bytes with exact sums: a scale for each output of a weight, and for each row of
        /// an input as it comes (symmetric dynamic quantisation). Attention in bf16.
        Int8 = "int8",
    }
}

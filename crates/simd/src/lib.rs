//! Sixteen lanes on any CPU, with the same bits on each.
//!
//! An algorithm is written once, generic over [`Simd`], as a [`Kernel`]; [`dispatch`] runs it on the best
//! instruction set of this machine. Every instruction set computes the *same bits*: there are always sixteen
//! lanes (two or four registers where those of the hardware are shorter), multiply-add is always fused, and
//! reductions add the upper half to the lower half until one lane is left. So embeddings and scores do not
//! depend on the CPU.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[macro_use]
mod instruction_set;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod integers;
mod isa;
mod lanes;
mod math;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
pub mod prefetch;
pub mod product;
pub mod tile;
mod token;
pub mod word;

pub use integers::Integers;
pub use isa::Isa;
pub use lanes::{ByteLanes, DoubleLanes, Lanes, PairLanes, SMALLEST_IN_PAIRS, round_for_pairs};
#[cfg(test)]
use math::erf;
pub use math::{exp, exp2_coarse, gelu, gelu_derivative, gelu_tanh, sigmoid, tanh};
use product::Product;
pub use token::Token;

/// The number of lanes of a vector, on every instruction set.
pub const LANES: usize = 16;

/// An instruction set that this CPU has: a value of the type proves it, since the constructors return `None`
/// elsewhere. Functions ask for the family of lanes that they use, kernels for all.
pub trait Simd: DoubleLanes + PairLanes + Integers {
    /// Runs `kernel` compiled for this instruction set.
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output;
}

/// An algorithm over sixteen lanes, written once for every instruction set.
pub trait Kernel {
    /// What [`Kernel::run`] returns.
    type Output;
    /// What the kernel multiplies. It is compiled for the extensions that speed such products up, no others.
    type Product: Product;
    /// The algorithm. Implementations are `#[inline(always)]`, so that they are compiled inside
    /// [`Simd::vectorize`] with its instruction set enabled.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Runs `kernel` on the instruction set in use ([`Isa::active`]).
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    dispatch_on(Isa::active(), kernel)
}

/// Runs `kernel` on `isa`, or portably where this machine does not have it.
pub fn dispatch_on<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use avx2::Avx2Vnni;
        use avx512::{Avx512Bf16, Avx512Vnni};

        // The conditions on the product are constant: what it does not gain from is not compiled.
        if K::Product::IS_PAIRS
            && isa == Isa::Avx512Bf16
            && let Some(simd) = Avx512Bf16::new()
        {
            return simd.vectorize(kernel);
        }
        if K::Product::IS_BYTES {
            if matches!(isa, Isa::Avx512Bf16 | Isa::Avx512Vnni)
                && let Some(simd) = Avx512Vnni::new()
            {
                return simd.vectorize(kernel);
            }
            if isa == Isa::Avx2Vnni
                && let Some(simd) = Avx2Vnni::new()
            {
                return simd.vectorize(kernel);
            }
        }
    }
    #[cfg(target_arch = "aarch64")]
    if K::Product::IS_BYTES {
        use neon::{NeonDotProd, NeonI8mm};

        if isa == Isa::NeonI8mm
            && let Some(simd) = NeonI8mm::new()
        {
            return simd.vectorize(kernel);
        }
        if isa == Isa::NeonDotProd
            && let Some(simd) = NeonDotProd::new()
        {
            return simd.vectorize(kernel);
        }
    }
    Token::new(isa).run(kernel)
}

#[cfg(test)]
mod tests;

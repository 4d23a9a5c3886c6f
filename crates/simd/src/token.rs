//! The proof that this CPU has an instruction set.

#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::{Isa, Kernel, Simd, portable::Portable};
#[cfg(target_arch = "x86_64")]
use super::{avx2::Avx2, avx512::Avx512};

/// An instruction set that has been looked for once, so that kernels which run often need not look again.
#[derive(Clone, Copy, Debug)]
pub struct Token(Proof);

#[derive(Clone, Copy, Debug)]
enum Proof {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    Portable,
}

impl Token {
    /// Looks for `isa`, without products of bytes and of pairs; portable if this machine does not have it.
    #[must_use]
    pub fn new(isa: Isa) -> Self {
        let proof = match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Bf16 | Isa::Avx512Vnni | Isa::Avx512 => Avx512::new().map(Proof::Avx512),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2Vnni | Isa::Avx2 => Avx2::new().map(Proof::Avx2),
            #[cfg(target_arch = "aarch64")]
            Isa::NeonI8mm | Isa::NeonDotProd | Isa::Neon => Neon::new().map(Proof::Neon),
            _ => None,
        };
        Self(proof.unwrap_or(Proof::Portable))
    }

    /// That of the instruction set in use ([`Isa::active`]).
    #[must_use]
    pub fn active() -> Self {
        Self::new(Isa::active())
    }

    /// Those of all instruction sets of this machine.
    #[must_use]
    pub fn available() -> Vec<Self> {
        Isa::available().into_iter().map(Self::new).collect()
    }

    /// Runs `kernel` compiled for this instruction set.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(simd) => simd.vectorize(kernel),
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(simd) => simd.vectorize(kernel),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(simd) => simd.vectorize(kernel),
            Proof::Portable => Portable.vectorize(kernel),
        }
    }
}

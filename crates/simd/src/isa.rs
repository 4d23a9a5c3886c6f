//! Which instruction set to use.

use std::fmt;
use std::sync::OnceLock;

/// An instruction set that the CPU kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// [`Isa::Avx512Vnni`] with the products of bf16 pairs of AVX512-BF16.
    Avx512Bf16,
    /// [`Isa::Avx512`] with the byte products of VNNI.
    Avx512Vnni,
    /// AVX-512 F, BW, DQ and VL with what [`Isa::Avx2`] has: x86-64-v4.
    Avx512,
    /// [`Isa::Avx2`] with the byte products of AVX-VNNI.
    Avx2Vnni,
    /// AVX2 with FMA, F16C, POPCNT and BMI: x86-64-v3.
    Avx2,
    /// [`Isa::Neon`] with products of unsigned and signed bytes (FEAT_I8MM): Apple M2, Neoverse V1
    /// and later.
    NeonI8mm,
    /// [`Isa::Neon`] with products of signed bytes (FEAT_DotProd): Apple M1, Neoverse N1 and later.
    NeonDotProd,
    /// NEON, which every 64-bit Arm has.
    Neon,
    /// Whatever the compiler's baseline offers. Right everywhere, but very slow where the hardware has no
    /// fused multiply-add.
    Portable,
}

impl Isa {
    /// The instruction sets of this machine, best first; the last is always [`Isa::Portable`].
    #[must_use]
    pub fn available() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let of_architecture = {
            use super::avx2::{Avx2, Avx2Vnni};
            use super::avx512::{Avx512, Avx512Bf16, Avx512Vnni};
            let vnni = Avx512Vnni::new().is_some();
            [
                (Self::Avx512Bf16, vnni && Avx512Bf16::new().is_some()),
                (Self::Avx512Vnni, vnni),
                (Self::Avx512, Avx512::new().is_some()),
                (Self::Avx2Vnni, Avx2Vnni::new().is_some()),
                (Self::Avx2, Avx2::new().is_some()),
            ]
        };
        #[cfg(target_arch = "aarch64")]
        let of_architecture = {
            use super::neon::{Neon, NeonDotProd, NeonI8mm};
            [
                (Self::NeonI8mm, NeonI8mm::new().is_some()),
                (Self::NeonDotProd, NeonDotProd::new().is_some()),
                (Self::Neon, Neon::new().is_some()),
            ]
        };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let of_architecture = [];
        let all = of_architecture.into_iter().chain([(Self::Portable, true)]);
        all.filter_map(|(isa, supported)| supported.then_some(isa)).collect()
    }

    /// The instruction set in use: the best of this machine. Decided once.
    #[must_use]
    pub fn active() -> Self {
        static ACTIVE: OnceLock<Isa> = OnceLock::new();
        *ACTIVE.get_or_init(|| Self::available().first().copied().unwrap_or(Self::Portable))
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Avx512Bf16 => "AVX-512 with VNNI and BF16",
            Self::Avx512Vnni => "AVX-512 with VNNI",
            Self::Avx512 => "AVX-512",
            Self::Avx2Vnni => "AVX2 with VNNI",
            Self::Avx2 => "AVX2",
            Self::NeonI8mm => "NEON with I8MM",
            Self::NeonDotProd => "NEON with dot products",
            Self::Neon => "NEON",
            Self::Portable => "portable",
        })
    }
}

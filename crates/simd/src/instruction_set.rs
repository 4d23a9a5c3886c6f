//! How an instruction set gets its name, is found on a CPU, and has kernels compiled for it.

#[cfg(target_arch = "aarch64")]
pub(crate) use std::arch::is_aarch64_feature_detected as is_detected;
#[cfg(target_arch = "x86_64")]
pub(crate) use std::arch::is_x86_feature_detected as is_detected;

/// Names `$lanes` as an instruction set: that of CPUs with all of the features.
macro_rules! instruction_set {
    ($(#[$doc:meta])* $name:ident = $lanes:ty: $($feature:tt),+) => {
        $(#[$doc])*
        pub(crate) type $name = $lanes;

        impl $name {
            pub(crate) fn new() -> Option<Self> {
                ($($crate::instruction_set::is_detected!($feature))&&+).then_some(Self(()))
            }
        }

        impl Simd for $name {
            #[inline(always)]
            fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
                $(#[target_feature(enable = $feature)])+
                fn compiled<K: Kernel>(simd: $name, kernel: K) -> K::Output {
                    kernel.run(simd)
                }
                // SAFETY: `self` proves that `new` found the features.
                unsafe { compiled(self, kernel) }
            }
        }
    };
}

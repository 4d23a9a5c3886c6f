//! How an instruction set of x86-64 gets its name, is found on a CPU, and has kernels compiled for it.

/// Names `$lanes` as an instruction set: that of CPUs with all of the features.
macro_rules! instruction_set {
    ($(#[$doc:meta])* $name:ident = $lanes:ty: $($feature:tt),+) => {
        $(#[$doc])*
        pub(crate) type $name = $lanes;

        impl $name {
            pub(crate) fn new() -> Option<Self> {
                ($(is_x86_feature_detected!($feature))&&+).then_some(Self(()))
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

//! Compiles the kernels with nvcc and embeds them if the feature `cuda` is on; see `build/kernels.rs`.

#[path = "build/kernels.rs"]
mod kernels;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    if std::env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return;
    }
    if let Err(problem) = kernels::compile() {
        println!("cargo::error={}", problem.replace('\n', " | "));
    }
}

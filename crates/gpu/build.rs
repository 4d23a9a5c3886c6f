//! With the feature `cuda`: compiles the kernels with nvcc and embeds them; see `build/kernels.rs`. Else nothing.

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

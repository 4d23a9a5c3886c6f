//! Compiles the kernels' sources for the CPU, as C++.

use std::path::PathBuf;

fn main() {
    // Read at run time: a script compiled by another clone with the same target directory has its path.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let shim = PathBuf::from(package);
    let kernels = shim.join("..");
    println!("cargo::rerun-if-changed={}", kernels.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut sources: Vec<PathBuf> = match std::fs::read_dir(&shim) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) => {
            println!("cargo::error={}: {error}", shim.display());
            return;
        }
    };
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "cpp"));
    sources.sort();
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .include(&kernels)
        // Products and sums of the fixed order are rounded one by one, and this code switches stacks.
        .flag("-Wno-unknown-pragmas")
        // About arguments by value that are aligned to more than 16 bytes, which no other compiler passes.
        .flag_if_supported("-Wno-psabi")
        .flag("-ffp-contract=off")
        .flag("-fno-strict-aliasing")
        .opt_level(2)
        .files(sources)
        .compile("toller_shim");
}

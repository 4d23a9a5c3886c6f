//! Compiles every `kernels/*.cu` to a fatbin (machine code for sm_80 and sm_90a, and PTX for later GPUs), and
//! writes the Rust file that embeds them: their names and bytes (`MODULES`), and the compiler's
//! release (`TOOLKIT`).

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// The code in the fatbins: for the A100 and its siblings, for the H100 and H200 in particular, and PTX.
const TARGETS: [&str; 2] = [
    "--generate-code=arch=compute_80,code=[sm_80,compute_80]",
    "--generate-code=arch=compute_90a,code=sm_90a",
];

/// Compiles and embeds the kernels. An error is text for the user.
pub(crate) fn compile() -> Result<(), String> {
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    let kernels = manifest.join("../../kernels");
    println!("cargo::rerun-if-changed={}", kernels.display());
    for name in ["CUDA_HOME", "XDG_CACHE_HOME"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let nvcc = nvcc()?;
    let release = release(&nvcc)?;
    let sources = sources(&kernels)?;
    let compiled: Vec<Result<(), String>> = thread::scope(|scope| {
        let compile = |(name, source): &(String, PathBuf)| {
            let (nvcc, out) = (nvcc.clone(), out.join(format!("{name}.fatbin")));
            let source = source.clone();
            scope.spawn(move || compile_one(&nvcc, compression(release), &source, &out))
        };
        let running: Vec<_> = sources.iter().map(compile).collect();
        let failed = || Err("a thread that ran nvcc panicked".to_owned());
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| failed())).collect()
    });
    compiled.into_iter().collect::<Result<(), String>>()?;

    let mut embedded = String::new();
    let (major, minor) = release;
    // Writing to a string does not fail.
    let _ = writeln!(embedded, "pub(super) const TOOLKIT: (u32, u32) = ({major}, {minor});");
    let _ = writeln!(embedded, "pub(super) const MODULES: [(&str, &[u8]); {}] = [", sources.len());
    for (name, _) in &sources {
        let _ = writeln!(
            embedded,
            "    ({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.fatbin\"))),"
        );
    }
    embedded.push_str("];\n");
    let path = out.join("modules.rs");
    fs::write(&path, embedded).map_err(|error| format!("{}: {error}", path.display()))
}

/// The name and the path of every operation in a folder, in order.
fn sources(kernels: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let entries = fs::read_dir(kernels).map_err(|error| format!("{}: {error}", kernels.display()))?;
    let mut sources = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| format!("{}: {error}", kernels.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "cu")
            && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
        {
            sources.push((name.to_owned(), path));
        }
    }
    sources.sort();
    if sources.is_empty() { Err(format!("{} holds no kernels", kernels.display())) } else { Ok(sources) }
}

/// The option that makes fatbins small, if all drivers that run the machine code can also read them. Those of
/// CUDA 12 run it from 525 on; they read compressed fatbins of newer compilers from 12.4 on.
fn compression((major, _): (u32, u32)) -> &'static str {
    if major >= 13 { "--compress-mode=size" } else { "--no-compress" }
}

fn compile_one(nvcc: &Path, compression: &str, source: &Path, out: &Path) -> Result<(), String> {
    let output = Command::new(nvcc)
        .args(["--fatbin", "-O3", "-std=c++17", compression])
        .args(TARGETS)
        .arg("--include-path")
        .arg(source.parent().unwrap_or(source))
        .arg("--output-file")
        .arg(out)
        .arg(source)
        .output()
        .map_err(|error| format!("cannot run {}: {error}", nvcc.display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "nvcc cannot compile {}: {}",
        source.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}

/// The compiler: from `CUDA_HOME`, else from `PATH`, else where CUDA is usually installed, else where
/// scripts/setup-cuda puts it.
fn nvcc() -> Result<PathBuf, String> {
    let home = env::var_os("CUDA_HOME").map(PathBuf::from);
    let of_path =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    let caches = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let folders = home
        .iter()
        .map(|home| home.join("bin"))
        .chain(of_path)
        .chain([PathBuf::from("/usr/local/cuda/bin")])
        .chain(caches.map(|caches| caches.join("toller/cuda-13.0/bin")));
    let found = folders.map(|folder| folder.join("nvcc")).find(|nvcc| nvcc.is_file());
    found.ok_or_else(|| {
        "the feature `cuda` needs nvcc, and there is none in CUDA_HOME or PATH: run scripts/setup-cuda to get it, or \
         build without the feature"
            .to_owned()
    })
}

/// The release of a compiler, as (13, 0).
fn release(nvcc: &Path) -> Result<(u32, u32), String> {
    let output = Command::new(nvcc).arg("--version").output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", nvcc.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers = |release: &str| {
        let (major, minor) = release.split(',').next()?.trim().split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let release = text.lines().find_map(|line| numbers(line.split_once("release ")?.1));
    release.ok_or_else(|| format!("{} does not report its release: {}", nvcc.display(), text.trim()))
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("cargo does not set {name}"))
}

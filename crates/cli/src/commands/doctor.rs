//! `toller doctor`: what this build and this machine can do.

use std::io::Write;
use std::path::Path;

use toller_gpu::{DeviceError, DeviceFacts, Devices};
use toller_hub::env;
use toller_hub::{ResolveOptions, known_models};
use toller_index::available_memory;
use toller_simd::Isa;

use crate::ui::Ui;

/// The width of the table's first column: the longest variable's name and a gap.
const NAME_WIDTH: usize = 32;

/// The devices that candle has in this build.
const CANDLE: Option<&str> = match (cfg!(feature = "candle"), cfg!(feature = "candle-cuda")) {
    (false, _) => None,
    (true, false) => Some("cpu"),
    (true, true) => Some("cpu and cuda"),
};

/// Prints the table, or JSON.
pub fn run(threads: usize, ui: &Ui) -> crate::Result<()> {
    let options = ResolveOptions::from_env();
    let features: Vec<String> = Isa::available().iter().map(ToString::to_string).collect();
    let models: Vec<&str> = known_models()?.iter().map(|model| model.name).collect();
    let variables: Vec<(&str, String)> = env::ALL
        .iter()
        .filter_map(|variable| {
            Some((variable.name, shown(variable.name, &variable.get()?.to_string_lossy())))
        })
        .collect();
    let gpus = gpus();
    if ui.json {
        return ui.json(|| {
            serde_json::json!({
                "version": env!("CARGO_PKG_VERSION"),
                "target": format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
                "cuda": cfg!(feature = "cuda"),
                "candle": CANDLE,
                "gpus": gpus.as_ref().map_or_else(|_| Vec::new(), |gpus| gpus.iter().map(gpu_json).collect()),
                "gpu_problem": gpus.as_ref().err().map(ToString::to_string),
                "threads": threads,
                "instruction_sets": features,
                "instruction_set": Isa::active().to_string(),
                "memory_available_bytes": available_memory(),
                "disk_free_bytes": disk_free(Path::new(".")),
                "hub_cache": options.hub_cache.display().to_string(),
                "hub_cache_free_bytes": disk_free(&options.hub_cache),
                "toller_cache": options.toller_cache.display().to_string(),
                "toller_cache_free_bytes": disk_free(&options.toller_cache),
                "offline": options.offline,
                "known_models": models,
                "environment": variables.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            })
        });
    }
    let mut out = ui.out();
    let mut row = |name: &str, value: String| writeln!(out, "{name:<NAME_WIDTH$}{value}");
    row(
        "toller",
        format!("{} for {}-{}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, std::env::consts::OS),
    )?;
    match &gpus {
        Ok(gpus) if gpus.is_empty() => row("GPU", "none: the driver sees no device".to_owned())?,
        Ok(gpus) => gpus.iter().try_for_each(|gpu| row("GPU", gpu_text(gpu)))?,
        Err(error) => row("GPU", format!("none: {error}"))?,
    }
    if let Some(devices) = CANDLE {
        row("candle", format!("built in for {devices}"))?;
    }
    row("CPU", format!("{}; {threads} threads", Isa::active()))?;
    row("instruction sets", features.join(", "))?;
    row(
        "memory",
        available_memory().map_or_else(unknown, |bytes| format!("{} available", gigabytes(bytes))),
    )?;
    row(
        "disk",
        disk_free(Path::new(".")).map_or_else(unknown, |bytes| format!("{} free here", gigabytes(bytes))),
    )?;
    let folder = |path: &Path| {
        let free = disk_free(path).map(|bytes| format!(", {} free", gigabytes(bytes)));
        format!("{}{}", path.display(), free.unwrap_or_default())
    };
    let offline = if options.offline { " (offline)" } else { "" };
    row("hub cache", folder(&options.hub_cache) + offline)?;
    row("hub", options.endpoint.clone())?;
    row("hub token", if options.token.is_some() { "set" } else { "none" }.to_owned())?;
    row("toller cache", folder(&options.toller_cache))?;
    row("known models", format!("{}; `toller models` lists them", models.len()))?;
    for (name, value) in variables {
        row(name, value)?;
    }
    if Isa::active() == Isa::Portable && cfg!(target_arch = "x86_64") {
        row(
            "warning",
            "this CPU has no AVX2 with FMA: encoding and search work, but are very slow".to_owned(),
        )?;
    }
    out.flush()?;
    Ok(())
}

/// Bytes that may still be written to the disk of a folder, which need not exist yet.
#[cfg(unix)]
fn disk_free(folder: &Path) -> Option<u64> {
    let found =
        std::path::absolute(folder).ok()?.ancestors().find_map(|path| rustix::fs::statvfs(path).ok())?;
    found.f_bavail.checked_mul(found.f_frsize)
}

/// Elsewhere it is not known.
#[cfg(not(unix))]
fn disk_free(_: &Path) -> Option<u64> {
    None
}

fn unknown() -> String {
    "not known".to_owned()
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 * 1e-9)
}

/// All GPUs, or why none can be used.
fn gpus() -> Result<Vec<DeviceFacts>, DeviceError> {
    let opened = |ordinal| Ok(Devices::cuda(ordinal)?.facts().cloned().collect::<Vec<_>>());
    let gpus: Vec<Vec<DeviceFacts>> = (0..Devices::count()?).map(opened).collect::<Result<_, _>>()?;
    Ok(gpus.concat())
}

fn gpu_text(gpu: &DeviceFacts) -> String {
    let (major, minor) = gpu.capability;
    format!(
        "{}: compute capability {major}.{minor}, {} multiprocessors, {:.1} GB",
        gpu.name,
        gpu.multiprocessors,
        gpu.memory_bytes as f64 * 1e-9
    )
}

fn gpu_json(gpu: &DeviceFacts) -> serde_json::Value {
    let (major, minor) = gpu.capability;
    serde_json::json!({
        "name": gpu.name,
        "compute_capability": format!("{major}.{minor}"),
        "multiprocessors": gpu.multiprocessors,
        "memory_bytes": gpu.memory_bytes,
    })
}

/// A variable's value, unless it is a secret.
fn shown(name: &str, value: &str) -> String {
    if name.ends_with("TOKEN") { "(set)".to_owned() } else { value.to_owned() }
}

//! `toller doctor`: what this build and this machine can do.

use std::io::Write;

use toller_compute::Isa;
use toller_encoder::env;
use toller_encoder::resolve::{ResolveOptions, known_models};

use crate::ui::Ui;

/// Arguments of `toller doctor`.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {}

/// The width of the table's first column: the longest variable's name and a gap.
const NAME_WIDTH: usize = 32;

/// Prints the table, or JSON.
pub fn run(_: &DoctorArgs, threads: usize, ui: &Ui) -> anyhow::Result<()> {
    let options = ResolveOptions::from_env();
    let features: Vec<String> = Isa::available().iter().map(ToString::to_string).collect();
    let models: Vec<&str> = known_models()?.iter().map(|model| model.name).collect();
    let variables: Vec<(&str, String)> = env::ALL
        .iter()
        .filter_map(|variable| {
            Some((variable.name, shown(variable.name, &variable.get()?.to_string_lossy())))
        })
        .collect();
    if ui.json {
        return ui.json(|| {
            serde_json::json!({
                "version": env!("CARGO_PKG_VERSION"),
                "target": format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
                "cuda": false,
                "threads": threads,
                "instruction_sets": features,
                "instruction_set": Isa::active().to_string(),
                "hub_cache": options.hub_cache.display().to_string(),
                "toller_cache": options.toller_cache.display().to_string(),
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
    row("GPU", "none: this toller was built without CUDA, so --device cuda is an error".to_owned())?;
    row("CPU", format!("{} in use, of {}; {threads} threads", Isa::active(), features.join(", ")))?;
    row(
        "hub cache",
        format!("{}{}", options.hub_cache.display(), if options.offline { " (offline)" } else { "" }),
    )?;
    row("hub", options.endpoint.clone())?;
    row("hub token", if options.token.is_some() { "set" } else { "none" }.to_owned())?;
    row("toller cache", options.toller_cache.display().to_string())?;
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

/// A variable's value, unless it is a secret.
fn shown(name: &str, value: &str) -> String {
    if name.ends_with("TOKEN") { "(set)".to_owned() } else { value.to_owned() }
}

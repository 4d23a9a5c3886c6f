//! `toller store info`: the content of stores.

use std::path::{Path, PathBuf};

use toller_ir::counted;
use toller_store::{Content, Manifest, StorePart, inspect};

use crate::args::paths::InputPath;
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub struct InfoArgs {
    /// Stores
    #[arg(value_name = "STORE", required = true)]
    stores: Vec<InputPath>,
}

/// Describes the stores from their manifests; the shards are not read.
pub fn run(args: &InfoArgs, ui: &Ui) -> crate::Result<()> {
    let stores: Vec<Description> = args.stores.iter().map(|path| describe(path)).collect::<Result<_, _>>()?;
    let lines = |store: &Description| -> String {
        store.lines().into_iter().map(|(name, value)| format!("{name:<12} {value}\n")).collect()
    };
    let text = || stores.iter().map(lines).collect::<Vec<_>>().join("\n");
    let described = || stores.iter().map(Description::json).collect::<Vec<_>>();
    ui.show(|| serde_json::json!({ "stores": described() }), |out| out.write_all(text().as_bytes()))
}

/// A store, or all its parts.
struct Description {
    path: PathBuf,
    /// The manifest of the first part, for what all parts have in common.
    first: Manifest,
    rows: u64,
    rows_expected: u64,
    parts: usize,
    shards: usize,
    bytes: u64,
    codes: Codes,
    complete: bool,
}

/// Which of a store's parts have codes.
#[derive(Clone, Copy)]
struct Codes {
    parts: usize,
    bytes: u64,
}

fn describe(path: &Path) -> Result<Description, toller_store::StoreError> {
    let parts = inspect(path)?;
    let Some(StorePart { manifest: first, .. }) = parts.first() else {
        return Err(toller_store::StoreError::NotAStore { path: path.to_owned() });
    };
    let manifests = || parts.iter().map(|part| &part.manifest);
    Ok(Description {
        path: path.to_owned(),
        rows: manifests().map(|manifest| manifest.count).sum(),
        rows_expected: manifests().map(|manifest| manifest.spec.expected_rows()).sum(),
        parts: parts.len(),
        shards: manifests().map(|manifest| manifest.shards.len()).sum(),
        bytes: manifests().flat_map(|manifest| &manifest.shards).map(|shard| shard.bytes).sum(),
        codes: Codes {
            parts: manifests().filter(|manifest| !manifest.codes.is_empty()).count(),
            bytes: manifests().flat_map(|manifest| &manifest.codes).map(|codes| codes.bytes).sum(),
        },
        complete: manifests().all(|manifest| manifest.complete),
        first: first.clone(),
    })
}

impl Description {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let spec = &self.first.spec;
        let encoding = &spec.encoding;
        let model = if spec.model.is_known() {
            format!("{} (fingerprint {})", spec.model, spec.model.fingerprint)
        } else {
            "unknown: the vectors were imported".to_owned()
        };
        let rows = if self.complete {
            self.rows.to_string()
        } else {
            format!("{} of {}: incomplete", self.rows, self.rows_expected)
        };
        let shards = if self.parts > 1 {
            format!("{} in {} parts, of up to {} rows", self.shards, self.parts, spec.rows_per_shard)
        } else {
            format!("{} of up to {} rows", self.shards, spec.rows_per_shard)
        };
        let codes = match self.codes {
            Codes { parts: 0, .. } => "no".to_owned(),
            Codes { parts, bytes } if parts == self.parts => format!("int8, {bytes} bytes"),
            Codes { parts, bytes } => format!("int8 in {parts} of {} parts, {bytes} bytes", self.parts),
        };
        let mut lines = vec![
            ("store", self.path.display().to_string()),
            ("model", model),
            ("role", encoding.role.to_string()),
        ];
        let dtype = ("dtype", spec.content.to_string());
        lines.extend(match spec.content {
            Content::Vectors(_) => vec![
                ("vectors", rows),
                ("dimension", spec.dim.to_string()),
                dtype,
                ("normalized", if encoding.normalized { "yes" } else { "no" }.to_owned()),
            ],
            Content::Impacts => {
                vec![("texts", rows), ("terms", format!("{} in the vocabulary", spec.dim)), dtype]
            }
        });
        if spec.model.is_known() {
            lines.extend([
                ("prompt", format!("{:?}", encoding.prompt)),
                ("max length", format!("{} tokens", encoding.max_length)),
                ("pooling", encoding.pooling.clone()),
                ("computed in", encoding.compute_dtype.clone()),
            ]);
        }
        lines.extend([("shards", shards), ("bytes", self.bytes.to_string())]);
        if spec.content != Content::Impacts {
            lines.push(("codes", codes));
        }
        let texts = counted(spec.source.passages, "text");
        lines.push(("source", format!("{texts} (fingerprint {})", spec.source.fingerprint)));
        lines
    }

    fn json(&self) -> serde_json::Value {
        let spec = &self.first.spec;
        serde_json::json!({
            "store": self.path.display().to_string(),
            "complete": self.complete,
            "model": spec.model.is_known().then_some(&spec.model.name),
            "query_model": spec.model.query_model,
            "model_fingerprint": spec.model.fingerprint,
            "encoding": spec.encoding,
            "rows": self.rows,
            "rows_expected": self.rows_expected,
            "dim": spec.dim,
            "dtype": spec.content.to_string(),
            "parts": self.parts,
            "shards": self.shards,
            "rows_per_shard": spec.rows_per_shard,
            "bytes": self.bytes,
            "parts_with_codes": self.codes.parts,
            "codes_bytes": self.codes.bytes,
            "source_fingerprint": spec.source.fingerprint,
            "source_passages": spec.source.passages,
        })
    }
}

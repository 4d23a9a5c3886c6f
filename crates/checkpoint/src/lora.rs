//! Adapters of PEFT that change weights (Hu et al. 2022, LoRA): next to the weights of their model, read with
//! them.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::parameters::HEADS;
use crate::weights::{self, MappedTensor};
use crate::{ModelError, Tensor, read_json};

/// PEFT's description of an adapter.
pub const ADAPTER_CONFIG: &str = "adapter_config.json";
/// PEFT's files of an adapter's weights.
pub const ADAPTER_WEIGHTS: [&str; 2] = ["adapter_model.safetensors", "adapter_model.bin"];

/// What PEFT puts before the names of the model's own parts.
const WRAPPER: &str = "base_model.model.";

/// What of adapter_config.json changes what an adapter does.
#[derive(Debug, Deserialize)]
pub struct AdapterConfig {
    /// LORA, PREFIX_TUNING, and so on.
    pub peft_type: String,
    /// The model that the adapter changes: a directory, or an id of the hub.
    pub base_model_name_or_path: Option<String>,
    /// Its revision on the hub.
    pub revision: Option<String>,
    task_type: Option<String>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl AdapterConfig {
    /// Reads that of a folder, if it has one.
    ///
    /// # Errors
    /// When it cannot be read as one.
    pub fn read(folder: &Path) -> Result<Option<Self>, ModelError> {
        read_json(&folder.join(ADAPTER_CONFIG))
    }

    /// Whether it is LoRA.
    pub fn is_lora(&self) -> bool {
        self.peft_type == "LORA"
    }

    /// Whether it makes a classifier of texts of its model.
    pub fn is_classifier(&self) -> bool {
        self.is_lora() && self.task_type.as_deref() == Some("SEQ_CLS")
    }
}

/// The settings of LoRA.
#[derive(Deserialize)]
struct Settings {
    lora_alpha: f64,
    use_rslora: Option<bool>,
    #[serde(default)]
    alpha_pattern: BTreeMap<String, f64>,
}

/// The settings that may be set. Any other must be null, false or empty: some change what an adapter does.
const KNOWN: [&str; 24] = [
    "alpha_pattern", "auto_mapping", "bias", "corda_config", "ensure_weight_tying", "eva_config",
    "exclude_modules", "inference_mode", "init_lora_weights", "layers_pattern", "layers_to_transform",
    "loftq_config", "lora_alpha", "lora_dropout", "lora_ga_config", "megatron_core", "modules_to_save",
    "peft_version", "qalora_group_size", "r", "rank_pattern", "runtime_config", "target_modules",
    "use_rslora",
];

/// Ways to begin that leave the model's weights as they are. Others (PiSSA, OLoRA, LoftQ, CorDA) change them.
const PLAIN_BEGINNINGS: [&str; 3] = ["gaussian", "eva", "orthogonal"];

/// The product that is added to a weight `[outputs, inputs]`.
pub(crate) struct Update {
    /// `[rank, inputs]`.
    down: MappedTensor,
    /// `[outputs, rank]`.
    up: MappedTensor,
    scale: f32,
}

/// An adapter of LoRA.
pub(crate) struct Lora {
    /// By the full names of the weights that they are added to.
    pub(crate) updates: BTreeMap<String, Update>,
    /// Tensors that take the place of the model's, or that it does not have: heads, biases.
    pub(crate) tensors: BTreeMap<String, MappedTensor>,
}

impl Lora {
    /// Opens the adapter of a folder, if it is LoRA. `names` are the full names of the model's tensors.
    pub(crate) fn open<'a>(
        folder: &Path,
        names: impl Iterator<Item = &'a String> + Clone,
    ) -> Result<Option<Self>, ModelError> {
        let Some(config) = AdapterConfig::read(folder)?.filter(AdapterConfig::is_lora) else {
            return Ok(None);
        };
        let settings = settings(config.others, &own(folder.join(ADAPTER_CONFIG)))?;
        let path = own(weights_of(folder)?);
        let refused = |what: String| {
            let supported =
                "an adapter of this model, trained on a class of transformers with the same parts";
            ModelError::unsupported(&path, what, supported)
        };
        let mut lora = Self { updates: BTreeMap::new(), tensors: BTreeMap::new() };
        let mut halves: BTreeMap<String, [Option<MappedTensor>; 2]> = BTreeMap::new();
        for (name, tensor) in weights::open_file(&path)? {
            let inner = name.strip_prefix(WRAPPER).unwrap_or(&name).replace(".base_layer.", ".");
            if let Some((module, half)) = half_of(&inner) {
                halves.entry(module.to_owned()).or_default()[half] = Some(tensor);
            } else if inner.contains(".lora_") {
                let what = format!("tensor {name:?}");
                return Err(ModelError::unsupported(path, what, "LoRA of linear layers"));
            } else if let Some(found) = named(&inner, names.clone()) {
                lora.tensors.insert(found.to_owned(), tensor);
            } else if is_head(&inner) {
                lora.tensors.insert(inner, tensor);
            } else {
                return Err(refused(format!("{inner:?}, which the model does not have,")));
            }
        }
        for (module, halves) in halves {
            let weight = format!("{module}.weight");
            let [Some(down), Some(up)] = halves else {
                let problem = format!("{module} has only one of lora_A and lora_B");
                return Err(ModelError::Weights { path, problem });
            };
            let found = named(&weight, names.clone()).or_else(|| named(&weight, lora.tensors.keys()));
            let Some(found) = found.map(str::to_owned) else {
                // A head that the files do not have: a pooler, which nobody asked for.
                if is_head(&weight) {
                    continue;
                }
                return Err(refused(format!("LoRA of {weight:?}, which the model does not have,")));
            };
            let rank = down.layout.shape.first().copied().unwrap_or(0);
            let scale = settings.scale(&module, rank);
            lora.updates.insert(found, Update { down, up, scale });
        }
        Ok(Some(lora))
    }
}

/// The file that the user has, if this is an absolute link to it. The hub's cache has relative links, to
/// files whose names say nothing.
fn own(path: PathBuf) -> PathBuf {
    fs::read_link(&path).ok().filter(|target| target.is_absolute()).unwrap_or(path)
}

/// The file of an adapter's weights.
fn weights_of(folder: &Path) -> Result<PathBuf, ModelError> {
    let missing =
        || ModelError::MissingFile { directory: folder.to_owned(), missing: ADAPTER_WEIGHTS[0].to_owned() };
    ADAPTER_WEIGHTS.map(|name| folder.join(name)).into_iter().find(|path| path.is_file()).ok_or_else(missing)
}

/// The number of labels of the head that the adapter in a folder brings, if it brings one.
///
/// # Errors
/// When the adapter's weights cannot be read.
pub fn labels_of_adapter(folder: &Path) -> Result<Option<usize>, ModelError> {
    if !AdapterConfig::read(folder)?.is_some_and(|adapter| adapter.is_classifier()) {
        return Ok(None);
    }
    let is_output = |name: &str| {
        ["score.weight", "classifier.weight", "classifier.out_proj.weight"]
            .iter()
            .any(|output| name.strip_suffix(output).is_some_and(|rest| rest.ends_with('.')))
    };
    let tensors = weights::open_file(&weights_of(folder)?)?;
    let output = tensors.into_iter().find(|(name, _)| is_output(name));
    Ok(output.and_then(|(_, tensor)| tensor.layout.shape.first().copied()))
}

/// Whether a tensor belongs to a head, which a model need not have.
fn is_head(name: &str) -> bool {
    HEADS.iter().any(|head| {
        let mut places = name.match_indices(head);
        places.any(|(start, _)| {
            (start == 0 || name[..start].ends_with('.')) && name[start + head.len()..].starts_with('.')
        })
    })
}

/// The settings, if all of them are implemented.
fn settings(others: Map<String, Value>, path: &Path) -> Result<Settings, ModelError> {
    let is_unset = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(values) => values.is_empty(),
        _ => false,
    };
    let refused = others.iter().find(|(name, value)| !KNOWN.contains(&name.as_str()) && !is_unset(value));
    let begins = others.get_key_value("init_lora_weights");
    let refused = refused.or_else(|| {
        let is_plain = |kind: &Value| match kind {
            Value::String(kind) => PLAIN_BEGINNINGS.contains(&kind.as_str()),
            Value::Bool(_) | Value::Null => true,
            _ => false,
        };
        begins.filter(|(_, kind)| !is_plain(kind))
    });
    let supported = "LoRA as PEFT makes it by default, also rank-stabilized; \
                     model.merge_and_unload().save_pretrained(DIR) merges any into its model";
    if let Some((name, value)) = refused {
        return Err(ModelError::unsupported(path, format!("{name} {value}"), supported));
    }
    let problem = |problem: String| ModelError::Config { path: path.to_owned(), problem };
    let settings: Settings = serde_json::from_value(Value::Object(others))
        .map_err(|error| problem(toller_ir::in_words_of_json(error)))?;
    // PEFT's keys are regular expressions; nearly all are names.
    let is_name = |key: &String| key.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
    if let Some(key) = settings.alpha_pattern.keys().find(|key| !is_name(key)) {
        return Err(ModelError::unsupported(path, format!("the alpha_pattern {key:?}"), "names of modules"));
    }
    if !settings.lora_alpha.is_finite() {
        return Err(problem("lora_alpha is not a number".to_owned()));
    }
    Ok(settings)
}

impl Settings {
    /// What the product of a module is multiplied by (Kalajdzievski 2023 for rank-stabilized LoRA).
    fn scale(&self, module: &str, rank: usize) -> f32 {
        let is_of = |key: &&String| {
            module.strip_suffix(key.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let own = self.alpha_pattern.keys().find(is_of).and_then(|key| self.alpha_pattern.get(key));
        let alpha = own.copied().unwrap_or(self.lora_alpha);
        let rank = rank as f64;
        (alpha / if self.use_rslora.unwrap_or(false) { rank.sqrt() } else { rank }) as f32
    }
}

/// The module of one half of a product, and which half.
fn half_of(name: &str) -> Option<(&str, usize)> {
    let of = |ending, half| name.strip_suffix(ending).map(|module| (module, half));
    of(".lora_A.weight", 0).or(of(".lora_B.weight", 1))
}

/// The model's tensor of that name. The adapter may have been trained on a class with other prefixes than
/// the files, and old files call the weight and the bias of a norm gamma and beta.
fn named<'a>(name: &str, names: impl Iterator<Item = &'a String> + Clone) -> Option<&'a str> {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let of = |name: &str| names.clone().find(|known| ends(known, name) || ends(name, known));
    let old = [(".weight", ".gamma"), (".bias", ".beta")];
    let old = || old.iter().find_map(|(new, old)| of(&format!("{}{old}", name.strip_suffix(new)?)));
    of(name).or_else(old).map(String::as_str)
}

impl Update {
    /// The weight with the product added, in f32: W + scale B A.
    pub(crate) fn applied(&self, weight: &Tensor) -> Result<Tensor, String> {
        let (down, up) = (self.down.to_f32()?, self.up.to_f32()?);
        let ([outputs, inputs], [rank, columns], [rows, depth]) =
            (matrix(weight)?, matrix(&down)?, matrix(&up)?);
        if rank == 0 || inputs == 0 || (columns, rows, depth) != (inputs, outputs, rank) {
            return Err(format!(
                "LoRA of shapes [{rank}, {columns}] and [{rows}, {depth}] for a weight [{outputs}, {inputs}]"
            ));
        }
        let mut values = weight.values().to_vec();
        let add = |rows: &mut [f32], up: &[f32]| {
            for (row, factors) in rows.chunks_exact_mut(inputs).zip(up.chunks_exact(rank)) {
                for (factor, line) in factors.iter().zip(down.values().chunks_exact(inputs)) {
                    let factor = factor * self.scale;
                    row.iter_mut().zip(line).for_each(|(sum, x)| *sum += factor * x);
                }
            }
        };
        // A model of 7 billion weights takes 4e11 multiply-adds at rank 64.
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let rows = outputs.div_ceil(threads).max(1);
        thread::scope(|scope| {
            let parts = values.chunks_mut(rows * inputs).zip(up.values().chunks(rows * rank));
            parts.for_each(|(part, up)| drop(scope.spawn(move || add(part, up))));
        });
        Tensor::new(weight.shape().to_vec(), values).map_err(|error| error.to_string())
    }

    /// The file of the product.
    pub(crate) fn path(&self) -> &Path {
        &self.down.path
    }
}

fn matrix(tensor: &Tensor) -> Result<[usize; 2], String> {
    tensor.shape().try_into().map_err(|_| format!("LoRA of a tensor of shape {:?}", tensor.shape()))
}

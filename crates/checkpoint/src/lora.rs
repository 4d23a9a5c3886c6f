//! Adapters of PEFT that change weights (Hu et al. 2022, LoRA): next to the weights of their model, read with
//! them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

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
}

/// The settings of LoRA.
#[derive(Deserialize)]
struct Settings {
    lora_alpha: f64,
    #[serde(default)]
    use_rslora: bool,
    #[serde(default)]
    alpha_pattern: BTreeMap<String, f64>,
}

/// The settings that may be set. Any other must be null, false or empty: some change what an adapter does.
const KNOWN: [&str; 27] = [
    "alpha_pattern", "auto_mapping", "bias", "corda_config", "ensure_weight_tying", "eva_config",
    "exclude_modules", "inference_mode", "init_lora_weights", "layers_pattern", "layers_to_transform",
    "loftq_config", "lora_alpha", "lora_dropout", "lora_ga_config", "megatron_config", "megatron_core",
    "modules_to_save", "peft_version", "qalora_group_size", "r", "rank_pattern", "runtime_config",
    "target_modules", "task_type", "use_rslora", "arrow_config",
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
        let config_path = folder.join(ADAPTER_CONFIG);
        let settings = settings(config.others, &config_path)?;
        let weights = ADAPTER_WEIGHTS.map(|name| folder.join(name));
        let missing = || ModelError::MissingFile {
            directory: folder.to_owned(),
            missing: ADAPTER_WEIGHTS[0].to_owned(),
        };
        let path = weights.into_iter().find(|path| path.is_file()).ok_or_else(missing)?;
        let mut lora = Self { updates: BTreeMap::new(), tensors: BTreeMap::new() };
        let mut halves: BTreeMap<String, [Option<MappedTensor>; 2]> = BTreeMap::new();
        for (name, tensor) in weights::open_file(&path)? {
            let inner = name.strip_prefix(WRAPPER).unwrap_or(&name).replace(".base_layer.", ".");
            if let Some((module, half)) = half_of(&inner) {
                halves.entry(module.to_owned()).or_default()[half] = Some(tensor);
            } else if inner.contains(".lora_") {
                let what = format!("tensor {name:?}");
                return Err(ModelError::unsupported(path, what, "LoRA of linear layers"));
            } else {
                let found = named(&inner, names.clone()).map_or(inner, str::to_owned);
                lora.tensors.insert(found, tensor);
            }
        }
        for (module, halves) in halves {
            let weight = format!("{module}.weight");
            let problem = |problem: String| ModelError::Weights { path: path.clone(), problem };
            let [Some(down), Some(up)] = halves else {
                return Err(problem(format!("{module} has only one of lora_A and lora_B")));
            };
            let found = named(&weight, names.clone());
            let found = found.ok_or_else(|| problem(format!("the model has no {weight:?} to change")))?;
            let rank = down.layout.shape.first().copied().unwrap_or(0);
            let scale = settings.scale(&module, rank);
            lora.updates.insert(found.to_owned(), Update { down, up, scale });
        }
        Ok(Some(lora))
    }
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
        begins.filter(|(_, kind)| kind.as_str().is_some_and(|kind| !PLAIN_BEGINNINGS.contains(&kind)))
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
        (alpha / if self.use_rslora { rank.sqrt() } else { rank }) as f32
    }
}

/// The module of one half of a product, and which half.
fn half_of(name: &str) -> Option<(&str, usize)> {
    let of = |ending, half| name.strip_suffix(ending).map(|module| (module, half));
    of(".lora_A.weight", 0).or(of(".lora_B.weight", 1))
}

/// The model's tensor of that name. The adapter may have been trained on a class with other prefixes than
/// the files.
fn named<'a>(name: &str, mut names: impl Iterator<Item = &'a String>) -> Option<&'a str> {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    names.find(|known| ends(known, name) || ends(name, known)).map(String::as_str)
}

impl Update {
    /// The weight with the product added, in f32: W + scale B A.
    pub(crate) fn applied(&self, weight: &Tensor) -> Result<Tensor, String> {
        let (down, up) = (self.down.to_f32()?, self.up.to_f32()?);
        let ([outputs, inputs], [rank, columns], [rows, depth]) =
            (matrix(weight)?, matrix(&down)?, matrix(&up)?);
        if rank == 0 || (columns, rows, depth) != (inputs, outputs, rank) {
            return Err(format!(
                "LoRA of shapes [{rank}, {columns}] and [{rows}, {depth}] for a weight [{outputs}, {inputs}]"
            ));
        }
        let mut values = weight.values().to_vec();
        for (row, factors) in values.chunks_exact_mut(inputs).zip(up.values().chunks_exact(rank)) {
            for (factor, line) in factors.iter().zip(down.values().chunks_exact(inputs)) {
                let factor = factor * self.scale;
                row.iter_mut().zip(line).for_each(|(sum, x)| *sum += factor * x);
            }
        }
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

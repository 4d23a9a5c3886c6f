//! A model as transformers has it: tensors of the right names and shapes, and their configuration.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::ConvertError;
use super::checkpoint::LeftOut;
use super::config::{Family, SourceConfig};
use super::towers::Tower;
use crate::elements::{StoredTensor, is_float};

/// Paddle's `layer_norm` has this epsilon, and neither ERNIE nor RocketQA give another.
const EPSILON: f64 = 1e-5;

/// The activation functions that configurations of BERT and ERNIE name.
const ACTIVATIONS: [&str; 8] =
    ["gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu", "swish", "tanh", "sigmoid"];

/// A model that can be written.
pub(super) struct Model<'a> {
    /// The class of transformers.
    pub(super) architecture: String,
    /// By the names that the class has.
    pub(super) tensors: BTreeMap<String, StoredTensor<'a>>,
    /// config.json.
    pub(super) config: Map<String, Value>,
    /// Whether the vector of a text is the first token's state: only if the source says so.
    pub(super) pools_first_token: bool,
    sizes: Sizes,
}

/// The sizes of a model, read off its tensors.
struct Sizes {
    vocabulary: usize,
    hidden: usize,
    positions: usize,
    types: usize,
    tasks: Option<usize>,
    layers: usize,
    intermediate: usize,
    labels: Option<usize>,
    pooler: bool,
}

impl<'a> Model<'a> {
    /// Makes the model of one encoder. Checks that no tensor is missing and that shapes agree with each other
    /// and with the configuration.
    pub(super) fn assemble(
        mut tower: Tower<'a>,
        config: &SourceConfig,
        path: &Path,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<Self, ConvertError> {
        let family = config.family(&tower.prefix)?;
        let uses_tasks = family == Family::Ernie && config.flag("use_task_id")?.unwrap_or(false);
        if !uses_tasks && let Some((name, _)) = tower.tensors.remove(TASKS) {
            left_out.push(LeftOut { name, reason: "the configuration does not set use_task_id" });
        }
        let sizes = Sizes::read(&tower, uses_tasks, path)?;
        sizes.check(config)?;
        if sizes.labels.is_some() && !sizes.pooler {
            let what = "scores with the first token's state and no pooler, as RocketQA v2's joint training has it; \
                        transformers has no architecture for that";
            return Err(ConvertError::Unsupported { path: path.to_owned(), what: what.to_owned() });
        }
        let expected = sizes.tensors();
        let missing: Vec<String> =
            expected.keys().filter(|name| !tower.tensors.contains_key(*name)).cloned().collect();
        if !missing.is_empty() {
            return Err(ConvertError::Missing { path: path.to_owned(), names: missing });
        }
        let class = family.class();
        let architecture = match sizes.labels {
            Some(_) => format!("{class}ForSequenceClassification"),
            None => format!("{class}Model"),
        };
        let mut tensors = BTreeMap::new();
        let pools_first_token = tower.pools_first_token();
        for (target, (name, stored)) in std::mem::take(&mut tower.tensors) {
            let wrong =
                |problem| ConvertError::Variable { path: path.to_owned(), name: name.clone(), problem };
            match expected.get(&target) {
                Some(shape) if *shape == stored.layout.shape => {}
                Some(shape) => {
                    return Err(wrong(format!(
                        "has shape {:?} as {target}, which should be {shape:?}",
                        stored.layout.shape
                    )));
                }
                None => return Err(wrong("is part of a layer that the model does not have".to_owned())),
            }
            if !is_float(stored.layout.dtype) {
                return Err(wrong("holds integers".to_owned()));
            }
            let inside = sizes.labels.is_some() && !target.starts_with("classifier.");
            let full = if inside { format!("{}.{target}", family.name()) } else { target };
            tensors.insert(full, stored);
        }
        let config = sizes.config(config, family, &architecture)?;
        Ok(Self { architecture, tensors, config, pools_first_token, sizes })
    }

    /// Rows of the word embeddings.
    pub(super) fn vocabulary_size(&self) -> usize {
        self.sizes.vocabulary
    }

    /// Rows of the position embeddings.
    pub(super) fn max_positions(&self) -> usize {
        self.sizes.positions
    }

    pub(super) fn hidden(&self) -> usize {
        self.sizes.hidden
    }
}

const WORDS: &str = "embeddings.word_embeddings.weight";
const POSITIONS: &str = "embeddings.position_embeddings.weight";
const TYPES: &str = "embeddings.token_type_embeddings.weight";
const TASKS: &str = "embeddings.task_type_embeddings.weight";

impl Sizes {
    fn read(tower: &Tower<'_>, uses_tasks: bool, path: &Path) -> Result<Self, ConvertError> {
        let shape = |name: &str| tower.tensors.get(name).map(|(_, stored)| stored.layout.shape.clone());
        let missing =
            |name: &str| ConvertError::Missing { path: path.to_owned(), names: vec![name.to_owned()] };
        let matrix = |name: &str| match shape(name).as_deref() {
            Some(&[rows, columns]) => Ok((rows, columns)),
            Some(other) => Err(ConvertError::Variable {
                path: path.to_owned(),
                name: name.to_owned(),
                problem: format!("is not a matrix, but of shape {other:?}"),
            }),
            None => Err(missing(name)),
        };
        let (vocabulary, hidden) = matrix(WORDS)?;
        let layer =
            |name: &String| name.strip_prefix("encoder.layer.")?.split('.').next()?.parse::<usize>().ok();
        // As many layers as there are numbers. A gap shows by missing tensors.
        let numbers: std::collections::BTreeSet<usize> = tower.tensors.keys().filter_map(layer).collect();
        Ok(Self {
            vocabulary,
            hidden,
            positions: matrix(POSITIONS)?.0,
            types: matrix(TYPES)?.0,
            tasks: if uses_tasks { Some(matrix(TASKS)?.0) } else { None },
            layers: numbers.len(),
            intermediate: matrix("encoder.layer.0.intermediate.dense.weight")?.0,
            labels: shape("classifier.bias").and_then(|shape| shape.first().copied()),
            pooler: shape("pooler.dense.weight").is_some(),
        })
    }

    /// Whether the configuration says the same, where it says anything.
    fn check(&self, config: &SourceConfig) -> Result<(), ConvertError> {
        let said_types = if config.size("sent_type_vocab_size")?.is_some() {
            "sent_type_vocab_size"
        } else {
            "type_vocab_size"
        };
        for (key, found) in [
            ("vocab_size", Some(self.vocabulary)),
            ("hidden_size", Some(self.hidden)),
            ("max_position_embeddings", Some(self.positions)),
            ("num_hidden_layers", Some(self.layers)),
            ("intermediate_size", Some(self.intermediate)),
            (said_types, Some(self.types)),
            ("task_type_vocab_size", self.tasks),
        ] {
            if let (Some(said), Some(found)) = (config.size(key)?, found)
                && said != found
            {
                return Err(config.problem(format!("{key:?} is {said}, but the checkpoint has {found}")));
            }
        }
        Ok(())
    }

    /// The tensors of such a model, with their shapes.
    fn tensors(&self) -> BTreeMap<String, Vec<usize>> {
        let (hidden, inner) = (self.hidden, self.intermediate);
        let mut tensors: BTreeMap<String, Vec<usize>> =
            [(WORDS, self.vocabulary), (POSITIONS, self.positions), (TYPES, self.types)]
                .into_iter()
                .chain(self.tasks.map(|tasks| (TASKS, tasks)))
                .map(|(name, rows)| (name.to_owned(), vec![rows, hidden]))
                .collect();
        let mut linear = |name: String, out: usize, input: usize| {
            tensors.insert(format!("{name}.weight"), vec![out, input]);
            tensors.insert(format!("{name}.bias"), vec![out]);
        };
        for layer in 0..self.layers {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            for part in [
                "attention.self.query", "attention.self.key", "attention.self.value",
                "attention.output.dense",
            ] {
                linear(name(part), hidden, hidden);
            }
            linear(name("intermediate.dense"), inner, hidden);
            linear(name("output.dense"), hidden, inner);
        }
        if self.pooler {
            linear("pooler.dense".to_owned(), hidden, hidden);
        }
        if let Some(labels) = self.labels {
            linear("classifier".to_owned(), labels, hidden);
        }
        let norms = (0..self.layers).flat_map(|layer| {
            ["attention.output", "output"].map(|part| format!("encoder.layer.{layer}.{part}.LayerNorm"))
        });
        for norm in norms.chain(["embeddings.LayerNorm".to_owned()]) {
            tensors.insert(format!("{norm}.weight"), vec![hidden]);
            tensors.insert(format!("{norm}.bias"), vec![hidden]);
        }
        tensors
    }

    /// config.json as transformers reads it.
    fn config(
        &self,
        source: &SourceConfig,
        family: Family,
        architecture: &str,
    ) -> Result<Map<String, Value>, ConvertError> {
        let heads =
            source.size("num_attention_heads")?.ok_or_else(|| source.missing("num_attention_heads"))?;
        let activation = source.text("hidden_act")?.ok_or_else(|| source.missing("hidden_act"))?;
        if !ACTIVATIONS.contains(&activation) {
            let known = ACTIVATIONS.join(", ");
            return Err(source.problem(format!("\"hidden_act\": {activation:?} is not one of {known}")));
        }
        let value = json!({
            "architectures": [architecture],
            "model_type": family.name(),
            "vocab_size": self.vocabulary,
            "hidden_size": self.hidden,
            "num_hidden_layers": self.layers,
            "num_attention_heads": heads,
            "intermediate_size": self.intermediate,
            "hidden_act": activation,
            "hidden_dropout_prob": source.number("hidden_dropout_prob")?.unwrap_or(0.1),
            "attention_probs_dropout_prob": source.number("attention_probs_dropout_prob")?.unwrap_or(0.1),
            "max_position_embeddings": self.positions,
            "type_vocab_size": self.types,
            "initializer_range": source.number("initializer_range")?.unwrap_or(0.02),
            "layer_norm_eps": source.number("layer_norm_eps")?.unwrap_or(EPSILON),
            "pad_token_id": source.size("pad_token_id")?.unwrap_or(0),
        });
        let Value::Object(mut config) = value else { return Ok(Map::new()) };
        if family == Family::Ernie {
            config.insert("use_task_id".to_owned(), self.tasks.is_some().into());
            config.insert("task_type_vocab_size".to_owned(), self.tasks.unwrap_or(3).into());
        }
        if let Some(labels) = self.labels {
            let names: Vec<String> = (0..labels).map(|label| format!("LABEL_{label}")).collect();
            let by_id = names.iter().enumerate().map(|(id, name)| (id.to_string(), name.as_str().into()));
            config.insert("id2label".to_owned(), Value::Object(by_id.collect()));
            let by_name = names.iter().enumerate().map(|(id, name)| (name.clone(), id.into()));
            config.insert("label2id".to_owned(), Value::Object(by_name.collect()));
        }
        Ok(config)
    }
}

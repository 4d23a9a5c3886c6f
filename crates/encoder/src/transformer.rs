//! The transformer of the BERT family, written once over the operations of `toller-compute`.

use candle_core::{Device, Tensor};
use toller_compute::{Activation, LayerNorm, Linear, attention};

use crate::EncoderError;
use crate::batch::TokenBatch;
use crate::config::{Positions, TransformerConfig};
use crate::fingerprint::Fingerprint;
use crate::tensors::Tensors;

/// A transformer with its weights.
pub(crate) struct Transformer {
    embeddings: Embeddings,
    layers: Vec<Layer>,
    heads: usize,
    activation: Activation,
}

/// Word, position and type embeddings, summed and normalised.
struct Embeddings {
    /// `[vocabulary, hidden]`.
    words: Tensor,
    /// `[max_positions, hidden]`.
    positions: Tensor,
    position_scheme: Positions,
    /// `[token_types, hidden]`, for architectures that have them.
    token_types: Option<Tensor>,
    /// Row 0 of ERNIE's task type embeddings, `[hidden]`: retrieval has no task ids.
    task_type: Option<Tensor>,
    norm: LayerNorm,
}

/// One encoder layer (Devlin et al. 2019; Vaswani et al. 2017, section 3.1): attention and a
/// feed-forward network, each with a residual and a layer norm after it.
struct Layer {
    /// Queries, keys and values in one product: `[3 * hidden, hidden]`.
    qkv: Linear,
    attention_output: Linear,
    attention_norm: LayerNorm,
    up: Linear,
    down: Linear,
    output_norm: LayerNorm,
}

/// Loads layers from tensors and fingerprints what it loads.
pub(crate) struct Loader<'a> {
    pub(crate) tensors: &'a Tensors,
    pub(crate) fingerprint: &'a mut Fingerprint,
}

impl Loader<'_> {
    fn get(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, EncoderError> {
        let tensor = self.tensors.get(name, shape)?;
        self.fingerprint.tensor(name, &tensor)?;
        Ok(tensor)
    }

    /// A linear layer, with a bias if the weights have one.
    pub(crate) fn linear(&mut self, name: &str, out: usize, input: usize) -> Result<Linear, EncoderError> {
        let (weight, bias) = self.weight_and_bias(name, out, input)?;
        Ok(Linear::new(&weight, Some(&bias))?)
    }

    fn weight_and_bias(
        &mut self,
        name: &str,
        out: usize,
        input: usize,
    ) -> Result<(Tensor, Tensor), EncoderError> {
        Ok((self.get(&format!("{name}.weight"), &[out, input])?, self.get(&format!("{name}.bias"), &[out])?))
    }

    fn norm(&mut self, name: &str, width: usize, epsilon: f64) -> Result<LayerNorm, EncoderError> {
        let weight = self.tensors.get_norm(name, "weight", width)?;
        let bias = self.tensors.get_norm(name, "bias", width)?;
        self.fingerprint.tensor(&format!("{name}.weight"), &weight)?;
        self.fingerprint.tensor(&format!("{name}.bias"), &bias)?;
        Ok(LayerNorm::new(&weight, &bias, epsilon)?)
    }
}

impl Transformer {
    /// Loads the weights of `config`'s architecture.
    pub(crate) fn load(loader: &mut Loader<'_>, config: &TransformerConfig) -> Result<Self, EncoderError> {
        let embeddings = Embeddings::load(loader, config)?;
        let layers =
            (0..config.layers).map(|index| Layer::load(loader, config, index)).collect::<Result<_, _>>()?;
        Ok(Self { embeddings, layers, heads: config.heads, activation: config.activation })
    }

    /// The last layer's state of each token: `[tokens, hidden]`.
    pub(crate) fn forward(&self, batch: &TokenBatch) -> Result<Tensor, EncoderError> {
        let mut states = self.embeddings.forward(batch)?; // [tokens, hidden]
        for layer in &self.layers {
            states = layer.forward(&states, batch, self.heads, self.activation)?; // [tokens, hidden]
        }
        Ok(states)
    }
}

impl Embeddings {
    fn load(loader: &mut Loader<'_>, config: &TransformerConfig) -> Result<Self, EncoderError> {
        let hidden = config.hidden;
        let mut table = |name: &str, rows: usize| match rows {
            0 => Ok(None),
            rows => loader.get(&format!("embeddings.{name}.weight"), &[rows, hidden]).map(Some),
        };
        let token_types = table("token_type_embeddings", config.token_types)?;
        let task_types = table("task_type_embeddings", config.task_types)?;
        Ok(Self {
            words: loader.get("embeddings.word_embeddings.weight", &[config.vocabulary, hidden])?,
            positions: loader
                .get("embeddings.position_embeddings.weight", &[config.max_positions, hidden])?,
            position_scheme: config.positions,
            token_types,
            task_type: task_types.map(|table| table.get(0)).transpose()?,
            norm: loader.norm("embeddings.LayerNorm", hidden, config.layer_norm_epsilon)?,
        })
    }

    fn forward(&self, batch: &TokenBatch) -> Result<Tensor, EncoderError> {
        let vocabulary = self.words.dim(0)?;
        if let Some(&id) = batch.input_ids.iter().find(|&&id| id as usize >= vocabulary) {
            return Err(EncoderError::TokenId { id, vocabulary });
        }
        let ids = |ids: &[u32]| Tensor::from_slice(ids, ids.len(), &Device::Cpu);
        let mut sum = self.words.index_select(&ids(&batch.input_ids)?, 0)?; // [tokens, hidden]
        if let Some(table) = &self.token_types {
            sum = (sum + table.index_select(&ids(&batch.type_ids)?, 0)?)?;
        }
        let positions = positions(batch, self.position_scheme);
        sum = (sum + self.positions.index_select(&ids(&positions)?, 0)?)?;
        if let Some(task_type) = &self.task_type {
            sum = sum.broadcast_add(task_type)?;
        }
        Ok(self.norm.forward(&sum)?)
    }
}

/// The position of every token of a flat batch: `[tokens]`.
fn positions(batch: &TokenBatch, scheme: Positions) -> Vec<u32> {
    let mut positions = Vec::with_capacity(batch.input_ids.len());
    for tokens in batch.sequences.ranges() {
        match scheme {
            Positions::FromZero => positions.extend((0..).take(tokens.len())),
            Positions::AfterPadding(pad) => {
                let mut next = pad;
                positions.extend(batch.input_ids[tokens].iter().map(|&id| {
                    if id == pad {
                        return pad;
                    }
                    next += 1;
                    next
                }));
            }
        }
    }
    positions
}

impl Layer {
    fn load(loader: &mut Loader<'_>, config: &TransformerConfig, index: usize) -> Result<Self, EncoderError> {
        let (names, hidden, epsilon) = (&config.names, config.hidden, config.layer_norm_epsilon);
        let name = |part: &str| format!("{}.{index}.{part}", names.layer);
        let mut weights = Vec::new();
        let mut biases = Vec::new();
        for part in [names.query, names.key, names.value] {
            let (weight, bias) = loader.weight_and_bias(&name(part), hidden, hidden)?;
            weights.push(weight);
            biases.push(bias);
        }
        Ok(Self {
            qkv: Linear::new(&Tensor::cat(&weights, 0)?, Some(&Tensor::cat(&biases, 0)?))?,
            attention_output: loader.linear(&name(names.attention_output), hidden, hidden)?,
            attention_norm: loader.norm(&name(names.attention_norm), hidden, epsilon)?,
            up: loader.linear(&name(names.up), config.intermediate, hidden)?,
            down: loader.linear(&name(names.down), hidden, config.intermediate)?,
            output_norm: loader.norm(&name(names.output_norm), hidden, epsilon)?,
        })
    }

    fn forward(
        &self,
        states: &Tensor,
        batch: &TokenBatch,
        heads: usize,
        activation: Activation,
    ) -> Result<Tensor, EncoderError> {
        let qkv = self.qkv.forward(states, Activation::Identity)?; // [tokens, 3 * hidden]
        let context = attention(&qkv, &batch.sequences, heads)?; // [tokens, hidden]
        let states = self.attention_output.forward_add(&context, states)?; // [tokens, hidden]
        let states = self.attention_norm.forward(&states)?; // [tokens, hidden]
        let inner = self.up.forward(&states, activation)?; // [tokens, intermediate]
        let output = self.down.forward_add(&inner, &states)?; // [tokens, hidden]
        Ok(self.output_norm.forward(&output)?)
    }
}

//! The parameters of a network in training: their values, their names, and their layouts for products.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use toller_nn::Place;
use toller_simd::tile::Rows;

use crate::kernels::product::Panels;

/// How the names of word embeddings end.
const WORDS: [&str; 2] = ["word_embeddings.weight", "tok_embeddings.weight"];

/// Values that a thread checks at a time.
const CHECKED: usize = 1 << 16;

/// PEFT's name of the keys and values in front of every text.
pub(crate) const PREFIX: &str = "prompt_embeddings";

/// A tensor of a model's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorName {
    /// The folder of its file.
    pub folder: PathBuf,
    /// Its name in the file.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
}

impl TensorName {
    pub(crate) fn new(folder: &Path, name: &str, shape: &[usize]) -> Self {
        Self { folder: folder.to_owned(), name: name.to_owned(), shape: shape.to_vec() }
    }

    /// Whether it is the keys and values in front of every text, under PEFT's name.
    #[must_use]
    pub fn is_prefix(&self) -> bool {
        self.name == PREFIX
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One or several tensors, one after the other.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The tensors.
    pub tensors: Vec<TensorName>,
    /// Their values, row by row.
    pub values: Vec<f32>,
    /// Whether weight decay applies: to matrices, not to biases and norms.
    pub decays: bool,
    /// Whether training leaves it as it is.
    pub frozen: bool,
}

impl Parameter {
    /// The number of values that are trained.
    pub(crate) fn trained(&self) -> usize {
        if self.frozen { 0 } else { self.values.len() }
    }
}

/// A linear layer's place among the parameters, and its weight as products take it.
pub(crate) struct Linear {
    /// `[outputs, inputs]`.
    pub(crate) weight: usize,
    /// `[outputs]`.
    pub(crate) bias: Option<usize>,
    pub(crate) outputs: usize,
    pub(crate) inputs: usize,
    /// For products with the weight's transpose: the layer.
    pub(crate) forward: Panels,
    /// For products with the weight: the gradient of the layer's input.
    pub(crate) backward: Panels,
    pub(crate) place: Place,
    /// Whether elements of the input are dropped, as before a classifier.
    pub(crate) drops_input: bool,
    /// Whether elements of the output are dropped before a residual is added.
    pub(crate) drops_output: bool,
}

/// All parameters of a network.
#[derive(Default)]
pub struct Weights {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) linears: Vec<Linear>,
    /// Whether layouts for products do not follow the parameters.
    pub(crate) is_unpacked: bool,
}

impl Weights {
    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Changes parameters.
    pub fn update(&mut self, change: impl FnOnce(&mut [Parameter])) {
        change(&mut self.parameters);
        self.pack();
    }

    /// Drops the layouts for products, for good.
    pub(crate) fn unpack(&mut self) {
        self.is_unpacked = true;
        for layer in &mut self.linears {
            (layer.forward, layer.backward) = (Panels::default(), Panels::default());
        }
    }

    /// Lays out all weights again, after a change.
    pub(crate) fn pack(&mut self) {
        if self.is_unpacked {
            return;
        }
        let parameters = &self.parameters;
        self.linears.par_iter_mut().for_each(|layer| {
            let weight = &parameters[layer.weight].values;
            let rows = Rows::new(weight, layer.inputs, layer.outputs, layer.inputs);
            layer.forward.pack_transposed(rows);
            layer.backward.pack(rows);
        });
    }

    /// Freezes all parameters.
    pub(crate) fn freeze(&mut self) {
        self.parameters.iter_mut().for_each(|parameter| parameter.frozen = true);
    }

    /// Freezes all parameters but a prefix, if there is one (Liu et al. 2022, section 3).
    pub(crate) fn freeze_around_prefix(&mut self) {
        let is_prefix = |parameter: &Parameter| parameter.tensors.iter().any(TensorName::is_prefix);
        if self.parameters.iter().any(is_prefix) {
            for parameter in &mut self.parameters {
                parameter.frozen = !is_prefix(parameter);
            }
        }
    }

    /// Whether all values that are trained are finite.
    pub(crate) fn are_finite(&self) -> bool {
        let trained = self.parameters.par_iter().filter(|parameter| !parameter.frozen);
        let is_finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        trained.all(|parameter| parameter.values.par_chunks(CHECKED).all(is_finite))
    }

    /// The values of a parameter.
    pub(crate) fn values(&self, parameter: usize) -> &[f32] {
        &self.parameters[parameter].values
    }

    /// The table of word embeddings among the parameters that are trained.
    pub(crate) fn words(&self) -> Option<usize> {
        let is_words = |tensor: &TensorName| WORDS.iter().any(|name| tensor.name.ends_with(name));
        let is_words = |parameter: &Parameter| parameter.tensors.iter().any(is_words);
        self.parameters.iter().position(|parameter| !parameter.frozen && is_words(parameter))
    }

    /// The values of a table, to change them. A table has no layout for products that would have to follow.
    pub(crate) fn table_mut(&mut self, parameter: usize) -> &mut [f32] {
        &mut self.parameters[parameter].values
    }

    /// Bytes that a tape keeps of a token, about: the inputs and outputs of all layers.
    #[must_use]
    pub fn tape_bytes(&self) -> usize {
        self.linears.iter().map(|layer| 4 * (layer.inputs + layer.outputs)).sum::<usize>().max(1)
    }
}

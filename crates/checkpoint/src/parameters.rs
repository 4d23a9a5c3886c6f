//! The weights of a model as named f32 tensors, for any files, format, sharding and naming.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ::safetensors::Dtype;

use crate::elements::is_float;
use crate::lora::Lora;
use crate::safetensors::{self, Entry};
use crate::weights::{self, MappedTensor};
use crate::{ModelError, Tensor};

/// The weights of a model.
///
/// An architecture takes tensors by its own canonical names. The names in the files may begin with a prefix,
/// and old versions of transformers named some tensors differently.
pub struct Parameters {
    /// The first weight file, or where the tensors come from, for messages.
    origin: PathBuf,
    tensors: BTreeMap<String, Source>,
    /// The canonical names of the tensors that were taken, and their full names.
    taken: RefCell<BTreeMap<String, String>>,
    /// The beginning of names in the files, before the canonical names: `bert.`, `roberta.`,
    /// `ctx_encoder.bert_model.`.
    prefix: String,
    /// What is added to some of the tensors.
    lora: Option<Lora>,
    /// The full names of the tensors that an adapter has put in the place of the model's.
    replaced: BTreeSet<String>,
}

/// The heads that transformers' classes for pretraining and for other tasks have next to the encoder, or, as
/// the pooler, in it; and T5's decoder and second copy of the word embeddings.
pub(crate) const HEADS: [&str; 20] = [
    "classifier", "cls", "decoder", "discriminator_predictions", "encoder.embed_tokens", "generator_lm_head",
    "generator_predictions", "head.dense", "head.norm", "lm_head", "pooler", "pre_classifier", "predictions",
    "qa_classifier", "qa_outputs", "score", "seq_relationship", "vocab_layer_norm", "vocab_projector",
    "vocab_transform",
];

enum Source {
    File(MappedTensor),
    Memory(Tensor),
}

/// What is wrong with a tensor that training has destroyed.
const NOT_FINITE: &str = "holds numbers that are not finite";

impl Source {
    fn shape(&self) -> &[usize] {
        match self {
            Self::File(tensor) => &tensor.layout.shape,
            Self::Memory(tensor) => tensor.shape(),
        }
    }

    /// A row of a matrix.
    fn row(&self, row: usize) -> Result<Vec<f32>, String> {
        match self {
            Self::File(tensor) => tensor.row(row),
            Self::Memory(tensor) => {
                let rows = tensor.values().chunks_exact(tensor.shape()[1].max(1)).skip(row);
                let mut rows = rows.map(<[f32]>::to_vec);
                rows.next().ok_or_else(|| format!("there is no row {row} among {}", tensor.shape()[0]))
            }
        }
    }
}

impl Parameters {
    /// Opens the weights of `folder`: safetensors before pickles, sharded or not.
    ///
    /// # Errors
    /// When there are none, or a file cannot be read as weights.
    pub fn open(folder: &Path) -> Result<Self, ModelError> {
        let (origin, tensors) = weights::open(folder)?;
        let tensors = tensors.into_iter().map(|(name, tensor)| (name, Source::File(tensor))).collect();
        Ok(Self {
            origin,
            tensors,
            taken: RefCell::default(),
            prefix: String::new(),
            lora: None,
            replaced: BTreeSet::new(),
        })
    }

    /// Opens one file of weights.
    ///
    /// # Errors
    /// When it cannot be read as weights.
    pub fn of_file(path: &Path) -> Result<Self, ModelError> {
        let tensors = weights::open_file(path)?;
        let tensors = tensors.into_iter().map(|(name, tensor)| (name, Source::File(tensor))).collect();
        Ok(Self {
            origin: path.to_owned(),
            tensors,
            taken: RefCell::default(),
            prefix: String::new(),
            lora: None,
            replaced: BTreeSet::new(),
        })
    }

    /// The same with the adapter of `folder`, if that is LoRA: all tensors are as the adapter changes them.
    ///
    /// # Errors
    /// When the adapter cannot be read, or belongs to another model.
    pub fn with_lora(mut self, folder: &Path) -> Result<Self, ModelError> {
        self.lora = Lora::open(folder, self.tensors.keys())?;
        if let Some(lora) = &mut self.lora {
            self.replaced = lora.tensors.keys().cloned().collect();
            let others = std::mem::take(&mut lora.tensors).into_iter();
            self.tensors.extend(others.map(|(name, tensor)| (name, Source::File(tensor))));
        }
        Ok(self)
    }

    /// Weights in memory, by their full names. `origin` is where they come from, for messages.
    pub fn from_tensors(
        origin: impl Into<PathBuf>,
        tensors: impl IntoIterator<Item = (String, Tensor)>,
    ) -> Self {
        let tensors = tensors.into_iter().map(|(name, tensor)| (name, Source::Memory(tensor))).collect();
        Self {
            origin: origin.into(),
            tensors,
            taken: RefCell::default(),
            prefix: String::new(),
            lora: None,
            replaced: BTreeSet::new(),
        }
    }

    /// Finds the prefix by a tensor that every model of the architecture has.
    pub fn find_prefix(mut self, anchor: &str) -> Result<Self, ModelError> {
        let mut prefixes = self.tensors.keys().filter_map(|name| {
            let prefix = name.strip_suffix(anchor)?;
            (prefix.is_empty() || prefix.ends_with('.')).then(|| prefix.to_owned())
        });
        let prefix = match (prefixes.next(), prefixes.next()) {
            (Some(prefix), None) => prefix,
            (Some(one), Some(other)) => {
                let what = format!("a file with two encoders, {one:?} and {other:?},");
                return Err(ModelError::unsupported(&*self.origin, what, "one encoder in a file"));
            }
            (None, _) => return Err(self.missing(anchor)),
        };
        drop(prefixes);
        self.prefix = prefix;
        Ok(self)
    }

    /// The same weights one level up, where a classifier is: next to `bert.`.
    pub fn outside(mut self) -> Self {
        let inner = self.prefix.strip_suffix('.').unwrap_or_default();
        self.prefix = inner.rfind('.').map_or_else(String::new, |end| inner[..=end].to_owned());
        self
    }

    /// Whether an adapter has replaced this tensor or changes it.
    pub fn is_adapted(&self, name: &str) -> bool {
        let name = self.full_name(name);
        self.replaced.contains(&name)
            || self.lora.as_ref().is_some_and(|lora| lora.updates.contains_key(&name))
    }

    /// Whether there is a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(&self.full_name(name))
    }

    /// The beginning of names in the files, before the canonical names.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The tensor `name` as f32 of the given shape.
    ///
    /// # Errors
    /// When the tensor is missing, has another shape, or holds anything but finite floating-point numbers.
    pub fn get(&self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError> {
        self.take(name, self.full_name(name), shape)
    }

    /// Rows of the matrix `name` of the given shape as f32, in the order of `rows`. The others are not read.
    ///
    /// # Errors
    /// As for [`Self::get`]; for a row that is not there.
    pub fn rows(&self, name: &str, shape: [usize; 2], rows: &[usize]) -> Result<Tensor, ModelError> {
        let full_name = self.full_name(name);
        let source = self.tensors.get(&full_name).ok_or_else(|| self.missing(&full_name))?;
        if source.shape() != shape {
            return Err(ModelError::TensorShape {
                name: full_name,
                found: source.shape().to_vec(),
                expected: shape.to_vec(),
            });
        }
        let changed = self.lora.as_ref().is_some_and(|lora| lora.updates.contains_key(&full_name));
        let changed = changed.then(|| self.load(&full_name).map(Source::Memory)).transpose()?;
        let source = changed.as_ref().unwrap_or(source);
        let mut values = Vec::with_capacity(rows.len() * shape[1]);
        for &row in rows {
            let found = source.row(row).and_then(|found| match found.iter().all(|value| value.is_finite()) {
                true => Ok(found),
                false => Err(NOT_FINITE.to_owned()),
            });
            values.extend(found.map_err(|problem| broken(self.path_of(&full_name), &full_name, &problem))?);
        }
        self.taken.borrow_mut().insert(name.to_owned(), full_name);
        Tensor::new(vec![rows.len(), shape[1]], values)
    }

    /// The tensor that has this full name in the file.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn get_by_full_name(&self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError> {
        self.take(self.canonical(name), name.to_owned(), shape)
    }

    /// A full name without the levels of the prefix. A tensor next to the encoder shares only the first ones:
    /// `ctx_encoder.` of `ctx_encoder.bert_model.`.
    fn canonical<'a>(&self, full_name: &'a str) -> &'a str {
        let mut canonical = full_name;
        for level in self.prefix.split_inclusive('.') {
            let Some(inner) = canonical.strip_prefix(level) else { break };
            canonical = inner;
        }
        canonical
    }

    /// A layer norm's tensor. Old files call `weight` and `bias` of a norm `gamma` and `beta`.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn get_norm(&self, norm: &str, part: &str, width: usize) -> Result<Tensor, ModelError> {
        let name = format!("{norm}.{part}");
        let old = format!("{norm}.{}", if part == "weight" { "gamma" } else { "beta" });
        let found = if !self.has(&name) && self.has(&old) { &old } else { &name };
        self.take(&name, self.full_name(found), &[width])
    }

    fn take(&self, canonical: &str, full_name: String, shape: &[usize]) -> Result<Tensor, ModelError> {
        let tensor = self.load(&full_name)?;
        if tensor.shape() != shape {
            return Err(ModelError::TensorShape {
                name: full_name,
                found: tensor.shape().to_vec(),
                expected: shape.to_vec(),
            });
        }
        self.taken.borrow_mut().insert(canonical.to_owned(), full_name);
        Ok(tensor)
    }

    /// A tensor of finite numbers.
    fn load(&self, full_name: &str) -> Result<Tensor, ModelError> {
        let tensor = self.read(full_name)?;
        // No branch per number, so that the compiler can vectorise the loop.
        let finite = |values: &[f32]| values.iter().fold(true, |finite, value| finite & value.is_finite());
        if tensor.values().chunks(1 << 10).all(finite) {
            return Ok(tensor);
        }
        Err(broken(self.path_of(full_name), full_name, NOT_FINITE))
    }

    /// The file of a tensor, or where the tensors come from.
    fn path_of(&self, full_name: &str) -> &Path {
        match self.tensors.get(full_name) {
            Some(Source::File(tensor)) => &tensor.path,
            _ => &self.origin,
        }
    }

    /// A tensor of any numbers.
    fn read(&self, full_name: &str) -> Result<Tensor, ModelError> {
        let tensor = self.stored(full_name)?;
        match self.lora.as_ref().and_then(|lora| lora.updates.get(full_name)) {
            None => Ok(tensor),
            Some(update) => {
                update.applied(&tensor).map_err(|problem| broken(update.path(), full_name, &problem))
            }
        }
    }

    /// The same as it is in the files.
    fn stored(&self, full_name: &str) -> Result<Tensor, ModelError> {
        match self.tensors.get(full_name) {
            None => Err(self.missing(full_name)),
            Some(Source::Memory(tensor)) => Ok(tensor.clone()),
            Some(Source::File(tensor)) if !is_float(tensor.layout.dtype) => {
                let what = format!("tensor {full_name:?} of {}", tensor.layout.dtype);
                let supported = "floating-point numbers of 16 to 64 bits";
                Err(ModelError::unsupported(&*tensor.path, what, supported))
            }
            Some(Source::File(tensor)) => {
                tensor.to_f32().map_err(|problem| broken(&tensor.path, full_name, &problem))
            }
        }
    }

    /// The names of all tensors in the files, in byte order.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.tensors.keys()
    }

    /// The tensors that were taken, in the byte order of their canonical names: without the prefix, a norm's
    /// as `weight` and `bias`. A tensor that the file has in another type than f32 is converted again.
    ///
    /// # Errors
    /// Per tensor, when another program has changed its file.
    pub fn named(&self) -> impl Iterator<Item = Result<(String, Tensor), ModelError>> {
        let taken = self.taken.borrow().clone();
        taken.into_iter().map(|(name, full_name)| Ok((name, self.load(&full_name)?)))
    }

    /// Writes [`Self::named`] as a safetensors file, which appears whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written, and as for [`Self::named`].
    pub fn write(&self, path: &Path) -> Result<(), ModelError> {
        let taken = self.taken.borrow();
        let mut entries = Vec::new();
        for (name, full_name) in taken.iter() {
            let source = self.tensors.get(full_name).ok_or_else(|| self.missing(full_name))?;
            entries.push(Entry { name, dtype: Dtype::F32, shape: source.shape() });
        }
        safetensors::write(path, &entries, |name| self.load(&taken[name]))
    }

    /// The full name of a tensor that was taken by this canonical name, and the folder of its file.
    pub fn source(&self, canonical: &str) -> Option<(&Path, String)> {
        let folder = self.origin.parent().unwrap_or(&self.origin);
        Some((folder, self.taken.borrow().get(canonical)?.clone()))
    }

    /// Writes all tensors of floating-point numbers in f32 as a safetensors file, which appears whole or not
    /// at all. Those in `changed`, by full name, have its values; the others stay as they are, also where
    /// their numbers are not finite. Buffers of integers are left out: no model takes them.
    ///
    /// # Errors
    /// When the file cannot be written, and when a tensor cannot be read.
    pub fn write_changed(&self, path: &Path, changed: &BTreeMap<String, Tensor>) -> Result<(), ModelError> {
        let entries: Vec<Entry<'_>> = self
            .tensors
            .iter()
            .filter(|(_, source)| !matches!(source, Source::File(tensor) if !is_float(tensor.layout.dtype)))
            .map(|(name, source)| Entry { name, dtype: Dtype::F32, shape: source.shape() })
            .collect();
        safetensors::write(path, &entries, |name| match changed.get(name) {
            Some(tensor) => Ok(tensor.clone()),
            None => self.read(name),
        })
    }

    /// The tensors under the prefix that were not taken, without the prefix. Tensors outside the prefix
    /// belong to heads.
    pub fn unused(&self) -> Vec<String> {
        let names = self.not_taken().into_iter();
        names.filter_map(|name| name.strip_prefix(&self.prefix)).map(str::to_owned).collect()
    }

    /// The tensors that were not taken, and that a model of this architecture should not have, without the
    /// levels of the prefix. Heads of transformers' classes are known, and buffers that its old versions
    /// saved; another head next to the encoder would change the vectors.
    pub fn unexpected(&self) -> Vec<String> {
        let is_known = |name: &str| {
            HEADS.iter().any(|head| name.strip_prefix(head).is_some_and(|rest| rest.starts_with('.')))
                || ["position_ids", "token_type_ids", "inv_freq"].iter().any(|buffer| name.ends_with(buffer))
        };
        let names = self.not_taken().into_iter().map(|name| self.canonical(name));
        names.filter(|name| !is_known(name)).map(str::to_owned).collect()
    }

    /// The full names of the tensors that were not taken.
    fn not_taken(&self) -> Vec<&String> {
        let taken = self.taken.borrow();
        let taken: BTreeSet<&String> = taken.values().collect();
        self.names().filter(|name| !taken.contains(name)).collect()
    }

    fn full_name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn missing(&self, name: &str) -> ModelError {
        ModelError::MissingTensor { path: self.origin.clone(), name: name.to_owned() }
    }
}

fn broken(path: &Path, full_name: &str, problem: &str) -> ModelError {
    ModelError::Weights { path: path.to_owned(), problem: format!("tensor {full_name:?}: {problem}") }
}

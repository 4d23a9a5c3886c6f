//! The tensors of a model's weight files, whatever the format, the sharding and the naming.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use candle_core::pickle::PthTensors;
use candle_core::safetensors::MmapedSafetensors;
use candle_core::{DType, Device, Tensor};
use toller_files::FileError;

use crate::ModelError;
use crate::choose_weights;
use crate::elements::Element;
use crate::legacy_torch::{LegacyCheckpoint, StoredTensor};

/// The weights of one folder.
pub struct Tensors {
    files: Files,
    /// The first weight file, for messages.
    path: PathBuf,
    names: BTreeSet<String>,
    /// The names that were asked for.
    used: RefCell<BTreeSet<String>>,
    /// What stands before the architecture's own names: `bert.`, `roberta.`, `ctx_encoder.bert_model.`.
    prefix: String,
}

enum Files {
    Safetensors(MmapedSafetensors),
    Pickles(Vec<PickleFile>),
}

/// PyTorch writes zip archives with a pickle inside since 1.6, and wrote bare pickles before.
enum PickleFile {
    Archive(PthTensors),
    Legacy(LegacyCheckpoint),
}

/// Training scripts put the weights under `state_dict` or, as DPR's do, under `model_dict`.
const STATE_KEYS: [&str; 2] = ["state_dict", "model_dict"];

impl PickleFile {
    fn open(path: &Path) -> Result<Self, ModelError> {
        let mut start = Vec::new();
        let read = File::open(path).and_then(|file| file.take(1).read_to_end(&mut start));
        read.map_err(FileError::on("read", path))?;
        if start.first() == Some(&0x80) {
            let bytes = std::fs::read(path).map_err(FileError::on("read", path))?;
            return LegacyCheckpoint::read(bytes, &STATE_KEYS).map(Self::Legacy).map_err(|error| {
                let problem = format!("cannot be read as weights of PyTorch before 1.6: {error}");
                ModelError::Weights { path: path.to_owned(), problem }
            });
        }
        let plain = PthTensors::new(path, None).map_err(|error| broken(path, &error))?;
        let nested = || {
            STATE_KEYS
                .iter()
                .filter_map(|key| PthTensors::new(path, Some(key)).ok())
                .find(|file| !file.tensor_infos().is_empty())
        };
        let file = if plain.tensor_infos().is_empty() { nested() } else { None };
        Ok(Self::Archive(file.unwrap_or(plain)))
    }

    fn names(&self) -> Vec<String> {
        match self {
            Self::Archive(file) => file.tensor_infos().keys().cloned().collect(),
            Self::Legacy(file) => file.names().cloned().collect(),
        }
    }

    fn get(&self, name: &str) -> candle_core::Result<Option<Tensor>> {
        match self {
            Self::Archive(file) => file.get(name),
            Self::Legacy(file) => file.get(name).map(legacy_tensor).transpose(),
        }
    }
}

fn legacy_tensor(stored: Result<StoredTensor<'_>, String>) -> candle_core::Result<Tensor> {
    let (layout, bytes) = stored.map_err(candle_core::Error::msg)?;
    let dtype = match layout.element {
        Element::F16 => DType::F16,
        Element::Bf16 => DType::BF16,
        Element::F32 => DType::F32,
        Element::F64 => DType::F64,
        Element::Integer { bytes: 8 } => DType::I64,
        Element::Integer { bytes } => candle_core::bail!("holds integers of {bytes} bytes"),
    };
    Tensor::from_raw_buffer(&bytes, dtype, &layout.shape, &Device::Cpu)
}

impl Tensors {
    /// Opens the weights of `folder`: safetensors before pickles, sharded or not.
    pub fn open(folder: &Path) -> Result<Self, ModelError> {
        let mut present = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(FileError::on("list", folder))? {
            let entry = entry.map_err(FileError::on("list", folder))?;
            present.extend(entry.file_name().into_string());
        }
        let present: Vec<&str> = present.iter().map(String::as_str).collect();
        let mut paths: Vec<PathBuf> = choose_weights(&present)
            .into_iter()
            .filter(|name| !name.ends_with(".json"))
            .map(|name| folder.join(name))
            .collect();
        paths.sort();
        let Some(path) = paths.first().cloned() else {
            return Err(ModelError::MissingFile {
                directory: folder.to_owned(),
                missing: "model.safetensors or pytorch_model.bin".to_owned(),
            });
        };
        let (files, names) = if path.extension().is_some_and(|extension| extension == "safetensors") {
            open_safetensors(&paths)?
        } else {
            open_pickles(&paths)?
        };
        Ok(Self { files, path, names, used: RefCell::default(), prefix: String::new() })
    }

    /// Finds the prefix by a tensor that every model of the architecture has.
    pub fn find_prefix(mut self, anchor: &str) -> Result<Self, ModelError> {
        let mut prefixes = self.names.iter().filter_map(|name| {
            let prefix = name.strip_suffix(anchor)?;
            (prefix.is_empty() || prefix.ends_with('.')).then(|| prefix.to_owned())
        });
        let prefix = match (prefixes.next(), prefixes.next()) {
            (Some(prefix), None) => prefix,
            (Some(one), Some(other)) => {
                return Err(ModelError::Weights {
                    path: self.path.clone(),
                    problem: format!("holds two encoders, {one:?} and {other:?}, where one is expected"),
                });
            }
            (None, _) => return Err(self.missing(anchor)),
        };
        drop(prefixes);
        self.prefix = prefix;
        Ok(self)
    }

    /// The same weights, one level up: what stands beside the transformer, such as a classifier beside `bert.`.
    pub fn outside(mut self) -> Self {
        let inner = self.prefix.strip_suffix('.').unwrap_or_default();
        self.prefix = inner.rfind('.').map_or_else(String::new, |end| inner[..=end].to_owned());
        self
    }

    /// Whether there is a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(&self.full_name(name))
    }

    /// What stands before the architecture's own names.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The tensor `name` as f32 of the given shape.
    pub fn get(&self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError> {
        self.get_by_full_name(&self.full_name(name), shape)
    }

    /// The same by the name that it has in the file.
    pub fn get_by_full_name(&self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError> {
        let tensor = self.load(name)?;
        if tensor.dims() != shape {
            return Err(ModelError::TensorShape {
                name: name.to_owned(),
                found: tensor.dims().to_vec(),
                expected: shape.to_vec(),
            });
        }
        Ok(tensor)
    }

    /// The names of all tensors, in byte order.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.names.iter()
    }

    /// The tensor `name` as it is stored.
    pub fn stored(&self, full_name: &str) -> candle_core::Result<Tensor> {
        match &self.files {
            Files::Safetensors(files) => files.load(full_name, &Device::Cpu),
            Files::Pickles(files) => files
                .iter()
                .find_map(|file| file.get(full_name).transpose())
                .unwrap_or_else(|| candle_core::bail!("tensor {full_name:?} is gone")),
        }
    }

    fn load(&self, full_name: &str) -> Result<Tensor, ModelError> {
        if !self.names.contains(full_name) {
            return Err(self.missing(full_name));
        }
        let as_f32 = |tensor: Tensor| {
            if !tensor.dtype().is_float() {
                candle_core::bail!("holds {:?}, not floating-point numbers", tensor.dtype());
            }
            let tensor = tensor.to_dtype(DType::F32)?.contiguous()?;
            // One NaN or infinity makes the sum one.
            if !tensor.sum_all()?.to_scalar::<f32>()?.is_finite() {
                candle_core::bail!("holds numbers that are not finite");
            }
            Ok(tensor)
        };
        let problem = |error| ModelError::Weights {
            path: self.path.clone(),
            problem: format!("tensor {full_name:?}: {error}"),
        };
        let tensor = self.stored(full_name).and_then(as_f32).map_err(problem)?;
        self.used.borrow_mut().insert(full_name.to_owned());
        Ok(tensor)
    }

    /// The tensors that nobody asked for, without the prefix; those outside the prefix belong to heads.
    pub fn unused(&self) -> Vec<String> {
        let used = self.used.borrow();
        let unused = self.names.iter().filter(|name| !used.contains(*name));
        unused.filter_map(|name| name.strip_prefix(&self.prefix)).map(str::to_owned).collect()
    }

    /// Those of [`Self::unused`] that a model of this architecture should not have: all but the pooler, which
    /// most encoders do without, and buffers that old versions of transformers saved.
    pub fn unexpected(&self) -> Vec<String> {
        let is_known = |name: &String| {
            name.starts_with("pooler.")
                || ["position_ids", "token_type_ids", "inv_freq"].iter().any(|buffer| name.ends_with(buffer))
        };
        self.unused().into_iter().filter(|name| !is_known(name)).collect()
    }

    /// A layer norm's tensor, whose name has changed over the years: `weight` and `bias` were `gamma` and
    /// `beta`.
    pub fn get_norm(&self, norm: &str, part: &str, width: usize) -> Result<Tensor, ModelError> {
        let name = format!("{norm}.{part}");
        let old = format!("{norm}.{}", if part == "weight" { "gamma" } else { "beta" });
        self.get(if !self.has(&name) && self.has(&old) { &old } else { &name }, &[width])
    }

    fn full_name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn missing(&self, name: &str) -> ModelError {
        ModelError::MissingTensor { path: self.path.clone(), name: name.to_owned() }
    }
}

fn open_safetensors(paths: &[PathBuf]) -> Result<(Files, BTreeSet<String>), ModelError> {
    // Each file alone first, so that a broken one is named.
    for path in paths {
        // SAFETY: the files are only read, and nothing of ours writes to a model while it is in use.
        unsafe { MmapedSafetensors::new(path) }.map_err(|error| broken(path, &error))?;
    }
    // SAFETY: as above.
    let files = unsafe { MmapedSafetensors::multi(paths) }.map_err(|error| broken(&paths[0], &error))?;
    let names = files.tensors().into_iter().map(|(name, _)| name).collect();
    Ok((Files::Safetensors(files), names))
}

fn open_pickles(paths: &[PathBuf]) -> Result<(Files, BTreeSet<String>), ModelError> {
    let mut files = Vec::new();
    let mut names = BTreeSet::new();
    for path in paths {
        let file = PickleFile::open(path)?;
        names.extend(file.names());
        files.push(file);
    }
    Ok((Files::Pickles(files), names))
}

fn broken(path: &Path, error: &candle_core::Error) -> ModelError {
    ModelError::Weights { path: path.to_owned(), problem: format!("cannot be read as weights: {error}") }
}

//! The files that hold weights: which ones of a folder, and where their tensors lie.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::safetensors::Dtype;
use memmap2::Mmap;
use toller_files::{FileError, names_in, open_regular};

use crate::elements::{StoredTensor, Strided};
use crate::{ModelError, Tensor, safetensors, torch};

/// Where the data of a file's tensors lie, and where the elements lie in the data.
pub(crate) type Places = BTreeMap<String, (Strided, Range<usize>)>;

/// A tensor in a weight file.
pub(crate) struct MappedTensor {
    pub(crate) path: Arc<Path>,
    pub(crate) layout: Strided,
    map: Arc<Mmap>,
    /// The part of the file that holds the elements.
    data: Range<usize>,
}

/// The tensors of a folder's weights, safetensors before pickles, sharded or not, and the first file's path.
pub(crate) fn open(folder: &Path) -> Result<(PathBuf, BTreeMap<String, MappedTensor>), ModelError> {
    let present = names_in(folder)?;
    let mut chosen = choose(&present.iter().map(String::as_str).collect::<Vec<_>>());
    chosen.retain(|name| !name.ends_with(".json"));
    let Some(first) = chosen.first() else {
        return Err(ModelError::MissingFile {
            directory: folder.to_owned(),
            missing: "model.safetensors or pytorch_model.bin".to_owned(),
        });
    };
    let mut tensors = BTreeMap::new();
    for name in &chosen {
        tensors.extend(open_file(&folder.join(name))?);
    }
    Ok((folder.join(first), tensors))
}

/// The tensors of one file.
pub(crate) fn open_file(path: &Path) -> Result<BTreeMap<String, MappedTensor>, ModelError> {
    let path: Arc<Path> = path.into();
    let (map, places) = map(&path)?;
    let tensors = places.into_iter().map(|(name, (layout, data))| {
        (name, MappedTensor { path: Arc::clone(&path), layout, map: Arc::clone(&map), data })
    });
    Ok(tensors.collect())
}

/// Maps a weight file into memory and finds the tensors in it.
fn map(path: &Path) -> Result<(Arc<Mmap>, Places), ModelError> {
    let file = open_regular(path).map_err(FileError::on("open", path))?;
    let map = toller_files::map(&file, path)?;
    let (format, places) = if path.extension().is_some_and(|extension| extension == "safetensors") {
        ("safetensors", safetensors::places(&map))
    } else if map.starts_with(b"PK") {
        ("weights of PyTorch", torch::archive_places(&map).map_err(|error| error.to_string()))
    } else {
        ("weights of PyTorch before 1.6", torch::legacy_places(&map).map_err(|error| error.to_string()))
    };
    let broken = |problem| ModelError::Weights {
        path: path.to_owned(),
        problem: format!("cannot be read as {format}: {problem}"),
    };
    Ok((Arc::new(map), places.map_err(broken)?))
}

impl MappedTensor {
    /// The tensor as it is stored.
    pub(crate) fn stored(&self) -> StoredTensor<'_> {
        let data = Cow::Borrowed(&self.map[self.data.clone()]);
        StoredTensor { layout: self.layout.clone(), data }
    }

    /// The tensor as f32, without a copy if the file holds f32.
    pub(crate) fn to_f32(&self) -> Result<Tensor, String> {
        let in_order = self.layout.in_order().filter(|_| self.layout.dtype == Dtype::F32);
        let place = in_order.map(|place| self.data.start + place.start..self.data.start + place.end);
        let mapped = place.and_then(|place| Tensor::mapped(&self.layout.shape, &self.map, place));
        match mapped {
            Some(tensor) => Ok(tensor),
            None => Tensor::new(self.layout.shape.clone(), self.stored().to_f32()?)
                .map_err(|error| error.to_string()),
        }
    }
}

/// The weights among the files of one folder, in the one form that is preferred: `model.safetensors`,
/// its shards with their index, any other safetensors, then the same of `pytorch_model.bin`. Weights
/// for other frameworks (ONNX, OpenVINO, TensorFlow, Flax) are never chosen. Empty when there are none.
pub fn choose<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let ending =
        |suffix: &str| names.iter().copied().filter(|name| name.ends_with(suffix)).collect::<Vec<_>>();
    let sharded = |index: &str, stem: &str, suffix: &str| {
        let is_part = |name: &str| name == index || name.starts_with(stem) && name.ends_with(suffix);
        let index_there = names.contains(&index);
        names.iter().copied().filter(|name| index_there && is_part(name)).collect::<Vec<_>>()
    };
    let single = |wanted: &str| names.iter().copied().filter(|name| *name == wanted).collect::<Vec<_>>();
    [
        single("model.safetensors"),
        sharded(SAFETENSORS_INDEX, "model-", ".safetensors"),
        // PEFT's adapters are not models.
        ending(".safetensors").into_iter().filter(|name| !name.starts_with("adapter_")).collect(),
        single("pytorch_model.bin"),
        sharded(PICKLE_INDEX, "pytorch_model-", ".bin"),
    ]
    .into_iter()
    .find(|chosen| !chosen.is_empty())
    .unwrap_or_default()
}

/// The name of the file that says which shard holds which tensor, for safetensors.
pub const SAFETENSORS_INDEX: &str = "model.safetensors.index.json";

/// The same, for pickled weights.
pub const PICKLE_INDEX: &str = "pytorch_model.bin.index.json";

#[cfg(test)]
mod tests {
    use super::choose;

    #[test]
    fn prefers_safetensors_and_leaves_other_frameworks() {
        let all = [
            "config.json", "model.onnx", "tf_model.h5", "pytorch_model.bin", "model.safetensors",
            "model.fp16.safetensors",
        ];
        assert_eq!(choose(&all), ["model.safetensors"]);
        assert_eq!(
            choose(&["flax_model.msgpack", "pytorch_model.bin", "training_args.bin"]),
            ["pytorch_model.bin"]
        );
        assert_eq!(choose(&["tf_model.h5", "openvino_model.bin", "rust_model.ot"]), [""; 0]);
    }

    #[test]
    fn takes_all_shards_with_their_index() {
        let sharded = [
            "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
            "model.safetensors.index.json", "pytorch_model.bin",
        ];
        assert_eq!(choose(&sharded), sharded.get(..3).unwrap_or_default());
        let pickled = ["pytorch_model-00001-of-00001.bin", "pytorch_model.bin.index.json", "optimizer.bin"];
        assert_eq!(choose(&pickled), pickled.get(..2).unwrap_or_default());
    }
}

//! The files that hold weights: which ones of a folder, and where their tensors lie.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::safetensors::Dtype;
use memmap2::Mmap;
use serde::Deserialize;
use toller_files::{FileError, names_in, open_regular};

use crate::elements::{StoredTensor, Strided};
use crate::json::required_json;
use crate::read::check_pulled;
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
/// With an index, only the shards that it names are read.
pub(crate) fn open(folder: &Path) -> Result<(PathBuf, BTreeMap<String, MappedTensor>), ModelError> {
    let present = names_in(folder)?;
    let chosen = choose(&present.iter().map(String::as_str).collect::<Vec<_>>());
    let index = chosen.iter().find(|name| is_index(name)).map(|name| ShardIndex::read(&folder.join(name)));
    let index = index.transpose()?;
    let files = match &index {
        Some(index) => index.shards().into_iter().collect(),
        None => chosen,
    };
    let Some(first) = files.first() else {
        return Err(ModelError::MissingFile {
            directory: folder.to_owned(),
            missing: "model.safetensors or pytorch_model.bin".to_owned(),
        });
    };
    let mut tensors: BTreeMap<String, MappedTensor> = BTreeMap::new();
    for file in &files {
        for (name, tensor) in open_file(&folder.join(file))? {
            let home = index.as_ref().and_then(|index| index.weight_map.get(&name));
            if home.is_some_and(|home| home != file) {
                continue;
            }
            if let Some(earlier) = tensors.get(&name) {
                let earlier = earlier.path.file_name().unwrap_or_default().display();
                let problem =
                    format!("the tensor {name:?} is also in {earlier}, and nothing says which one is meant");
                return Err(ModelError::Weights { path: folder.join(file), problem });
            }
            tensors.insert(name, tensor);
        }
    }
    if let Some((name, file)) =
        index.iter().flat_map(|index| &index.weight_map).find(|(name, _)| !tensors.contains_key(*name))
    {
        let problem = format!("it has no tensor {name:?}, which the index of the weights names");
        return Err(ModelError::Weights { path: folder.join(file), problem });
    }
    Ok((folder.join(first), tensors))
}

/// What says which file holds which tensor.
#[derive(Deserialize)]
pub struct ShardIndex {
    /// The file of each tensor.
    weight_map: BTreeMap<String, String>,
}

impl ShardIndex {
    /// Reads an index.
    ///
    /// # Errors
    /// A file that cannot be read or is not an index; shards outside its folder.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let index: Self = required_json(path)?;
        match index.weight_map.values().find(|shard| shard.contains('/')) {
            None => Ok(index),
            Some(shard) => {
                let problem =
                    format!("the file {shard:?} of weights is not named by its place in the same folder");
                Err(ModelError::Config { path: path.to_owned(), problem })
            }
        }
    }

    /// The names of the files.
    #[must_use]
    pub fn shards(&self) -> BTreeSet<&str> {
        self.weight_map.values().map(String::as_str).collect()
    }
}

/// Whether this is the name of a file that says which shard holds which tensor.
#[must_use]
pub fn is_index(name: &str) -> bool {
    [SAFETENSORS_INDEX, PICKLE_INDEX].contains(&name)
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
    check_pulled(path, &map)?;
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

    /// A row of the tensor as f32.
    pub(crate) fn row(&self, row: usize) -> Result<Vec<f32>, String> {
        StoredTensor { layout: self.layout.row(row)?, ..self.stored() }.to_f32()
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

/// The name of the index, for safetensors.
const SAFETENSORS_INDEX: &str = "model.safetensors.index.json";

/// The same, for pickled weights.
const PICKLE_INDEX: &str = "pytorch_model.bin.index.json";

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fs;

    use serde_json::json;

    use super::{choose, open};

    /// A file of one number under each name.
    fn numbers(named: &[(&str, f32)]) -> Vec<u8> {
        let header: serde_json::Map<_, _> = (0..)
            .zip(named)
            .map(|(at, (name, _))| {
                (
                    (*name).to_owned(),
                    json!({ "dtype": "F32", "shape": [1], "data_offsets": [at * 4, at * 4 + 4] }),
                )
            })
            .collect();
        let header = json!(header).to_string();
        let data = named.iter().flat_map(|(_, number)| number.to_le_bytes());
        (header.len() as u64).to_le_bytes().into_iter().chain(header.into_bytes()).chain(data).collect()
    }

    #[test]
    fn a_tensor_is_read_from_the_file_that_the_index_names() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        fs::write(path("model-1-of-2.safetensors"), numbers(&[("a", 1.0), ("b", 2.0)]))?;
        fs::write(path("model-2-of-2.safetensors"), numbers(&[("b", 3.0), ("c", 4.0)]))?;
        fs::write(path("model-1-of-1.safetensors"), numbers(&[("a", 7.0), ("b", 8.0), ("c", 9.0)]))?;
        let index = |c: &str| {
            let b = "model-2-of-2.safetensors";
            json!({ "weight_map": { "a": "model-1-of-2.safetensors", "b": b, c: b } }).to_string()
        };
        fs::write(path("model.safetensors.index.json"), index("c"))?;
        let (first, tensors) = open(folder.path())?;
        assert_eq!(first, path("model-1-of-2.safetensors"));
        let values: Vec<_> = tensors
            .values()
            .map(|tensor| Ok(tensor.to_f32()?.values().to_vec()))
            .collect::<Result<_, String>>()?;
        assert_eq!(values, [[1.0], [3.0], [4.0]]);
        fs::write(path("model.safetensors.index.json"), index("d"))?;
        let error = open(folder.path()).map(drop).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "model-2-of-2.safetensors: it has no tensor \"d\", which the index of the weights names"
            ),
            "{error}"
        );
        fs::remove_file(path("model.safetensors.index.json"))?;
        let error = open(folder.path()).map(drop).unwrap_err().to_string();
        assert!(error.contains("\"a\" is also in model-1-of-1.safetensors"), "{error}");
        Ok(())
    }

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

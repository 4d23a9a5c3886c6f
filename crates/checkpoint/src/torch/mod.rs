//! Checkpoints of PyTorch: a pickled state dictionary whose tensors are views of storages elsewhere in the
//! file.
//!
//! In the pickle, a tensor is a call of `_rebuild_tensor` on a storage, which is a persistent id.

mod archive;
mod legacy;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use safetensors::Dtype;
use toller_pickle::{Items, Pairs, PickleError, Value};
use zip::result::ZipError;

use crate::elements::Strided;
use crate::weights::Places;

pub(crate) use archive::places as archive_places;
pub(crate) use legacy::{is_legacy, places as legacy_places};

/// Training scripts put the weights under `state_dict` or, as DPR's do, under `model_dict`.
const STATE_KEYS: [&str; 2] = ["state_dict", "model_dict"];

/// Why a file cannot be read as a checkpoint of PyTorch.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TorchError {
    #[error(transparent)]
    Pickle(#[from] PickleError),
    #[error(transparent)]
    Zip(#[from] ZipError),
    #[error("entry {name:?}: {source}")]
    Entry { name: String, source: ZipError },
    #[error("{0}")]
    Content(String),
}

fn content(problem: &str) -> TorchError {
    TorchError::Content(problem.to_owned())
}

/// The tensors of the state dictionary that was saved, by itself or under one of [`STATE_KEYS`].
fn state_dictionary<'p>(root: Value<'p, '_>) -> Result<BTreeMap<&'p str, View<'p>>, TorchError> {
    let saved = root.as_dict().ok_or_else(|| root.unexpected("a dictionary of tensors"))?;
    let has_tensors = |pairs: &Pairs<'_, '_>| pairs.iter().any(|(_, value)| rebuilt(value).is_some());
    let nested = || STATE_KEYS.iter().filter_map(|key| saved.get(key)?.as_dict()).find(has_tensors);
    let found = if has_tensors(&saved) { Some(saved) } else { nested() };
    let mut views = BTreeMap::new();
    for (name, value) in found.ok_or_else(|| content("it holds no tensors"))?.iter() {
        if let Some(arguments) = rebuilt(value) {
            let name = name.as_str().ok_or_else(|| name.unexpected("the name of a tensor"))?;
            let view = View::read(arguments).ok_or_else(|| {
                value.unexpected(format!("a tensor of numbers with its storage as {name:?}"))
            })?;
            views.insert(name, view?);
        }
    }
    Ok(views)
}

/// The arguments of the call that makes a tensor, a parameter's too.
fn rebuilt<'p, 'a>(value: Value<'p, 'a>) -> Option<Items<'p, 'a>> {
    let object = value.as_object()?;
    match object.callable().as_global()? {
        ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") => Some(object.args()),
        ("torch._utils", "_rebuild_parameter") => {
            let tensor = object.args().get(0)?.as_object()?;
            let rebuild = ["_rebuild_tensor", "_rebuild_tensor_v2"].map(|name| Some(("torch._utils", name)));
            rebuild.contains(&tensor.callable().as_global()).then(|| tensor.args())
        }
        _ => None,
    }
}

/// A tensor, by the arguments of its call.
struct View<'p> {
    storage: Storage<'p>,
    layout: Strided,
}

impl<'p> View<'p> {
    /// `(storage, offset, shape, strides, ...)`.
    fn read(arguments: Items<'p, '_>) -> Option<Result<Self, TorchError>> {
        let storage = Storage::read(arguments.get(0)?.as_persistent_id()?)?;
        let sizes = |index| {
            let sizes = arguments.get(index)?;
            sizes.as_tuple().or(sizes.as_list())?.iter().map(Value::as_usize).collect::<Option<Vec<_>>>()
        };
        let offset = arguments.get(1)?.as_usize()?;
        let layout = Strided::with_strides(storage.dtype, sizes(2)?, sizes(3)?, offset);
        Some(layout.map(|layout| Self { storage, layout }).map_err(TorchError::Content))
    }
}

/// The storage of a tensor, by its persistent id.
struct Storage<'p> {
    key: &'p str,
    dtype: Dtype,
    elements: usize,
    /// The first element, for a storage that is a part of another one.
    first: usize,
}

impl<'p> Storage<'p> {
    /// `('storage', class, key, device, elements)`, and before PyTorch 1.6 the part: none or
    /// `(key, first element, elements)`.
    fn read(id: Value<'p, '_>) -> Option<Self> {
        let id = id.as_tuple()?;
        let (module, class) = id.get(1)?.as_global()?;
        let first = match id.get(5).filter(|part| !part.is_none()) {
            None => 0,
            Some(part) => part.as_tuple()?.get(1)?.as_usize()?,
        };
        let is_storage = id.get(0)?.as_str()? == "storage" && matches!(module, "torch" | "torch.storage");
        let (key, elements) = (id.get(2)?.as_str()?, id.get(4)?.as_usize()?);
        is_storage.then_some(Self { key, dtype: dtype(class)?, elements, first })
    }
}

/// The type that `torch.FloatStorage` and the like hold.
fn dtype(class: &str) -> Option<Dtype> {
    Some(match class.strip_suffix("Storage")? {
        "Float" => Dtype::F32,
        "Double" => Dtype::F64,
        "Half" => Dtype::F16,
        "BFloat16" => Dtype::BF16,
        "Long" => Dtype::I64,
        "Int" => Dtype::I32,
        "Short" => Dtype::I16,
        "Char" => Dtype::I8,
        "Byte" => Dtype::U8,
        "Bool" => Dtype::BOOL,
        "ComplexFloat" => Dtype::C64,
        _ => return None,
    })
}

/// Where the tensors lie in the file, given where each storage lies.
fn places(
    views: BTreeMap<&str, View<'_>>,
    storages: &HashMap<&str, Range<usize>>,
) -> Result<Places, TorchError> {
    let mut places = BTreeMap::new();
    for (name, View { storage, layout }) in views {
        let whole = storages.get(storage.key).ok_or_else(|| content("a storage is missing"))?;
        let skipped = storage.first.saturating_mul(layout.element_bytes());
        let part = whole.start.saturating_add(skipped).min(whole.end)..whole.end;
        let fits = layout.check_fits(part.len());
        fits.map_err(|problem| TorchError::Content(format!("tensor {name:?}: {problem}")))?;
        places.insert(name.to_owned(), (layout, part));
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::weights::Places;

    /// The file of `torch.save({"a": x.t(), "b": x[1]}, _use_new_zipfile_serialization=False)` with
    /// `x = torch.arange(6.0).reshape(2, 3)`.
    pub(super) const LEGACY: &[u8] = include_bytes!("../../tests/data/torch-before-1.6.bin");

    /// Checks that `places` are the places of the tensors of [`LEGACY`].
    pub(super) fn assert_two_views(file: &[u8], places: &Places) {
        let found: Vec<_> = places
            .iter()
            .map(|(name, (layout, place))| {
                let bytes = layout.gather(&file[place.clone()]).unwrap();
                let floats = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
                (&name[..], &layout.shape[..], floats.collect())
            })
            .collect();
        let expected: [(&str, &[usize], Vec<f32>); 2] =
            [("a", &[3, 2], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]), ("b", &[3], vec![3.0, 4.0, 5.0])];
        assert_eq!(found, expected);
    }
}

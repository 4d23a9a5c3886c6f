//! Checkpoints of PyTorch before 1.6: five pickles in a row, then the storages.
//!
//! The pickles are a magic number, the protocol, facts about the system, the object that was saved, and the list of the storages'
//! keys. In the object a tensor is a call of `_rebuild_tensor` on a storage, which is a persistent id. A storage in the
//! file is its number of elements, in 64 bits, and the elements.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use toller_pickle::{Items, Pairs, Pickle, PickleError, Value};

use crate::elements::{Element, Strided};

const MAGIC: i128 = 0x1950_a86a_20f9_469c_fc6c;
const PROTOCOL: i128 = 1001;

/// The tensors of a file.
pub(crate) struct LegacyCheckpoint {
    bytes: Vec<u8>,
    tensors: BTreeMap<String, (Strided, Range<usize>)>,
}

/// Why a file is no such checkpoint.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LegacyError {
    #[error(transparent)]
    Pickle(#[from] PickleError),
    #[error("{0}")]
    Content(String),
}

/// Whether a file begins as one of PyTorch before 1.6.
pub(crate) fn is_legacy(start: &[u8]) -> bool {
    Pickle::load(start).is_ok_and(|pickle| pickle.root().as_int() == Some(MAGIC))
}

impl LegacyCheckpoint {
    /// Reads the tensors of the state dictionary that was saved, alone or under one of `keys`.
    ///
    /// # Errors
    /// When the file ends early or is not what PyTorch wrote.
    pub(crate) fn read(bytes: Vec<u8>, keys: &[&str]) -> Result<Self, LegacyError> {
        let mut at = 0;
        let mut next = || {
            let pickle = Pickle::load(&bytes[at..])?;
            at += pickle.end();
            Ok::<_, PickleError>(pickle)
        };
        for expected in [MAGIC, PROTOCOL] {
            if next()?.root().as_int() != Some(expected) {
                return Err(content("is no file of PyTorch"));
            }
        }
        next()?;
        let saved = next()?;
        let listed = next()?;

        let mut found = Vec::new();
        for (name, value) in state_dictionary(saved.root(), keys)?.iter() {
            if let Some(arguments) = rebuilt(value) {
                let name = name.as_str().ok_or_else(|| name.unexpected("the name of a tensor"))?;
                found.push((name, Tensor::read(value, arguments)?));
            }
        }
        let storages = storages(&found, listed.root(), &bytes, at)?;
        let mut tensors = BTreeMap::new();
        for (name, tensor) in found {
            let storage = storages.get(tensor.storage.key).ok_or_else(|| content("lacks a storage"))?;
            let data = storage.start + tensor.storage.start * tensor.layout.element.bytes()..storage.end;
            let fits = tensor.layout.check_fits(data.len());
            fits.map_err(|problem| LegacyError::Content(format!("tensor {name:?}: {problem}")))?;
            tensors.insert(name.to_owned(), (tensor.layout, data));
        }
        Ok(Self { bytes, tensors })
    }

    /// The names of the tensors.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.tensors.keys()
    }

    /// The tensor of a name.
    pub(crate) fn get(&self, name: &str) -> Option<Result<StoredTensor<'_>, String>> {
        let (layout, data) = self.tensors.get(name)?;
        Some(layout.gather(&self.bytes[data.clone()]).map(|elements| (layout, elements)))
    }
}

/// Where a tensor's elements lie, and the elements in row-major order.
pub(crate) type StoredTensor<'a> = (&'a Strided, Cow<'a, [u8]>);

/// The dictionary of the tensors: the object itself, or what it has under one of `keys`.
fn state_dictionary<'p, 'a>(root: Value<'p, 'a>, keys: &[&str]) -> Result<Pairs<'p, 'a>, LegacyError> {
    let saved = root.as_dict().ok_or_else(|| root.unexpected("a dictionary of tensors"))?;
    let has_tensors = |pairs: &Pairs<'p, 'a>| pairs.iter().any(|(_, value)| rebuilt(value).is_some());
    let nested = || keys.iter().filter_map(|key| saved.get(key)?.as_dict()).find(has_tensors);
    let found = if has_tensors(&saved) { Some(saved) } else { nested() };
    found.ok_or_else(|| content("holds no tensors"))
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

/// A tensor as its call tells it: storage, offset, shape, strides.
struct Tensor<'p> {
    storage: Storage<'p>,
    layout: Strided,
}

impl<'p> Tensor<'p> {
    fn read(value: Value<'p, '_>, arguments: Items<'p, '_>) -> Result<Self, LegacyError> {
        let parts = || {
            let storage = Storage::read(arguments.get(0)?.as_persistent_id()?)?;
            let sizes = |index| {
                let sizes = arguments.get(index)?;
                sizes.as_tuple().or(sizes.as_list())?.iter().map(Value::as_usize).collect::<Option<Vec<_>>>()
            };
            Some((storage, arguments.get(1)?.as_usize()?, sizes(2)?, sizes(3)?))
        };
        let (storage, offset, shape, strides) =
            parts().ok_or_else(|| value.unexpected("a tensor with its storage"))?;
        let layout = Strided::with_strides(storage.element, shape, strides, offset);
        Ok(Self { storage, layout: layout.map_err(LegacyError::Content)? })
    }
}

/// The storage of a tensor, as its persistent id tells it.
struct Storage<'p> {
    key: &'p str,
    element: Element,
    elements: usize,
    /// Where a view of another storage begins in it.
    start: usize,
}

impl<'p> Storage<'p> {
    /// `('storage', class, key, device, elements, view)`; a view is none or `(key, first element, elements)`.
    fn read(id: Value<'p, '_>) -> Option<Self> {
        let id = id.as_tuple()?;
        let (module, class) = id.get(1)?.as_global()?;
        let start = match id.get(5).filter(|view| !view.is_none()) {
            None => 0,
            Some(view) => view.as_tuple()?.get(1)?.as_usize()?,
        };
        let storage = Self {
            key: id.get(2)?.as_str()?,
            element: element(class)?,
            elements: id.get(4)?.as_usize()?,
            start,
        };
        let is_storage = id.get(0)?.as_str()? == "storage" && matches!(module, "torch" | "torch.storage");
        (is_storage && start <= storage.elements).then_some(storage)
    }
}

/// `torch.FloatStorage` and its kin.
fn element(class: &str) -> Option<Element> {
    Some(match class.strip_suffix("Storage")? {
        "Float" => Element::F32,
        "Double" => Element::F64,
        "Half" => Element::F16,
        "BFloat16" => Element::Bf16,
        "Long" => Element::Integer { bytes: 8 },
        "Int" => Element::Integer { bytes: 4 },
        "Short" => Element::Integer { bytes: 2 },
        "Char" | "Byte" | "Bool" => Element::Integer { bytes: 1 },
        _ => return None,
    })
}

/// Where the storages lie in the file, which has them from `at` on, in the order of the list of keys. One that belongs to
/// no tensor of the state dictionary (an optimizer's) has an unknown size of element, so none may follow it.
fn storages<'p>(
    tensors: &[(&str, Tensor<'p>)],
    keys: Value<'p, '_>,
    bytes: &[u8],
    mut at: usize,
) -> Result<HashMap<&'p str, Range<usize>>, LegacyError> {
    let known: HashMap<&str, &Storage<'p>> =
        tensors.iter().map(|(_, tensor)| (tensor.storage.key, &tensor.storage)).collect();
    let mut places = HashMap::new();
    for key in keys.as_list().ok_or_else(|| keys.unexpected("the list of the storages"))?.iter() {
        let key = key.as_str().ok_or_else(|| key.unexpected("the key of a storage"))?;
        let storage =
            known.get(key).ok_or_else(|| content("has storages of other objects than its weights"))?;
        let start = at.saturating_add(8);
        let elements = bytes.get(at..start).and_then(|length| length.try_into().ok()).map(u64::from_le_bytes);
        if elements.is_some_and(|elements| elements != storage.elements as u64) {
            return Err(content("has a storage of another length than its tensors say"));
        }
        let end =
            storage.elements.checked_mul(storage.element.bytes()).and_then(|size| start.checked_add(size));
        let end = end.filter(|&end| end <= bytes.len());
        let end = end.ok_or(PickleError::Truncated { offset: bytes.len() })?;
        places.insert(storage.key, start..end);
        at = end;
    }
    Ok(places)
}

fn content(problem: &str) -> LegacyError {
    LegacyError::Content(problem.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::{LegacyCheckpoint, is_legacy};

    /// The file of `torch.save({"a": x.t(), "b": x[1]}, _use_new_zipfile_serialization=False)` with
    /// `x = torch.arange(6.0).reshape(2, 3)`.
    const SMALL: &[u8] = include_bytes!("../tests/data/torch-before-1.6.bin");

    fn floats(checkpoint: &LegacyCheckpoint, name: &str) -> (Vec<usize>, Vec<f32>) {
        let (layout, bytes) = checkpoint.get(name).unwrap().unwrap();
        let floats = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        (layout.shape.clone(), floats.collect())
    }

    #[test]
    fn views_share_a_storage() {
        assert!(is_legacy(&SMALL[..64]));
        let checkpoint = LegacyCheckpoint::read(SMALL.to_vec(), &[]).unwrap();
        assert_eq!(checkpoint.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(floats(&checkpoint, "a"), (vec![3, 2], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
        assert_eq!(floats(&checkpoint, "b"), (vec![3], vec![3.0, 4.0, 5.0]));
        assert!(checkpoint.get("c").is_none());
    }

    #[test]
    fn a_file_that_ends_early_is_an_error() {
        for length in 0..SMALL.len() {
            assert!(LegacyCheckpoint::read(SMALL[..length].to_vec(), &[]).is_err(), "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn no_change_panics(at: prop::sample::Index, byte: u8) {
            let mut bytes = SMALL.to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(checkpoint) = LegacyCheckpoint::read(bytes, &["a"]) {
                for name in checkpoint.names() {
                    let _ = checkpoint.get(name);
                }
            }
        }
    }
}

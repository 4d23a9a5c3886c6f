//! What `paddle.save` writes of a state dictionary.

use std::borrow::Cow;

use safetensors::Dtype;
use toller_pickle::numpy::{Array, Content, Kind};
use toller_pickle::{Pairs, Pickle, PickleError, Value};

use super::checkpoint::{Checkpoint, LeftOut};
use crate::elements::{StoredTensor, Strided};

/// From the names of the layers to those of the static program.
const NAME_TABLE: &str = "StructuredToParameterName@@";

/// The table of arrays that protocols 2 and 3 cannot hold in one piece, and of their slices. The spelling is
/// Paddle's.
const SLICES: &str = "UnpackBigParamInfor@@";

/// The tensors of a pickle of `length` bytes: those of its dictionary, or of the only dictionary of tensors
/// in it.
pub(super) fn read<'p>(pickle: &'p Pickle<'_>, length: usize) -> Result<Checkpoint<'p>, PickleError> {
    let mut checkpoint = Checkpoint::default();
    let root = pickle.root();
    let mut entries = root.as_dict().ok_or_else(|| root.unexpected("a dictionary of tensors"))?;
    if !has_arrays(entries) {
        let nested = |(name, value): (Value<'p, '_>, Value<'p, '_>)| {
            let inner = value.as_dict().filter(|inner| has_arrays(*inner))?;
            Some((name.as_str()?, inner))
        };
        let mut found = entries.iter().filter_map(nested);
        let (name, inner) = match (found.next(), found.next()) {
            (Some(found), None) => found,
            _ => return Err(root.unexpected("one dictionary of tensors")),
        };
        for (other, value) in named(entries)? {
            if other != name {
                checkpoint.left_out.push(no_tensor(other, value)?);
            }
        }
        entries = inner;
    }
    let mut slices = None;
    // Arrays of protocol 2 are decoded into new memory. The sum is limited, because many arrays can share one
    // text.
    let mut decoded_bytes = 0;
    for (name, value) in named(entries)? {
        if name == SLICES {
            slices = Some(value);
        } else if is_array(value) {
            let tensor = tensor(value)?;
            if let Cow::Owned(data) = &tensor.data {
                decoded_bytes += data.len();
            }
            if decoded_bytes > length {
                return Err(value.unexpected("an array with bytes of its own"));
            }
            checkpoint.tensors.insert(name.to_owned(), tensor);
        } else if name != NAME_TABLE {
            checkpoint.left_out.push(no_tensor(name, value)?);
        }
    }
    if let Some(slices) = slices {
        join(slices, &mut checkpoint)?;
    }
    Ok(checkpoint)
}

fn named<'p, 'a>(entries: Pairs<'p, 'a>) -> Result<Vec<(&'p str, Value<'p, 'a>)>, PickleError> {
    let name = |name: Value<'p, 'a>| name.as_str().ok_or_else(|| name.unexpected("the name of a variable"));
    entries.iter().map(|(key, value)| Ok((name(key)?, value))).collect()
}

fn has_arrays(entries: Pairs<'_, '_>) -> bool {
    entries.iter().any(|(_, value)| is_array(value))
}

fn is_array(value: Value<'_, '_>) -> bool {
    let callable = unwrapped(value).as_object().and_then(|object| object.callable().as_global());
    callable.is_some_and(|(_, name)| matches!(name, "_reconstruct" | "_frombuffer"))
}

/// An entry that is plain data. What would be a call is refused by its name.
fn no_tensor(name: &str, value: Value<'_, '_>) -> Result<LeftOut, PickleError> {
    let is_plain = value.as_dict().is_some() || value.as_object().is_none() && value.as_global().is_none();
    if !is_plain {
        return Err(value.unexpected(format!("a tensor or plain data as {name:?}")));
    }
    Ok(LeftOut { name: name.to_owned(), reason: "not a tensor" })
}

/// The array of a tensor. Paddle writes a tensor as the call `tuple((name, array))` or
/// `eval('data', {'data': array})`. Nothing is evaluated here.
fn unwrapped<'p, 'a>(value: Value<'p, 'a>) -> Value<'p, 'a> {
    let inner = || {
        let object = value.as_object()?;
        match object.callable().as_global()? {
            ("builtins" | "__builtin__", "tuple") => object.args().get(0)?.as_tuple()?.get(1),
            ("builtins" | "__builtin__", "eval") if object.args().get(0)?.as_str() == Some("data") => {
                object.args().get(1)?.as_dict()?.get("data")
            }
            _ => None,
        }
    };
    inner().unwrap_or(value)
}

fn tensor<'p>(value: Value<'p, '_>) -> Result<StoredTensor<'p>, PickleError> {
    let value = unwrapped(value);
    let array = Array::read(value)?;
    let dtype = match (array.dtype.kind, array.dtype.size) {
        (Kind::Float, 2) => Dtype::F16,
        (Kind::Float, 4) => Dtype::F32,
        (Kind::Float, 8) => Dtype::F64,
        // NumPy has no bf16: Paddle writes its bits.
        (Kind::Uint, 2) => Dtype::BF16,
        // Integers are never weights, so that their sign does not matter.
        (Kind::Bool | Kind::Int | Kind::Uint, 1) => Dtype::I8,
        (Kind::Int, 2) => Dtype::I16,
        (Kind::Int | Kind::Uint, 4) => Dtype::I32,
        (Kind::Int | Kind::Uint, 8) => Dtype::I64,
        _ => return Err(value.unexpected("an array of numbers")),
    };
    let Content::Bytes(data) = array.content else { return Err(value.unexpected("an array of numbers")) };
    if array.dtype.big_endian {
        return Err(value.unexpected("an array of little-endian numbers"));
    }
    let layout = match array.fortran_order {
        true => Strided::column_major(dtype, array.shape),
        false => Strided::row_major(dtype, array.shape),
    };
    Ok(StoredTensor { layout: layout.map_err(|problem| value.unexpected(problem))?, data })
}

/// Joins slices: `{name: {"slices": [name, ...], "OriginShape": shape}}`. Each slice belongs to one array, so
/// that joining takes no more memory than the file.
fn join(table: Value<'_, '_>, checkpoint: &mut Checkpoint<'_>) -> Result<(), PickleError> {
    let entries = table.as_dict().ok_or_else(|| table.unexpected("a table of slices"))?;
    for (name, information) in named(entries)? {
        let unexpected = || information.unexpected(format!("the slices of {name:?}"));
        let fields = information.as_dict().ok_or_else(unexpected)?;
        let slices = fields.get("slices").and_then(Value::as_list).ok_or_else(unexpected)?;
        let shape = fields.get("OriginShape").and_then(Value::as_tuple).ok_or_else(unexpected)?;
        let shape = shape.iter().map(|size| size.as_usize().ok_or_else(unexpected));
        let shape = shape.collect::<Result<Vec<_>, _>>()?;
        let (mut dtype, mut data) = (None, Vec::new());
        for slice in slices.iter() {
            let piece = slice.as_str().and_then(|slice| checkpoint.tensors.remove(slice));
            let piece = piece.filter(|piece| dtype.is_none_or(|dtype| dtype == piece.layout.dtype));
            let piece = piece.ok_or_else(|| slice.unexpected(format!("the name of a slice of {name:?}")))?;
            dtype = Some(piece.layout.dtype);
            data.extend_from_slice(&piece.data);
        }
        let layout = Strided::row_major(dtype.ok_or_else(unexpected)?, shape).ok();
        let layout = layout.filter(|layout| layout.check_fits(data.len()).is_ok()).ok_or_else(unexpected)?;
        checkpoint.tensors.insert(name.to_owned(), StoredTensor { layout, data: Cow::Owned(data) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use toller_pickle::Pickle;

    use super::read;

    /// `paddle.save` with arrays over 400 bytes in slices.
    const SLICED: &[u8] = include_bytes!("../../../../tests/fixtures/paddle/dygraph/large.pdparams");

    #[test]
    fn a_truncated_file_is_an_error() {
        for length in (0..SLICED.len()).step_by(97) {
            assert!(Pickle::load(&SLICED[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn slices_become_one_again() {
        let pickle = Pickle::load(SLICED).unwrap();
        let checkpoint = read(&pickle, SLICED.len()).unwrap();
        let words = &checkpoint.tensors["ernie.embeddings.word_embeddings.weight"];
        assert_eq!(words.layout.shape, [32, 16]);
        assert_eq!(words.row_major().unwrap().len(), 32 * 16 * 4);
        assert!(checkpoint.tensors.keys().all(|name| !name.contains("@@")));
    }

    #[test]
    fn what_would_be_called_is_refused_by_name() {
        // {"a": array, "b": os.system("ls")}, the array from numpy.
        let array = &b"X\x01\x00\x00\x00acnumpy.core.multiarray\n_reconstruct\n)R"[..];
        let call = &b"X\x01\x00\x00\x00bcos\nsystem\nX\x02\x00\x00\x00ls\x85R"[..];
        let bytes = [b"\x80\x02}(", call, array, b"u."].concat();
        let pickle = Pickle::load(&bytes).unwrap();
        let error = read(&pickle, bytes.len()).unwrap_err().to_string();
        assert!(error.contains("os.system"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_change_panics(at: prop::sample::Index, byte: u8) {
            let mut bytes = SLICED.to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(pickle) = Pickle::load(&bytes) && let Ok(checkpoint) = read(&pickle, bytes.len()) {
                checkpoint.tensors.values().for_each(|tensor| drop(tensor.row_major()));
            }
        }
    }
}

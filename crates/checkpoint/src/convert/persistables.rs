//! Variables of static programs: Paddle's own binary form of a tensor.
//!
//! A tensor is a version (u32, 0), the number of levels of detail (u64) and for each its bytes (u64, then the
//! bytes), a version (u32, 0), the length of its description (i32), the description (protobuf: type,
//! dimensions), and the elements.

use std::borrow::Cow;
use std::collections::BTreeMap;

use prost::Message;

use safetensors::Dtype;

use super::checkpoint::Checkpoint;
use super::program::TensorDesc;
use crate::elements::{StoredTensor, Strided};

/// The variable of a file that holds no other.
pub(super) fn variable(bytes: &[u8]) -> Result<StoredTensor<'_>, String> {
    let mut rest = bytes;
    let tensor = tensor(&mut rest)?;
    if !rest.is_empty() {
        return Err(format!("has {} bytes after the variable; is it a file of several?", rest.len()));
    }
    Ok(tensor)
}

/// The variables of one file. Every version of Paddle writes them in the order of their names. `variables`
/// are the names and shapes of the program.
pub(super) fn combined<'a>(
    bytes: &'a [u8],
    variables: &BTreeMap<String, Vec<i64>>,
) -> Result<Checkpoint<'a>, String> {
    let mut checkpoint = Checkpoint::default();
    let mut rest = bytes;
    for (name, shape) in variables {
        let tensor = tensor(&mut rest).map_err(|problem| format!("variable {name:?}: {problem}"))?;
        let same = |(&found, &said): (&usize, &i64)| said < 0 || i64::try_from(found) == Ok(said);
        if tensor.layout.shape.len() != shape.len() || !tensor.layout.shape.iter().zip(shape).all(same) {
            return Err(format!(
                "variable {name:?} has shape {shape:?} in the program, but {:?} in the file",
                tensor.layout.shape
            ));
        }
        checkpoint.tensors.insert(name.clone(), tensor);
    }
    if !rest.is_empty() {
        return Err(format!(
            "has {} bytes after the {} variables of the program",
            rest.len(),
            variables.len()
        ));
    }
    Ok(checkpoint)
}

/// Takes a tensor from the front of `rest`.
fn tensor<'a>(rest: &mut &'a [u8]) -> Result<StoredTensor<'a>, String> {
    version(rest)?;
    let levels = number::<8>(rest).map(u64::from_le_bytes)?;
    for _ in 0..levels {
        let length = number::<8>(rest).map(u64::from_le_bytes)?;
        take(rest, usize::try_from(length).unwrap_or(usize::MAX))?;
    }
    version(rest)?;
    let length = number::<4>(rest).map(i32::from_le_bytes)?;
    let description = take(rest, usize::try_from(length).map_err(|_| NOT_PADDLE)?)?;
    let description = TensorDesc::decode(description).map_err(|error| error.to_string())?;
    let number = description.data_type.ok_or("has no type")?;
    let shape = description.dims.into_iter().map(usize::try_from);
    let shape = shape.collect::<Result<Vec<_>, _>>().map_err(|_| "has no shape".to_owned())?;
    let layout = Strided::row_major(dtype(number)?, shape)?;
    let bytes = layout.len().checked_mul(layout.element_bytes()).ok_or("is too large")?;
    Ok(StoredTensor { data: Cow::Borrowed(take(rest, bytes)?), layout })
}

const NOT_PADDLE: &str = "is not a variable as Paddle saves it";

fn version(rest: &mut &[u8]) -> Result<(), String> {
    match number::<4>(rest).map(u32::from_le_bytes)? {
        0 => Ok(()),
        _ => Err(NOT_PADDLE.to_owned()),
    }
}

fn number<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], String> {
    let mut number = [0; N];
    number.copy_from_slice(take(rest, N)?);
    Ok(number)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], String> {
    let (taken, after) = rest.split_at_checked(count).ok_or("ends early")?;
    *rest = after;
    Ok(taken)
}

/// The numbers of Paddle's `VarType.Type`.
fn dtype(number: i32) -> Result<Dtype, String> {
    Ok(match number {
        0 => Dtype::BOOL,
        1 => Dtype::I16,
        2 => Dtype::I32,
        3 => Dtype::I64,
        4 => Dtype::F16,
        5 => Dtype::F32,
        6 => Dtype::F64,
        20 => Dtype::U8,
        21 => Dtype::I8,
        22 => Dtype::BF16,
        other => return Err(format!("has elements of the unknown type {other}")),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use safetensors::Dtype;

    use super::{combined, variable};
    use crate::convert::program;

    const PARAMS: &[u8] = include_bytes!("../../../../tests/fixtures/paddle/cross-encoder/__params__");
    const MODEL: &[u8] = include_bytes!("../../../../tests/fixtures/paddle/cross-encoder/__model__");

    /// `[1, 2]` f32, as Paddle writes it.
    fn small() -> Vec<u8> {
        let mut bytes = vec![0; 16];
        bytes.extend([6, 0, 0, 0, 0x08, 5, 0x10, 1, 0x10, 2]);
        bytes.extend([1.5f32, -2.0].iter().flat_map(|x| x.to_le_bytes()));
        bytes
    }

    #[test]
    fn one_variable() {
        let bytes = small();
        let tensor = variable(&bytes).unwrap();
        assert_eq!((tensor.layout.dtype, &tensor.layout.shape[..]), (Dtype::F32, &[1, 2][..]));
        assert_eq!(tensor.row_major().unwrap(), &bytes[26..]);
        for length in 0..bytes.len() {
            assert!(variable(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(variable(&[bytes, vec![0]].concat()).is_err());
    }

    #[test]
    fn combined_variables_are_those_of_the_program() {
        let variables = program::variables(MODEL).unwrap();
        assert_eq!(combined(PARAMS, &variables).unwrap().tensors.len(), variables.len());
        assert!(combined(&PARAMS[..PARAMS.len() - 1], &variables).is_err());
        let mut fewer = variables.clone();
        fewer.pop_last();
        assert!(combined(PARAMS, &fewer).is_err());
        let mut renamed: BTreeMap<_, _> = variables.clone();
        let shape = renamed.remove("word_embedding").unwrap();
        renamed.insert("a".to_owned(), shape);
        assert!(combined(PARAMS, &renamed).is_err());
    }

    proptest! {
        #[test]
        fn no_change_panics(at: prop::sample::Index, byte: u8) {
            let mut bytes = small();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = variable(&bytes);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = variable(&bytes);
        }
    }
}

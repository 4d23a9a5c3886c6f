//! Directories of PyTorch weights: the same model with safetensors in place of pickles or shards.

use std::path::Path;

use candle_core::{DType, Tensor};
use toller_files::FileError;

use super::write::{Entry, write_file, write_safetensors};
use super::{ConvertError, Converted, ConvertedModel};
use crate::choose_weights;
use crate::tensors::Tensors;

/// Endings of files that hold weights, in this form or another.
const WEIGHTS: [&str; 11] = [
    ".bin",
    ".pt",
    ".pth",
    ".safetensors",
    ".index.json",
    ".h5",
    ".msgpack",
    ".ot",
    ".onnx",
    ".pdparams",
    ".ckpt",
];

/// Writes the weights of a directory and of the folders in it (a tower, a Dense module) as safetensors, under the names and
/// in the types that they have, and copies what lies beside them.
pub(super) fn convert(source: &Path, output: &Path) -> Result<Converted, ConvertError> {
    let mut converted = Converted { models: Vec::new(), left_out: Vec::new() };
    convert_folder(source, output, &mut converted)?;
    Ok(converted)
}

fn convert_folder(source: &Path, output: &Path, converted: &mut Converted) -> Result<(), ConvertError> {
    std::fs::create_dir_all(output).map_err(FileError::on("create", output))?;
    let mut names = Vec::new();
    for entry in std::fs::read_dir(source).map_err(FileError::on("list", source))? {
        let entry = entry.map_err(FileError::on("list", source))?;
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    for name in names.iter().filter(|name| !name.starts_with('.')) {
        let (from, to) = (source.join(name), output.join(name));
        if from.is_dir() {
            // Only modules and towers have a configuration of their own; ONNX files and the like stay behind.
            if from.join("config.json").is_file() {
                convert_folder(&from, &to, converted)?;
            }
        } else if !WEIGHTS.iter().any(|ending| name.ends_with(ending)) {
            write_file(&to, &std::fs::read(&from).map_err(FileError::on("read", &from))?)?;
        }
    }
    if !choose_weights(&names.iter().map(String::as_str).collect::<Vec<_>>()).is_empty() {
        converted.models.push(convert_weights(source, output)?);
    }
    Ok(())
}

fn convert_weights(source: &Path, output: &Path) -> Result<ConvertedModel, ConvertError> {
    let tensors = Tensors::open(source)?;
    let mut stored: Vec<(String, Tensor)> = Vec::new();
    for name in tensors.names() {
        let wrong = |error: candle_core::Error| ConvertError::Variable {
            path: source.to_owned(),
            name: name.clone(),
            problem: error.to_string(),
        };
        stored.push((name.clone(), tensors.stored(name).map_err(wrong)?));
    }
    let mut entries = Vec::new();
    for (name, tensor) in &stored {
        let dtype = dtype(tensor.dtype()).ok_or_else(|| ConvertError::Variable {
            path: source.to_owned(),
            name: name.clone(),
            problem: format!("is of type {:?}", tensor.dtype()),
        })?;
        let bytes = tensor.elem_count() * tensor.dtype().size_in_bytes();
        entries.push(Entry { name: name.clone(), dtype, shape: tensor.dims().to_vec(), bytes });
    }
    let path = output.join("model.safetensors");
    write_safetensors(&path, &entries, |index, mut out| {
        let Some((_, tensor)) = stored.get(index) else { return Ok(()) };
        tensor.write_bytes(&mut out).map_err(|error| ConvertError::Variable {
            path: path.clone(),
            name: entries[index].name.clone(),
            problem: error.to_string(),
        })
    })?;
    Ok(ConvertedModel {
        directory: output.to_owned(),
        architecture: "as it was".to_owned(),
        tensors: stored.len(),
        parameters: stored.iter().map(|(_, tensor)| tensor.elem_count()).sum(),
    })
}

/// The name that safetensors has for a type.
fn dtype(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::F16 => "F16",
        DType::BF16 => "BF16",
        DType::F32 => "F32",
        DType::F64 => "F64",
        DType::U8 => "U8",
        DType::U32 => "U32",
        DType::I64 => "I64",
        _ => return None,
    })
}

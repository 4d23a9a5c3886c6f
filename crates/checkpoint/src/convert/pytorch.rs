//! Directories of PyTorch weights: the same model with safetensors in place of pickles or shards.

use std::path::Path;

use toller_files::{FileError, names_in};

use super::write::{write_file, write_weights};
use super::{ConvertError, Converted, ConvertedModel};
use crate::{choose_weights, weights};

/// Endings of files that hold weights, in this form or another.
const WEIGHTS: [&str; 11] = [
    ".bin", ".pt", ".pth", ".safetensors", ".index.json", ".h5", ".msgpack", ".ot", ".onnx", ".pdparams",
    ".ckpt",
];

/// Writes the weights of a directory and of the folders in it (a tower, a Dense module) as safetensors. Names
/// and types stay, and the other files are copied.
pub(super) fn convert(source: &Path, output: &Path) -> Result<Converted, ConvertError> {
    let mut converted = Converted { models: Vec::new(), left_out: Vec::new() };
    convert_folder(source, output, &mut converted)?;
    Ok(converted)
}

fn convert_folder(source: &Path, output: &Path, converted: &mut Converted) -> Result<(), ConvertError> {
    std::fs::create_dir_all(output).map_err(FileError::on("create", output))?;
    let names = names_in(source)?;
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
    let (_, tensors) = weights::open(source)?;
    let tensors = tensors.iter().map(|(name, tensor)| (name.clone(), tensor.stored())).collect();
    write_weights(output, &tensors)?;
    Ok(ConvertedModel::new(output, "as it was", &tensors))
}

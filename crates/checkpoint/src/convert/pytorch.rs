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
/// and types stay, and the other files are copied. If a file is named, it holds the weights of the directory.
pub(super) fn convert(source: &Path, named: Option<&Path>, output: &Path) -> Result<Converted, ConvertError> {
    let mut converted = Converted { models: Vec::new(), left_out: Vec::new() };
    convert_folder(source, named, output, &mut converted)?;
    if converted.models.is_empty() {
        return Err(ConvertError::NoCheckpoint(source.to_owned()));
    }
    Ok(converted)
}

fn convert_folder(
    source: &Path,
    named: Option<&Path>,
    output: &Path,
    converted: &mut Converted,
) -> Result<(), ConvertError> {
    std::fs::create_dir_all(output).map_err(FileError::on("create", output))?;
    let names = names_in(source)?;
    for name in names.iter().filter(|name| !name.starts_with('.')) {
        let (from, to) = (source.join(name), output.join(name));
        if from.is_dir() {
            // Only modules and towers have a configuration of their own; ONNX files and the like stay behind.
            if from.join("config.json").is_file() {
                convert_folder(&from, None, &to, converted)?;
            }
        } else if !WEIGHTS.iter().any(|ending| name.ends_with(ending)) {
            write_file(&to, &std::fs::read(&from).map_err(FileError::on("read", &from))?)?;
        }
    }
    let usual = choose_weights(&names.iter().map(String::as_str).collect::<Vec<_>>());
    // A file that is one of several shards stands for all of them.
    let is_usual = |file: &&Path| usual.iter().any(|name| file.ends_with(name));
    let tensors = match named.filter(|file| !is_usual(file)) {
        Some(file) => weights::open_file(file)?,
        None if usual.is_empty() => return Ok(()),
        None => weights::open(source)?.1,
    };
    let tensors = tensors.iter().map(|(name, tensor)| (name.clone(), tensor.stored())).collect();
    write_weights(output, &tensors)?;
    converted.models.push(ConvertedModel::new(output, "as it was", &tensors));
    Ok(())
}

//! Which files of a folder hold its weights.

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
        ending(".safetensors"),
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
            "config.json",
            "model.onnx",
            "tf_model.h5",
            "pytorch_model.bin",
            "model.safetensors",
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
            "model-00001-of-00002.safetensors",
            "model-00002-of-00002.safetensors",
            "model.safetensors.index.json",
            "pytorch_model.bin",
        ];
        assert_eq!(choose(&sharded), sharded.get(..3).unwrap_or_default());
        let pickled = ["pytorch_model-00001-of-00001.bin", "pytorch_model.bin.index.json", "optimizer.bin"];
        assert_eq!(choose(&pickled), pickled.get(..2).unwrap_or_default());
    }
}

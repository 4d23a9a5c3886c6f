"""A BERT of any shape with random weights, for measurements: a directory that Toller and transformers read."""
import json
import random
import shutil
import struct

# The shape of BERT-base, and one for a stand-in.
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
TINY = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 128}
# Different random numbers; weights repeat them.
NUMBERS = 1 << 18
# The standard deviation with which BERT's weights begin.
DEVIATION = 0.02


def shapes(config, is_cross_encoder):
    """The name and the shape of every tensor."""
    if is_cross_encoder:
        hidden = config["hidden_size"]
        heads = [("bert.pooler.dense.weight", [hidden, hidden]), ("bert.pooler.dense.bias", [hidden]),
                 ("classifier.weight", [1, hidden]), ("classifier.bias", [1])]
        return [(f"bert.{name}", sizes) for name, sizes in shapes(config, False)] + heads
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    linear = lambda name, outputs, inputs: [(f"{name}.weight", [outputs, inputs]), (f"{name}.bias", [outputs])]
    norm = lambda name: [(f"{name}.LayerNorm.weight", [hidden]), (f"{name}.LayerNorm.bias", [hidden])]
    rows = {"word": config["vocab_size"], "position": config["max_position_embeddings"], "token_type": config["type_vocab_size"]}
    tensors = [(f"embeddings.{name}_embeddings.weight", [count, hidden]) for name, count in rows.items()] + norm("embeddings")
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        for part in ["query", "key", "value"]:
            tensors += linear(f"{name}.attention.self.{part}", hidden, hidden)
        tensors += linear(f"{name}.attention.output.dense", hidden, hidden) + norm(f"{name}.attention.output")
        tensors += linear(f"{name}.intermediate.dense", inner, hidden)
        tensors += linear(f"{name}.output.dense", hidden, inner) + norm(f"{name}.output")
    return tensors


def make(like, folder, shape, positions=512, is_cross_encoder=False):
    """Writes a model of this shape to `folder`, with the tokenizer of the model `like`."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {**json.loads((like / "config.json").read_text()), **shape, "max_position_embeddings": positions}
    if is_cross_encoder:
        config |= {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
    (folder / "config.json").write_text(json.dumps(config))
    for path in like.iterdir():
        if path.suffix == ".json" and path.name.startswith("tokenizer"):
            shutil.copy(path, folder)
    # Readers cut texts at the tokenizer's length.
    settings = folder / "tokenizer_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "model_max_length": positions}))
    source = random.Random(1)
    numbers = struct.pack(f"<{NUMBERS}e", *(source.gauss(0, DEVIATION) for _ in range(NUMBERS)))
    header, end = {}, 0
    for name, sizes in shapes(config, is_cross_encoder):
        size = 2 * sizes[0] * (sizes[1] if len(sizes) == 2 else 1)
        header[name] = {"dtype": "F16", "shape": sizes, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, tensor in header.items():
            size = tensor["data_offsets"][1] - tensor["data_offsets"][0]
            if "LayerNorm.weight" in name:
                file.write(struct.pack("<e", 1) * (size // 2))
                continue
            # From another place for each tensor.
            start = 2 * source.randrange(NUMBERS)
            file.write(((numbers[start:] + numbers[:start]) * (size // len(numbers) + 1))[:size])
    return folder

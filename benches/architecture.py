"""A model of some architecture on the CPU: `toller encode` next to sentence-transformers, whole processes in turn.

    $(scripts/peers) benches/architecture.py TOLLER [--passages 40] [--rounds 3] [--threads N] [--shape qwen3-0.6b]

The model has the shape of a published one, random weights (their values cost nothing and save nothing), fewer words,
and the tokenizer of the tests, which cuts words into small pieces. Both read SciFact's first passages from one file,
and write vectors. A process is timed from its start to its end, so loading counts; the second figure of each is its
own, of encoding alone. Prints a table, and the largest relative difference of the vectors.
"""

import argparse
import gzip
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
SHARED = pathlib.Path(os.environ.get("TOLLER_SHARED", REPOSITORY.parent / "shared"))
QWEN3_06B = {
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
}
# Of each model: the class of transformers, the tests' model whose tokenizer it takes, its pooling, and its shape.
SHAPES = {
    "qwen3-0.6b": ("Qwen3Model", "qwen3", "lasttoken", QWEN3_06B),
    "embeddinggemma-300m": (
        "Gemma3TextModel",
        "gemma3",
        "mean",
        {
            "hidden_size": 768,
            "intermediate_size": 1152,
            "num_hidden_layers": 24,
            "num_attention_heads": 3,
            "num_key_value_heads": 1,
            "head_dim": 256,
            "max_position_embeddings": 2048,
            "sliding_window": 512,
            "use_bidirectional_attention": True,
        },
    ),
    "gte-multilingual-base": ("GteModel", "gte", "cls", {}),
    "gtr-t5-base": (
        "T5EncoderModel",
        "t5",
        "mean",
        {"d_model": 768, "d_ff": 3072, "d_kv": 64, "num_layers": 12, "num_heads": 12, "feed_forward_proj": "relu"},
    ),
}
WORDS = 30_000
MAX_LENGTH = 512
BATCH = 16


def make_model(folder: pathlib.Path, name: str) -> None:
    """A folder as sentence-transformers lays it out, with Normalize."""
    import torch
    import transformers

    kind, fixture, pooling, shape = SHAPES[name]
    model_class = getattr(transformers, kind)
    config = model_class.config_class(vocab_size=WORDS, **shape)
    torch.manual_seed(1)
    model_class(config).to(torch.float32).save_pretrained(folder)
    shutil.copy(REPOSITORY / "tests/fixtures/models" / fixture / "tokenizer.json", folder)
    # Other classes of tokenizers make their own of the words in the file.
    words = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": words.convert_ids_to_tokens(0)}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    listed = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (path, kind) in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(listed), encoding="utf-8")
    pooling = {"word_embedding_dimension": config.hidden_size, "pooling_mode": pooling}
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling), encoding="utf-8")
    (folder / "2_Normalize").mkdir()
    limits = {"max_seq_length": MAX_LENGTH, "do_lower_case": False}
    (folder / "sentence_bert_config.json").write_text(json.dumps(limits), encoding="utf-8")


def peer(model: str, corpus: str, output: str, threads: str) -> None:
    """What a process of the peer does. Prints the seconds of encoding."""
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(int(threads))
    with open(corpus, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    encoder = SentenceTransformer(model, device="cpu", model_kwargs={"dtype": torch.float32})
    started = time.perf_counter()
    vectors = encoder.encode_document(texts, batch_size=BATCH, show_progress_bar=False)
    print(time.perf_counter() - started)
    np.save(output, vectors)


def run(command: list[object], environment: dict[str, str]) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True,
                          env=os.environ | environment)
    return time.perf_counter() - started, done.stdout


def difference(ours: pathlib.Path, theirs: pathlib.Path) -> float:
    import numpy as np

    ours, theirs = np.load(ours), np.load(theirs)
    return float((np.linalg.norm(ours - theirs, axis=1) / np.linalg.norm(theirs, axis=1)).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toller", type=pathlib.Path)
    parser.add_argument("--passages", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--shape", choices=SHAPES, default="qwen3-0.6b")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        model, corpus, store, theirs = (work / name for name in ("model", "corpus.jsonl", "store", "theirs.npy"))
        model.mkdir()
        make_model(model, arguments.shape)
        with gzip.open(SHARED / "data/scifact/corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            passages = [json.loads(line) for line, _ in zip(lines, range(arguments.passages))]
        with corpus.open("w", encoding="utf-8") as out:
            for passage in passages:
                out.write(json.dumps({"_id": passage["_id"], "text": passage["text"]}) + "\n")
        seconds: dict[str, list[tuple[float, float]]] = {"toller": [], "sentence-transformers": []}
        tokens = 0
        for _ in range(arguments.rounds):
            shutil.rmtree(store, ignore_errors=True)
            whole, said = run([arguments.toller, "encode", "--model", model, "--corpus", corpus, "--output", store,
                               "--threads", arguments.threads, "--json", "--quiet"], {})
            report = json.loads(said)
            tokens = report["encoded_tokens"]
            seconds["toller"].append((whole, report["seconds"]))
            command = [sys.executable, __file__, "--peer", model, corpus, theirs, arguments.threads]
            whole, said = run(command, {"HF_HUB_OFFLINE": "1"})
            seconds["sentence-transformers"].append((whole, float(said.split()[-1])))
        npy = work / "ours.npy"
        run([arguments.toller, "store", "export", store, "--output", npy, "--quiet"], {})
        print(f"{arguments.shape}, f32, {arguments.threads} threads: {len(passages)} passages of "
              f"{tokens / len(passages):.0f} tokens, median of {arguments.rounds} rounds in turn")
        medians = {name: [statistics.median(column) for column in zip(*times)] for name, times in seconds.items()}
        for name, (whole, own) in medians.items():
            print(f"  {name:<24}{whole:>8.1f} s, {tokens / whole:>5.0f} tokens/s; encoding alone {own:>8.1f} s, "
                  f"{tokens / own:>5.0f} tokens/s")
        whole, own = (b / a for a, b in zip(*medians.values()))
        print(f"  ratio {whole:.2f}; encoding alone {own:.2f}")
        print(f"  largest relative difference of a vector: {difference(npy, theirs):.1e}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(*sys.argv[2:])
    else:
        main()

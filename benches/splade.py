"""A learned sparse model (SPLADE) on the CPU: `toller encode` next to sentence-transformers' SparseEncoder,
whole processes in turn.

    $(scripts/peers) benches/splade.py TOLLER [--passages 64] [--rounds 3] [--threads 2]

The model has the shape of BERT-base with its head for masked words, random weights (their values cost nothing
and save nothing), and the tokenizer of all-MiniLM-L6-v2 (`scripts/get-minilm`), which is BERT's. The bias of
its outputs is such that about 150 terms of a passage have weights. Both read SciFact's first passages from
one file. Toller writes a store, the peer JSON lines as Pyserini has them: each weight times 100, as the
nearest integer. A process is timed from its start to its end, so loading and writing count; the second figure
of each is its own, of encoding alone. Prints a table, and the largest difference of an impact: rounding
explains 1.
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
MAX_LENGTH = 512
BATCH = 32
TERMS = 150
FACTOR = 100
# Widens the logits, which are close together in a random model: impacts then reach a few hundred.
SPREAD = 12.0
CALIBRATED_ON = 16


def make_model(folder: pathlib.Path, texts: list[str]) -> None:
    """A folder as published models have it: a masked language model, and the maximum of log(1 + relu)."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    _, minilm = run([REPOSITORY / "scripts/get-minilm"])
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        shutil.copy(pathlib.Path(minilm.strip()) / name, folder / name)
    torch.manual_seed(1)
    model = BertForMaskedLM(BertConfig()).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        model.cls.predictions.transform.LayerNorm.weight.mul_(SPREAD)
        bounds = []
        for text in texts:
            inputs = tokenizer(text, truncation=True, max_length=MAX_LENGTH, return_tensors="pt")
            bounds.append(model(**inputs).logits[0].amax(dim=0).topk(TERMS).values[-1])
        model.cls.predictions.bias.fill_(-torch.stack(bounds).mean())
    model.save_pretrained(folder)
    package = "sentence_transformers.sparse_encoder.models"
    kinds = [("", "MLMTransformer"), ("1_SpladePooling", "SpladePooling")]
    written = {
        "modules.json": [
            {"idx": at, "name": str(at), "path": path, "type": f"{package}.{kind}"}
            for at, (path, kind) in enumerate(kinds)
        ],
        "1_SpladePooling/config.json": {
            "pooling_strategy": "max", "activation_function": "relu", "word_embedding_dimension": None,
        },
        "sentence_bert_config.json": {"max_seq_length": MAX_LENGTH, "do_lower_case": False},
        "config_sentence_transformers.json": {
            "model_type": "SparseEncoder", "prompts": {"query": "", "document": ""},
            "default_prompt_name": None, "similarity_fn_name": "dot",
        },
    }
    (folder / "1_SpladePooling").mkdir()
    for name, contents in written.items():
        (folder / name).write_text(json.dumps(contents), encoding="utf-8")


def peer(model: str, corpus: str, output: str, threads: str) -> None:
    """What a process of the peer does. Prints the seconds of encoding."""
    import numpy as np
    import torch
    from sentence_transformers import SparseEncoder

    torch.set_num_threads(int(threads))
    with open(corpus, encoding="utf-8") as lines:
        passages = [json.loads(line) for line in lines]
    encoder = SparseEncoder(model, device="cpu", model_kwargs={"dtype": torch.float32})
    words = {at: word for word, at in encoder.tokenizer.get_vocab().items()}
    started = time.perf_counter()
    texts = [passage["text"] for passage in passages]
    vectors = encoder.encode_document(texts, batch_size=BATCH, show_progress_bar=False).coalesce()
    print(time.perf_counter() - started)
    rows, terms = vectors.indices().numpy()
    impacts = np.rint(vectors.values().numpy() * FACTOR).astype(int)
    of_passages: list[dict[str, int]] = [{} for _ in passages]
    for row, term, impact in zip(rows.tolist(), terms.tolist(), impacts.tolist()):
        if impact > 0:
            of_passages[row][words[term]] = impact
    with open(output, "w", encoding="utf-8") as out:
        for passage, vector in zip(passages, of_passages):
            out.write(json.dumps({"id": passage["_id"], "vector": vector}) + "\n")


def run(command: list[object], **environment: str) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True,
                          env=os.environ | environment)
    return time.perf_counter() - started, done.stdout


def impacts_of(file: pathlib.Path) -> dict[str, dict[str, int]]:
    with file.open(encoding="utf-8") as lines:
        return {passage["id"]: passage["vector"] for passage in map(json.loads, lines)}


def compare(ours: pathlib.Path, theirs: pathlib.Path) -> str:
    """How far the impacts are apart; a term that one of the two lacks weighs 0 there."""
    ours, theirs = impacts_of(ours), impacts_of(theirs)
    if ours.keys() != theirs.keys():
        raise SystemExit("error: the two did not write the same passages")
    apart = [
        abs(ours[passage].get(term, 0) - theirs[passage].get(term, 0))
        for passage in theirs
        for term in ours[passage].keys() | theirs[passage].keys()
    ]
    largest = max(impact for vector in theirs.values() for impact in vector.values())
    differing = sum(1 for distance in apart if distance)
    return (f"{len(apart) / len(theirs):.0f} terms a passage, impacts up to {largest}; "
            f"largest difference of an impact: {max(apart)} ({differing} of {len(apart)} differ)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("toller", type=pathlib.Path)
    parser.add_argument("--passages", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        model, corpus, store = (work / name for name in ("model", "corpus.jsonl", "store"))
        ours, theirs = work / "ours.jsonl", work / "theirs.jsonl"
        with gzip.open(SHARED / "data/scifact/corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            passages = [json.loads(line) for line, _ in zip(lines, range(arguments.passages))]
        with corpus.open("w", encoding="utf-8") as out:
            for passage in passages:
                out.write(json.dumps({"_id": passage["_id"], "text": passage["text"]}) + "\n")
        model.mkdir()
        make_model(model, [passage["text"] for passage in passages[:CALIBRATED_ON]])
        seconds: dict[str, list[tuple[float, float]]] = {"toller": [], "sentence-transformers": []}
        tokens = 0
        for _ in range(arguments.rounds):
            shutil.rmtree(store, ignore_errors=True)
            whole, said = run([arguments.toller, "encode", "--model", model, "--corpus", corpus, "--output",
                               store, "--threads", arguments.threads, "--json", "--quiet"])
            report = json.loads(said)
            tokens = report["encoded_tokens"]
            seconds["toller"].append((whole, report["seconds"]))
            command = [sys.executable, __file__, "--peer", model, corpus, theirs, arguments.threads]
            whole, said = run(command, HF_HUB_OFFLINE="1", RAYON_NUM_THREADS=str(arguments.threads))
            seconds["sentence-transformers"].append((whole, float(said.split()[-1])))
        exported, _ = run([arguments.toller, "store", "export", store, "--output", ours, "--quiet"])
        print(f"BERT-base with SPLADE's pooling, f32, {arguments.threads} threads: {len(passages)} passages "
              f"of {tokens / len(passages):.0f} tokens, median of {arguments.rounds} rounds in turn")
        medians = {
            name: [statistics.median(column) for column in zip(*times)] for name, times in seconds.items()
        }
        for name, (whole, own) in medians.items():
            print(f"  {name:<24}{whole:>8.1f} s, {tokens / whole:>5.0f} tokens/s; "
                  f"encoding alone {own:>8.1f} s, {tokens / own:>5.0f} tokens/s")
        whole, own = (b / a for a, b in zip(*medians.values()))
        print(f"  ratio {whole:.2f}; encoding alone {own:.2f}")
        print(f"  not counted: toller store export, {exported:.2f} s")
        print(f"  {compare(ours, theirs)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(*sys.argv[2:])
    else:
        main()

"""A language model as a reranker on the CPU: `toller rerank` next to sentence-transformers' CrossEncoder, whole
processes in turn.

    $(scripts/peers) benches/reranker.py TOLLER [--passages 20] [--words 60] [--rounds 3] [--threads N]

The model has the shape of Qwen3-Reranker-0.6B and a chat template of the same kind, random weights (their values cost
nothing and save nothing), fewer words, and the tokenizer of the tests, which cuts words into small pieces. Both read
one query of SciFact and the beginnings of its first passages, as long as MS MARCO's, and score every pair. A process
is timed from its start to its end, so loading counts; the second figure of each is its own, of scoring alone. Prints a
table, and the largest difference of a score, relative to the largest score.
"""

import argparse
import gzip
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

from architecture import QWEN3_06B, REPOSITORY, SHARED, WORDS, run

BATCH = 10


def make_model(folder: pathlib.Path) -> None:
    """A folder as transformers saves a language model, whose answers are yes and no."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(1)
    config = Qwen3Config(vocab_size=WORDS, tie_word_embeddings=True, **QWEN3_06B)
    Qwen3ForCausalLM(config).to(torch.float32).save_pretrained(folder)
    fixture = REPOSITORY / "tests/fixtures/chat-models/qwen3-plain"
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(fixture / name, folder / name)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": 8192}))


def peer(model: str, pairs: str, output: str, threads: str) -> None:
    """What a process of the peer does. Prints the seconds of scoring."""
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(int(threads))
    with open(pairs, encoding="utf-8") as lines:
        pairs = [tuple(json.loads(line)) for line in lines]
    encoder = CrossEncoder(model, device="cpu", model_kwargs={"dtype": torch.float32}, activation_fn=torch.nn.Identity())
    started = time.perf_counter()
    scores = encoder.predict(pairs, batch_size=BATCH, show_progress_bar=False)
    print(time.perf_counter() - started)
    pathlib.Path(output).write_text(json.dumps([float(score) for score in scores]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toller", type=pathlib.Path)
    parser.add_argument("--passages", type=int, default=20)
    parser.add_argument("--words", type=int, default=60, help="words of a passage")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        model, corpus, queries, first, reranked, pairs, theirs = (
            work / name for name in ("model", "corpus.jsonl", "queries.tsv", "first.run", "reranked.run", "pairs.jsonl", "theirs.json"))
        model.mkdir()
        make_model(model)
        with gzip.open(SHARED / "data/scifact/corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            passages = [json.loads(line) for line, _ in zip(lines, range(arguments.passages))]
        with open(SHARED / "data/scifact/queries.jsonl", encoding="utf-8") as lines:
            query = json.loads(next(lines))["text"]
        texts = [" ".join(passage["text"].split()[: arguments.words]) for passage in passages]
        queries.write_text(f"1\t{query}\n", encoding="utf-8")
        corpus.write_text("".join(json.dumps({"_id": f"d{at}", "text": text}) + "\n" for at, text in enumerate(texts)), encoding="utf-8")
        first.write_text("".join(f"1 Q0 d{at} {at + 1} {len(texts) - at} x\n" for at in range(len(texts))))
        pairs.write_text("".join(json.dumps([query, text]) + "\n" for text in texts), encoding="utf-8")
        seconds: dict[str, list[tuple[float, float]]] = {"toller": [], "sentence-transformers": []}
        tokens = 0
        for _ in range(arguments.rounds):
            whole, said = run([arguments.toller, "rerank", "--model", model, "--run", first, "--corpus", corpus, "--queries", queries,
                               "--depth", len(texts), "--output", reranked, "--overwrite", "--text-index", work / "texts",
                               "--threads", arguments.threads, "--json", "--quiet"], {})
            report = json.loads(said)
            tokens = report["tokens"]
            seconds["toller"].append((whole, report["seconds"]))
            command = [sys.executable, __file__, "--peer", model, pairs, theirs, arguments.threads]
            whole, said = run(command, {"HF_HUB_OFFLINE": "1"})
            seconds["sentence-transformers"].append((whole, float(said.split()[-1])))
        print(f"f32, {arguments.threads} threads: {len(texts)} pairs of {tokens / len(texts):.0f} tokens, median of "
              f"{arguments.rounds} rounds in turn")
        medians = {name: [statistics.median(column) for column in zip(*times)] for name, times in seconds.items()}
        for name, (whole, own) in medians.items():
            print(f"  {name:<24}{whole:>8.1f} s, {len(texts) / whole:>6.2f} pairs/s; scoring alone {own:>8.1f} s, "
                  f"{len(texts) / own:>6.2f} pairs/s")
        whole, own = (b / a for a, b in zip(*medians.values()))
        print(f"  ratio {whole:.2f}; scoring alone {own:.2f}")
        scores = json.loads(theirs.read_text())
        ours = {fields[2]: float(fields[4]) for fields in map(str.split, reranked.read_text().splitlines())}
        largest = max(abs(score) for score in scores)
        error = max(abs(ours[f"d{at}"] - score) for at, score in enumerate(scores)) / largest
        print(f"  largest difference of a score: {error:.1e} of the largest score, {largest:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(*sys.argv[2:])
    else:
        main()

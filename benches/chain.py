#!/usr/bin/env python3
"""The whole job at the size of DuReader-retrieval: 8,096,668 passages encoded, searched with 4,000 queries and
reranked. Encoding and reranking are killed (SIGKILL) on the way and repeated.

    $(scripts/peers) benches/chain.py TOLLER WORK [--passages 8096668] [--model DIR --reranker DIR] [-- --device cuda]

Passages are random: characters by Zipf's law, lengths log-normal with the mean of the paper's table 2 (398.6 of the
development set; the deviation is a guess). Without --model, tiny random models are made: they show whether the chain
works, and what it costs next to a model. Prints a table of wall times, memory and files. WORK is kept; a second call with
the same numbers uses its collection.
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

CHARACTERS = 6_000
FIRST = 0x4E00
MEAN, DEVIATION, LONGEST = 398.6, 0.6, 3_000
MEAN_OF_QUERY = 9.5


def collection(corpus: Path, queries_file: Path, passages: int, queries: int, seed: int) -> None:
    """Pieces of one long text, so that making them costs less than reading them."""
    random = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, CHARACTERS + 1)
    drawn = random.choice(CHARACTERS, size=1 << 25, p=weights / weights.sum())
    text = "".join(map(chr, (drawn + FIRST).tolist()))

    def pieces(count: int, mean: float, longest: int) -> zip:
        lengths = random.lognormal(np.log(mean) - DEVIATION**2 / 2, DEVIATION, count).clip(4, longest).astype(int)
        starts = random.integers(0, len(text) - longest, count)
        return zip(starts.tolist(), lengths.tolist())

    with open(queries_file, "w", encoding="utf-8") as file:
        for number, (start, length) in enumerate(pieces(queries, MEAN_OF_QUERY, 50)):
            file.write(f"q{number}\t{text[start:start + length]}\n")
    partial = corpus.with_suffix(".partial")
    with open(partial, "w", encoding="utf-8", buffering=1 << 20) as file:
        for number, (start, length) in enumerate(pieces(passages, MEAN, LONGEST)):
            file.write(f'{{"_id":"{number}","text":"{text[start:start + length]}"}}\n')
    partial.rename(corpus)


def tiny_models(work: Path) -> tuple[Path, Path]:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizerFast

    torch.manual_seed(1)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(FIRST + number) for number in range(CHARACTERS))]
    (work / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 64}
    config = BertConfig(vocab_size=len(vocabulary), num_labels=1, **sizes)
    paths = work / "tiny-dual", work / "tiny-cross"
    for model, path in zip((BertModel(config), BertForSequenceClassification(config)), paths):
        model.save_pretrained(path)
        BertTokenizerFast(str(work / "vocab.txt"), model_max_length=512).save_pretrained(path)
    return paths


def bytes_of(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


class Watched:
    """A process, and the most memory of its own that it had: pages of mapped files can be dropped at any time."""

    def __init__(self, words: list[str], log: Path):
        self.began, self.most_own = time.perf_counter(), 0
        with open(log, "ab") as file:
            self.process = subprocess.Popen(words, stdout=file, stderr=file)
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while self.process.returncode is None:
            try:
                status = Path(f"/proc/{self.process.pid}/status").read_text()
            except OSError:
                return
            own = [int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")]
            self.most_own = max([self.most_own, *own])
            time.sleep(0.2)

    def end(self, after: float | None) -> tuple[float, int, bool]:
        """Waits for the end, or kills after seconds: seconds, the most memory of its own in KiB, and whether killed."""
        killed = False
        try:
            self.process.wait(after)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            killed = True
        seconds = time.perf_counter() - self.began
        if not killed and self.process.returncode != 0:
            sys.exit(f"error: the command failed with exit status {self.process.returncode}")
        return seconds, self.most_own, killed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toller")
    parser.add_argument("work", type=Path)
    parser.add_argument("--passages", type=int, default=8_096_668)
    parser.add_argument("--queries", type=int, default=4_000)
    parser.add_argument("--depth", type=int, default=50, help="hits of a query that are reranked, as in the paper")
    parser.add_argument("--max-length", type=int, default=384)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--reranker", type=Path)
    parser.add_argument("--kill-encode", type=float, nargs="*", default=[120, 240], help="seconds after each start")
    parser.add_argument("--kill-rerank", type=float, nargs="*", default=[60])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("options", nargs="*", help="of every command, such as --device cuda")
    arguments = parser.parse_args()
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    drawn = f"{arguments.passages}-{arguments.queries}-{arguments.seed}"
    corpus, queries = work / f"corpus-{drawn}.jsonl", work / f"queries-{drawn}.tsv"
    if not corpus.exists():
        collection(corpus, queries, arguments.passages, arguments.queries, arguments.seed)
    tiny = (None, None) if arguments.model and arguments.reranker else tiny_models(work)
    model, reranker = arguments.model or tiny[0], arguments.reranker or tiny[1]
    length = ["--max-length", arguments.max_length]
    print(f"{arguments.passages:,} passages, {bytes_of(corpus) / 1e9:.2f} GB; {os.cpu_count()} processors\n")
    print("| Command | Runs: seconds | Sum, s | Its own memory, MiB | Written, GB |\n|---|---|--:|--:|--:|", flush=True)

    def step(name: str, words: list[object], outputs: list[str], kills: list[float]) -> None:
        ends = []
        for after in [*kills, None]:
            watched = Watched([arguments.toller, *map(str, words), *arguments.options], work / "log")
            ends.append(watched.end(after))
            if not ends[-1][2]:
                break
        runs = ", ".join(f"{seconds:.0f}{' (killed)' if killed else ''}" for seconds, _, killed in ends)
        total, most = sum(seconds for seconds, *_ in ends), max(own for _, own, _ in ends)
        written = sum(bytes_of(work / output) for output in outputs)
        print(f"| {name} | {runs} | {total:.0f} | {most >> 10:,} | {written / 1e9:.2f} |", flush=True)

    encode = ["encode", "--model", model, "--corpus", corpus, "--output", work / "store", *length]
    step("encode", encode, ["store"], arguments.kill_encode)
    search = ["search", "--dense", work / "store", "--model", model, "--queries", queries, "--output", work / "run.txt"]
    step("search, k 1,000", search, ["run.txt"], [])
    rerank = ["rerank", "--model", reranker, "--run", work / "run.txt", "--corpus", corpus, "--queries", queries]
    rerank += ["--depth", arguments.depth, "--text-index", work / "texts", "--cache", work / "scores", *length]
    rerank += ["--output", work / "reranked.txt"]
    step(f"rerank {arguments.depth} hits a query", rerank, ["texts", "scores", "reranked.txt"], arguments.kill_rerank)


if __name__ == "__main__":
    main()

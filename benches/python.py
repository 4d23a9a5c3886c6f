#!/usr/bin/env python3
"""The Python package next to the command line, in turn in one process each: a search of 500,000 vectors of 384
dimensions for 1,024 queries, SciFact encoded into a store, and small searches. Four threads of Python next to four of
Rust.

    PYTHON benches/python.py [--rounds 3] [--rows 500000] [--abstracts 5183]

PYTHON has the wheel (`scripts/test-wheel` leaves one in the cache folder: toller/wheel-tests/bin/python). The command
line is the wheel's own. What writes files is compared by the wall clock, as two processes that start, open, work and
write; calls that give arrays are compared with the seconds of the search that the command reports. The model is the
directory TOLLER_MINILM.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import toller

SHARED = Path(os.environ.get("TOLLER_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def cli(*words: object) -> dict[str, float]:
    command = [sys.executable, "-m", "toller", *map(str, words), "--json", "--quiet"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def process(code: str, **arguments: object) -> None:
    """Runs Python's code with variables in a process of its own."""
    variables = {name: str(argument) for name, argument in arguments.items()}
    subprocess.run([sys.executable, "-c", f"globals().update({variables!r})\n{code}"], check=True)


SEARCH = """
import toller
searcher = toller.Searcher.dense(store, query_vectors=queries, any_role=True, scan="f32", verify=False)
searcher.batch_search([(f"q{row}", "") for row in range(1024)], k=100).write(run)
"""

ENCODE = """
import toller
toller.encode(toller.Encoder(model), store, corpus=corpus, overwrite=True)
"""


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def compare(
    name: str,
    of_peer: Callable[[], float],
    of_python: Callable[[], float],
    rounds: int,
    peer: str = "command line",
) -> None:
    pairs = [(of_peer(), of_python()) for _ in range(rounds)]
    theirs, ours = (statistics.median(times) for times in zip(*pairs))
    print(f"{name}: {peer} {theirs:.3f} s, Python {ours:.3f} s, {100 * (ours / theirs - 1):+.1f}%", flush=True)


def search(folder: Path, rows: int, rounds: int) -> None:
    random = np.random.default_rng(1)

    def unit(count: int) -> np.ndarray:
        vectors = random.standard_normal((count, 384), dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    vectors, queries = unit(rows), unit(1024)
    store = toller.Store.create(folder / "store", [f"d{row}" for row in range(rows)], vectors)
    toller.Store.create(folder / "queries", [f"q{row}" for row in range(1024)], queries, role="query")
    paths = {"store": folder / "store", "queries": folder / "queries"}
    options = ["--dense", paths["store"], "--query-vectors", paths["queries"], "--scan", "f32", "--k", 100, "--no-verify"]
    searched = lambda: cli("search", *options, "--output", folder / "cli.run")["search_seconds"]
    command = lambda: seconds(searched)
    written = lambda: seconds(lambda: process(SEARCH, run=folder / "python.run", **paths))
    compare(f"{rows} x 384, 1,024 queries, k 100, with the run written, whole processes", command, written, rounds)
    assert (folder / "cli.run").read_bytes() == (folder / "python.run").read_bytes()
    index = toller.FlatIndex(store, scan="f32")
    compare("the search alone, as arrays", searched, lambda: seconds(lambda: index.search(queries, k=100)), rounds)
    of_arrays = toller.FlatIndex.of_arrays(vectors, scan="f32")
    in_memory = lambda: seconds(lambda: of_arrays.search(queries, k=100))
    compare("the same of arrays in memory", searched, in_memory, rounds)
    toller.set_num_threads(4)
    with ThreadPoolExecutor(4) as threads:
        parts = np.split(queries, 4)
        in_threads = lambda: seconds(lambda: list(threads.map(lambda part: of_arrays.search(part, k=100), parts)))
        compare("the same in 4 threads, 256 queries each", in_memory, in_threads, rounds, "one call in 4 threads of Rust")
    toller.set_num_threads(0)


def encode(folder: Path, minilm: str, abstracts: int, rounds: int) -> None:
    corpus = folder / "corpus.jsonl"
    with gzip.open(SHARED / "data/scifact/corpus.jsonl.gz", "rb") as lines:
        corpus.write_bytes(b"".join(itertools.islice(lines, abstracts)))
    options = ["--model", minilm, "--corpus", corpus, "--output", folder / "cli", "--overwrite"]
    in_python = lambda: seconds(lambda: process(ENCODE, model=minilm, store=folder / "python", corpus=corpus))
    command = lambda: seconds(lambda: cli("encode", *options))
    compare(f"{abstracts} abstracts of SciFact encoded into a store, whole processes", command, in_python, rounds)


def calls(minilm: str) -> None:
    index = toller.FlatIndex.of_arrays(np.eye(64, dtype=np.float32))
    query = np.ones(64, dtype=np.float32)
    times = [seconds(lambda: index.search(query, k=5)) for _ in range(3000)]
    print(f"one call of a search of 64 vectors: {1e6 * statistics.median(times):.0f} us")
    encoder = toller.Encoder(minilm)
    texts = ["a dog of some kind retrieves ducks " * 20] * 400

    def steps(seconds: float) -> int:
        count, end = 0, time.thread_time() + seconds
        while time.thread_time() < end:
            count += 1
        return count

    alone = steps(1.0)
    worker = threading.Thread(target=lambda: encoder.encode(texts))
    worker.start()
    meanwhile = steps(1.0)
    worker.join()
    print(f"a loop in Python while texts are encoded: {100 * meanwhile / alone:.0f}% of its steps a second of its own time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=500_000, help="vectors to search; 0 for no search")
    parser.add_argument("--abstracts", type=int, default=5_183, help="abstracts of SciFact; 0 for no encoding")
    arguments = parser.parse_args()
    minilm = os.environ["TOLLER_MINILM"]
    with tempfile.TemporaryDirectory() as folder:
        if arguments.rows > 0:
            search(Path(folder), arguments.rows, arguments.rounds)
            calls(minilm)
        if arguments.abstracts > 0:
            encode(Path(folder), minilm, arguments.abstracts, arguments.rounds)


if __name__ == "__main__":
    main()

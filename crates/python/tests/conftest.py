"""What the tests share: where the data are, the command line to compare with, and a small collection.

The tests compare with the binary of the same tree if it is built, else with the command line in the wheel. Tests on
files that are not in the repository skip without them: all-MiniLM-L6-v2 in $TOLLER_MINILM, data in $TOLLER_SHARED.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import toller

REPOSITORY = Path(__file__).resolve().parents[3]
FIXTURES = REPOSITORY / "tests/fixtures"

Cli = Callable[..., str]


@pytest.fixture(scope="session")
def cli() -> Cli:
    """Runs a command line, and returns what it writes to stdout."""
    target = os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")
    binary = Path(target, "release/toller")
    program = [str(binary)] if binary.is_file() else [sys.executable, "-m", "toller"]

    def run(*arguments: object) -> str:
        words = [*program, *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The directory of all-MiniLM-L6-v2."""
    directory = os.environ.get("TOLLER_MINILM")
    if not directory or not Path(directory, "config.json").is_file():
        pytest.skip("TOLLER_MINILM names no model")
    return Path(directory)


@pytest.fixture(scope="session")
def scifact() -> Path:
    """The folder of SciFact."""
    shared = Path(os.environ.get("TOLLER_SHARED", REPOSITORY.parent / "shared"))
    folder = shared / "data/scifact"
    if not (folder / "corpus.jsonl.gz").is_file():
        pytest.skip("there is no SciFact in TOLLER_SHARED")
    return folder


@pytest.fixture(scope="session")
def passages(scifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 150 passages of SciFact, and one with an empty text."""
    path = tmp_path_factory.mktemp("passages") / "corpus.jsonl"
    with gzip.open(scifact / "corpus.jsonl.gz", "rt") as corpus:
        lines = [next(corpus) for _ in range(150)]
    path.write_text("".join(lines) + json.dumps({"_id": "empty", "title": "", "text": ""}) + "\n")
    return path


@pytest.fixture(scope="session")
def queries(scifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 40 queries of SciFact."""
    path = tmp_path_factory.mktemp("queries") / "queries.jsonl"
    lines = (scifact / "queries.jsonl").read_text().splitlines(keepends=True)[:40]
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="session")
def encoder(minilm: Path) -> toller.Encoder:
    """all-MiniLM-L6-v2."""
    return toller.Encoder(minilm)


@pytest.fixture(scope="session")
def store(encoder: toller.Encoder, passages: Path, tmp_path_factory: pytest.TempPathFactory) -> toller.Store:
    """The passages, encoded in shards of 64 rows."""
    directory = tmp_path_factory.mktemp("store") / "store"
    return toller.encode(encoder, directory, corpus=passages, rows_per_shard=64)


@pytest.fixture(scope="session")
def sparse(passages: Path, tmp_path_factory: pytest.TempPathFactory) -> toller.SparseIndex:
    """The passages, in an inverted index."""
    return toller.index(passages, tmp_path_factory.mktemp("index") / "index", language="en")


@pytest.fixture(scope="session")
def reranker() -> toller.CrossEncoder:
    """A tiny cross-encoder with random weights."""
    return toller.CrossEncoder(FIXTURES / "cross-encoders/roberta", activation=None)

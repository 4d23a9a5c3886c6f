"""Learned sparse models: indexes of their impacts, searched for texts and for impacts of queries."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import toller
from conftest import FIXTURES, Cli

MODEL = FIXTURES / "sparse-models/bert"
OTHER = FIXTURES / "sparse-models/bert-untied"
TEXTS = [json.loads(line)["text"] for line in (MODEL / "expected-sparse.jsonl").read_text().splitlines()]


def write(path: Path, letter: str) -> Path:
    """Writes the texts that have words; identifiers are numbers after a letter."""
    rows = [{"_id": f"{letter}{number}", "text": text} for number, text in enumerate(TEXTS) if text]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def folder(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The texts, stores and JSON lines of their impacts, an index that names its model, and one that does not."""
    folder = tmp_path_factory.mktemp("sparse")
    corpus, queries = write(folder / "corpus.jsonl", "d"), write(folder / "queries.jsonl", "q")
    for name, given in [("passages", ["--corpus", corpus]), ("impacts", ["--queries", queries])]:
        cli("encode", "--model", MODEL, *given, "--output", folder / name)
        cli("store", "export", folder / name, "--output", folder / f"{name}.jsonl")
    cli("index", "--vectors", folder / "passages", "--output", folder / "index")
    cli("index", "--impact", "--corpus", folder / "passages.jsonl", "--output", folder / "plain")
    return folder


@pytest.fixture(scope="module")
def index(folder: Path) -> toller.SparseIndex:
    """The index that names its model."""
    return toller.SparseIndex(folder / "index")


def test_texts_are_searched_for_as_on_the_command_line(
    cli: Cli, index: toller.SparseIndex, folder: Path, tmp_path: Path
) -> None:
    queries = folder / "queries.jsonl"
    cli("search", "--sparse", index.directory, "--queries", queries, "--k", 3, "--output", tmp_path / "cli.run")
    asked = toller.read_queries(queries)
    assert len(asked) == 5
    for searcher in (index, toller.SparseIndex(folder / "index", ranker="impact", device="cpu")):
        for given in (asked, queries, dict(asked)):
            searcher.batch_search(given, k=3).write(tmp_path / "own.run")
            assert (tmp_path / "own.run").read_bytes() == (tmp_path / "cli.run").read_bytes()
    name, text = asked[1]
    hits = [(hit.id, hit.score) for hit in index.search(text, k=3)]
    assert hits == list(index.batch_search(asked, k=3)[name].items())


def test_impacts_of_queries_are_searched_for_as_they_are(index: toller.SparseIndex, folder: Path) -> None:
    of_texts = index.batch_search(folder / "queries.jsonl", k=3).to_dict()
    plain = toller.SparseIndex(folder / "plain")
    for searcher in (index, plain):
        assert searcher.batch_search(folder / "impacts.jsonl", k=3).to_dict() == of_texts
    # The words of a text are not terms of the model.
    assert plain.search("Who was president?") == []


def test_a_model_is_named(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(MODEL, elsewhere)
    expected = toller.SparseIndex(folder / "index").search("the city")
    assert expected
    for directory in (folder / "index", folder / "plain"):
        assert toller.SparseIndex(directory, sparse_model=str(elsewhere)).search("the city") == expected
    with pytest.raises(toller.Error, match="were made by another model") as error:
        toller.SparseIndex(folder / "index", sparse_model=str(OTHER))
    assert error.value.hint == "name the index's own with sparse_model, or leave it out"
    with pytest.raises(toller.Error, match="dense vectors"):
        toller.SparseIndex(folder / "plain", sparse_model=str(FIXTURES / "tiny-bert"))
    words = toller.index(folder / "corpus.jsonl", tmp_path / "words", language="en")
    with pytest.raises(toller.Error, match="holds no impacts"):
        toller.SparseIndex(words.directory, sparse_model=str(MODEL))
    with pytest.raises(toller.Error, match="only the ranker impact"):
        toller.SparseIndex(folder / "index", ranker="bm25")
    with pytest.raises(toller.Error, match="only the ranker impact"):
        toller.SparseIndex(folder / "index", k1=0.9)


def test_a_model_that_is_gone_is_named(cli: Cli, folder: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    shutil.copytree(MODEL, gone)
    cli("encode", "--model", gone, "--corpus", folder / "corpus.jsonl", "--output", tmp_path / "store")
    cli("index", "--vectors", tmp_path / "store", "--output", tmp_path / "index")
    gone.rename(tmp_path / "moved")
    with pytest.raises(toller.Error, match="which is not on this machine") as error:
        toller.SparseIndex(tmp_path / "index")
    assert error.value.hint and error.value.hint.startswith("name the model with sparse_model")
    assert toller.SparseIndex(tmp_path / "index", sparse_model=str(tmp_path / "moved")).search("the city")


def test_an_index_with_a_model_is_fused_and_reranked(
    index: toller.SparseIndex, reranker: toller.CrossEncoder, folder: Path, tmp_path: Path
) -> None:
    encoder = toller.Encoder(FIXTURES / "tiny-bert")
    dense = toller.Searcher.dense(toller.encode(encoder, tmp_path / "dense", corpus=folder / "corpus.jsonl"), encoder)
    asked = toller.read_queries(folder / "queries.jsonl")
    hybrid = toller.Searcher.hybrid([index, dense], "rrf", depth=5).batch_search(asked, k=5)
    both = [index.batch_search(asked, k=5), dense.batch_search(asked, k=5)]
    assert hybrid.to_dict() == toller.fuse(both, "rrf", k=5).to_dict()
    short = {"q": "the city"}
    reranked = index.reranked(reranker, folder / "corpus.jsonl", depth=3).batch_search(short, k=3)
    assert set(reranked["q"]) == set(index.batch_search(short, k=3)["q"])
    plain = toller.SparseIndex(folder / "plain")
    refused: list[Callable[[], object]] = [
        lambda: toller.Searcher.hybrid([plain, dense], "rrf"),
        lambda: plain.reranked(reranker, folder / "corpus.jsonl"),
    ]
    for refuse in refused:
        with pytest.raises(toller.InvalidArgument, match="weights of terms, and not texts") as error:
            refuse()
        assert error.value.hint and "sparse_model" in error.value.hint


def test_impacts_are_not_vectors(folder: Path) -> None:
    with pytest.raises(toller.Error, match="holds impacts of terms, not vectors") as error:
        toller.Store(folder / "passages")
    assert error.value.hint and "toller index --vectors" in error.value.hint

"""Searches: exact, and the runs of the command line, byte for byte."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toller
from conftest import FIXTURES, Cli

RANDOM = np.random.default_rng(11)


def exact(collection: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    scores = queries.astype(np.float64) @ collection.astype(np.float64).T
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_arrays_are_searched_exactly(dtype: type) -> None:
    collection = RANDOM.standard_normal((3000, 48)).astype(dtype)
    queries = RANDOM.standard_normal((17, 48)).astype(np.float32)
    index = toller.FlatIndex.of_arrays(collection[:1000], collection[1000:])
    assert (len(index), index.dim) == (3000, 48)
    scores, rows = index.search(queries, k=10)
    assert scores.dtype == np.float32 and rows.dtype == np.int64 and scores.shape == rows.shape == (17, 10)
    assert (rows == exact(collection, queries, 10)).all()
    one_scores, one_rows = index.search(queries[4], k=10)
    assert one_scores.tobytes() == scores[4].tobytes() and one_rows.tobytes() == rows[4].tobytes()
    for scan in ("f32", "f16", "int8"):
        others = toller.FlatIndex.of_arrays(collection, scan=scan).search(queries, k=10)
        assert others[0].tobytes() == scores.tobytes() and others[1].tobytes() == rows.tobytes()


def test_a_store_is_searched_as_its_arrays(store: toller.Store, encoder: toller.Encoder) -> None:
    queries = encoder.encode_query(["dogs", "cells", "cancer"])
    of_arrays = toller.FlatIndex.of_arrays(*store.shards).search(queries, k=200)
    for index in (toller.FlatIndex(store), toller.FlatIndex(store.paths[0])):
        found = index.search(queries, k=200)
        assert found[0].shape == (3, len(store))
        assert found[0].tobytes() == of_arrays[0].tobytes() and found[1].tobytes() == of_arrays[1].tobytes()


def test_allowed_rows() -> None:
    collection = RANDOM.standard_normal((100, 8)).astype(np.float32)
    index = toller.FlatIndex.of_arrays(collection)
    _, rows = index.search(collection[:2], k=5, allowed=[7, 50, 3])
    assert rows.shape == (2, 3) and set(rows[0]) == {3, 7, 50}
    arrays = [np.array([7, 50, 3], dtype=dtype) for dtype in (np.int64, np.uint32, np.int32, np.uint64)]
    packed = np.zeros(3, dtype=[("id", "<i8"), ("x", "<i4")])
    packed["id"] = [7, 50, 3]
    for allowed in ({7, 50, 3}, *arrays, packed["id"], np.array([7, 0, 50, 0, 3])[::2], iter([7, 50, 3])):
        assert (index.search(collection[:2], k=5, allowed=allowed)[1] == rows).all()
    for mask in ([True] * 100, np.ones(100, dtype=bool)):
        with pytest.raises(toller.InvalidArgument, match="allowed is a mask") as refused:
            index.search(collection[:2], allowed=mask)
        assert "flatnonzero" in (refused.value.hint or "")
    for bad in ([-1], np.array([-1]), np.array([2**32]), ["d1"]):
        with pytest.raises(toller.InvalidArgument, match="not a row number"):
            index.search(collection[:2], allowed=bad)  # type: ignore[arg-type]


def test_arrays_that_are_not_aligned_are_refused() -> None:
    packed = np.zeros(3, dtype=[("letter", "u1"), ("vector", "f4", (4,))])
    shifted = np.frombuffer(bytes(4 * 4 + 1), np.float32, offset=1).reshape(1, 4)
    index = toller.FlatIndex.of_arrays(np.eye(4, dtype=np.float32))
    for vectors in (packed["vector"], shifted):
        with pytest.raises(toller.InvalidArgument, match="not aligned") as error:
            index.search(vectors)
        assert error.value.hint == "give vectors.copy()"
        with pytest.raises(toller.InvalidArgument, match="not aligned"):
            toller.FlatIndex.of_arrays(vectors)
        assert index.search(vectors.copy(), k=1)[0].tolist() == [[0.0]] * len(vectors)


def test_searches_without_hits_have_a_row_for_each_query() -> None:
    queries = np.ones((5, 4), dtype=np.float32)
    index = toller.FlatIndex.of_arrays(np.eye(4, dtype=np.float32))
    empty = toller.FlatIndex.of_arrays(np.zeros((0, 4), dtype=np.float32))
    for scores, rows in (index.search(queries, allowed=[]), empty.search(queries)):
        assert (scores.shape, scores.dtype) == ((5, 0), np.float32) and (rows.shape, rows.dtype) == ((5, 0), np.int64)
    assert [found.shape for found in empty.search(queries[0])] == [(0,), (0,)]
    assert [found.shape for found in index.search(queries[:0])] == [(0, 4), (0, 4)]
    assert [found.shape for found in index.search(queries[:0], k=3)] == [(0, 3), (0, 3)]


def test_bad_searches_are_refused(tmp_path: Path) -> None:
    index = toller.FlatIndex.of_arrays(np.eye(4, dtype=np.float32))
    with pytest.raises(toller.InvalidArgument, match="k is 0"):
        index.search(np.ones(4, dtype=np.float32), k=0)
    for k in (-1, 2**64):
        with pytest.raises(toller.InvalidArgument, match=f"{k} is out of range"):
            index.search(np.ones(4, dtype=np.float32), k=k)
    with pytest.raises(TypeError):
        index.search(np.ones(4, dtype=np.float32), k="many")  # type: ignore[arg-type]
    with pytest.raises(toller.InvalidArgument, match="5 numbers, but the index has 4"):
        index.search(np.ones((1, 5), dtype=np.float32))
    with pytest.raises(toller.InvalidArgument, match="float64"):
        index.search(np.ones((1, 4)))
    with pytest.raises(toller.InvalidArgument, match="query 0 is not finite") as error:
        index.search(np.full((1, 4), np.nan, dtype=np.float32))
    assert "give finite numbers" in (error.value.hint or "")
    with pytest.raises(toller.InvalidArgument, match="one vector in place of an array") as error:
        toller.FlatIndex.of_arrays(np.ones(4, dtype=np.float32))
    assert "vector[None]" in (error.value.hint or "")
    with pytest.raises(toller.InvalidArgument, match="not in C's order") as error:
        toller.FlatIndex.of_arrays(np.eye(4, dtype=np.float32)[::2])
    assert "ascontiguousarray" in (error.value.hint or "")
    with pytest.raises(toller.InvalidArgument, match="NaN"):
        toller.FlatIndex.of_arrays(np.full((1, 4), np.inf, dtype=np.float32))
    with pytest.raises(toller.InvalidArgument, match="0 columns"):
        toller.FlatIndex.of_arrays(np.zeros((3, 0), dtype=np.float32))
    with pytest.raises(toller.InvalidArgument, match="of 0 numbers"):
        index.search(np.zeros((3, 0), dtype=np.float32))
    with pytest.raises(toller.InvalidArgument, match="columns"):
        toller.FlatIndex.of_arrays(np.eye(4, dtype=np.float32), np.eye(5, dtype=np.float32))
    with pytest.raises(toller.InvalidArgument, match="without CUDA|no NVIDIA driver"):
        store = toller.Store.create(tmp_path / "s", ["a"], np.ones((1, 4), dtype=np.float32))
        toller.FlatIndex(store, device="cuda")


def written(run: toller.Run, folder: Path) -> bytes:
    run.write(folder / "run.txt")
    return (folder / "run.txt").read_bytes()


def test_runs_have_the_bytes_of_the_command_line(
    cli: Cli,
    encoder: toller.Encoder,
    store: toller.Store,
    sparse: toller.SparseIndex,
    minilm: Path,
    passages: Path,
    queries: Path,
    tmp_path: Path,
) -> None:
    asked = toller.read_queries(queries)
    dense = toller.Searcher.dense(store, encoder)
    hybrid = toller.Searcher.hybrid([sparse, dense], "interpolate", weights=[1.0, 0.7])
    searched = ["--queries", queries, "--k", 50]
    of_dense = ["--dense", store.paths[0], "--model", minilm]
    of_sparse = ["--sparse", sparse.directory]
    fused = ["--fusion", "interpolate", "--alpha", 0.7]
    for name, searcher, options in [
        ("dense", dense, of_dense),
        ("sparse", sparse, of_sparse),
        ("ql", toller.SparseIndex(sparse.directory, ranker="ql", mu=500), [*of_sparse, "--ranker", "ql", "--mu", 500]),
        ("hybrid", hybrid, [*of_sparse, *of_dense, *fused]),
    ]:
        cli("search", *options, *searched, "--output", tmp_path / name)
        assert written(searcher.batch_search(asked, k=50), tmp_path) == (tmp_path / name).read_bytes(), name
    # The model has only 48 tokens, and some queries are longer.
    model = ["--model", FIXTURES / "cross-encoders/roberta", "--truncation", "longest_first"]
    corpus = ["--corpus", passages, "--queries", queries, "--depth", 20]
    cli("rerank", *model, "--run", tmp_path / "hybrid", *corpus, "--output", tmp_path / "reranked")
    reranker = toller.CrossEncoder(model[1], truncation="longest_first", activation=None)
    reranked = hybrid.reranked(reranker, passages, depth=20).batch_search(asked, k=50)
    assert written(reranked, tmp_path) == (tmp_path / "reranked").read_bytes()


def test_few_queries_are_reranked_at_a_time(
    sparse: toller.SparseIndex, reranker: toller.CrossEncoder, passages: Path
) -> None:
    """So that not much work goes on after a Ctrl-C."""

    class Stop(Exception):
        pass

    def stop(title: str, done: int, total: int | None) -> None:
        assert (title, total) == ("searching", 1000) and done < 1000
        raise Stop

    queries = {f"q{number}": "cells of the immune system" for number in range(1000)}
    reranked = sparse.reranked(reranker, passages, depth=100)
    for searcher in (reranked, toller.Searcher.hybrid([sparse, reranked], depth=100)):
        with pytest.raises(Stop):
            searcher.batch_search(queries, k=100, progress=stop)


def test_one_query_is_searched_as_in_a_run(sparse: toller.SparseIndex) -> None:
    text = "cells of the immune system"
    hits = sparse.search(text, k=5)
    run = sparse.batch_search({"q": text}, k=5)
    assert [(hit.id, hit.score) for hit in hits] == list(run["q"].items())
    assert all(len(sparse) > hit.ordinal >= 0 for hit in hits)
    assert "Hit(id=" in repr(hits[0])
    again = pickle.loads(pickle.dumps(hits))
    assert again == hits == copy.deepcopy(hits) and isinstance(again[0], toller.Hit)
    name, score, ordinal = hits[0]
    assert (name, score, ordinal) == (hits[0].id, hits[0].score, hits[0].ordinal)
    for search in (lambda: sparse.search(text, k=0), lambda: sparse.batch_search({"q": text}, k=0)):
        with pytest.raises(toller.InvalidArgument, match="k=0"):
            search()


def test_a_store_is_searched_from_any_folder(
    encoder: toller.Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    toller.encode(encoder, "s", corpus=[("1", "ducks"), ("2", "dogs")])
    store = toller.Store("s")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert store.paths == [str(tmp_path / "s")]
    assert toller.Searcher.dense(store, encoder).search("ducks", k=1)[0].id == "1"
    assert len(pickle.loads(pickle.dumps(store))) == 2


def test_the_checksums_of_an_open_store_are_compared_once(encoder: toller.Encoder, tmp_path: Path) -> None:
    toller.encode(encoder, tmp_path / "s", corpus=[("1", "ducks")])
    verified, unverified = toller.Store(tmp_path / "s"), toller.Store(tmp_path / "s", verify=False)
    shard = next((tmp_path / "s").glob("shard-*"))
    content = bytearray(shard.read_bytes())
    content[content.index(verified[0].tobytes())] ^= 1
    with shard.open("r+b") as file:
        file.write(content)
    with pytest.raises(toller.Error):
        toller.Searcher.dense(unverified, encoder)
    toller.Searcher.dense(verified, encoder)


def test_the_wrong_model_is_refused(store: toller.Store) -> None:
    other = toller.Encoder(FIXTURES / "tiny-bert")
    with pytest.raises(toller.Error):
        toller.Searcher.dense(store, other)
    with pytest.raises(toller.InvalidArgument, match="give encoder or query_vectors"):
        toller.Searcher.dense(store)
    with pytest.raises(TypeError, match="a Store, a path or a list of paths is expected"):
        toller.Searcher.dense(None, other)  # type: ignore[arg-type]


def test_a_name_in_place_of_a_model_has_a_hint(
    store: toller.Store, sparse: toller.SparseIndex, passages: Path, tmp_path: Path
) -> None:
    vectors = np.ones((1, 4), dtype=np.float32)
    for refused in (
        lambda: toller.encode("some-model", tmp_path / "s", corpus=passages),  # type: ignore[arg-type]
        lambda: toller.Searcher.dense(store, "some-model"),  # type: ignore[arg-type]
        lambda: toller.Store.create(tmp_path / "s", ["a"], vectors, model="some-model"),  # type: ignore[arg-type]
    ):
        with pytest.raises(toller.InvalidArgument, match="in place of a model") as error:
            refused()
        assert error.value.hint == "give toller.Encoder('some-model')"
    with pytest.raises(toller.InvalidArgument, match="in place of a model") as error:
        sparse.reranked("some-model", passages)  # type: ignore[arg-type]
    assert error.value.hint == "give toller.CrossEncoder('some-model')"


def test_queries_are_expanded_with_parameters_of_the_command_line(
    cli: Cli, passages: Path, queries: Path, tmp_path: Path
) -> None:
    index = toller.index(passages, tmp_path / "index", language="en", doc_vectors=True).directory
    asked = toller.read_queries(queries)
    few: dict[str, Any] = {"fb_terms": 5, "fb_docs": np.int64(3), "original_query_weight": 0.8, "filter_terms": False}
    negative: dict[str, Any] = {"top_fb_docs": 4, "beta": 0.5, "use_negative": True, "bottom_fb_docs": 2, "gamma": 0.1}
    for name, searcher, options in [
        ("rm3", toller.SparseIndex(index, rm3=True), ["--rm3"]),
        ("rm3-few", toller.SparseIndex(index, rm3=few), ["--rm3", "--rm3-fb-terms", 5, "--rm3-fb-docs", 3,
            "--rm3-original-query-weight", 0.8, "--rm3-no-term-filter"]),
        ("rocchio", toller.SparseIndex(index, rocchio=negative), ["--rocchio", "--rocchio-top-fb-docs", 4,
            "--rocchio-beta", 0.5, "--rocchio-use-negative", "--rocchio-bottom-fb-docs", 2, "--rocchio-gamma", 0.1]),
    ]:
        cli("search", "--sparse", index, *options, "--queries", queries, "--k", 20, "--output", tmp_path / name)
        assert written(searcher.batch_search(asked, k=20), tmp_path) == (tmp_path / name).read_bytes(), name
    assert (tmp_path / "rm3").read_bytes() != (tmp_path / "rm3-few").read_bytes()
    for bad, said in [({"fb_docs": 0}, "fb_docs=0"), ({"docs": 3}, 'no parameter "docs"'),
                      ({"original_query_weight": 1.5}, "original_query_weight=1.5")]:
        with pytest.raises(toller.InvalidArgument, match=said):
            toller.SparseIndex(index, rm3=bad)
    with pytest.raises(toller.InvalidArgument, match="rm3 and rocchio"):
        toller.SparseIndex(index, rm3=few, rocchio=True)


def test_queries_move_to_their_best_hits_as_on_the_command_line(
    cli: Cli, encoder: toller.Encoder, store: toller.Store, minilm: Path, queries: Path, tmp_path: Path
) -> None:
    asked = toller.read_queries(queries)
    given: dict[str, Any] = {"method": "rocchio", "docs": np.int64(5), "alpha": 0.5, "beta": 0.25}
    flags = ["--vector-prf", "rocchio", "--vector-prf-docs", 5, "--vector-prf-alpha", 0.5, "--vector-prf-beta", 0.25]
    runs = set()
    for feedback, options in [(None, []), ("average", ["--vector-prf", "average"]), (given, flags)]:
        searcher = toller.Searcher.dense(store, encoder, vector_prf=feedback)
        cli("search", "--dense", store.paths[0], "--model", minilm, *options, "--queries", queries, "--k", 20,
            "--output", tmp_path / "run", "--overwrite")
        runs.add(written(searcher.batch_search(asked, k=20), tmp_path))
        assert (tmp_path / "run").read_bytes() in runs
    assert len(runs) == 3
    for bad, said in [("other", "other"), ({"docs": 3}, "no method"), ({"method": "average", "beta": 1}, "no weights"),
                      ({"method": "rocchio", "docs": 0}, "docs=0"), ({"depth": 3}, 'no parameter "depth"')]:
        with pytest.raises(toller.InvalidArgument, match=said):
            toller.Searcher.dense(store, encoder, vector_prf=bad)  # type: ignore[arg-type]


def test_documents_are_left_out(sparse: toller.SparseIndex) -> None:
    asked = {"q": "cells of the immune system", "r": "cells"}
    whole = sparse.batch_search(asked, k=10)
    best = list(whole["q"])
    found = sparse.batch_search(asked, k=9, excluded={"q": best[:1]})
    assert list(found["q"]) == best[1:] and list(found["r"]) == list(whole["r"])[:9]
    for allowed in (best[2:4], set(best[2:4]), [int(name) for name in best[2:4]]):
        assert sorted(sparse.batch_search(asked, allowed=allowed)["q"]) == sorted(best[2:4])
    with pytest.warns(UserWarning, match="1 identifier of allowed and excluded are not in the collection"):
        sparse.batch_search(asked, excluded={"q": ["no such document"]})
    with pytest.raises(toller.InvalidArgument, match="a string in place of document ids"):
        sparse.batch_search(asked, excluded={"q": best[0]})


def test_texts_by_identifier(passages: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in passages.read_text().splitlines()]
    table = [{"key": row["_id"], "title": row["title"], "body": row["text"]} for row in rows]
    for texts in (toller.Texts(passages), toller.Texts(table, id_column="key", text_column="body")):
        assert len(texts) == len(rows)
        first, last = rows[0], rows[-2]
        assert texts[first["_id"]] == first["text"] and last["_id"] in texts and "none" not in texts
        assert texts.get("none") is None and texts.get("none", "") == "" and texts.get("empty") == ""
        found = texts.passages([last["_id"], "none", first["_id"]])
        assert found == [tuple(last[name] for name in ("_id", "title", "text")), None,
                         tuple(first[name] for name in ("_id", "title", "text"))]
        assert found[0] is not None and found[0].title == last["title"]
        with pytest.raises(KeyError, match="none"):
            texts["none"]
    with pytest.raises(toller.NotFound):
        toller.Texts(tmp_path / "none.jsonl")


def test_parameters_that_do_not_fit_are_refused(sparse: toller.SparseIndex) -> None:
    with pytest.raises(toller.InvalidArgument, match="mu has no meaning"):
        toller.SparseIndex(sparse.directory, mu=10)
    with pytest.raises(toller.InvalidArgument, match="no ranker"):
        toller.SparseIndex(sparse.directory, ranker="tfidf")
    with pytest.raises(toller.Error, match="document vectors") as error:
        toller.SparseIndex(sparse.directory, rm3=True)
    assert error.value.hint and "toller.index(" in error.value.hint
    with pytest.raises(toller.InvalidArgument, match="rrf_k has no meaning"):
        toller.Searcher.hybrid([sparse, sparse], "combsum", rrf_k=10)
    with pytest.raises(toller.InvalidArgument, match="normalize has no meaning for borda") as error:
        toller.Searcher.hybrid([sparse, sparse], "borda", normalize="none")
    assert error.value.hint == "leave normalize out: borda looks at ranks alone"
    with pytest.raises(toller.InvalidArgument, match="`least` is not a value of missing documents"):
        toller.Searcher.hybrid([sparse, sparse], "combsum", missing="least")


@pytest.mark.parametrize("second", [("1", "cells"), ("", "cells"), ("2", " "), ("#2", "cells"), ("2 ", "cells")])
def test_bad_queries_are_refused_or_skipped_in_every_shape(
    sparse: toller.SparseIndex, second: tuple[str, str]
) -> None:
    rows = [("1", "dogs"), second]
    shapes: list[Any] = [rows, [{"id": name, "text": text} for name, text in rows]]
    shapes += [dict(rows)] if len(dict(rows)) == 2 else []
    for shape in shapes:
        with pytest.raises(toller.Error, match="queries, (row|line) 2") as error:
            sparse.batch_search(shape)
        assert error.value.hint and "skip_bad_lines" in error.value.hint
        with pytest.warns(UserWarning, match="skipped 1"):
            found = sparse.batch_search(shape, skip_bad_lines=True)
        assert found.to_dict() == sparse.batch_search({1: "dogs"}).to_dict()
    assert sparse.batch_search([(np.int64(1), "dogs")]) == sparse.batch_search({np.int64(1): "dogs"})

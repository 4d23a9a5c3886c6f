"""Ray: encoding and searching by actors that may be lost. Most tests need Ray, and skip without it.

Ray runs on this machine with more processors than there are: where Ray Data's actors hold all of them, its other
tasks wait forever.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toller
import toller.ray
from conftest import FIXTURES, REPOSITORY, Cli

MODEL = FIXTURES / "tiny-bert"
RERANKER = FIXTURES / "cross-encoders/roberta"
WORDS = "dogs ducks lure fetch lakes hunters red tails swim bark".split()
# Parts of a store, and rows of a file.
PARTS = 12
ROWS = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that Ray is started in, and its workers with it."""
    return tmp_path_factory.mktemp("ray")


@pytest.fixture(scope="module")
def ray(folder: Path) -> Iterator[Any]:
    """Ray, with a cluster in this machine."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("RAY_AUTH_MODE", "disabled")
        ray.init(num_cpus=6, include_dashboard=False, object_store_memory=200_000_000, log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """Interrupts a test that waits forever. Ray lets no other exception out of a wait."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(240)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def texts(count: int) -> list[str]:
    """Texts of 20 words, some of them equal."""
    pick = np.random.default_rng(5)
    return [" ".join(WORDS[number] for number in pick.integers(0, 10, 20)) for _ in range(count - 9)] + ["ducks"] * 9


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection, in which equal texts are far from each other."""
    path = tmp_path_factory.mktemp("corpus") / "corpus.jsonl"
    rows = np.random.default_rng(6).permutation(texts(3000)).tolist()
    path.write_text("".join(json.dumps({"_id": f"d{row}", "text": text}) + "\n" for row, text in enumerate(rows)))
    return path


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store that one process makes."""
    directory = tmp_path_factory.mktemp("expected") / "store"
    encoder = toller.Encoder(MODEL)
    for part in range(1, PARTS + 1):
        toller.encode(encoder, directory, corpus=corpus, shard=(part, PARTS), rows_per_shard=ROWS)
    return directory


def content(store: Path) -> dict[str, bytes]:
    """The files of a store, except locks."""
    files = (path for path in store.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(store)): path.read_bytes() for path in files}


def watch(monkeypatch: pytest.MonkeyPatch, started: Callable[[Any], object]) -> None:
    """Calls `started` with each actor that will encode."""
    from toller.ray import _encode

    actor_class = _encode.actor_class

    class Watched:
        def __init__(self, *arguments: Any) -> None:
            self.kind = actor_class(*arguments)

        def remote(self, *arguments: Any) -> Any:
            actor = self.kind.remote(*arguments)
            started(actor)
            return actor

    monkeypatch.setattr(_encode, "actor_class", Watched)


def encode(corpus: Path, output: Path, **options: Any) -> toller.Store:
    return toller.ray.encode(corpus, output, MODEL, shards=PARTS, rows_per_shard=ROWS, **options)


def test_a_lost_worker_leaves_no_trace(
    ray: Any, corpus: Path, expected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, started = [], []
    watch(monkeypatch, started.append)

    def kill_one(title: str, done: int, total: int | None) -> None:
        heard.append((title, done, total))
        if done == 2:
            ray.kill(started[1])

    # Workers are in another folder.
    monkeypatch.chdir(tmp_path)
    store = encode(Path(os.path.relpath(corpus)), Path("store"), workers=3, progress=kill_one)
    assert len(store) == 3000 and heard == [("encoding parts", part, PARTS) for part in range(1, PARTS + 1)]
    assert len(started) == 4, "a worker is started in place of the lost one"
    assert content(tmp_path / "store") == content(expected)
    # The same call finds everything done.
    encode(corpus, tmp_path / "store")
    assert content(tmp_path / "store") == content(expected)


def test_a_part_that_always_fails_is_one_error(ray: Any, corpus: Path, expected: Path, tmp_path: Path) -> None:
    blocked = tmp_path / f"store/part-00002-of-000{PARTS}"
    blocked.parent.mkdir()
    blocked.write_text("not a folder")
    with pytest.raises(toller.Error, match=rf"^part 2 of {PARTS} failed \(2 of 2 tries\): .*part-00002") as error:
        encode(corpus, tmp_path / "store", workers=2, retries=1)
    assert error.value.file and error.value.file.endswith(blocked.name)
    blocked.unlink()
    encode(corpus, tmp_path / "store", workers=2)
    assert content(tmp_path / "store") == content(expected)


def test_what_fails_everywhere_is_not_tried_again(ray: Any, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(toller.InvalidArgument, match=r"\(1 of 4 tries\): `bold` is not a title mode") as error:
        encode(corpus, tmp_path / "store", title_mode="bold")
    with pytest.raises(toller.Error, match=r"a worker failed \(1 of 4 tries\): "):
        toller.ray.encode(corpus, tmp_path / "store", tmp_path, shards=2)
    with pytest.raises(toller.InvalidArgument, match="standard input"):
        toller.ray.encode("-", tmp_path / "store", MODEL, shards=2)
    with pytest.raises(toller.InvalidArgument, match="workers=0"):
        encode(corpus, tmp_path / "store", workers=0)


def test_workers_that_never_start(
    ray: Any, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(monkeypatch, ray.kill)
    with pytest.raises(toller.Error, match=r"^a worker failed \(3 of 3 tries\): ") as error:
        encode(corpus, tmp_path / "store", workers=1, retries=2)
    assert error.value.hint and "the same call goes on" in error.value.hint


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries, some of them equal."""
    path = tmp_path_factory.mktemp("queries") / "queries.tsv"
    path.write_text("".join(f"q{row}\t{text}\n" for row, text in enumerate(texts(50))))
    return path


def written(run: toller.Run, path: Path) -> bytes:
    run.write(path)
    return path.read_bytes()


@pytest.mark.parametrize("k", [7, 5000])
def test_parts_are_searched_as_one_index(
    k: int, ray: Any, cli: Cli, expected: Path, queries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("search", "--dense", expected, "--model", MODEL, "--queries", queries, "--k", k, "--output", tmp_path / "run")
    run = (tmp_path / "run").read_bytes()
    # Several blocks of queries.
    monkeypatch.setattr("toller.ray._search._QUERIES", 12)
    encoder = toller.Encoder(MODEL)
    searcher = toller.ray.Searcher(expected, encoder, parts=4)
    heard = []
    found = searcher.batch_search(queries, k, progress=lambda *told: heard.append(told))
    assert written(found, tmp_path / "found") == run
    assert found == toller.Searcher.dense(expected, encoder).batch_search(toller.read_queries(queries), k)
    assert heard[0] == ("searching", 12, 50) and heard[-1] == ("searching", 50, 50)
    vectors = toller.encode(encoder, tmp_path / "queries", queries=queries)
    # All parts of a search run at once, so the first ones must make room.
    del searcher
    of_vectors = toller.ray.search(queries, toller.Store(expected), k=k, query_vectors=vectors.paths[0], parts=3)
    assert written(of_vectors, tmp_path / "found") == run


def test_lost_parts_of_a_search(ray: Any, expected: Path, queries: Path) -> None:
    searcher = toller.ray.Searcher(expected, toller.Encoder(MODEL), parts=3, retries=1)
    before = searcher.batch_search(queries, 10)
    ray.kill(searcher._parts[1], no_restart=False)
    assert searcher.batch_search(queries, 10) == before
    ray.kill(searcher._parts[1])
    with pytest.raises(toller.Error, match="the search of rows 1000 to 2000 failed"):
        searcher.batch_search(queries, 10)


def test_bad_searches_are_refused(ray: Any, expected: Path, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(toller.InvalidArgument, match="needs the vectors of queries once"):
        toller.ray.search({"q": "dogs"}, expected, parts=2)
    vectors = toller.encode(toller.Encoder(MODEL), tmp_path / "queries", queries=corpus)
    searcher = toller.ray.Searcher(expected, query_vectors=vectors.paths[0], parts=1)
    with pytest.raises(toller.InvalidArgument, match="no vector of the query 'other'"):
        searcher.batch_search({"other": "dogs"})
    with pytest.raises(toller.InvalidArgument, match="'d1' occurs twice"):
        searcher.batch_search([("d1", "dogs"), ("d1", "ducks")])
    with pytest.raises(toller.InvalidArgument, match="k=0"):
        searcher.batch_search({"d1": "dogs"}, 0)
    assert len(searcher.batch_search({})) == 0


@pytest.mark.filterwarnings("error:.*parts wait for room")
def test_a_search_without_room_says_so(ray: Any, expected: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toller.ray._search._PATIENCE", 0.5)
    with pytest.raises(UserWarning, match="of 7 parts wait for room in the cluster, where each needs num_cpus=1 and"):
        toller.ray.Searcher(expected, toller.Encoder(MODEL), parts=7)


@pytest.mark.parametrize("batch_format", ["numpy", "pyarrow"])
def test_batches_of_ray_data(ray: Any, batch_format: str) -> None:
    data = pytest.importorskip("ray.data")
    data.DataContext.get_current().enable_progress_bars = False
    rows = [{"id": row, "title": "dogs" if row % 2 else "", "text": text} for row, text in enumerate(texts(60))]
    encoded = data.from_items(rows).map_batches(
        toller.ray.Encode,
        fn_constructor_kwargs={"model": MODEL, "title": "title", "threads": 1},
        compute=data.ActorPoolStrategy(size=2),
        batch_format=batch_format,
        batch_size=16,
    )
    scored = encoded.map_batches(
        toller.ray.Rerank,
        fn_constructor_kwargs={"model": RERANKER, "query": "text", "threads": 1, "truncation": "longest_first"},
        compute=data.ActorPoolStrategy(size=1),
        batch_format=batch_format,
    )
    found = sorted(scored.take_all(), key=lambda row: row["id"])
    joined = [f"{row['title']} {row['text']}" if row["title"] else row["text"] for row in rows]
    vectors = np.array([row["vector"] for row in found], dtype=np.float32)
    assert vectors.tobytes() == toller.Encoder(MODEL).encode_document(joined).tobytes()
    pairs = [(row["text"], row["text"]) for row in rows]
    scores = toller.CrossEncoder(RERANKER, truncation="longest_first").predict(pairs)
    assert np.array([row["score"] for row in found], dtype=np.float32).tobytes() == scores.tobytes()


def test_bad_batches_are_refused() -> None:
    encode = toller.ray.Encode(MODEL, text="body")
    with pytest.raises(toller.InvalidArgument, match="no column 'body'") as error:
        encode({"text": np.array(["dogs"])})
    assert error.value.hint == "there are text"
    with pytest.raises(toller.InvalidArgument, match="batches of list"):
        encode(["dogs"])
    with pytest.raises(toller.InvalidArgument, match="role='passage'"):
        toller.ray.Encode(MODEL, role="passage")
    with pytest.raises(toller.InvalidArgument, match="queries have no titles"):
        toller.ray.Encode(MODEL, role="query", title="title")
    with pytest.raises(toller.InvalidArgument, match="title_mode or title_separator without title"):
        toller.ray.Encode(MODEL, title_mode="sep")


def test_titles_of_batches_are_given_as_asked_for() -> None:
    columns = {"title": np.array(["dogs", ""]), "text": np.array(["swim", "They swim."])}
    found = toller.ray.Encode(MODEL, title="title", title_mode="sep")(columns)["vector"]
    expected = toller.Encoder(MODEL).encode_document(["swim", "They swim."], titles=["dogs", None], title_mode="sep")
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("missing", ["", None, float("nan"), "NA"])
def test_missing_titles_of_batches_are_no_titles(missing: Any) -> None:
    if missing == "NA":
        missing = pytest.importorskip("pandas").NA
    encode = toller.ray.Encode(MODEL, title="title")
    columns = {"title": ["dogs", missing], "text": ["swim", "They swim."]}
    found = encode({name: np.array(values, dtype=object) for name, values in columns.items()})
    assert found["vector"].tobytes() == toller.Encoder(MODEL).encode_document(["dogs swim", "They swim."]).tobytes()


def test_missing_texts_of_batches_are_refused() -> None:
    columns = {"query": ["dogs", "ducks"], "title": ["a", "b"], "text": ["swim", None]}
    batch = {name: np.array(values, dtype=object) for name, values in columns.items()}
    for function in (toller.ray.Encode(MODEL, title="title"), toller.ray.Rerank(RERANKER)):
        with pytest.raises(toller.InvalidArgument, match="the column 'text' of a batch, row 2: null"):
            function(batch)
    with pytest.raises(toller.InvalidArgument, match="the column 'title' of a batch, row 1: a value of type int"):
        toller.ray.Encode(MODEL, title="title")({"title": np.array([3]), "text": np.array(["swim"])})


def test_without_ray_only_its_use_fails() -> None:
    code = "import sys; sys.modules['ray'] = None; import toller.ray; toller.ray.encode('c', 'o', 'm', shards=1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "toller.errors.Error: toller.ray needs Ray, which is not installed\nhint: pip install" in done.stderr


def examples() -> list[str]:
    """The examples in Python of docs/scale.md."""
    text = (REPOSITORY / "docs/scale.md").read_text()
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def run_examples(folder: Path, corpus: Path, queries: Path, monkeypatch: pytest.MonkeyPatch, of_spark: bool) -> None:
    chosen = [example for example in examples() if ("spark" in example) == of_spark]
    assert chosen
    monkeypatch.chdir(folder)
    for name, file in [("all-MiniLM-L6-v2", MODEL), ("corpus.jsonl", corpus), ("queries.tsv", queries)]:
        Path(name).symlink_to(file)
    known: dict[str, object] = {}
    for example in chosen:
        exec(compile(example, "docs/scale.md", "exec"), known)


def test_the_examples_run(
    ray: Any, folder: Path, corpus: Path, queries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_examples(folder, corpus, queries, monkeypatch, of_spark=False)


def test_the_example_of_spark_runs(
    corpus: Path, queries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyspark")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    run_examples(tmp_path, corpus, queries, monkeypatch, of_spark=True)
    found = parquet.read_table("spark-vectors")
    vectors = np.array(found["vector"].to_pylist(), dtype=np.float32)
    assert len(found) == 3000
    assert vectors.tobytes() == toller.Encoder(MODEL).encode_document(found["text"].to_pylist()).tobytes()

"""Stores as arrays: views without copies, read-only, alive as long as they are used."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path

import numpy as np
import pytest

import toller

RANDOM = np.random.default_rng(7)


def vectors(rows: int, dim: int = 24) -> np.ndarray:
    return RANDOM.standard_normal((rows, dim)).astype(np.float32)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_arrays_become_a_store_and_come_back(tmp_path: Path, dtype: str) -> None:
    given = vectors(100)
    store = toller.Store.create(tmp_path / "s", [f"d{row}" for row in range(100)], given, store_dtype=dtype)
    assert (len(store), store.dim, store.dtype, store.role) == (100, 24, dtype, "passage")
    assert store.ids == [f"d{row}" for row in range(100)] and store.ids_of([3, 0]) == ["d3", "d0"]
    tolerance = {"f32": 0, "f16": 1e-3, "bf16": 8e-3}[dtype]
    np.testing.assert_allclose(store[:].astype(np.float32), given, rtol=tolerance, atol=tolerance)
    assert store[0:0].dtype == store[:].dtype and store[0:0].shape == (0, 24)
    again = toller.Store(tmp_path / "s")
    assert again[:].tobytes() == store[:].tobytes()


def test_arrays_are_read_only_views_that_keep_the_map(store: toller.Store) -> None:
    first = store[3:9]
    assert first.shape == (6, 384) and not first.flags.writeable and not first.flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1
    with pytest.raises(ValueError):
        first.flags.writeable = True
    assert np.shares_memory(first, store[:10]) and np.shares_memory(store[3], first)
    shards = store.shards
    assert [len(shard) for shard in shards] == [64, 64, 23]
    whole = np.concatenate(shards)
    assert store[:].tobytes() == whole.tobytes() and store[60:70].tobytes() == whole[60:70].tobytes()
    assert store[-1].tobytes() == whole[-1].tobytes() and store[5:5].shape == (0, 384)
    path, expected = store.paths[0], first.tobytes()
    other = toller.Store(path)
    view = other[3:9]
    del other
    gc.collect()
    assert view.tobytes() == expected


def test_a_store_is_a_sequence(store: toller.Store) -> None:
    for bad in (len(store), -len(store) - 1):
        with pytest.raises(IndexError, match=f"row {bad} of a store of {len(store)}"):
            store[bad]
    for wrong in ([1, 2], None, "d1"):
        with pytest.raises(TypeError, match="a row number or a slice is expected"):
            store[wrong]  # type: ignore[index]
    with pytest.raises(TypeError):
        store[::2]
    assert np.stack(list(store)).tobytes() == store[:].tobytes()


def test_views_of_a_large_store_take_no_memory(tmp_path: Path) -> None:
    given = vectors(8192, 1024)
    store = toller.Store.create(tmp_path / "s", [str(row) for row in range(8192)], given)

    def own_memory() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024

    before = own_memory()
    views = [store[row : row + 4096] for row in range(4096)]
    assert sum(float(view[0, 0]) for view in views) == pytest.approx(float(given[:4096, 0].sum()), rel=1e-4)
    assert own_memory() - before < 8 << 20


def test_bad_arrays_are_refused(tmp_path: Path, encoder: toller.Encoder) -> None:
    ids = ["a", "b"]
    with pytest.raises(toller.InvalidArgument, match="astype"):
        toller.Store.create(tmp_path / "1", ids, vectors(2).astype(np.int64))  # type: ignore[arg-type]
    with pytest.raises(toller.InvalidArgument, match="one vector in place of an array"):
        toller.Store.create(tmp_path / "0", ["a"], vectors(1)[0])
    with pytest.raises(toller.InvalidArgument, match="3 ids for 2"):
        toller.Store.create(tmp_path / "2", ["a", "b", "c"], vectors(2))
    with pytest.raises(toller.InvalidArgument, match="'a' occurs twice|\"a\" occurs twice"):
        toller.Store.create(tmp_path / "3", ["a", "a"], vectors(2))
    with pytest.raises(toller.InvalidArgument):
        toller.Store.create(tmp_path / "5", ids, np.full((2, 4), np.nan, dtype=np.float32))
    # Nothing is left that the corrected vectors would not fit.
    assert len(toller.Store.create(tmp_path / "5", ids, vectors(2))) == 2
    with pytest.raises(toller.InvalidArgument, match="dim is 0"):
        toller.Store.create(tmp_path / "7", ids, np.zeros((2, 0), np.float32))
    with pytest.raises(toller.InvalidArgument, match="the model makes 384"):
        toller.Store.create(tmp_path / "6", ids, vectors(2), model=encoder)


def test_arrays_in_any_order_make_the_same_store(tmp_path: Path) -> None:
    ids, given = ["a", "b", "c"], vectors(3, 4)
    shifted = np.frombuffer(bytes(1) + given.tobytes(), np.float32, offset=1).reshape(3, 4)
    wide = np.repeat(given, 2, axis=0)
    for number, same in enumerate((np.asfortranarray(given), given.astype(np.float64), shifted, wide[::2])):
        store = toller.Store.create(tmp_path / str(number), ids, same)
        assert store[:].tobytes() == given.tobytes()
    with pytest.raises(toller.InvalidArgument, match="inf"), np.errstate(over="ignore"):
        toller.Store.create(tmp_path / "no", ids, np.full((3, 4), 1e300))


def test_ids_come_from_any_iterable(tmp_path: Path) -> None:
    given, names = vectors(4), ["0", "1", "2", "3"]
    forms = [np.arange(4), range(4), (str(row) for row in range(4)), dict.fromkeys(names).keys(), np.array(names)]
    for number, ids in enumerate(forms):
        assert toller.Store.create(tmp_path / str(number), ids, given).ids == names
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    for number, ids in enumerate((pandas.RangeIndex(4), pandas.Series(names), pyarrow.array(names))):
        assert toller.Store.create(tmp_path / f"table-{number}", ids, given).ids == names


def test_bad_ids_are_refused_with_their_row(tmp_path: Path) -> None:
    for ids, message in (
        (["a", ""], "ids, row 2: the identifier is empty"),
        (["a", " "], "ids, row 2: the identifier is empty"),
        (["a", None], "ids, row 2: the identifier is null"),
        (["a", 1.5], "ids, row 2: the identifier is of type float"),
        (["a", True], "ids, row 2: the identifier is of type bool"),
        ("ab", "a string in place of ids"),
        ({"a", "b"}, "a set in place of ids"),
    ):
        with pytest.raises(toller.InvalidArgument, match=message):
            toller.Store.create(tmp_path / "s", ids, vectors(2))  # type: ignore[arg-type]


def test_ids_of_rows(tmp_path: Path) -> None:
    store = toller.Store.create(tmp_path / "s", ["a", "b", "c"], vectors(3))
    for rows in ([2, 0], np.array([2, 0]), iter([2, 0]), np.array([2, 0], dtype=np.int16)):
        assert store.ids_of(rows) == ["c", "a"]
    with pytest.raises(toller.InvalidArgument, match="rows holds -1, which is not a row number"):
        store.ids_of([-1])
    with pytest.raises(toller.InvalidArgument, match="rows is a mask"):
        store.ids_of([True, False, True])
    with pytest.raises(IndexError, match="row 3 of a store of 3"):
        store.ids_of([3])


def test_vectors_of_a_model_make_a_store_that_knows_it(encoder: toller.Encoder, tmp_path: Path) -> None:
    texts = ["dogs fetch ducks", "stocks fell", "ducks swim"]
    store = toller.Store.create(tmp_path / "s", ["1", "2", "3"], encoder.encode_document(texts), model=encoder)
    assert store.model_fingerprint == encoder.fingerprint
    assert toller.Searcher.dense(store, encoder).search("dogs fetch ducks", k=1)[0].id == "1"


def test_damage_is_found(tmp_path: Path) -> None:
    store = toller.Store.create(tmp_path / "s", ["a", "b"], vectors(2))
    path = next((tmp_path / "s").glob("shard-*"))
    first = store[0].tobytes()
    del store
    damaged = bytearray(path.read_bytes())
    # A bit of the first vector: only the checksum can tell.
    start = damaged.index(first)
    damaged[start] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(toller.Error) as error:
        toller.Store(tmp_path / "s")
    assert error.value.file and error.value.file.endswith(path.name)
    toller.Store(tmp_path / "s", verify=False)


def test_stores_are_pickled_as_their_paths(store: toller.Store) -> None:
    assert pickle.loads(pickle.dumps(store))[:].tobytes() == store[:].tobytes()


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(toller.NotFound):
        toller.Store(tmp_path / "nowhere")
    with pytest.raises(toller.Error, match="not a store") as error:
        toller.Store(tmp_path)
    hint = "give the directory that `toller.encode(output=...)` wrote; files of other programs' vectors are imported first"
    assert error.value.hint == hint

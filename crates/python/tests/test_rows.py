"""Some rows of a store: searched alone, and as a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import toller
from toller._toller import run_of_rows

RANDOM = np.random.default_rng(13)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of 90 vectors."""
    vectors = RANDOM.standard_normal((90, 16)).astype(np.float32)
    toller.Store.create(tmp_path / "store", [f"d{row}" for row in range(90)], vectors)
    return tmp_path / "store"


def test_rows_are_searched_alone(path: Path) -> None:
    store = toller.Store(path)
    queries = RANDOM.standard_normal((5, 16)).astype(np.float32)
    scores, rows = toller.FlatIndex(store).search(queries, k=90)
    for index in (toller.FlatIndex(store, rows=(20, 55)), toller.FlatIndex(path, rows=(20, 55))):
        assert len(index) == 35
        of_rows = index.search(queries, k=90)
        for query in range(5):
            kept = (20 <= rows[query]) & (rows[query] < 55)
            assert of_rows[0][query].tobytes() == scores[query][kept].tobytes()
            assert of_rows[1][query].tolist() == rows[query][kept].tolist()
        assert index.search(queries[0], k=5, allowed=[3, 30])[1].tolist() == [30]
    for bad in [(3, 2), (0, 91)]:
        with pytest.raises(toller.InvalidArgument, match=f"rows {bad[0]} to {bad[1]} of a store of 90"):
            toller.FlatIndex(store, rows=bad)


def test_damage_outside_of_the_rows_is_not_read(path: Path) -> None:
    shard = next(path.glob("shard-*"))
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1
    shard.write_bytes(content)
    with pytest.raises(toller.Error):
        toller.FlatIndex(path, rows=(0, 5))
    assert len(toller.FlatIndex(path, rows=(5, 5))) == 0


def test_rows_are_a_run(path: Path) -> None:
    store = toller.Store(path)
    scores, rows = np.array([[0.1, 0.05]], dtype=np.float32), np.array([[7, 3]])
    assert run_of_rows(store, ["q"], scores, rows) == toller.Run({"q": {"d7": 0.1, "d3": 0.05}})
    assert len(run_of_rows(store, ["q"], scores[:, :0], rows[:, :0])) == 0
    with pytest.raises(toller.InvalidArgument, match="row 90 of a store of 90"):
        run_of_rows(store, ["q"], scores, rows + 83)
    with pytest.raises(toller.InvalidArgument, match="row -1 of"):
        run_of_rows(store, ["q"], scores, rows - 4)
    with pytest.raises(toller.InvalidArgument, match="for 2 queries"):
        run_of_rows(store, ["q", "p"], scores, rows)

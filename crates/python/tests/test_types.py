"""The types: mypy --strict on the package, and the stub against the native module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import toller

PROJECT = Path(__file__).resolve().parents[1]

# What the documentation promises, as a program.
PROGRAM = """
from collections.abc import Mapping

import numpy as np

import toller

run, qrels = toller.Run({"q": {"d": 1.0}}), toller.Qrels({"q": {"d": 1}})
scores: Mapping[str, Mapping[str, float]] = run
grades: Mapping[str, Mapping[str, int]] = qrels
evaluation = toller.evaluate(grades, scores, {"map", "ndcg_cut_10"})
values: Mapping[str, float] = evaluation
first: str = run.keys()[0]
best: dict[str, float] | None = run.get("q")
fused = toller.fuse([run, scores], weights=np.array([1.0, 0.5]), k=np.int64(10))
compared = toller.compare(qrels, [run, fused], [evaluation.keys()[0]], tests="t-test")
vectors = np.zeros((2, 4), dtype=np.float32)
store = toller.Store.create("store", np.arange(2), vectors.astype(np.float64))
widths = [len(vector) for vector in store]
found, rows = toller.FlatIndex(store).search(vectors, k=np.int64(3), allowed=np.arange(2))
names: list[str] = store.ids_of(rows[0])
hits = toller.SparseIndex("index").search("ducks", k=np.int64(3))
"""


def check(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=PROJECT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy() -> None:
    pytest.importorskip("mypy")
    for oldest in ([], ["--python-version", "3.10"]):
        check("mypy", "--strict", *oldest, "python/toller")


def test_a_program_that_follows_the_documentation(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    check("mypy", "--strict", str(tmp_path / "program.py"))


def test_the_stub_is_the_native_module(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    # The module's list of its names is all of them.
    allowed = tmp_path / "allowed"
    allowed.write_text("toller\\._toller\\.__all__\n")
    check("mypy.stubtest", "toller._toller", "--ignore-disjoint-bases", "--allowlist", str(allowed))


def test_everything_has_a_docstring() -> None:
    for name in toller.__all__:
        if name == "__version__":
            continue
        thing = getattr(toller, name)
        assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            fields = {"hint", "file", "line"} | getattr(thing, "__dataclass_fields__", {}).keys()
            if not member.startswith("_") and member not in fields:
                assert value.__doc__, f"{name}.{member}"

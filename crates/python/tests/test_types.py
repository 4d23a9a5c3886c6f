"""The types: mypy --strict on the package, and the stub against the native module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import toller

PROJECT = Path(__file__).resolve().parents[1]


def check(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=PROJECT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy() -> None:
    pytest.importorskip("mypy")
    for oldest in ([], ["--python-version", "3.10"]):
        check("mypy", "--strict", *oldest, "python/toller")


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

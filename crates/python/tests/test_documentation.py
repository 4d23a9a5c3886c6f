"""The examples of docs/python.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conftest import FIXTURES, REPOSITORY

TEXTS = {
    "d1": "Tollers lure ducks within reach of hunters.",
    "d2": "A store keeps vectors in shards.",
    "d3": "Cross-encoders read a query and a passage together.",
}


def test_the_examples_run(minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (REPOSITORY / "docs/python.md").read_text()
    examples = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(examples) >= 5
    monkeypatch.chdir(tmp_path)
    Path("all-MiniLM-L6-v2").symlink_to(minilm)
    Path("cross-encoder").mkdir()
    Path("cross-encoder/ms-marco-MiniLM-L6-v2").symlink_to(FIXTURES / "cross-encoders/roberta")
    rows = (json.dumps({"_id": name, "text": text}) + "\n" for name, text in TEXTS.items())
    Path("corpus.jsonl").write_text("".join(rows))
    Path("queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "who lures ducks?"}) + "\n")
    Path("qrels.txt").write_text("q1 0 d1 1\n")
    known: dict[str, object] = {}
    for example in examples:
        exec(compile(example, "docs/python.md", "exec"), known)

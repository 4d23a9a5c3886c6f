"""ranx: runs and qrels, both ways.

>>> ranx.evaluate(qrels_of(qrels), run_of(run), "ndcg@10")
"""

from __future__ import annotations

from typing import Any

import ranx

import toller


def run_of(run: toller.Run) -> Any:
    """A run as ranx has it."""
    return ranx.Run(run.to_dict(), name=run.tag)


def qrels_of(qrels: toller.Qrels) -> Any:
    """Judgments as ranx has them."""
    return ranx.Qrels(qrels.to_dict())


def to_run(run: Any) -> toller.Run:
    """A run of ranx's."""
    return toller.Run(run.to_dict(), tag=run.name or "ranx")


def to_qrels(qrels: Any) -> toller.Qrels:
    """Judgments of ranx's."""
    return toller.Qrels(qrels.to_dict())

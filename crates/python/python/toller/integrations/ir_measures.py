"""ir_measures: runs and qrels, both ways.

>>> ir_measures.calc_aggregate([nDCG @ 10], qrels_of(qrels), run_of(run))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ir_measures import Qrel, ScoredDoc

import toller


def run_of(run: toller.Run) -> Iterator[Any]:
    """A run as ir_measures' ScoredDocs."""
    for query in run:
        for document, score in run[query].items():
            yield ScoredDoc(query, document, score)


def qrels_of(qrels: toller.Qrels) -> Iterator[Any]:
    """Judgments as ir_measures' Qrels."""
    for query in qrels:
        for document, grade in qrels[query].items():
            yield Qrel(query, document, grade)


def to_run(scored: Iterable[Any], *, tag: str = "toller") -> toller.Run:
    """A run of anything with query_id, doc_id and score: ir_measures' ScoredDocs, ir_datasets' scored documents."""
    scores: dict[str, dict[str, float]] = {}
    for document in scored:
        scores.setdefault(document.query_id, {})[document.doc_id] = document.score
    return toller.Run(scores, tag=tag)


def to_qrels(judged: Iterable[Any]) -> toller.Qrels:
    """Judgments of anything with query_id, doc_id and relevance: ir_measures' or ir_datasets' qrels."""
    grades: dict[str, dict[str, int]] = {}
    for judgment in judged:
        grades.setdefault(judgment.query_id, {})[judgment.doc_id] = judgment.relevance
    return toller.Qrels(grades)

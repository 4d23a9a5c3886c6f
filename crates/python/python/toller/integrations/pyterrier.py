"""PyTerrier: Toller's searchers and cross-encoders as transformers.

>>> pipeline = Retriever(searcher, k=100) >> pt.text.get_text(dataset) >> Reranker(cross_encoder)
>>> pt.Experiment([Retriever(searcher), pipeline], topics, qrels, ["ndcg_cut_10"])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

import toller
from toller.errors import invalid


class Retriever(pt.Transformer):
    """Queries in (qid, query), hits out (qid, query, docno, score, rank from 0)."""

    def __init__(self, searcher: toller.Searcher, *, k: int = 1000) -> None:
        super().__init__()
        self.searcher = searcher
        self.k = k

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        """The `k` best documents of each query."""
        _check(topics, "qid", "query")
        queries = list(zip(topics["qid"].astype(str), topics["query"], strict=True))
        run = self.searcher.batch_search(queries, k=self.k) if queries else toller.Run({})
        rows = [
            (qid, document, score, rank)
            for qid in run
            for rank, (document, score) in enumerate(run[qid].items())
        ]
        hits = pd.DataFrame(rows, columns=["qid", "docno", "score", "rank"])
        kept = topics.drop(columns=["docno", "score", "rank"], errors="ignore")
        return kept.assign(qid=kept["qid"].astype(str)).merge(hits, on="qid")


class Reranker(pt.Transformer):
    """Hits with their texts in (qid, query, docno, text), the same out, scored again by a cross-encoder."""

    def __init__(self, model: toller.CrossEncoder, *, text_field: str = "text") -> None:
        super().__init__()
        self.model = model
        self.text_field = text_field

    def transform(self, hits: pd.DataFrame) -> pd.DataFrame:
        """The hits in their new order."""
        _check(hits, "qid", "query", "docno", self.text_field)
        pairs = list(zip(hits["query"], hits[self.text_field], strict=True))
        scores = self.model.predict(pairs) if pairs else np.zeros(0)
        return pt.model.add_ranks(hits.drop(columns=["rank"], errors="ignore").assign(score=scores.astype(float)))


class QueryEncoder(pt.Transformer):
    """Queries in (qid, query), the same out with their vectors in `query_vec`."""

    def __init__(self, encoder: toller.Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        """The queries with their vectors."""
        _check(topics, "qid", "query")
        vectors: Any = self.encoder.encode_query(topics["query"].tolist())
        return topics.assign(query_vec=list(vectors))


def _check(frame: pd.DataFrame, *columns: str) -> None:
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise invalid(f"a table without {', '.join(missing)}", f"give the columns {', '.join(columns)}")

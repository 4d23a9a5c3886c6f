"""BEIR: models and searchers for `EvaluateRetrieval`.

>>> from beir.retrieval.evaluation import EvaluateRetrieval
>>> retriever = EvaluateRetrieval(ExactSearch(toller.Encoder("all-MiniLM-L6-v2")), score_function="cos_sim")
>>> results = retriever.retrieve(corpus, queries)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from beir.retrieval.search import BaseSearch

import toller
from toller.errors import invalid


class ExactSearch(BaseSearch):
    """Exact search by an encoder: the collection is encoded in memory, then every vector is scored.

    Titles and texts are joined by a space, as in BEIR. `cos_sim` scales vectors to length one, and `dot` takes
    them as the model makes them.
    """

    def __init__(self, encoder: toller.Encoder, *, scan: str = "auto", show_progress_bar: bool = False) -> None:
        self.encoder = encoder
        self.scan = scan
        self.show_progress_bar = show_progress_bar

    def search(
        self,
        corpus: Mapping[str, Mapping[str, str]],
        queries: Mapping[str, str],
        top_k: int,
        score_function: str = "cos_sim",
        **other: Any,
    ) -> dict[str, dict[str, float]]:
        """The `top_k` best documents of each query: `{query id: {document id: score}}`."""
        _refuse(other)
        if score_function not in ("cos_sim", "dot"):
            raise invalid(f"score_function={score_function!r}", "there are cos_sim and dot")
        options: dict[str, Any] = {
            "normalize_embeddings": score_function == "cos_sim",
            "show_progress_bar": self.show_progress_bar,
        }
        ids = list(corpus)
        texts = [f"{document.get('title') or ''} {document['text']}".strip() for document in corpus.values()]
        index = toller.FlatIndex.of_arrays(self.encoder.encode_document(texts, **options), scan=self.scan)
        scores, rows = index.search(self.encoder.encode_query(list(queries.values()), **options), k=top_k + 1)
        return {
            query: _best_others(query, ((ids[row], score) for row, score in zip(found, of_query, strict=True)), top_k)
            for query, found, of_query in zip(queries, rows.tolist(), scores.tolist(), strict=True)
        }

    def encode(self, *_: Any, **__: Any) -> None:
        """Not supported: `toller.encode` writes stores."""
        raise invalid("encode_and_retrieve is not supported", "call retrieve, or toller.encode and SearcherSearch")

    search_from_files = encode


class SearcherSearch(BaseSearch):
    """Any of Toller's searchers over an index or a store of the same collection, which BEIR's is not read for."""

    def __init__(self, searcher: toller.Searcher) -> None:
        self.searcher = searcher

    def search(
        self,
        corpus: Mapping[str, Mapping[str, str]],
        queries: Mapping[str, str],
        top_k: int,
        score_function: str | None = None,
        **other: Any,
    ) -> dict[str, dict[str, float]]:
        """The `top_k` best documents of each query: `{query id: {document id: score}}`."""
        _refuse(other)
        if len(corpus) != len(self.searcher):
            message = f"a corpus of {len(corpus)} documents, but the searcher has {len(self.searcher)}"
            raise invalid(message, "index or encode the same collection")
        run = self.searcher.batch_search(queries, k=top_k + 1)
        return {query: _best_others(query, run.get(query, {}).items(), top_k) for query in queries}

    encode = ExactSearch.encode
    search_from_files = ExactSearch.encode


def _best_others(query: str, hits: Iterable[tuple[str, float]], top_k: int) -> dict[str, float]:
    """The best hits without the document that is the query itself, as in BEIR's own searches."""
    return dict(islice((hit for hit in hits if hit[0] != query), top_k))


def _refuse(other: Mapping[str, Any]) -> None:
    for name in other:
        raise invalid(f"{name} is not supported", f"leave {name} out")

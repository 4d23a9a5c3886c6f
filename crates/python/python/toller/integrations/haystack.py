"""Haystack: embedders, a retriever and a ranker as components.

>>> pipeline.add_component("retriever", TollerRetriever(searcher, texts, top_k=100))
>>> pipeline.add_component("ranker", TollerRanker(cross_encoder, top_k=10))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from haystack import Document, component

import toller


@component
class TollerTextEmbedder:
    """Encodes a query."""

    def __init__(self, encoder: toller.Encoder) -> None:
        self.encoder = encoder

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        """The query's vector."""
        return {"embedding": self.encoder.encode_query(text).tolist()}


@component
class TollerDocumentEmbedder:
    """Encodes documents."""

    def __init__(self, encoder: toller.Encoder) -> None:
        self.encoder = encoder

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """The documents with their vectors."""
        vectors = self.encoder.encode_document([document.content or "" for document in documents]).tolist()
        pairs = zip(documents, vectors, strict=True)
        return {"documents": [replace(document, embedding=vector) for document, vector in pairs]}


@component
class TollerRetriever:
    """A searcher. `texts` has the text of a document by its id."""

    def __init__(
        self,
        searcher: toller.Searcher,
        texts: Mapping[str, str] | toller.Texts | Callable[[str], str],
        *,
        top_k: int = 10,
    ) -> None:
        self.searcher = searcher
        self.text = texts if callable(texts) else texts.__getitem__
        self.top_k = top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """The best documents, best first."""
        hits = self.searcher.search(query, k=self.top_k if top_k is None else top_k)
        return {"documents": [Document(id=hit.id, content=self.text(hit.id), score=hit.score) for hit in hits]}


@component
class TollerRanker:
    """A cross-encoder."""

    def __init__(self, model: toller.CrossEncoder, *, top_k: int | None = None) -> None:
        self.model = model
        self.top_k = top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, list[Document]]:
        """The best documents in their new order."""
        kept = self.top_k if top_k is None else top_k
        ranked = self.model.rank(query, [document.content or "" for document in documents], top_k=kept)
        return {"documents": [replace(documents[of["corpus_id"]], score=of["score"]) for of in ranked]}

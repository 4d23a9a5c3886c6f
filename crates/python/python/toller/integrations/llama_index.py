"""LlamaIndex: embeddings, a retriever, and a reranker of nodes.

>>> retriever = TollerRetriever(searcher, texts, k=5)
>>> retriever.retrieve("what do tollers do?")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import toller


class TollerEmbedding(BaseEmbedding):
    """An encoder as LlamaIndex's embeddings."""

    _encoder: toller.Encoder = PrivateAttr()

    def __init__(self, encoder: toller.Encoder, **options: Any) -> None:
        super().__init__(model_name=encoder.name, **options)
        self._encoder = encoder

    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = self._encoder.encode_query(query).tolist()
        return vector

    def _get_text_embedding(self, text: str) -> list[float]:
        vector: list[float] = self._encoder.encode_document(text).tolist()
        return vector

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._encoder.encode_document(texts).tolist()
        return vectors

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class TollerRetriever(BaseRetriever):
    """A searcher as LlamaIndex's retriever. `texts` has the text of a document by its id."""

    def __init__(
        self, searcher: toller.Searcher, texts: Mapping[str, str] | toller.Texts | Callable[[str], str], *, k: int = 10
    ) -> None:
        super().__init__()
        self._searcher = searcher
        self._text = texts if callable(texts) else texts.__getitem__
        self._k = k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._searcher.search(query_bundle.query_str, k=self._k)
        return [NodeWithScore(node=TextNode(id_=hit.id, text=self._text(hit.id)), score=hit.score) for hit in hits]


class TollerReranker(BaseNodePostprocessor):
    """A cross-encoder that keeps the `top_n` best of nodes, best first."""

    top_n: int | None = None
    _model: toller.CrossEncoder = PrivateAttr()

    def __init__(self, model: toller.CrossEncoder, *, top_n: int | None = None) -> None:
        super().__init__(top_n=top_n)
        self._model = model

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise toller.errors.invalid("nodes without a query", "give query_bundle or query_str")
        texts = [node.node.get_content() for node in nodes]
        ranked = self._model.rank(query_bundle.query_str, texts, top_k=self.top_n)
        return [NodeWithScore(node=nodes[of["corpus_id"]].node, score=of["score"]) for of in ranked]

"""LangChain: embeddings, a retriever, and a reranker of documents.

>>> retriever = TollerRetriever(searcher=searcher, texts=texts, k=5)
>>> retriever.invoke("what do tollers do?")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

import toller


class TollerEmbeddings(Embeddings):
    """An encoder as LangChain's embeddings."""

    def __init__(self, encoder: toller.Encoder) -> None:
        self.encoder = encoder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each document."""
        vectors: list[list[float]] = self.encoder.encode_document(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        vector: list[float] = self.encoder.encode_query(text).tolist()
        return vector


class TollerRetriever(BaseRetriever):
    """A searcher as LangChain's retriever. `texts` has the text of a document by its id.

    The metadata of a document are its id and its score.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    searcher: Any
    texts: Mapping[str, str] | toller.Texts | Callable[[str], str]
    k: int = 10

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        text = self.texts if callable(self.texts) else self.texts.__getitem__
        hits = self.searcher.search(query, k=self.k)
        return [
            Document(id=hit.id, page_content=text(hit.id), metadata={"id": hit.id, "score": hit.score})
            for hit in hits
        ]


class TollerReranker(BaseDocumentCompressor):
    """A cross-encoder that keeps the `top_n` best of documents, best first, with the metadata `relevance_score`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: Any
    top_n: int | None = None

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """The documents in their new order."""
        ranked = self.model.rank(query, [document.page_content for document in documents], top_k=self.top_n)
        return [
            documents[of["corpus_id"]].model_copy(
                update={"metadata": {**documents[of["corpus_id"]].metadata, "relevance_score": of["score"]}}
            )
            for of in ranked
        ]

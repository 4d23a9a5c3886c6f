"""MTEB: models, and an exact index for any model.

>>> mteb.evaluate(MtebEncoder(toller.Encoder("all-MiniLM-L6-v2")), tasks)
>>> mteb.evaluate(SearchEncoderWrapper(any_model, index_backend=ExactIndex(any_model)), tasks)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.types import PromptType

import toller
from toller.encoder import unit
from toller.errors import invalid


def _meta(name: str, revision: str, **known: Any) -> Any:
    # MTEB's names are an owner and a model.
    name = name.rstrip("/").split("/")[-1]
    return ModelMeta.create_empty(overwrites={"name": f"toller/{name}", "revision": revision, **known})


def _texts(batches: Iterable[dict[str, Any]]) -> list[str]:
    return [text for batch in batches for text in batch["text"]]


class MtebEncoder:
    """An encoder by MTEB's EncoderProtocol. Queries get the model's prompt for queries, and documents theirs;
    texts of other tasks get those of `encode`. `similarity` is cosine or dot; None for what the model's files say.
    """

    def __init__(self, encoder: toller.Encoder, *, similarity: str | None = None) -> None:
        self.encoder = encoder
        similarity = similarity or encoder.similarity_fn_name
        self._is_cosine = _is_cosine(similarity)
        known = {"embed_dim": encoder.dim, "similarity_fn_name": ScoringFunction(similarity)}
        self.mteb_model_meta = _meta(encoder.name, encoder.fingerprint, **known)

    def encode(self, inputs: Iterable[dict[str, Any]], *, prompt_type: Any = None, **_: Any) -> Any:
        """Vectors of the texts of all batches, float32 [texts, dim]."""
        texts = _texts(inputs)
        if prompt_type == PromptType.query:
            return self.encoder.encode_query(texts)
        if prompt_type == PromptType.document:
            return self.encoder.encode_document(texts)
        return self.encoder.encode(texts)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """The similarities as a torch tensor [first, second]."""
        import torch

        return torch.from_numpy(self._scaled(embeddings1) @ self._scaled(embeddings2).T)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """The similarities of pairs as a torch tensor [pairs]."""
        import torch

        return torch.from_numpy((self._scaled(embeddings1) * self._scaled(embeddings2)).sum(axis=1))

    def _scaled(self, embeddings: Any) -> Any:
        vectors = np.atleast_2d(_array(embeddings))
        return unit(vectors) if self._is_cosine else vectors


class MtebCrossEncoder:
    """A cross-encoder by MTEB's CrossEncoderProtocol."""

    def __init__(self, model: toller.CrossEncoder, name: str = "cross-encoder") -> None:
        self.model = model
        self.mteb_model_meta = _meta(name, model.fingerprint, model_type=["cross-encoder"])

    def predict(self, inputs1: Iterable[dict[str, Any]], inputs2: Iterable[dict[str, Any]], **_: Any) -> Any:
        """The score of each pair, float32 [pairs]."""
        return self.model.predict(list(zip(_texts(inputs1), _texts(inputs2), strict=True)))


class ExactIndex:
    """Exact search by MTEB's IndexEncoderSearchProtocol, in place of FAISS, for any model that MTEB has."""

    def __init__(self, model: Any) -> None:
        self._is_cosine = _is_cosine(model.mteb_model_meta.similarity_fn_name)
        self.clear()

    def clear(self) -> None:
        """Forgets all documents."""
        self._arrays: list[Any] = []
        self._rows: dict[str, int] = {}
        self._index: toller.FlatIndex | None = None

    def add_documents(self, embeddings: Any, idxs: list[str]) -> None:
        """Adds documents by their vectors [documents, dim]."""
        self._arrays.append(self._vectors(embeddings))
        first = len(self._rows)
        self._rows.update((name, first + row) for row, name in enumerate(idxs))
        # Made by the next search: each index looks at all numbers.
        self._index = None

    def search(
        self,
        embeddings: Any,
        top_k: int,
        similarity_fn: Callable[[Any, Any], Any],
        top_ranked: Any = None,
        query_idx_to_id: dict[int, str] | None = None,
    ) -> tuple[list[list[float]], list[list[int]]]:
        """Scores and places of the best documents of each query: places among all documents, or with `top_ranked`
        among those of the query.
        """
        if not self._arrays:
            raise invalid("no documents", "call add_documents first")
        if self._index is None:
            self._index = toller.FlatIndex.of_arrays(*self._arrays)
        queries = self._vectors(embeddings)
        if top_ranked is None:
            scores, rows = self._index.search(queries, k=top_k)
            return scores.tolist(), rows.tolist()
        if query_idx_to_id is None:
            raise invalid("top_ranked without query_idx_to_id", "give both")
        found: tuple[list[list[float]], list[list[int]]] = ([], [])
        for number, query in enumerate(queries):
            places = {self._rows[name]: place for place, name in enumerate(top_ranked.get(query_idx_to_id[number], []))}
            if places:
                scores, rows = self._index.search(query, k=top_k, allowed=list(places))
            else:
                scores, rows = np.zeros(0, np.float32), np.zeros(0, np.int64)
            found[0].append(scores.tolist())
            found[1].append([places[row] for row in rows.tolist()])
        return found

    def _vectors(self, embeddings: Any) -> Any:
        vectors = np.ascontiguousarray(_array(embeddings), dtype=np.float32)
        return unit(vectors) if self._is_cosine else vectors


def _is_cosine(similarity: Any) -> bool:
    if similarity not in (ScoringFunction.COSINE, ScoringFunction.DOT_PRODUCT):
        raise invalid(f"the similarity {similarity} is not supported", "Toller searches by cosine or dot product")
    return bool(similarity == ScoringFunction.COSINE)


def _array(embeddings: Any) -> Any:
    return embeddings.detach().cpu().numpy() if hasattr(embeddings, "detach") else np.asarray(embeddings)

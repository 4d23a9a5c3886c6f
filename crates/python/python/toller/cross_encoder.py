"""Cross-encoders, with the signature of sentence-transformers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from toller._arguments import check_device, refuse, to_torch
from toller._texts import is_missing, listed, texts_of
from toller._toller import PairScorer
from toller.encoder import Progress
from toller.errors import invalid

# What has no effect in Toller, and its default.
_UNSET: dict[str, Any] = {
    "prompt_name": None,
    "prompt": None,
    "activation_fn": None,
    "apply_softmax": False,
    "convert_to_numpy": True,
    "pool": None,
    "chunk_size": None,
}


class CrossEncoder(PairScorer):
    """A cross-encoder: pairs of a query and a passage to scores, float32 [pairs].

    `model` is a directory or an id of the Hugging Face hub. `prompt` is put before every query, instead of the model's
    own default prompt. Pairs are cut to `max_length` tokens: by default only
    the passage (`truncation="only_second"`), else the longer text first ("longest_first"). `label` is the number
    of the label whose score counts. `activation` makes scores of logits: configured (as sentence-transformers
    reads the model's configuration), logit, sigmoid or softmax; None is what `toller rerank` does, the logit of
    one label and the softmax of several.
    """

    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(
        cls,
        model: Any,
        *,
        max_length: int | None = None,
        prompt: str | None = None,
        truncation: str = "only_second",
        label: int | None = None,
        activation: str | None = "configured",
        dtype: str | None = None,
        device: str | None = "auto",
        batch_tokens: int | None = None,
    ) -> CrossEncoder:
        options: dict[str, Any] = {
            "max_length": max_length,
            "prompt": prompt,
            "truncation": truncation,
            "label": label,
            "activation": activation,
            "dtype": dtype,
            "device": device or "auto",
            "batch_tokens": batch_tokens,
        }
        self = super().__new__(cls, model, **options)
        self._made_with = ((model,), options)
        return self

    def predict(
        self,
        inputs: Iterable[Any],
        prompt_name: None = None,
        prompt: None = None,
        batch_size: int = 32,
        show_progress_bar: bool | Progress | None = None,
        activation_fn: None = None,
        apply_softmax: bool | None = False,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: Any = None,
        pool: None = None,
        chunk_size: None = None,
        **other: Any,
    ) -> Any:
        """The score of each pair, float32 [pairs]; of one pair, a number. Higher is a better passage.

        `inputs` are pairs of a query and a passage from any iterable, or one pair. `batch_size` is accepted and has no
        effect: batches are cut by tokens, and leave no trace.
        """
        given = {
            "prompt_name": prompt_name,
            "prompt": prompt,
            "activation_fn": activation_fn,
            "apply_softmax": apply_softmax or False,
            "convert_to_numpy": convert_to_numpy or convert_to_tensor,
            "pool": pool,
            "chunk_size": chunk_size,
        }
        refuse({**given, **other}, _UNSET)
        check_device(device, self._made_with[1]["device"], self.on_cpu)
        rows = listed(inputs, "pairs", "zip(df['query'], df['text'])")
        are_texts = [isinstance(text, str) for text in rows]
        # A missing text is named below.
        is_pair = len(rows) == 2 and all(isinstance(text, str) or is_missing(text) for text in rows)
        is_one = is_pair and any(are_texts) and not isinstance(inputs, str)
        if any(are_texts) and not is_one:
            raise invalid("texts in place of pairs", "give pairs of a query and a passage")
        scores: Any = self.scores(_pairs([rows] if is_one else rows), progress=show_progress_bar)
        scores = to_torch(scores, "convert_to_tensor") if convert_to_tensor else scores
        return scores[0] if is_one else scores

    def rank(
        self,
        query: str,
        documents: Iterable[str],
        top_k: int | None = None,
        return_documents: bool = False,
        prompt_name: None = None,
        prompt: None = None,
        batch_size: int = 32,
        show_progress_bar: bool | Progress | None = None,
        activation_fn: None = None,
        device: Any = None,
        pool: None = None,
        chunk_size: None = None,
        **other: Any,
    ) -> list[dict[str, Any]]:
        """The documents by their score, best first: `{"corpus_id": place, "score": score}`, and their `text` with
        `return_documents`. Equal scores keep the order of the documents.
        """
        if top_k is not None and top_k < 1:
            raise invalid(f"top_k={top_k}", "give at least 1, or leave top_k out")
        documents = texts_of(listed(documents, "documents", "one of its columns: df['text']"), "documents")
        options: dict[str, Any] = {
            "prompt_name": prompt_name,
            "prompt": prompt,
            "show_progress_bar": show_progress_bar,
            "activation_fn": activation_fn,
            "device": device,
            "pool": pool,
            "chunk_size": chunk_size,
        }
        scores = self.predict([(query, document) for document in documents], **options, **other).tolist()
        order = sorted(range(len(scores)), key=lambda place: -scores[place])[:top_k]
        ranked: list[dict[str, Any]] = [{"corpus_id": place, "score": scores[place]} for place in order]
        if return_documents:
            for document in ranked:
                document["text"] = documents[document["corpus_id"]]
        return ranked

    def __reduce__(self) -> tuple[Any, ...]:
        """Models are pickled as what they were made with: the process that reads them loads the model."""
        arguments, options = self._made_with
        return partial(type(self), *arguments, **options), ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._made_with[0][0])!r})"


def _pairs(rows: Iterable[Any]) -> list[tuple[str, str]]:
    """The rows as pairs of texts. A mapping would give the names of its fields, and a set no order."""
    pairs = []
    for number, row in enumerate(rows, 1):
        is_ordered = hasattr(row, "__getitem__") and hasattr(row, "__len__") and not isinstance(row, Mapping)
        if not is_ordered or len(row) != 2:
            found = f"{type(row).__name__} of {len(row)}" if is_ordered else type(row).__name__
            raise invalid(f"pairs, row {number}: a row of type {found}", "give pairs of a query and a passage")
        pairs.append(tuple(row))
    queries, passages = (texts_of((pair[side] for pair in pairs), "pairs") for side in (0, 1))
    return list(zip(queries, passages))

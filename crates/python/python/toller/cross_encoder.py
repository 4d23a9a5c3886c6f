"""Cross-encoders, with the signature of sentence-transformers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from toller._arguments import check_device, refuse, refuse_unordered, to_torch
from toller._toller import PairScorer
from toller.encoder import Progress
from toller.errors import invalid

# What has no effect in Toller, and its default.
_UNSET: dict[str, Any] = {
    "prompt_name": None,
    "prompt": None,
    "activation_fn": None,
    "apply_softmax": None,
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
        batch_size: int = 32,
        show_progress_bar: bool | Progress | None = None,
        convert_to_tensor: bool = False,
        device: Any = None,
        **other: Any,
    ) -> Any:
        """The score of each pair, float32 [pairs]; of one pair, a number. Higher is a better passage.

        `inputs` are pairs of a query and a passage from any iterable, or one pair. `batch_size` is accepted and has no
        effect: batches are cut by tokens, and leave no trace.
        """
        # False is the default of sentence-transformers.
        refuse({**other, "apply_softmax": other.get("apply_softmax") or None}, _UNSET)
        check_device(device, self._made_with[1]["device"], self.on_cpu)
        refuse_unordered(inputs, "pairs", "zip(df['query'], df['text'])")
        rows = list(inputs)
        are_texts = [isinstance(text, str) for text in rows]
        is_one = are_texts == [True, True] and not isinstance(inputs, str)
        if any(are_texts) and not is_one:
            raise invalid("texts in place of pairs", "give pairs of a query and a passage")
        pairs: list[Any] = [tuple(rows)] if is_one else [tuple(pair) for pair in rows]
        scores: Any = self.scores(pairs, progress=show_progress_bar)
        scores = to_torch(scores, "convert_to_tensor") if convert_to_tensor else scores
        return scores[0] if is_one else scores

    def rank(
        self,
        query: str,
        documents: Iterable[str],
        top_k: int | None = None,
        return_documents: bool = False,
        batch_size: int = 32,
        show_progress_bar: bool | Progress | None = None,
        device: Any = None,
        **other: Any,
    ) -> list[dict[str, Any]]:
        """The documents by their score, best first: `{"corpus_id": place, "score": score}`, and their `text` with
        `return_documents`. Equal scores keep the order of the documents.
        """
        if top_k is not None and top_k < 1:
            raise invalid(f"top_k={top_k}", "give at least 1, or leave top_k out")
        refuse_unordered(documents, "documents", "one of its columns: df['text']")
        documents = list(documents)
        pairs = [(query, document) for document in documents]
        options = {"batch_size": batch_size, "show_progress_bar": show_progress_bar, "device": device}
        scores = self.predict(pairs, **options, **other).tolist() if pairs else []
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

"""Dual encoders, with the signature of sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from toller._arguments import check_device, refuse, to_torch
from toller._texts import is_missing, listed, texts_of
from toller._toller import DualEncoder
from toller.errors import invalid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Progress = Callable[[str, int, int | None], object]

# What has no effect in Toller, and its default.
_UNSET: dict[str, Any] = {
    "output_value": "sentence_embedding",
    "precision": "float32",
    "convert_to_numpy": True,
    "pool": None,
    "chunk_size": None,
}


class Encoder(DualEncoder):
    """A dual encoder: texts to vectors, float32 [texts, dim].

    `model` is a directory, a name that Toller knows, or an id of the Hugging Face hub. `query_model` encodes
    queries, if it is another model. Texts are cut after `max_length` tokens, special tokens included. `prompt`
    replaces the model's own prompts. `pooling` is cls, mean, max, lasttoken or another of sentence-transformers'
    names, `normalize_embeddings` scales vectors to length one where the model does not (`--normalize-embeddings`),
    `append_eos_token` ends every text in the tokenizer's end token, as Tevatron's option of that name does, and
    `truncate_dim` keeps the first numbers of each vector (Matryoshka). `device` is auto, cpu, cuda, cuda:N or cuda:all
    (None is auto), and `dtype` is what the model computes in: f32, f16, bf16 or int8; by default f32 on the CPU; on a
    GPU f16, or bf16 for decoders and T5. A batch has at most `batch_tokens` tokens.

    A vector depends only on its text: it has the same bits in any batch, and as `toller encode` writes it. Of a model
    that scales vectors to length one, cut vectors have two forms. Those of `encode` are cut after the scaling, as in
    sentence-transformers, and are shorter than one. Those of stores and searches are scaled after they are cut, so that
    inner products stay cosines: `normalize_embeddings=True` returns these.
    """

    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __init__(
        self,
        model: Any,
        *,
        query_model: Any = None,
        max_length: int | None = None,
        prompt: str | None = None,
        pooling: str | None = None,
        normalize_embeddings: bool = False,
        append_eos_token: bool = False,
        truncate_dim: int | None = None,
        dtype: str | None = None,
        device: str | None = "auto",
        batch_tokens: int | None = None,
    ) -> None:
        options = {
            "query_model": query_model,
            "max_length": max_length,
            "prompt": prompt,
            "pooling": pooling,
            "normalize_embeddings": normalize_embeddings,
            "append_eos_token": append_eos_token,
            "truncate_dim": truncate_dim,
            "dtype": dtype,
            "device": device or "auto",
            "batch_tokens": batch_tokens,
        }
        self._made_with = ((model,), options)

    def encode(
        self,
        inputs: str | Iterable[str],
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | Progress | None = None,
        output_value: str | None = "sentence_embedding",
        precision: str = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: Any = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        pool: None = None,
        chunk_size: None = None,
        **other: Any,
    ) -> Any:
        """Vectors of texts, float32 [texts, dim]; of one string, [dim].

        The texts get no prompt, unless `prompt` gives it, `prompt_name` names one of the model's `prompts`, or the
        model has a default prompt (`default_prompt_name`). `batch_size` is accepted and has no effect: batches are
        cut by tokens, and leave no trace.
        With `normalize_embeddings`, vectors have length one whatever the model does. `truncate_dim` keeps the first
        numbers of each vector, which is not scaled again without `normalize_embeddings`. With `convert_to_tensor`,
        the result is a torch tensor.

        `show_progress_bar` is True, or is called with a title, the texts that are done and all texts.
        """
        if not self.shares_weights:
            hint = "call encode_query or encode_document"
            raise invalid("this model has one encoder for queries and one for documents", hint)
        if prompt is None and prompt_name is None:
            prompt_name = self.default_prompt_name
            prompt = "" if prompt_name is None else None
        form = (output_value, precision, convert_to_numpy, convert_to_tensor, pool, chunk_size)
        options = (show_progress_bar, form, device, normalize_embeddings, truncate_dim, other)
        return self._encode("document", inputs, prompt_name, prompt, *options)

    def encode_query(
        self,
        inputs: str | Iterable[str],
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | Progress | None = None,
        output_value: str | None = "sentence_embedding",
        precision: str = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: Any = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        pool: None = None,
        chunk_size: None = None,
        **other: Any,
    ) -> Any:
        """Vectors of queries, as `encode` with the model's prompt for queries; of one string, [dim]."""
        form = (output_value, precision, convert_to_numpy, convert_to_tensor, pool, chunk_size)
        options = (show_progress_bar, form, device, normalize_embeddings, truncate_dim, other)
        return self._encode("query", inputs, prompt_name, prompt, *options)

    def encode_document(
        self,
        inputs: str | Iterable[str],
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | Progress | None = None,
        output_value: str | None = "sentence_embedding",
        precision: str = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: Any = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        pool: None = None,
        chunk_size: None = None,
        *,
        titles: str | Iterable[str | None] | None = None,
        title_mode: str | None = None,
        title_separator: str | None = None,
        **other: Any,
    ) -> Any:
        """Vectors of documents, as `encode` with the model's prompt for documents; of one string, [dim].

        `titles` has the title of each document, or None for none. The model is given them in its own way, by default
        joined with the text by a blank, as by `toller.encode`; `title_mode` is join, sep (DPR) or pair (RocketQA), and
        `title_separator` is the text between a title and its text.
        """
        if titles is None and (title_mode is not None or title_separator is not None):
            raise invalid("title_mode or title_separator without titles", "give titles")
        form = (output_value, precision, convert_to_numpy, convert_to_tensor, pool, chunk_size)
        options = (show_progress_bar, form, device, normalize_embeddings, truncate_dim, other)
        given = None
        if titles is not None:
            found = [titles] if isinstance(titles, str) else listed(titles, "titles", "one of its columns: df['title']")
            given = texts_of(["" if is_missing(title) else title for title in found], "titles")
        return self._encode(
            "document",
            inputs,
            prompt_name,
            prompt,
            *options,
            titles=given,
            title_mode=title_mode,
            title_separator=title_separator,
        )

    def similarity(self, embeddings1: Vectors, embeddings2: Vectors) -> Vectors:
        """The similarity of each vector of the first array with each of the second, float32 [first, second].

        It is the cosine, or the inner product if the model's files say so (`similarity_fn_name`).
        """
        result: Vectors = self._compared(embeddings1) @ self._compared(embeddings2).T
        return result

    def similarity_pairwise(self, embeddings1: Vectors, embeddings2: Vectors) -> Vectors:
        """The similarity of each vector of the first array with its counterpart in the second, float32 [vectors]."""
        result: Vectors = (self._compared(embeddings1) * self._compared(embeddings2)).sum(axis=1)
        return result

    def get_embedding_dimension(self) -> int:
        """Numbers of a vector."""
        return self.dim

    def get_sentence_embedding_dimension(self) -> int:
        """Numbers of a vector: the former name of `get_embedding_dimension`."""
        return self.dim

    @property
    def prompts(self) -> dict[str, str]:
        """The model's prompts by their names: query, document, and those that its files name otherwise."""
        roles = dict(self.role_prompts)
        given = self._made_with[1]["prompt"]
        named = {name: text if given is None else given for name, text in self.named_prompts.items()}
        return {**roles, **named, **roles}

    @property
    def similarity_fn_name(self) -> str:
        """How vectors are compared: cosine, unless the model's files say dot, euclidean or manhattan."""
        named = self.named_similarity
        return named if named in ("dot", "euclidean", "manhattan") else "cosine"

    def __reduce__(self) -> tuple[Any, ...]:
        """Encoders are pickled as what they were made with: the process that reads them loads the model."""
        arguments, options = self._made_with
        return partial(type(self), *arguments, **options), ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}: vectors of {self.dim})"

    def _prompt(self, name: str) -> str:
        prompts = self.prompts
        if name not in prompts:
            raise invalid(f"the model has no prompt named {name!r}", f"there are {', '.join(prompts)}")
        return prompts[name]

    def _compared(self, embeddings: Vectors) -> Vectors:
        """The vectors [vectors, dim] whose inner products are the similarities."""
        name = self.similarity_fn_name
        if name not in ("cosine", "dot"):
            hint = "compute it from the vectors: Toller compares by cosine and inner product"
            raise invalid(f"the model compares by {name}, which is not supported", hint)
        return unit(embeddings) if name == "cosine" else rows_of(embeddings)

    def _encode(
        self,
        role: str,
        inputs: str | Iterable[str],
        prompt_name: str | None,
        prompt: str | None,
        progress: bool | Progress | None,
        form: tuple[Any, ...],
        device: Any,
        unit: bool,
        dim: int | None,
        other: dict[str, Any],
        *,
        titles: list[str] | None = None,
        title_mode: str | None = None,
        title_separator: str | None = None,
    ) -> Any:
        output_value, precision, convert_to_numpy, convert_to_tensor, pool, chunk_size = form
        given = {
            "output_value": output_value,
            "precision": precision,
            "convert_to_numpy": convert_to_numpy or convert_to_tensor,
            "pool": pool,
            "chunk_size": chunk_size,
        }
        refuse({**given, **other}, _UNSET)
        check_device(device, self._made_with[1]["device"], self.on_cpu)
        if prompt_name is not None:
            if prompt is not None:
                raise invalid("prompt and prompt_name are both given", "give one of them")
            prompt = self._prompt(prompt_name)
        is_one = isinstance(inputs, str)
        texts = [inputs] if is_one else listed(inputs, "texts", "one of its columns: df['text']")
        texts = texts_of(texts, "texts")
        if titles is not None and len(titles) != len(texts):
            raise invalid(f"{len(titles)} titles of {len(texts)} texts", "give a title for each text, or None for none")
        vectors: Any = self.vectors(
            texts,
            role,
            titles=titles,
            title_mode=title_mode,
            title_separator=title_separator,
            prompt=prompt,
            dim=dim,
            unit=unit,
            progress=progress,
        )
        vectors = vectors[0] if is_one else vectors
        return to_torch(vectors, "convert_to_tensor") if convert_to_tensor else vectors


def rows_of(vectors: Vectors) -> Vectors:
    """The vectors, or one vector, as float32 [vectors, dim]."""
    import numpy as np

    return np.atleast_2d(np.asarray(vectors, dtype=np.float32))


def unit(vectors: Vectors) -> Vectors:
    """The vectors, float32 [vectors, dim], scaled to length one."""
    import numpy as np

    rows = rows_of(vectors)
    lengths: Vectors = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return rows / lengths

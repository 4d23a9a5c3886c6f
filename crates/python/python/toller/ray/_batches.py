"""Models for batches of Ray Data and of Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toller._tables import Path
from toller._texts import is_missing, texts_of
from toller._toller import set_num_threads
from toller.cross_encoder import CrossEncoder
from toller.encoder import Encoder
from toller.errors import invalid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Encode:
    """Adds the vectors of texts to batches: for `map_batches` of Ray Data, with batches of NumPy's or Arrow's arrays.

    >>> texts.map_batches(
    ...     toller.ray.Encode,
    ...     fn_constructor_kwargs={"model": "all-MiniLM-L6-v2", "threads": 4},
    ...     compute=ray.data.ActorPoolStrategy(size=8),
    ...     num_cpus=4,
    ...     batch_format="numpy",
    ... )

    Texts are in the column `text`, and titles in the column `title` if that is given; None, NaN and NA are no title.
    The model is given titles in its own way, as in `toller.encode`, unless `title_mode` or `title_separator` say
    otherwise. The vectors are float32, in the column `output`. `role` is document or query, `threads` is the number of
    threads to compute in, 0 for as many as there are processors. The other arguments are those of `toller.Encoder`.
    """

    def __init__(
        self,
        model: Path,
        *,
        text: str = "text",
        title: str | None = None,
        title_mode: str | None = None,
        title_separator: str | None = None,
        output: str = "vector",
        role: str = "document",
        threads: int = 0,
        **options: Any,
    ) -> None:
        if role not in ("document", "query"):
            raise invalid(f"role={role!r}", "there are document and query")
        set_num_threads(threads)
        if title is None and (title_mode is not None or title_separator is not None):
            raise invalid("title_mode or title_separator without title", "name the column of titles")
        if title is not None and role == "query":
            raise invalid(f"title={title!r}, and queries have no titles", "leave title or role out")
        encoder = Encoder(model, **options)
        self._encode: Callable[..., Any] = encoder.encode_query if role == "query" else encoder.encode_document
        self._text, self._title, self._output = text, title, output
        self._titled = {"title_mode": title_mode, "title_separator": title_separator}

    def __call__(self, batch: Any) -> Any:
        """The batch with a column of vectors."""
        texts = _texts(batch, self._text)
        options: dict[str, Any] = {}
        if self._title is not None:
            titles = ["" if is_missing(title) else title for title in _column(batch, self._title)]
            options = {"titles": texts_of(titles, _name(self._title)), **self._titled}
        return _with_column(batch, self._output, self._encode(texts, **options))


class Rerank:
    """Adds the scores of pairs by a cross-encoder to batches, as `Encode` adds vectors.

    Queries are in the column `query`, passages in the column `text`, scores in the column `output`. The other
    arguments are those of `toller.CrossEncoder`.
    """

    def __init__(
        self,
        model: Path,
        *,
        query: str = "query",
        text: str = "text",
        output: str = "score",
        threads: int = 0,
        **options: Any,
    ) -> None:
        set_num_threads(threads)
        self._model = CrossEncoder(model, **options)
        self._query, self._text, self._output = query, text, output

    def __call__(self, batch: Any) -> Any:
        """The batch with a column of scores."""
        pairs = list(zip(_texts(batch, self._query), _texts(batch, self._text), strict=True))
        return _with_column(batch, self._output, self._model.predict(pairs))


def _texts(batch: Any, name: str) -> list[str]:
    """The texts of a column of a batch."""
    return texts_of(_column(batch, name), _name(name))


def _name(column: str) -> str:
    """What messages call a column."""
    return f"the column {column!r} of a batch"


def _column(batch: Any, name: str) -> list[Any]:
    """The values of a column of a batch: a dictionary of NumPy's arrays, or a table of Arrow's."""
    names = batch.keys() if isinstance(batch, Mapping) else getattr(getattr(batch, "schema", None), "names", None)
    if names is None:
        raise invalid(f"batches of {type(batch).__name__}", 'give batch_format="numpy" or "pyarrow"')
    if name not in names:
        raise invalid(f"a batch has no column {name!r}", f"there are {', '.join(names)}")
    column = batch[name]
    values: list[Any] = column.tolist() if isinstance(batch, Mapping) else column.to_pylist()
    return values


def _with_column(batch: Any, name: str, numbers: NDArray[np.float32]) -> Any:
    """The batch with one more column: numbers [rows], or vectors [rows, numbers]."""
    if isinstance(batch, Mapping):
        return {**batch, name: numbers}
    import pyarrow as pa

    column = pa.array(numbers.reshape(-1))
    if numbers.ndim == 2:
        ends = range(0, numbers.size + 1, max(1, numbers.shape[1]))
        column = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), column)
    return type(batch).from_arrays([*batch.columns, column], names=[*batch.schema.names, name])

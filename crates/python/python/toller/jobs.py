"""Whole jobs on collections: encoding into a store, and building an inverted index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toller import _toller
from toller._tables import Path, Texts
from toller._toller import SparseIndex, Store
from toller.errors import invalid

if TYPE_CHECKING:
    from toller.encoder import Encoder, Progress


def encode(
    encoder: Encoder,
    output: Path,
    *,
    corpus: Texts | None = None,
    queries: Texts | None = None,
    store_dtype: str = "f32",
    title_mode: str | None = None,
    title_separator: str | None = None,
    context_field: str | None = None,
    shard: tuple[int, int] | None = None,
    rows_per_shard: int | None = None,
    overwrite: bool = False,
    id_column: str | None = None,
    title_column: str | None = None,
    text_column: str | None = None,
    skip_bad_lines: bool = False,
    progress: bool | Progress = False,
) -> Store:
    """Encodes a collection or queries into the store `output`, and opens it.

    `corpus` and `queries` are files or folders (JSONL, TSV, Parquet, TREC, plain or compressed); tables with an
    Arrow stream (pyarrow, polars, pandas); a Dataset of Hugging Face datasets or of ir_datasets; or rows: dicts, named
    tuples, pairs of an identifier and a text, or a mapping from identifiers. Columns have the names that files' fields
    have (id, title, text and others), or those that `id_column`, `title_column` and `text_column` give. The texts of a
    table in memory are not copied; what can be read only once is written to a temporary file next to `output` first.

    `title_mode` is how the model is given a title: "join" (with `title_separator` before the text), "sep" (as DPR) or
    "pair" (as RocketQA); None for the way of the model, where it is known, or else "join".

    `context_field` names the field or column whose text follows each text as the second segment, such as the
    paragraph of an answer sentence (ReQA). If both are too long together, the context is cut.

    `shard` is (I, N) for part I of N, counted from one. What an interruption leaves is finished by the same call: a
    shard of `rows_per_shard` rows is lost at most, and the bytes are those of an encode that was not interrupted.

    `progress` is True for a bar on stderr, or is called with a title, the rows that are done and all rows.
    """
    directory = _toller.encode(
        encoder,
        output,
        corpus=corpus,
        queries=queries,
        store_dtype=store_dtype,
        title_mode=title_mode,
        title_separator=title_separator,
        context_field=context_field,
        shard=shard,
        rows_per_shard=rows_per_shard,
        overwrite=overwrite,
        id_column=id_column,
        title_column=title_column,
        text_column=text_column,
        skip_bad_lines=skip_bad_lines,
        progress=progress,
    )
    return Store(directory, verify=False)


def index(
    corpus: Texts,
    output: Path,
    *,
    language: str | None = None,
    analyzer: str | None = None,
    title_separator: str | None = " ",
    doc_vectors: bool = False,
    memory_bytes: int | None = None,
    overwrite: bool = False,
    id_column: str | None = None,
    title_column: str | None = None,
    text_column: str | None = None,
    skip_bad_lines: bool = False,
    progress: bool | Progress = False,
) -> SparseIndex:
    """Builds the inverted index `output` of a collection, unless it is there, and opens it.

    `corpus` and its columns are given as to `encode`.

    Texts become terms by `language` ("en", "de", "zh" ...) or by `analyzer` ("standard", "whitespace",
    "wordpiece:MODEL" ...). With `title_separator=None`, titles are left out. `doc_vectors` keeps the terms of each
    document, for RM3 and Rocchio.
    """
    if (language is None) == (analyzer is None):
        raise invalid("an index needs one way from texts to terms", "give language or analyzer")
    _toller.index(
        corpus,
        output,
        analyzer=analyzer or language or "",
        title_separator=title_separator,
        doc_vectors=doc_vectors,
        memory_bytes=memory_bytes,
        overwrite=overwrite,
        id_column=id_column,
        title_column=title_column,
        text_column=text_column,
        skip_bad_lines=skip_bad_lines,
        progress=progress,
    )
    return SparseIndex(output, verify=False)

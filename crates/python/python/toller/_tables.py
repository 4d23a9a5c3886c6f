"""Collections and queries as Python has them: files, tables, datasets and rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from os.path import exists
from typing import Any, Literal, NamedTuple

from toller.errors import NotFound, invalid

Path = str | PathLike[str]

# Files, or whatever else holds texts.
Texts = Path | Sequence[Path] | Any

Kind = Literal["corpus", "queries"]
# By which arguments fields are named.
ARGUMENTS = {
    "identifier": "id_column",
    "title": "title_column",
    "text": "text_column",
    "context": "context_field",
}
Row = tuple[Any, Any, Any, Any]


class Names(NamedTuple):
    """The names of fields, those that count first before the others."""

    kind: Kind
    id: list[str]
    title: list[str]
    text: list[str]
    context: list[str]
    # Whether the names of identifiers, titles and texts were given.
    given: list[bool]

    def needed(self) -> list[tuple[str, list[str]]]:
        """What each row has to have."""
        needs_id, needs_title, _ = self.given
        needed = [("text", self.text)]
        if self.kind == "corpus" or needs_id:
            needed.append(("identifier", self.id))
        if needs_title:
            needed.append(("title", self.title))
        if self.context:
            needed.append(("context", self.context))
        return needed


def prepared(given: Any, *arguments: Any) -> Any:
    """What the native half reads: files, an Arrow stream, or rows of an identifier, a title, a text and a context."""
    if is_files(given):
        check_files(given, "(id, text) pairs, dicts, or a dict from identifiers to texts")
        return given
    names = Names(*arguments)
    refuse_splits(given, names.kind)
    iterate = getattr(given, "docs_iter" if names.kind == "corpus" else "queries_iter", None)
    if callable(iterate):
        return _rows(iterate(), names)
    if _is_series(given):
        return _rows(given.items(), names)
    arrow = _arrow(given)
    if arrow is not None:
        return arrow
    if hasattr(given, "itertuples"):
        columns = [str(column) for column in given.columns]
        return _rows((dict(zip(columns, row)) for row in given.itertuples(index=False, name=None)), names)
    if isinstance(given, Mapping):
        return _rows(_named(given, names), names)
    if isinstance(given, Iterable):
        return _rows(given, names)
    hint = "give files, a table, a dataset, or rows of identifiers and texts"
    raise invalid(f"{names.kind} of type {type(given).__name__}", hint)


def is_files(given: Any) -> bool:
    """Whether these are paths."""
    if isinstance(given, (list, tuple)):
        return len(given) > 0 and all(isinstance(path, (str, PathLike)) for path in given)
    return isinstance(given, (str, PathLike))


def refuse_splits(given: Any, what: str) -> None:
    """Refuses a DatasetDict of Hugging Face datasets: a mapping from names of splits to datasets."""
    if isinstance(given, Mapping) and type(given).__module__.split(".")[0] == "datasets":
        raise invalid(f"{what} of type {type(given).__name__}", f"give one of its splits: {', '.join(map(str, given))}")


def _is_series(given: Any) -> bool:
    """Whether this is a series of pandas, whose index has the identifiers."""
    return all(hasattr(given, name) for name in ("index", "items", "to_frame")) and not hasattr(given, "columns")


def check_files(given: Any, expected: str) -> None:
    """Refuses strings that are texts in place of files: in a list, or with spaces, and not the name of a file."""
    texts = [given] if isinstance(given, str) else given if isinstance(given, (list, tuple)) else []
    for text in texts:
        if not isinstance(text, str) or text == "-" or "://" in text or (text is given and " " not in text):
            continue
        if not exists(text):
            error = NotFound(f"no file is named {text!r}")
            error.hint = f"strings are names of files; give texts as {expected}"
            raise error


def _arrow(given: Any) -> Any:
    """The object as one that has an Arrow stream, or None."""
    # Dataset of Hugging Face datasets, on a memory-mapped table, or on some of its rows.
    if type(given).__module__.split(".")[0] == "datasets" and hasattr(given, "_indices"):
        # The table has no transform of `set_transform`; rows do.
        if given.format["type"] == "custom":
            return None
        if given._indices is None:
            return given.data.table
        import pyarrow

        tables = given.with_format("arrow").iter(1000)
        batches = (batch for table in tables for batch in table.to_batches())
        return pyarrow.RecordBatchReader.from_batches(given.data.table.schema, batches)
    if not hasattr(given, "__arrow_c_stream__"):
        return None
    if type(given).__module__.split(".")[0] == "pandas":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            return None
    return given


def _rows(rows: Iterable[Any], names: Names) -> Iterator[Row]:
    """The identifier, title, text and context of each row."""
    for number, row in enumerate(rows, 1):
        if isinstance(row, Mapping):
            yield _of_fields(row, names, number)
        elif hasattr(row, "_asdict"):
            fields = row._asdict()
            # A document of ir_datasets that has no text knows what to search instead.
            has_text = names.given[2] or any(_keys(fields, names.text))
            if hasattr(row, "default_text") and not has_text:
                yield _field(fields, names.id), None, row.default_text(), _field(fields, names.context)
            else:
                yield _of_fields(fields, names, number)
        elif isinstance(row, (tuple, list)) and len(row) == 2:
            if any(names.given) or names.context:
                message = f"{names.kind}, row {number}: a pair has no names, and columns are named"
                raise invalid(message, "give dicts or named tuples, or leave the names out")
            yield row[0], None, row[1], None
        else:
            of = f"{type(row).__name__} of {len(row)}" if isinstance(row, (tuple, list)) else type(row).__name__
            hint = "give dicts, named tuples, or pairs of an identifier and a text"
            raise invalid(f"{names.kind}, row {number}: a row of type {of}", hint)


def _named(rows: Mapping[Any, Any], names: Names) -> Iterator[Any]:
    """The rows of a mapping from identifiers to texts or to rows without identifiers."""
    for name, row in rows.items():
        yield {**row, names.id[0]: name} if isinstance(row, Mapping) else (name, row)


def _keys(fields: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    """The fields that have these names, first those that are written as the name, then those in any other case."""
    yield from (name for name in names if name in fields)
    for name in names:
        yield from (key for key in fields if str(key).lower() == name.lower())


def _field(fields: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((fields[key] for key in _keys(fields, names) if fields[key] is not None), None)


def _of_fields(fields: Mapping[str, Any], names: Names, number: int) -> Row:
    for what, usual in names.needed():
        if not any(_keys(fields, usual)):
            has = ", ".join(map(str, fields))
            message = f"{names.kind}, row {number}: no {what} ({', '.join(usual)}); the row has {has}"
            raise invalid(message, f"name the fields with {ARGUMENTS[what]}")
    return tuple(_field(fields, columns) for columns in (names.id, names.title, names.text, names.context))

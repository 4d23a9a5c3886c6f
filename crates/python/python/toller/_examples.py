"""Examples to learn from, as Python has them: files, tables, datasets and rows."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toller._tables import check_files, is_files, refuse_splits
from toller._texts import is_missing
from toller.errors import Error, InvalidArgument, invalid

# What messages and the trained model's README call rows that are no file.
NAME = "examples.jsonl"


@contextmanager
def as_files(data: Any) -> Iterator[Any]:
    """Files as they are. Anything else as a temporary file of JSON lines, one for each row."""
    if data is None or is_files(data):
        check_files(data, "dicts, a table or a dataset with the fields of a format of training data")
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="toller-examples-") as folder:
        path = Path(folder) / NAME
        with path.open("w", encoding="utf-8") as file:
            for number, row in enumerate(_rows(data), 1):
                file.write(_line(row, number))
        try:
            yield path
        except Error as error:
            _name_rows(error, str(path))
            raise


def _name_rows(error: Error, path: str) -> None:
    """Names the rows in an error about the temporary file: its lines are the rows."""
    if error.file == path:
        error.args = (error.args[0].replace(f"{path}, line ", "data, row ").replace(path, "data"),)
        error.file = "data"


def _rows(data: Any) -> Iterator[Mapping[str, Any]]:
    """The rows as mappings from names of columns."""
    refuse_splits(data, "data")
    if hasattr(data, "itertuples"):
        columns = [str(column) for column in data.columns]
        rows: Iterable[Any] = (dict(zip(columns, row)) for row in data.itertuples(index=False, name=None))
    elif hasattr(data, "iter_rows"):
        rows = data.iter_rows(named=True)
    elif hasattr(data, "to_batches"):
        rows = (row for batch in data.to_batches() for row in batch.to_pylist())
    elif isinstance(data, Iterable) and not isinstance(data, Mapping):
        rows = data
    else:
        hint = "give files, a table, a dataset, or dicts with the fields of a format of training data"
        raise invalid(f"data of type {type(data).__name__}", hint)
    for number, row in enumerate(rows, 1):
        if hasattr(row, "_asdict"):
            row = row._asdict()
        if not isinstance(row, Mapping):
            raise invalid(f"data, row {number}: a row of type {type(row).__name__}", "give dicts with named fields")
        yield dict(row)


def _line(row: Mapping[str, Any], number: int) -> str:
    """A row as a line of JSON."""
    fields = {name: None if is_missing(value) else value for name, value in row.items()}
    try:
        return json.dumps(fields, ensure_ascii=False, allow_nan=False, default=_plain) + "\n"
    except InvalidArgument:
        raise
    except ValueError as error:
        hint = "give finite numbers, and None for a missing value"
        raise invalid(f"data, row {number}: {error}", hint) from error


def _plain(value: Any) -> Any:
    """A scalar or an array of another library as JSON has it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise invalid(f"data has a value of type {type(value).__name__}", "give texts, numbers and lists of them")

"""Texts and other values as Python has them: in their order, and none of them missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toller.errors import invalid


def listed(given: Any, what: str, column: str) -> list[Any]:
    """The values of anything that has an order. A table or a mapping would give names when it is iterated over."""
    if hasattr(given, "columns"):
        raise invalid(f"a table in place of {what}", f"give {column}")
    if isinstance(given, (Mapping, set, frozenset)):
        raise invalid(f"a {type(given).__name__} in place of {what}", "give a list, which has an order")
    # Arrays of Arrow have scalars of their own.
    return list(given.to_pylist() if hasattr(given, "to_pylist") else given)


def texts_of(values: Iterable[Any], what: str) -> list[str]:
    """The values as texts. Another one is an error that names its row."""
    texts = list(values)
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            found = "null" if is_missing(text) else f"a value of type {type(text).__name__}"
            raise invalid(f"{what}, row {number}: {found} in place of a text", "give strings, and leave out rows without a text")
    return texts


def is_missing(value: Any) -> bool:
    """Whether this is None, or NaN or NA, with which pandas marks missing values."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")

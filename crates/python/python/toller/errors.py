"""What can go wrong, and what to do about it."""

from __future__ import annotations


class Error(Exception):
    """An error of Toller.

    `hint` says what to do about it, and `file` and `line` say where it is, if these are known.
    """

    hint: str | None = None
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        """The message, and the hint on a line of its own."""
        message = str(self.args[0]) if self.args else ""
        return f"{message}\nhint: {self.hint}" if self.hint else message


class InvalidArgument(Error, ValueError):
    """An argument that cannot be used."""


class NotFound(Error, FileNotFoundError):
    """A file, a store or a model that is not there."""


class InternalError(Error, RuntimeError):
    """A defect of Toller."""


def invalid(message: str, hint: str) -> InvalidArgument:
    """An argument that cannot be used, with what to do about it."""
    error = InvalidArgument(message)
    error.hint = hint
    return error

"""Progress on stderr."""

from __future__ import annotations

import sys
from time import monotonic

# Seconds between two lines where stderr is no terminal.
PAUSE = 10.0


class Bar:
    """Writes how far the work is: over the last line on a terminal, else on a line of its own now and then."""

    def __init__(self) -> None:
        self._last = float("-inf")
        self._title = ""

    def __call__(self, title: str, done: int, total: int | None) -> None:
        """Reports that `done` of `total` units are done."""
        is_terminal = sys.stderr.isatty()
        is_last = done == total
        if not is_terminal and not is_last and monotonic() - self._last < PAUSE:
            return
        self._last = monotonic()
        line = f"{title}: {done}" + ("" if total is None else f" of {total}")
        start = "\r\x1b[K" if is_terminal and title == self._title else ""
        self._title = title
        sys.stderr.write(start + line + ("" if is_terminal and not is_last else "\n"))
        sys.stderr.flush()

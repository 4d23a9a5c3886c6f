"""Progress on stderr."""

from __future__ import annotations

import sys
from time import monotonic

# Seconds between two lines where stderr is not a terminal.
PAUSE = 10.0


class Bar:
    """Writes how far the work is: over the last line on a terminal, else on a line of its own now and then."""

    def __init__(self) -> None:
        self._last = float("-inf")
        self._title = ""
        self._is_open = False

    def __call__(self, title: str, done: int, total: int | None) -> None:
        """Reports that `done` of `total` units are done."""
        is_terminal = sys.stderr.isatty()
        is_last = done == total
        if not is_terminal and not is_last and monotonic() - self._last < PAUSE:
            return
        self._last = monotonic()
        line = f"{title}: {done}" + ("" if total is None else f" of {total}")
        # Over the open line of the same work, or below that of other work.
        start = "" if not self._is_open else "\r\x1b[K" if title == self._title else "\n"
        self._title, self._is_open = title, is_terminal and not is_last
        sys.stderr.write(start + line + ("" if self._is_open else "\n"))
        sys.stderr.flush()

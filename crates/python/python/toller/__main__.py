"""The command line: `toller` and `python -m toller`."""

from __future__ import annotations

import signal
import sys

from toller._toller import command_line


def main() -> int:
    """Runs the command line of this process. Returns the exit status."""
    # Python's handler would only note a Ctrl-C, for an interpreter that is not running.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command_line(["toller", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

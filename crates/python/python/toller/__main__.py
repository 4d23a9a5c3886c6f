"""The command line: `toller` and `python -m toller`."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import sysconfig

from toller._toller import command_line


def main() -> int:
    """Runs the command line of this process. Returns the exit status."""
    # Python's handler would only note a Ctrl-C, for an interpreter that is not running.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command_line([program(), *sys.argv[1:]])


def program() -> str:
    """The script that is this command line, which job scripts call: its absolute path, if it is known."""
    called = sys.argv[0]
    if os.path.basename(called) == "__main__.py":  # As with `python -m toller`.
        called = shutil.which("toller", path=sysconfig.get_path("scripts")) or shutil.which("toller") or "toller"
    return os.path.abspath(called) if os.path.isfile(called) else "toller"


if __name__ == "__main__":
    sys.exit(main())

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
    """The absolute path of the script that is this command line, which job scripts call."""
    called = sys.argv[0]
    if os.path.basename(called) == "__main__.py":  # As with `python -m toller`.
        installed = os.path.join(sysconfig.get_path("scripts"), "toller")
        called = installed if os.path.isfile(installed) else shutil.which("toller") or installed
    return os.path.abspath(called)


if __name__ == "__main__":
    sys.exit(main())

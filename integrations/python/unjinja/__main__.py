"""The command `unjinja`: `python -m unjinja` does the same."""

from __future__ import annotations

import signal
import sys

from ._lib import command


def main() -> int:
    """Runs the command with the arguments of the process."""
    # The command decides itself what an interrupt does; Python would only notice it when the command is over.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.stdout is not None:  # It is None if the caller closed it.
        sys.stdout.flush()
    return command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

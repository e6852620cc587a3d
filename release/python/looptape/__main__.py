"""Run the command looptape with the arguments of this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from looptape import LooptapeError, binary


def main() -> None:
    """Run the command. It replaces this process where the system permits that."""
    try:
        command = [binary(), *sys.argv[1:]]
        if os.name == "nt":
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command
            sys.exit(subprocess.call(command))
        os.execv(command[0], command)
    except (LooptapeError, OSError) as error:
        print(f"looptape: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()

"""Run the command looptape with the arguments of this process."""

from __future__ import annotations

import os
import subprocess
import sys

from looptape import LooptapeError, binary


def main() -> None:
    """Run the command. It replaces this process where the system permits that."""
    try:
        command = [binary(), *sys.argv[1:]]
        if os.name == "nt":
            sys.exit(subprocess.call(command))
        os.execv(command[0], command)
    except (LooptapeError, OSError) as error:
        print(f"looptape: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()

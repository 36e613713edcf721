"""A `trdec` command that ends when its parent process ends, however that happens.

    python -m trdec.cli.child LOCK VERB ...

Its standard input is a pipe from its parent. When that pipe closes, the parent is gone, and the command receives a
termination signal, on which a training writes a checkpoint. It starts once it holds the lock, so it waits for an
earlier command that is still ending.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from trdec.files import locked


def run_as_child() -> None:
    """Run the verb named on the command line while holding the lock."""
    lock = Path(sys.argv.pop(1))
    with locked(lock):
        threading.Thread(target=_end_with_parent, daemon=True).start()

        from trdec.cli.main import main

        main()


def _end_with_parent() -> None:
    while os.read(0, 1):  # not sys.stdin, whose lock this thread would still hold when the interpreter ends
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    run_as_child()

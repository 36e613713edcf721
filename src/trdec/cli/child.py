"""A `trdec` command that ends when the process that started it does, however that ended.

    python -m trdec.cli.child LOCK VERB ...

Its standard input is a pipe from its parent. The end of that pipe means that the parent is gone; the command then ends
as by a termination signal, so that a training writes a checkpoint first. It begins only once it holds the lock, so a
command that is still ending is waited for.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from trdec.files import locked


def main() -> None:
    """Run the verb named on the command line, alone in holding the lock."""
    lock = Path(sys.argv.pop(1))
    with locked(lock):
        threading.Thread(target=_end_with_parent, daemon=True).start()

        from trdec.cli.main import main as run_verb

        run_verb()


def _end_with_parent() -> None:
    while os.read(0, 1):  # not sys.stdin, whose lock this thread would still hold when the interpreter ends
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()

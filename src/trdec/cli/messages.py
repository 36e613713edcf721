"""What commands say to a person on standard error."""

from __future__ import annotations

import re
import sys
from enum import StrEnum

from trdec.errors import TrdecError

FLAGS = {
    "annotation": "--annotation",
    "checksum": "--sha256",
    "folder": "--output",
    "max_extra": "--max-extra",
    "max_ratio": "--max-ratio",
    "model": "--model",
    "output": "--output",
    "package": "--with",
    "restart": "--restart",
    "scale": "--scale",
    "text": "--text",
    "trees": "--trees",
    "url": "--url",
}
"""The flag for each argument that the library names, in backticks, in a message."""


def with_flags(message: str) -> str:
    """The message, with flags for the arguments that it names."""
    return re.sub(r"`(\w+)`", lambda found: FLAGS.get(found[1], found[0]), message)


def explain_error(error: TrdecError) -> str:
    """The error's kind and message, then its notes on lines of their own."""
    notes = getattr(error, "__notes__", [])
    return "\n".join([f"{type(error).__name__}: {with_flags(str(error))}", *notes])


def say(line: str) -> None:
    """Write a line to standard error at once: commands that run side by side share it."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def counted(number: int, one: str, several: str) -> str:
    """The number with what it counts: 1 tree is, 2 trees are."""
    return f"{number} {one if number == 1 else several}"


class OnError(StrEnum):
    """What happens to a sentence that cannot be read."""

    stop = "stop"
    skip = "skip"
    mark = "mark"


class Problems:
    """Sentences that could not be read: shown on standard error as they come, and counted."""

    SHOWN = 20

    def __init__(self, policy: OnError) -> None:
        self.policy = policy
        self.count = 0

    def __call__(self, error: TrdecError) -> None:
        """Stop at the error, or show and count it."""
        if self.policy is OnError.stop:
            error.add_note("Leave such sentences out with --on-error skip, or keep their lines with --on-error mark.")
            raise error
        self.count += 1
        if self.count <= self.SHOWN:
            say(explain_error(error))
        elif self.count == self.SHOWN + 1:
            say("... further errors are counted, not shown")

    def summarise(self) -> None:
        """Say how many there were, if any."""
        if self.count:
            what = "skipped" if self.policy is OnError.skip else "marked (())"
            number = counted(self.count, "sentence that could not be read was", "sentences that could not be read were")
            say(f"{number} {what}.")

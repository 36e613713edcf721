"""The log of a training: one JSON object a line."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trdec.errors import FileError

if TYPE_CHECKING:
    from trdec.training.protocols import Row  # reading a log takes no torch


class JsonLines:
    """A file that rows are added to, and that can be cut back to where a checkpoint left it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, row: Row) -> None:
        """Add a line; a number that is not finite is written as null."""
        try:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(_finite(row), ensure_ascii=False, allow_nan=False) + "\n")
        except OSError as error:
            raise FileError(f"{self.path}: cannot be written: {error.strerror or error}.") from error

    def size(self) -> int:
        """The length of the file, all of it being on disk."""
        if not self.path.exists():
            return 0
        with self.path.open("ab") as stream:
            os.fsync(stream.fileno())
            return stream.tell()

    def truncate(self, size: int) -> None:
        """Forget all that was written after the file had this length."""
        if self.path.exists() and self.path.stat().st_size > size:
            os.truncate(self.path, size)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The lines so far; one that is not written whole, on a full disk, is none."""
        if self.path.exists():
            with self.path.open(encoding="utf-8") as stream:
                yield from (json.loads(line) for line in stream if line.endswith("\n"))

    def last(self) -> dict[str, Any] | None:
        """The newest line that is written whole, also while another process is writing."""
        if not self.path.exists():
            return None
        lines = self.path.read_bytes().split(b"\n")[:-1]
        row: dict[str, Any] | None = json.loads(lines[-1]) if lines else None
        return row


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value

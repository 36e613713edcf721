"""Training as TensorBoard shows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trdec.errors import FileError, TrainingError
from trdec.training.protocols import Row

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class TensorBoard:
    """Writes every number of the log as a scalar."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise TrainingError(
                "training.tensorboard needs the package tensorboard, which is not installed. "
                "Install it with: pip install 'trdec[tensorboard]', or set training.tensorboard=false."
            ) from error
        self._folder = folder
        self._make = SummaryWriter
        self._writer: SummaryWriter | None = None

    def begin(self, update: int, max_updates: int) -> None:  # noqa: ARG002
        """Forget what was written after this update."""
        try:
            self._writer = self._make(str(self._folder), purge_step=update + 1)
        except OSError as error:
            raise FileError(
                f"{self._folder}: cannot be written: {error.strerror}. Make room, or set training.tensorboard=false."
            ) from error

    def advance(self, update: int) -> None:
        """Nothing to show between lines of the log."""

    def training(self, row: Row) -> None:
        """Show the training numbers."""
        self._write("train", row)

    def validation(self, row: Row) -> None:
        """Show the dev numbers."""
        self._write("dev", row)

    def _write(self, group: str, row: Row) -> None:
        if self._writer is not None:
            for name, value in _numbers(row):
                self._writer.add_scalar(f"{group}/{name}", value, row["update"])

    def note(self, text: str) -> None:
        """Texts are for people."""

    def end(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()


def _numbers(row: Row) -> list[tuple[str, Any]]:
    numbers = [(name, value) for name, value in row.items() if isinstance(value, int | float) and name != "update"]
    return numbers + [(f"perplexity/{kind}", value) for kind, value in row.get("perplexity", {}).items()]

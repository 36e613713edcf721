"""The best weights so far: which they are, their files, and their mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from trdec.errors import CheckpointError
from trdec.training.weights import average, check_file, read_tensors, write_tensors


@dataclass(frozen=True, slots=True)
class Kept:
    """Weights that were kept: after which update, how good (lower is better), in which file."""

    update: int
    score: float
    file: str
    sha256: str


class BestWeights:
    """The k best weights of a training, best first.

    A file is deleted only by `clear`, once no checkpoint needs it: a training that is resumed from an older
    checkpoint finds all that were the best then.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self.size = size
        self.kept: tuple[Kept, ...] = ()

    def offer(self, update: int, score: float, weights: Mapping[str, Tensor]) -> bool:
        """Keep these weights if they are among the best; of equals, the earlier is better."""
        if len(self.kept) >= self.size and score >= self.kept[-1].score:
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"update-{update:08d}.safetensors"
        new = Kept(update, score, path.name, write_tensors(path, weights))
        self.kept = tuple(sorted((*self.kept, new), key=lambda kept: (kept.score, kept.update)))[: self.size]
        return True

    def best(self) -> dict[str, Tensor]:
        """The best weights."""
        return self._read(self.kept[0])

    def mean(self) -> dict[str, Tensor]:
        """The mean of all kept weights."""
        return average([self._read(kept) for kept in sorted(self.kept, key=lambda kept: kept.update)])

    def damaged(self, state: Sequence[Mapping[str, Any]]) -> list[tuple[Kept, str]]:
        """Of a remembered state, those whose files are not what was written, and what is wrong with each."""
        found = []
        for kept in self._kept(state):
            try:
                check_file(self.folder / kept.file, kept.sha256)
            except CheckpointError as error:
                found.append((kept, str(error)))
        return found

    def drop(self, lost: Iterable[Kept]) -> None:
        """Go on without these."""
        gone = set(lost)
        self.kept = tuple(kept for kept in self.kept if kept not in gone)

    def _read(self, kept: Kept) -> dict[str, Tensor]:
        return read_tensors(self.folder / kept.file, kept.sha256)

    def clear(self, needed: Iterable[str]) -> None:
        """Delete the files that are neither kept nor needed."""
        if not self.folder.is_dir():
            return
        names = {kept.file for kept in self.kept} | set(needed)
        for path in self.folder.glob("update-*.safetensors"):
            if path.name not in names:
                path.unlink()
        for path in self.folder.glob(".update-*.tmp"):
            path.unlink()

    def state(self) -> list[dict[str, Any]]:
        """What has to be remembered, as JSON."""
        return [asdict(kept) for kept in self.kept]

    def restore(self, state: Sequence[Mapping[str, Any]]) -> None:
        """Go on from a remembered state."""
        self.kept = self._kept(state)

    def _kept(self, state: Sequence[Mapping[str, Any]]) -> tuple[Kept, ...]:
        return tuple(Kept(**kept) for kept in state)[: self.size]

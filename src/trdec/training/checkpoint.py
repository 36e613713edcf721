"""Checkpoints: folders that hold everything a training needs to resume as if it had never stopped.

    checkpoints/update-00000200/
        state.json               counters, schedule, best scores, and the checksum of every file here
        weights.safetensors
        optimiser.safetensors

A checkpoint gets its name only when it is complete and on disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from trdec.data.manifest import WEIGHTS
from trdec.errors import CheckpointError
from trdec.files import checksum_of_text, remove_folder, remove_leftovers, replacing_folder, write_errors
from trdec.model.weights import average, check_file, read_tensors, write_tensors

CHECKPOINT_FORMAT = "trdec checkpoint"
CHECKPOINT_VERSION = 3
STATE = "state.json"
PREFIX = "update-"
_NAME = re.compile(rf"{PREFIX}[0-9]{{8,}}")
UNUSABLE = ".unusable"
"""Appended to the name of a checkpoint that was set aside because it could not be used."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A training at one moment: its counters, and its tensors by the name of their file."""

    state: Mapping[str, Any]
    tensors: Mapping[str, Mapping[str, Tensor]]


class Checkpoints:
    """The last few checkpoints of a training."""

    def __init__(self, folder: Path, keep: int = 2) -> None:
        self.folder = folder
        self.keep = keep

    def write(self, update: int, checkpoint: Checkpoint) -> Path:
        """Write a checkpoint, then delete all but the last few."""
        path = self._path(update)
        with write_errors(path), replacing_folder(path, durable=True) as temporary:
            files = {
                f"{name}.safetensors": write_tensors(temporary / f"{name}.safetensors", tensors)
                for name, tensors in checkpoint.tensors.items()
            }
            content = {
                "format": CHECKPOINT_FORMAT,
                "version": CHECKPOINT_VERSION,
                "files": files,
                "state": checkpoint.state,
            }
            content["checksum"] = _checksum(content)
            (temporary / STATE).write_text(json.dumps(content, indent=1), encoding="utf-8")
        for old in self.paths()[self.keep :]:
            remove_folder(old)
        return path

    def read(self, update: int) -> Checkpoint:
        """The checkpoint of this update."""
        return read_checkpoint(self._path(update))

    def _path(self, update: int) -> Path:
        return self.folder / f"{PREFIX}{update:08d}"

    def paths(self) -> list[Path]:
        """Everything with a checkpoint's name, newest first; copies under other names are left alone."""
        if not self.folder.is_dir():
            return []
        named = (path for path in self.folder.iterdir() if _NAME.fullmatch(path.name))
        return sorted(named, key=lambda path: int(path.name.removeprefix(PREFIX)), reverse=True)

    def states(self) -> list[Mapping[str, Any]]:
        """The counters of every readable checkpoint."""
        states = []
        for path in self.paths():
            try:
                states.append(read_state(path)["state"])
            except CheckpointError:
                continue
        return states

    def restore(self, accept: Callable[[Checkpoint], None], note: Callable[[str], None]) -> bool:
        """Give the newest usable checkpoint to `accept`, and return whether there was any checkpoint.

        One that is damaged, or that `accept` raises a CheckpointError for, is set aside with a note, and the one
        before it is tried. If none is usable, nothing is changed and all reasons are raised.
        """
        paths = self.paths()
        reasons: list[str] = []
        for tried, path in enumerate(paths):
            try:
                accept(read_checkpoint(path))
            except CheckpointError as error:
                reasons.append(str(error))
                continue
            for reason, bad in zip(reasons, paths[:tried], strict=True):
                aside = bad.with_name(bad.name + UNUSABLE)
                remove_folder(aside)
                bad.rename(aside)
                note(f"{reason} It is now called {aside.name}; training resumes from {path.name}.")
            return True
        if reasons:
            raise self._none_usable(reasons)
        return False

    def check_readable(self) -> None:
        """Raise a CheckpointError with all reasons if there are checkpoints and none can be read."""
        reasons = []
        for path in self.paths():
            try:
                read_state(path)
            except CheckpointError as error:
                reasons.append(str(error))
            else:
                return
        if reasons:
            raise self._none_usable(reasons)

    def _none_usable(self, reasons: Sequence[str]) -> CheckpointError:
        listed = "\n  ".join(reasons)
        return CheckpointError(
            f"no checkpoint can be used:\n  {listed}\n"
            f"Choose another output, or remove {self.folder} and {WEIGHTS} beside it to start this training from the "
            "beginning."
        )

    def clear(self) -> None:
        """Delete what a killed process left half written or half deleted."""
        remove_leftovers(self.folder)


def read_state(path: Path) -> dict[str, Any]:
    """The content of a checkpoint's `state.json`, checked."""
    file = path / STATE
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"{file}: cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise CheckpointError(f"{file}: expected JSON, found something else: {error}.") from error
    if not isinstance(content, dict) or content.get("format") != CHECKPOINT_FORMAT:
        raise CheckpointError(
            f"{file}: expected the format {CHECKPOINT_FORMAT!r}, found something else: this is no checkpoint of trdec."
        )
    if content.get("version") != CHECKPOINT_VERSION:
        raise CheckpointError(
            f"{file}: expected version {CHECKPOINT_VERSION}, found {content.get('version')!r}: another version of "
            "trdec wrote it. Finish that training with that version, or choose another output."
        )
    if content.get("checksum") != _checksum(content):
        raise CheckpointError(f"{file}: the file is damaged: its checksum is not the one recorded.")
    return content


def read_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint in a folder, with every file checked."""
    content = read_state(path)
    tensors = {
        file.removesuffix(".safetensors"): read_tensors(path / file, digest)
        for file, digest in content["files"].items()
    }
    return Checkpoint(content["state"], tensors)


def _checksum(content: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in content.items() if key != "checksum"}
    return checksum_of_text(json.dumps(rest, sort_keys=True))


@dataclass(frozen=True, slots=True)
class KeptWeights:
    """One of the best weights so far: from which update, with what score (lower is better), in which file."""

    update: int
    score: float
    file: str
    sha256: str


class BestWeights:
    """The k best weights of a training, best first.

    Only `clear` deletes files, and while training goes on only those that no checkpoint needs: a training resumed from
    an older checkpoint finds the weights that were the best then.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self.size = size
        self.kept: tuple[KeptWeights, ...] = ()

    def offer(self, update: int, score: float, weights: Mapping[str, Tensor]) -> bool:
        """Keep these weights if they are among the best; of equals, the earlier is better."""
        if len(self.kept) >= self.size and score >= self.kept[-1].score:
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"update-{update:08d}.safetensors"
        new = KeptWeights(update, score, path.name, write_tensors(path, weights))
        self.kept = tuple(sorted((*self.kept, new), key=lambda kept: (kept.score, kept.update)))[: self.size]
        return True

    def best(self) -> dict[str, Tensor]:
        """The best weights."""
        return self._read(self.kept[0])

    def mean(self) -> dict[str, Tensor]:
        """The mean of all kept weights."""
        return average([self._read(kept) for kept in sorted(self.kept, key=lambda kept: kept.update)])

    def damaged(self, state: Sequence[Mapping[str, Any]]) -> list[tuple[KeptWeights, str]]:
        """The weights of a saved state whose files are missing or damaged, each with the reason."""
        found = []
        for kept in self._kept(state):
            try:
                check_file(self.folder / kept.file, kept.sha256)
            except CheckpointError as error:
                found.append((kept, str(error)))
        return found

    def drop(self, lost: Iterable[KeptWeights]) -> None:
        """Remove these from the best."""
        gone = set(lost)
        self.kept = tuple(kept for kept in self.kept if kept not in gone)

    def _read(self, kept: KeptWeights) -> dict[str, Tensor]:
        return read_tensors(self.folder / kept.file, kept.sha256)

    def clear(self, needed: Iterable[str]) -> None:
        """Delete the files that are neither kept nor needed."""
        if not self.folder.is_dir():
            return
        names = {kept.file for kept in self.kept} | set(needed)
        for path in self.folder.glob("update-*.safetensors"):
            if path.name not in names:
                path.unlink()
        remove_leftovers(self.folder)

    def state(self) -> list[dict[str, Any]]:
        """The state to save, as JSON."""
        return [asdict(kept) for kept in self.kept]

    def restore(self, state: Sequence[Mapping[str, Any]]) -> None:
        """Continue from a saved state."""
        self.kept = self._kept(state)

    def _kept(self, state: Sequence[Mapping[str, Any]]) -> tuple[KeptWeights, ...]:
        return tuple(KeptWeights(**kept) for kept in state)[: self.size]

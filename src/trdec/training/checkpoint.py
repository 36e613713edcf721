"""Checkpoints: folders that hold all that a training needs to go on as if it had never ended.

    checkpoints/update-00000200/
        state.json               counters, schedule, best scores, and the checksum of every file here
        weights.safetensors
        optimiser.safetensors
        random.safetensors

A checkpoint is written under another name, forced to disk, and renamed: one that has its name is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from trdec.errors import CheckpointError, FileError
from trdec.model.weights import average, check_file, read_tensors, synchronise, write_tensors

CHECKPOINT_FORMAT = "trdec checkpoint"
CHECKPOINT_VERSION = 1
STATE = "state.json"
PREFIX = "update-"
REFUSED = ".refused"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A moment of a training: its counters and its tensors, by the name of the file they are kept in."""

    state: Mapping[str, Any]
    tensors: Mapping[str, Mapping[str, Tensor]]


class Checkpoints:
    """The checkpoints of a training, of which the last few are kept."""

    def __init__(self, folder: Path, keep: int = 2) -> None:
        self.folder = folder
        self.keep = keep

    def write(self, update: int, checkpoint: Checkpoint) -> Path:
        """Write a checkpoint, then delete those that are older than the last few."""
        path = self.folder / f"{PREFIX}{update:08d}"
        temporary = self.folder / f".{path.name}.{os.getpid()}"
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
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
            with (temporary / STATE).open("w", encoding="utf-8") as stream:
                json.dump(content, stream, indent=1)
                stream.flush()
                os.fsync(stream.fileno())
            synchronise(temporary)
            if path.exists():
                self._remove(path)
            temporary.rename(path)
            synchronise(self.folder)
        except OSError as error:
            raise FileError(f"{path}: cannot be written: {error.strerror or error}.") from error
        for old in self.paths()[self.keep :]:
            self._remove(old)
        return path

    def paths(self) -> list[Path]:
        """What has the name of a checkpoint, newest first."""
        if not self.folder.is_dir():
            return []
        named = (path for path in self.folder.glob(f"{PREFIX}*") if not path.name.endswith(REFUSED))
        return sorted(named, key=lambda path: path.name, reverse=True)

    def states(self) -> list[Mapping[str, Any]]:
        """The counters of every checkpoint that can be read."""
        states = []
        for path in self.paths():
            try:
                states.append(read_state(path)["state"])
            except CheckpointError:
                continue
        return states

    def restore(self, accept: Callable[[Checkpoint], None], refuse: Callable[[str], None]) -> bool:
        """Give the newest good checkpoint to `accept`, which may refuse it too; whether there was any.

        A damaged or foreign one is named to `refuse` and set aside, and the one before it is used. If none is good,
        nothing is touched and the reasons are raised.
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
                aside = bad.with_name(bad.name + REFUSED)
                self._remove(aside)
                bad.rename(aside)
                refuse(f"{reason} It is now {aside.name}; training goes on from {path.name}.")
            return True
        if reasons:
            raise CheckpointError(
                "no checkpoint can be used:\n  "
                + "\n  ".join(reasons)
                + f"\nRemove {self.folder} to begin this training again, or choose another output."
            )
        return False

    def clear(self) -> None:
        """Delete what a killed process left half written or half deleted."""
        if self.folder.is_dir():
            for path in self.folder.glob(f".{PREFIX}*"):
                shutil.rmtree(path, ignore_errors=True)

    def _remove(self, path: Path) -> None:
        # First out of sight, so that a checkpoint never lacks files while it has its name.
        if path.is_dir():
            hidden = path.with_name(f".{path.name}.removed.{os.getpid()}")
            path.rename(hidden)
            shutil.rmtree(hidden, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


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
            f"{file}: expected the format {CHECKPOINT_FORMAT!r}, found something else: it is not trdec's."
        )
    if content.get("version") != CHECKPOINT_VERSION:
        raise CheckpointError(
            f"{file}: expected version {CHECKPOINT_VERSION}, found {content.get('version')!r}: it is another trdec's."
        )
    if content.get("checksum") != _checksum(content):
        raise CheckpointError(f"{file}: its checksum is not the one recorded: the file is damaged.")
    return content


def read_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint of a folder, with every file checked."""
    content = read_state(path)
    tensors = {
        file.removesuffix(".safetensors"): read_tensors(path / file, digest)
        for file, digest in content["files"].items()
    }
    return Checkpoint(content["state"], tensors)


def _checksum(content: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in content.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode("utf-8")).hexdigest()


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

"""How far each run is, read from the files it writes."""

from __future__ import annotations

from dataclasses import dataclass

from trdec.experiment.plan import Run, Stage
from trdec.training.log import JsonLines


@dataclass(frozen=True, slots=True)
class Progress:
    """So many of so many updates, or lines."""

    done: int
    total: int


def progress(run: Run, stage: Stage, lines: int) -> Progress:
    """How far a stage is; `lines` are to be translated."""
    if stage == "train":
        row = JsonLines(run.directory / "model" / "log.jsonl").last()
        return Progress(row["update"] if row else 0, run.training.training.max_updates)
    path = run.translations
    return Progress(path.read_bytes().count(b"\n") if path.exists() else 0, lines)

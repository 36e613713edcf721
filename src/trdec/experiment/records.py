"""Records of finished stages: a stage whose record still holds is not done again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trdec.errors import FileError
from trdec.experiment.plan import Plan, Run, Stage
from trdec.text.lines import writing


class Records:
    """What is known of the stages of a plan's runs."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._checksums: dict[Path, str] = {}

    def finished(self, run: Run, stage: Stage) -> dict[str, Any] | None:
        """The record of a stage, if there is one and everything that it depends on is as it was."""
        path = self._path(run, stage)
        if not path.exists() or not run.result(stage).exists():
            return None
        try:
            record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise FileError(f"{path}: expected the record of a finished run, as JSON. Remove the file.") from error
        return record if record.get("depends_on") == self._depends_on(run, stage) else None

    def finish(self, run: Run, stage: Stage, facts: Mapping[str, Any]) -> None:
        """Write that a stage is done, with what is to be remembered of it."""
        with writing(self._path(run, stage)) as stream:
            json.dump({**facts, "depends_on": self._depends_on(run, stage)}, stream, indent=2, ensure_ascii=False)
            stream.write("\n")

    def _path(self, run: Run, stage: Stage) -> Path:
        return run.directory / f"{stage}.json"

    def _depends_on(self, run: Run, stage: Stage) -> dict[str, Any]:
        files = {os.path.relpath(path, self._plan.folder): self._checksum(path) for path in self._plan.files(run)}
        before = {} if stage == "train" else {"model": self._checksum(run.result("train"))}
        return {**run.depends_on(stage), "files": files, **before}

    def _checksum(self, path: Path) -> str:
        if not path.exists():
            return "missing"
        if path.suffix == ".safetensors":  # it changes while the experiment runs
            return _sha256(path)
        if path not in self._checksums:
            self._checksums[path] = _sha256(path)
        return self._checksums[path]


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}. Check the name and its permissions.") from error

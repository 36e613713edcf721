"""A toy corpus on disk, and small files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from trdec.corpora.toy.generate import write_corpus

Write = Callable[[str, Iterable[str]], Path]


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a toy corpus of two shards."""
    folder = tmp_path_factory.mktemp("toy")
    write_corpus(folder, 600, seed=1)
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write lines to a file and give its path."""

    def write_lines(name: str, lines: Iterable[str]) -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return write_lines

"""A toy corpus on disk, and small files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from support.toy_corpora import changed_system, configuration
from trdec.corpora.toy.generate import write_corpus
from trdec.data.prepare import Preparation, prepare
from trdec.systems import SYSTEMS

Prepare = Callable[..., Preparation]
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


@pytest.fixture(scope="session")
def toy_prepared(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Prepare:
    """Prepare the toy corpus for a system, once."""
    made: dict[tuple[str, ...], Preparation] = {}

    def get(system: str, *transforms: str) -> Preparation:
        if (system, *transforms) not in made:
            directory = tmp_path_factory.mktemp("prepared") / "data"
            made[system, *transforms] = prepare(
                configuration(toy),
                changed_system(system, transforms=SYSTEMS[system].transforms + transforms),
                directory,
            )
        return made[system, *transforms]

    return get

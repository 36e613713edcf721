"""Configurations of small corpora on disk."""

from __future__ import annotations

from pathlib import Path

from trdec.configuration.sections import CorpusConfiguration, DataConfiguration, SubwordConfiguration
from trdec.systems import SYSTEMS, System


def files(folder: Path, split: str) -> CorpusConfiguration:
    """The files of a split, named as `trdec toy` names them."""
    return CorpusConfiguration(
        source=folder / f"{split}.vel",
        target=folder / f"{split}.en",
        constituency=folder / f"{split}.en.con",
        dependency=folder / f"{split}.en.conllu",
        supertags=folder / f"{split}.en.ccg",
    )


def configuration(folder: Path, **changes: object) -> DataConfiguration:
    """A configuration of the corpus in the folder, with few subwords."""
    small = SubwordConfiguration(size=90)
    plain = {
        "train": files(folder, "train"),
        "dev": files(folder, "dev"),
        "source_subwords": small,
        "target_subwords": small,
    }
    return DataConfiguration(**{**plain, **changes})


def changed_system(name: str, **keys: object) -> System:
    """One of our systems with some of its five keys changed."""
    return System.model_validate(SYSTEMS[name].model_dump() | keys)

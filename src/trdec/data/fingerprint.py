"""What a preparation was made from, so that it is made again when that changed and only then.

Files count by their content, not by name, size or time: a corpus may be moved, copied or checked out anew
without being prepared again, and no edit goes unseen. Reading a file for that takes a small part of the
time that preparing it takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from trdec.data.configuration import DataConfiguration, SubwordConfiguration
from trdec.data.corpus import Corpus, inspect
from trdec.systems import Treebank
from trdec.trees.own_builder import is_own, own_file


def inputs(
    configuration: DataConfiguration, system_name: str, treebanks: tuple[Treebank, ...], corpora: tuple[Corpus, ...]
) -> dict[str, Any]:
    """Everything that prepared data depends on, by name."""
    found: dict[str, Any] = {
        "system": system_name,
        "treebanks": [
            [treebank.kind, *(transform.__name__ for transform in treebank.transforms)] for treebank in treebanks
        ],
        "source_language": configuration.source_language,
        "target_language": configuration.target_language,
        "source_subwords": _subwords(configuration.source_subwords),
        "target_subwords": _subwords(configuration.target_subwords),
        "filters": configuration.filters.model_dump(mode="json"),
        "min_rule_count": configuration.min_rule_count,
    }
    for treebank in treebanks:
        # What the function's own file imports is not looked into.
        if is_own(treebank.kind) and (file := own_file(treebank.kind)):
            found[treebank.kind] = inspect(file).digest
    for corpus in corpora:
        for role, facts in corpus.inspect().items():
            found[f"{corpus.name}.{role}"] = facts.digest
    return found


def fingerprint(found: Mapping[str, Any]) -> str:
    """One short name for all the inputs."""
    return blake2b(json.dumps(found, sort_keys=True).encode(), digest_size=16).hexdigest()


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The names of the inputs that are not the same."""
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def _subwords(configuration: SubwordConfiguration) -> dict[str, Any]:
    if configuration.model is not None:
        return {"model": inspect(configuration.model).digest}
    return {"kind": configuration.kind, "size": configuration.size}

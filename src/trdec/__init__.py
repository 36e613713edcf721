"""Translation models that generate a tree together with the translation.

    import trdec

    trdec.train(trdec.load_configuration("my.yaml"))
    trdec.Translator.load("models/mine").translate(["a line of text"])

The names below are loaded when first used: importing trdec imports no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trdec.configuration import load_configuration
    from trdec.evaluation.comparison import compare
    from trdec.systems import SYSTEMS, System
    from trdec.training.trainer import train
    from trdec.translation.translator import Translator
    from trdec.trees.brackets import parse as parse_tree
    from trdec.trees.brackets import write as write_tree
    from trdec.trees.tree import Nonterminal, Terminal, Tree
    from trdec.trees.treebank import read as read_trees

__version__ = "0.1.0"

__all__ = [
    "SYSTEMS",
    "Nonterminal",
    "System",
    "Terminal",
    "Translator",
    "Tree",
    "compare",
    "load_configuration",
    "parse_tree",
    "read_trees",
    "train",
    "write_tree",
]

_HOMES = {
    "Nonterminal": "trdec.trees.tree:Nonterminal",
    "SYSTEMS": "trdec.systems:SYSTEMS",
    "System": "trdec.systems:System",
    "Terminal": "trdec.trees.tree:Terminal",
    "Translator": "trdec.translation.translator:Translator",
    "Tree": "trdec.trees.tree:Tree",
    "compare": "trdec.evaluation.comparison:compare",
    "load_configuration": "trdec.configuration:load_configuration",
    "parse_tree": "trdec.trees.brackets:parse",
    "read_trees": "trdec.trees.treebank:read",
    "train": "trdec.training.trainer:train",
    "write_tree": "trdec.trees.brackets:write",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trdec' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

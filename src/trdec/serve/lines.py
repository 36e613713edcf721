"""What is sent to the process of a model, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trdec.trees.tree import Nonterminal


@dataclass(frozen=True, slots=True)
class LineSettings:
    """How lines are translated: lines with equal settings may share a batch."""

    beam_size: int = 5
    n_best: int = 1
    length_power: float = 1.0
    length_unit: Literal["actions", "words"] = "actions"
    min_ratio: float = 0.0
    max_ratio: float = 6.0
    max_extra: int = 50
    words: int | None = None
    demands: tuple[str, ...] = ()
    """Which of `prefix` and `skeleton` the lines have."""
    answer: Literal["texts", "details", "attention"] = "texts"
    """Only the texts; also trees, actions and scores; also attention."""


@dataclass(frozen=True, slots=True)
class WaitingLine:
    """A sentence to translate, and what its translation must look like."""

    text: str
    prefix: str = ""
    skeleton: Nonterminal | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The translations of a line, best first; as one JSON object too if details were requested."""

    texts: tuple[str, ...]
    details: str | None = None


@dataclass(frozen=True, slots=True)
class LineFailure:
    """Why a line has no translation."""

    message: str
    blame: Literal["request", "server"]
    field: str | None = None


LineResult = Answer | LineFailure


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What a process says about its model when it is ready."""

    source_language: str | None
    target_language: str | None
    system: str
    trees: bool
    """Whether it writes trees, not only sequences."""

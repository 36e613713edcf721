"""What search expects of a model: what `TranslationModel`, an ensemble and a table of numbers have in common."""

from __future__ import annotations

from typing import Any, Protocol, Self

from torch import Tensor


class SourceMemory(Protocol):
    """The encoded source sentences."""

    def select(self, sentences: Tensor) -> Self:
        """These sentences in this order."""


class SearchModel(Protocol):
    """Scores the next action of many hypotheses.

    Memory and state are the model's own: search only selects from them.
    """

    @property
    def num_actions(self) -> int:
        """A; also the number that stands for no action yet."""

    def encode(self, source: Tensor, source_lengths: Tensor) -> Any:
        """The memory of sources B S of these lengths B."""

    def start(self, memory: Any) -> Any:
        """The state before the first step, one row a sentence."""

    def step(self, state: Any, memory: Any, previous: Tensor, symbols: Tensor, parents: Tensor) -> tuple[Tensor, Any]:
        """Log-probabilities R A of the next action, exactly -inf where it is illegal, and the state after it.

        The log-probabilities are a new tensor, the caller's to change.
        """

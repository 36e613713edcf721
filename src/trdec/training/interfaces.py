"""What the training loop requires of a model, of its data and of an observer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, Self, TypeVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn


class TrainingBatch(Protocol):
    """Sentences and the actions that write them."""

    @property
    def num_sentences(self) -> int:
        """B."""

    @property
    def actions(self) -> Tensor:
        """Action ids, B T."""

    @property
    def padding(self) -> Tensor:
        """True = ignore, B T."""

    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device."""


AnyBatch = TypeVar("AnyBatch", bound=TrainingBatch)
BatchIn = TypeVar("BatchIn", bound=TrainingBatch, contravariant=True)
BatchOut = TypeVar("BatchOut", bound=TrainingBatch, covariant=True)

Row = Mapping[str, Any]
"""A line of the log."""


class TrainingLoss(Protocol):
    """What training minimises and what it reports."""

    @property
    def total(self) -> Tensor:
        """The loss to minimise, summed over all steps: a scalar."""

    @property
    def negative_log_probs(self) -> Tensor:
        """Minus the log-probability of every action, B T; 0 at padding."""


class Batches(Protocol[BatchOut]):
    """A corpus in batches, which differ between epochs."""

    def plan(self, epoch: int) -> Sequence[NDArray[Any]]:
        """The example numbers of every batch of an epoch, in order."""

    def batch(self, numbers: NDArray[Any], epoch: int) -> BatchOut:
        """These examples, as they are in this epoch, as tensors."""


class Trainable(Protocol[BatchIn]):
    """Any `torch.nn.Module` with a loss."""

    def loss(self, batch: BatchIn, label_smoothing: float) -> TrainingLoss:
        """The loss of a batch."""

    def train(self, mode: bool = True) -> Self:
        """Switch dropout on or off."""

    def state_dict(self) -> dict[str, Any]:
        """Every weight by name."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """The weights that are learnt, each once."""

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Any:
        """Set the weights."""


class Observer(Protocol):
    """Is called with the progress of a training: a display, a log, a plot."""

    def begin(self, update: int, max_updates: int) -> None:
        """Training starts, or resumes, after this many updates."""

    def advance(self, update: int) -> None:
        """One more update is done."""

    def progress(self, task: str, done: int, total: int | None) -> None:
        """So much is done of something other than an update: preparing data, validating, writing weights."""

    def training(self, row: Row) -> None:
        """A line of the log about the last updates."""

    def validation(self, row: Row) -> None:
        """A line of the log about dev."""

    def note(self, text: str) -> None:
        """A message for the user."""

    def end(self) -> None:
        """Training ends, for whatever reason."""


class Observers:
    """Several observers as one."""

    def __init__(self, observers: Iterable[Observer]) -> None:
        self._observers = tuple(observers)

    def begin(self, update: int, max_updates: int) -> None:
        """Call all."""
        for observer in self._observers:
            observer.begin(update, max_updates)

    def advance(self, update: int) -> None:
        """Call all."""
        for observer in self._observers:
            observer.advance(update)

    def progress(self, task: str, done: int, total: int | None) -> None:
        """Call all."""
        for observer in self._observers:
            observer.progress(task, done, total)

    def training(self, row: Row) -> None:
        """Call all."""
        for observer in self._observers:
            observer.training(row)

    def validation(self, row: Row) -> None:
        """Call all."""
        for observer in self._observers:
            observer.validation(row)

    def note(self, text: str) -> None:
        """Call all."""
        for observer in self._observers:
            observer.note(text)

    def end(self) -> None:
        """Call all."""
        for observer in self._observers:
            observer.end()

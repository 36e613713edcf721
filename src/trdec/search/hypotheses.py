"""Derivations on their way, and those that a search has finished."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trdec.search.limits import Normalisation

MAX_WIDTH = 10_000
"""The most hypotheses, or samples, of a sentence."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A complete derivation, EOS last, as action numbers."""

    actions: tuple[int, ...]
    action_log_probs: tuple[float, ...]
    log_prob: float
    """Their sum: the model's log-probability of the derivation."""
    score: float
    """What it was ranked by: the log-probability normalised by length."""
    truncated: bool
    """Whether the length limit ruled out an action that the model found most probable."""


class Trail:
    """For each step and row, the action taken and the row it came from; hypotheses share their prefixes."""

    def __init__(self) -> None:
        self._steps: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        self._waiting: list[tuple[Tensor, Tensor, Tensor]] = []
        """Steps that nothing has gone back over yet: their numbers are fetched together when something does."""

    def append(self, origins: Tensor, actions: Tensor, log_probs: Tensor) -> None:
        """Add a step: the row each row came from, its action and that action's log-probability."""
        self._waiting.append((origins, actions, log_probs))

    def _fetch(self) -> None:
        """Move the steps that wait to the others, as arrays."""
        ends = np.cumsum([len(origins) for origins, _, _ in self._waiting])[:-1]
        columns = [np.split(torch.cat(column).cpu().numpy(), ends) for column in zip(*self._waiting, strict=True)]
        self._steps += zip(*columns, strict=True)
        self._waiting = []

    def back(self, row: int) -> tuple[list[int], list[float]]:
        """The actions that lead to a row of the latest step, first to last, and their log-probabilities."""
        return self.back_from(len(self), row)

    def back_from(self, steps: int, row: int) -> tuple[list[int], list[float]]:
        """The actions that lead to the row with this index after `steps` steps, and their log-probabilities."""
        if self._waiting:
            self._fetch()
        actions: list[int] = []
        log_probs: list[float] = []
        for origins, taken, scores in reversed(self._steps[:steps]):
            actions.append(int(taken[row]))
            log_probs.append(float(scores[row]))
            row = int(origins[row])
        return actions[::-1], log_probs[::-1]

    def __len__(self) -> int:
        return len(self._steps) + len(self._waiting)


@dataclass(slots=True)
class _Translation:
    """The derivations found for the same pieces, or a single derivation where they are not merged."""

    best: Hypothesis
    pieces: int
    log_prob: float
    """The log of the sum of their probabilities."""
    score: float


class Finished:
    """The derivations that ended, by sentence, and whether any other can still outrank them."""

    def __init__(
        self,
        num_sentences: int,
        n_best: int,
        normalisation: Normalisation,
        writes_text: frozenset[int] | None = None,
    ) -> None:
        """Derivations with the same pieces are merged if it is said which actions write them."""
        self._n_best = n_best
        self._normalisation = normalisation
        self._writes_text = writes_text
        self._found: list[dict[tuple[int, ...], _Translation]] = [{} for _ in range(num_sentences)]

    def add(
        self, sentence: int, actions: tuple[int, ...], log_probs: tuple[float, ...], pieces: int, truncated: bool
    ) -> None:
        """Add a derivation that writes so many pieces."""
        log_prob = math.fsum(log_probs)
        score = self._normalisation.score(log_prob, len(actions), pieces)
        hypothesis = Hypothesis(actions, log_probs, log_prob, score, truncated)
        key = actions if self._writes_text is None else tuple(a for a in actions if a in self._writes_text)
        same = self._found[sentence].get(key)
        if same is None:
            self._found[sentence][key] = _Translation(hypothesis, pieces, log_prob, score)
            return
        if log_prob > same.best.log_prob:
            same.best = hypothesis
        same.log_prob = float(torch.logaddexp(torch.tensor(same.log_prob).double(), torch.tensor(log_prob).double()))
        same.score = self._normalisation.score(same.log_prob, len(same.best.actions), pieces)

    def has(self, sentence: int) -> bool:
        """Whether the sentence has a derivation."""
        return bool(self._found[sentence])

    def best(self, sentence: int) -> list[Hypothesis]:
        """The `n_best` derivations, best first; of equals, the one that ended first comes first."""
        found = sorted(self._found[sentence].values(), key=lambda translation: -translation.score)[: self._n_best]
        return [replace(each.best, score=each.score) for each in found]

    def decided(self, sentences: Tensor, totals: Tensor, most_actions: Tensor) -> Tensor:
        """B: whether no live hypothesis, of log-probabilities B K so far, can change what is best in its sentence."""
        # Merged, any may still add to a text's probability; and nothing is decided while too few have ended.
        if self._writes_text is not None or all(len(found) < self._n_best for found in self._found):
            return torch.zeros_like(sentences, dtype=torch.bool)
        best = self._normalisation.bound(totals.amax(dim=1), most_actions)  # B
        return self._worst(sentences).to(best) >= best

    def _worst(self, sentences: Tensor) -> Tensor:
        """B: the score of the last of the `n_best`."""
        scores = (sorted((each.score for each in self._found[n].values()), reverse=True) for n in sentences.tolist())
        return torch.tensor([each[self._n_best - 1] if len(each) >= self._n_best else -math.inf for each in scores])

"""Sampling: derivations drawn from the model's distribution, or from its most probable part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from trdec.data.batch import SourceBatch
from trdec.errors import SearchError, UsageError
from trdec.model.interfaces import SearchModel
from trdec.search.frontiers import Effects
from trdec.search.hypotheses import MAX_WIDTH, Hypothesis, Trail
from trdec.search.limits import LengthLimits, Normalisation
from trdec.search.state import Constraint, SearchState

MAX_TEMPERATURE = 1e6
"""The greatest temperature, and one over the least: beyond them scores would leave the range of numbers."""

DRAWN_AT_ONCE = 64
"""Steps whose numbers are drawn together."""


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How many derivations to draw for each sentence, and from which part of the distribution.

    A temperature below 1 favours probable actions; `top_k` keeps the k most probable ones, `top_p` the fewest whose
    total probability is at least this much. A sentence's draws depend only on the seed and its number.
    """

    samples: int = 1
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 1
    normalisation: Normalisation = field(default_factory=Normalisation)
    limits: LengthLimits = field(default_factory=LengthLimits)

    def __post_init__(self) -> None:
        if not 1 <= self.samples <= MAX_WIDTH or not 1 / MAX_TEMPERATURE <= self.temperature <= MAX_TEMPERATURE:
            raise UsageError(
                f"expected from 1 to {MAX_WIDTH:,} samples (`n_best`) and a `temperature` from {1 / MAX_TEMPERATURE:g} "
                f"to {MAX_TEMPERATURE:g}, found {self.samples} and {self.temperature}."
            )
        if self.top_k is not None and self.top_k < 1:
            raise UsageError(f"expected top_k to be at least 1, found {self.top_k}.")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise UsageError(f"expected top_p to be above 0 and at most 1, found {self.top_p}.")
        if self.seed < 0:
            raise UsageError(f"expected a seed of 0 or more, found {self.seed}.")


@torch.inference_mode()
def sample(
    model: SearchModel,
    effects: Effects,
    source: SourceBatch,
    settings: SamplingSettings,
    numbers: Sequence[int],
    constraints: Sequence[Constraint] = (),
) -> list[list[Hypothesis]]:
    """For each sentence, its samples, best score first; `numbers` are the sentences' numbers, which seed the draws."""
    count = settings.samples
    bounds = settings.limits.bounds(source.text_lengths, effects)
    state = SearchState.start(model, effects, source, bounds, constraints)
    draws = _Draws(settings, numbers)
    found: list[list[Hypothesis]] = [[] for _ in range(len(source))]
    trail = Trail()
    # The first step has one row per sentence; every sample of a sentence is drawn from its distribution.
    rows = torch.arange(len(source), device=source.device).repeat_interleave(count)  # R
    live = torch.ones_like(rows, dtype=torch.bool)  # R
    kept: Tensor | None = None
    while bool(live.any()):
        log_probs, state = state.step()
        sentences = state.sentences if kept is None else state.sentences[kept]  # B
        log_probs = log_probs[rows]  # R A
        _require_choice(log_probs, live, [numbers[n] for n in sentences.tolist()])
        drawn = draws.at(len(trail)).to(source.device)  # B K
        actions = _choose(log_probs, drawn[sentences].flatten(), settings)  # R
        trail.append(rows, actions, log_probs.gather(1, actions.unsqueeze(1)).squeeze(1))
        state = state.take(rows, actions, kept)
        ended = live & state.frontiers.finished  # R
        for row in ended.nonzero().squeeze(1).tolist():
            found[int(state.sentences[row // count])].append(_hypothesis(trail, state, settings, row))
        live = live & ~ended
        # A sentence whose samples have all ended is dropped at the next step.
        staying = live.view(-1, count).any(dim=1)  # B
        rows = staying.repeat_interleave(count).nonzero().squeeze(1)  # R'
        kept = None if bool(staying.all()) else staying.nonzero().squeeze(1)  # B'
        live = live[rows]
    return [sorted(hypotheses, key=lambda hypothesis: -hypothesis.score) for hypotheses in found]


def _require_choice(log_probs: Tensor, live: Tensor, numbers: Sequence[int]) -> None:
    """Raise SearchError if a live row of log-probabilities R A allows no action; `numbers` are the sentences'."""
    stuck = (live & ~log_probs.isfinite().any(dim=1)).nonzero().squeeze(1).tolist()
    if stuck:
        raise SearchError(numbers[stuck[0] // (len(live) // len(numbers))])


class _Draws:
    """Numbers from 0 up to 1 that depend only on the seed, the sentence, the sample and the step."""

    def __init__(self, settings: SamplingSettings, numbers: Sequence[int]) -> None:
        self._generators = [
            [np.random.Generator(np.random.PCG64([settings.seed, number, place])) for place in range(settings.samples)]
            for number in numbers
        ]
        self._block = torch.empty(0)  # B K T

    def at(self, step: int) -> Tensor:
        """B K: the numbers of a step; steps are asked for in order."""
        if step % DRAWN_AT_ONCE == 0:
            rows = [[generator.random(DRAWN_AT_ONCE) for generator in row] for row in self._generators]
            self._block = torch.from_numpy(np.array(rows))
        return self._block[:, :, step % DRAWN_AT_ONCE]


def _choose(log_probs: Tensor, drawn: Tensor, settings: SamplingSettings) -> Tensor:
    """R: the action at which the cumulative probability, most probable action first, exceeds the number drawn."""
    ranked, actions = (log_probs.double() / settings.temperature).sort(dim=1, descending=True, stable=True)  # R A
    if settings.top_k is not None:
        ranked[:, min(settings.top_k, ranked.shape[1]) :] = -torch.inf
    probs = ranked.softmax(dim=1)  # R A
    if settings.top_p is not None:
        before = probs.cumsum(dim=1) - probs  # R A
        probs = probs.masked_fill(before >= settings.top_p, 0.0)
    cumulative = probs.cumsum(dim=1)  # R A
    wanted = drawn.unsqueeze(1) * cumulative[:, -1:]  # R 1
    place = torch.searchsorted(cumulative, wanted, right=True)  # R 1
    last = (probs > 0).sum(dim=1, keepdim=True) - 1  # R 1   rounding must not choose an action without probability
    return actions.gather(1, place.minimum(last).clamp(min=0)).squeeze(1)


def _hypothesis(trail: Trail, state: SearchState, settings: SamplingSettings, row: int) -> Hypothesis:
    actions, log_probs = trail.back(row)
    log_prob = math.fsum(log_probs)
    score = settings.normalisation.score(log_prob, len(actions), int(state.pieces_written[row]))
    return Hypothesis(tuple(actions), tuple(log_probs), log_prob, score, bool(state.cut_short[row]))

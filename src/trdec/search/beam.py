"""Beam search over derivations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from trdec.data.batch import SourceBatch
from trdec.errors import SearchError, UsageError
from trdec.model.interfaces import SearchModel
from trdec.search.frontiers import STEPS, Effects
from trdec.search.limits import LengthLimits, Normalisation
from trdec.search.state import Constraint, SearchState

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

    def append(self, origins: Tensor, actions: Tensor, log_probs: Tensor) -> None:
        """Add a step: the row each row came from, its action and that action's log-probability."""
        self._steps.append((origins.cpu().numpy(), actions.cpu().numpy(), log_probs.cpu().numpy()))

    def back(self, row: int) -> tuple[list[int], list[float]]:
        """The actions that lead to a row of the latest step, first to last, and their log-probabilities."""
        return self.back_from(len(self._steps), row)

    def back_from(self, steps: int, row: int) -> tuple[list[int], list[float]]:
        """The actions that lead to the row with this index after `steps` steps, and their log-probabilities."""
        actions: list[int] = []
        log_probs: list[float] = []
        for origins, taken, scores in reversed(self._steps[:steps]):
            actions.append(int(taken[row]))
            log_probs.append(float(scores[row]))
            row = int(origins[row])
        return actions[::-1], log_probs[::-1]

    def __len__(self) -> int:
        return len(self._steps)


GROUP = 16
"""The size of a group of actions, of which only the best is considered at first."""


def best_continuations(
    totals: Tensor,  # R
    log_probs: Tensor,  # R A
    num_sentences: int,
    count: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """B K each: the greatest sums of total and log-probability among a sentence's rows, their rows and actions.

    Actions are divided into groups. The best K lie in the K groups with the greatest maxima: only these are searched.
    """
    num_rows, num_actions = log_probs.shape
    num_groups = -(-num_actions // GROUP)
    # Group g holds the actions g, g + G, g + 2 G and so on; the last few groups have one fewer.
    whole = num_actions // num_groups * num_groups
    greatest = log_probs[:, :whole].view(num_rows, -1, num_groups).amax(dim=1)  # R G
    rest = num_actions - whole
    torch.maximum(greatest[:, :rest], log_probs[:, whole:], out=greatest[:, :rest])
    greatest += totals.unsqueeze(1)
    grouped = greatest.view(num_sentences, -1)  # B K*G
    groups = grouped.topk(min(count, grouped.shape[1]), dim=1).indices  # B k
    first_rows = torch.arange(num_sentences, device=totals.device).unsqueeze(1) * (num_rows // num_sentences)  # B 1
    rows = (first_rows + groups // num_groups).unsqueeze(2)  # B k 1
    steps = torch.arange(0, GROUP * num_groups, num_groups, device=totals.device)
    actions = (groups % num_groups).unsqueeze(2) + steps  # B k g
    beyond = actions >= num_actions
    actions.masked_fill_(beyond, 0)
    scores = (totals[rows] + log_probs[rows, actions]).masked_fill_(beyond, -torch.inf).flatten(1)  # B k*g
    best, places = scores.topk(count, dim=1)  # B K
    return best, rows.squeeze(2).gather(1, places // GROUP), actions.flatten(1).gather(1, places)


@dataclass(frozen=True, slots=True)
class BeamSettings:
    """How wide to search, for how many derivations, and how they are compared."""

    beam_size: int = 5
    n_best: int = 1
    normalisation: Normalisation = field(default_factory=Normalisation)
    limits: LengthLimits = field(default_factory=LengthLimits)
    early_termination: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.n_best <= self.beam_size <= MAX_WIDTH:
            raise UsageError(
                f"expected a `beam_size` from 1 to {MAX_WIDTH:,} and an `n_best` from 1 to that, found "
                f"beam_size {self.beam_size} and n_best {self.n_best}."
            )


@dataclass(frozen=True, slots=True)
class _Finished:
    """A derivation that ended: it was `row` after `steps` actions, and EOS came next."""

    score: float
    log_prob: float
    steps: int
    row: int
    last_action: int
    last_log_prob: float
    truncated: bool


@torch.inference_mode()
def beam_search(
    model: SearchModel,
    effects: Effects,
    source: SourceBatch,
    settings: BeamSettings,
    constraints: Sequence[Constraint] = (),
    numbers: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """For each sentence, the `n_best` highest-scoring derivations found, best first.

    The beam of a sentence has `beam_size` places. At each step they go to the best continuations of all its
    hypotheses, by log-probability. A hypothesis that ends keeps its place, so the others continue in fewer places.
    A beam of 1 is greedy search. `numbers` are the sentences' numbers, for error messages.
    """
    bounds = settings.limits.bounds(source.lengths, effects)
    state = SearchState.start(model, effects, source, bounds, constraints)
    finished: list[list[_Finished]] = [[] for _ in range(len(source))]
    trail = Trail()
    totals = torch.zeros(len(source), dtype=torch.float64, device=source.device)  # R
    free = torch.full_like(source.lengths, settings.beam_size)  # B
    while len(state.sentences):
        log_probs, state = state.step()  # R A
        origins, actions, valid = _best(totals, log_probs, free)  # B K
        taken = log_probs[origins, actions].double()  # B K
        totals = torch.where(valid, totals[origins] + taken, -torch.inf)  # B K
        ends = valid & _ends(state, origins, actions)  # B K
        _collect(state, settings, trail, finished, ends, origins, actions, totals, taken)
        free = free - ends.sum(dim=1)  # B
        live = valid & ~ends  # B K
        totals = totals.masked_fill(~live, -torch.inf)  # B K
        done = ~live.any(dim=1) | (free == 0)  # B
        if settings.early_termination and any(finished):
            done |= _decided(state, settings, finished, totals)
        _require_results(state, finished, done, numbers or range(len(source)))

        if bool(done.all()):
            break
        # Live hypotheses move to the front, so that the batch is as narrow as the widest sentence needs.
        kept = (~done).nonzero().squeeze(1)  # B'
        live, totals, free = live[kept], totals[kept], free[kept]  # B' K, B' K, B'
        width = int(live.sum(dim=1).max())
        order = live.long().argsort(dim=1, descending=True, stable=True)[:, :width]  # B' K'
        rows = origins[kept].gather(1, order).flatten()  # R'
        chosen = actions[kept].gather(1, order).flatten()  # R'
        totals = totals.gather(1, order).flatten()  # R'
        trail.append(rows, chosen, taken[kept].gather(1, order).flatten())
        state = state.take(rows, chosen, kept if len(kept) < len(done) else None)
    return [_n_best(trail, candidates, settings.n_best) for candidates in finished]


def _best(totals: Tensor, log_probs: Tensor, free: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """B K each: row and action of the best continuations, best first, and whether each exists and has a place."""
    count = min(int(free.max()), log_probs.numel() // len(free))
    best, rows, actions = best_continuations(totals.to(log_probs.dtype), log_probs, len(free), count)  # B K
    valid = best.isfinite() & (torch.arange(count, device=free.device) < free.unsqueeze(1))  # B K
    return rows, actions, valid


def _ends(state: SearchState, origins: Tensor, actions: Tensor) -> Tensor:
    """B K: whether the derivation is complete after the action."""
    needs = state.frontiers.needs_below[origins, STEPS] + state.effects.needs_after[actions, STEPS]
    return needs == 0


def _collect(
    state: SearchState,
    settings: BeamSettings,
    trail: Trail,
    finished: list[list[_Finished]],
    ends: Tensor,
    origins: Tensor,
    actions: Tensor,
    totals: Tensor,
    taken: Tensor,
) -> None:
    """Add the derivations that end here to `finished`."""
    for place, column in ends.nonzero().tolist():
        row, action = int(origins[place, column]), int(actions[place, column])
        log_prob = float(totals[place, column])
        score = settings.normalisation.score(log_prob, len(trail) + 1, int(state.pieces_written[row]))
        finished[int(state.sentences[place])].append(
            _Finished(score, log_prob, len(trail), row, action, float(taken[place, column]), bool(state.cut_short[row]))
        )


def _decided(state: SearchState, settings: BeamSettings, finished: list[list[_Finished]], totals: Tensor) -> Tensor:
    """B: whether no live hypothesis can outrank the `n_best` already found."""
    worst = [
        sorted((found.score for found in finished[number]), reverse=True)[settings.n_best - 1]
        if len(finished[number]) >= settings.n_best
        else -torch.inf
        for number in state.sentences.tolist()
    ]
    best = settings.normalisation.bound(totals.amax(dim=1), state.bounds.high[:, STEPS])  # B
    return torch.tensor(worst, dtype=torch.float64, device=totals.device) >= best


def _require_results(state: SearchState, finished: list[list[_Finished]], done: Tensor, numbers: Sequence[int]) -> None:
    for number in state.sentences[done].tolist():
        if not finished[number]:
            raise SearchError(numbers[number])


def _n_best(trail: Trail, candidates: list[_Finished], count: int) -> list[Hypothesis]:
    """The best candidates, best first; of equals, the one that ended first comes first."""
    hypotheses = []
    for found in sorted(candidates, key=lambda candidate: -candidate.score)[:count]:
        actions, log_probs = trail.back_from(found.steps, found.row)
        hypotheses.append(
            Hypothesis(
                (*actions, found.last_action),
                (*log_probs, found.last_log_prob),
                found.log_prob,
                found.score,
                found.truncated,
            )
        )
    return hypotheses

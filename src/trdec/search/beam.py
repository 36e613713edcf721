"""Beam search over derivations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from trdec.data.batch import SourceBatch
from trdec.errors import SearchError, UsageError
from trdec.model.interfaces import SearchModel
from trdec.search.frontiers import STEPS, Effects
from trdec.search.hypotheses import MAX_WIDTH, Finished, Hypothesis, Trail
from trdec.search.limits import LengthLimits, Normalisation
from trdec.search.state import Constraint, SearchState

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
    merge: bool = False
    """Whether derivations that write the same pieces are one translation, with the sum of their probabilities."""

    def __post_init__(self) -> None:
        if not 1 <= self.n_best <= self.beam_size <= MAX_WIDTH:
            raise UsageError(
                f"expected a `beam_size` from 1 to {MAX_WIDTH:,} and an `n_best` from 1 to that, found "
                f"beam_size {self.beam_size} and n_best {self.n_best}."
            )


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
    found = dict(
        pair for group in beam_search_ends(model, effects, source, settings, constraints, numbers) for pair in group
    )
    return [found[number] for number in range(len(source))]


@torch.inference_mode()
def beam_search_ends(
    model: SearchModel,
    effects: Effects,
    source: SourceBatch,
    settings: BeamSettings,
    constraints: Sequence[Constraint] = (),
    numbers: Sequence[int] | None = None,
) -> Iterator[list[tuple[int, list[Hypothesis]]]]:
    """What `beam_search` finds for each sentence, with its place in the batch, as soon as its search ends.

    Sentences whose searches end at the same step come together.
    """
    bounds = settings.limits.bounds(source.text_lengths, effects)
    state = SearchState.start(model, effects, source, bounds, constraints)
    finished = Finished(
        len(source), settings.n_best, settings.normalisation, effects.texts() if settings.merge else None
    )
    trail = Trail()
    totals = torch.zeros(len(source), dtype=torch.float64, device=source.device)  # R
    free = torch.full_like(source.lengths, settings.beam_size)  # B
    while state.sentences.shape[0]:
        log_probs, state = state.step()  # R A
        origins, actions, valid = _best(totals, log_probs, free)  # B K
        taken = log_probs[origins, actions].double()  # B K
        totals = torch.where(valid, totals[origins] + taken, -torch.inf)  # B K
        ends = valid & _ends(state, origins, actions)  # B K
        _collect(state, trail, finished, ends, origins, actions, taken)
        free = free - ends.sum(dim=1)  # B
        live = valid & ~ends  # B K
        totals = totals.masked_fill(~live, -torch.inf)  # B K
        done = ~live.any(dim=1) | (free == 0)  # B
        if settings.early_termination:
            done |= finished.decided(state.sentences, totals, state.bounds.high[:, STEPS])
        ending = state.sentences[done].tolist()
        _require_results(ending, finished, numbers or range(len(source)))
        if ending:
            yield [(number, finished.best(number)) for number in ending]
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
        state = state.take(rows, chosen, kept if kept.shape[0] < done.shape[0] else None)


def _best(totals: Tensor, log_probs: Tensor, free: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """B K each: row and action of the best continuations, best first, and whether each exists and has a place."""
    count = min(int(free.max()), log_probs.numel() // free.shape[0])
    best, rows, actions = best_continuations(totals.to(log_probs.dtype), log_probs, free.shape[0], count)  # B K
    valid = best.isfinite() & (torch.arange(count, device=free.device) < free.unsqueeze(1))  # B K
    return rows, actions, valid


def _ends(state: SearchState, origins: Tensor, actions: Tensor) -> Tensor:
    """B K: whether the derivation is complete after the action."""
    needs = state.frontiers.needs_below[origins, STEPS] + state.effects.needs_after[actions, STEPS]
    return needs == 0


def _collect(
    state: SearchState, trail: Trail, finished: Finished, ends: Tensor, origins: Tensor, actions: Tensor, taken: Tensor
) -> None:
    """Add the derivations that end here to what is finished."""
    for place, column in ends.nonzero().tolist():
        row, action = int(origins[place, column]), int(actions[place, column])
        before, log_probs = trail.back(row)
        finished.add(
            int(state.sentences[place]),
            (*before, action),
            (*log_probs, float(taken[place, column])),
            int(state.pieces_written[row]),
            bool(state.cut_short[row]),
        )


def _require_results(ending: Sequence[int], finished: Finished, numbers: Sequence[int]) -> None:
    for number in ending:
        if not finished.has(number):
            raise SearchError(numbers[number])

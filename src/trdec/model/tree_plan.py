"""Which steps of a batch feed which, worked out before the tree recurrence runs."""

from __future__ import annotations

import torch
from torch import Tensor

from trdec.data.batch import Batch
from trdec.model.packing import Packing


class ReferencedStates:
    """The rule states that some steps take as their parent's, numbered from 1 in packed order; 0 is the zero vector.

    A state that many children refer to is projected once, at the step that makes it; one without children never.
    """

    def __init__(self, parent_places: Tensor, has_parent: Tensor, packing: Packing) -> None:
        self.places = parent_places[has_parent].unique()  # type: ignore[no-untyped-call] # Q   sorted
        numbers = torch.searchsorted(self.places, parent_places) + 1
        self.numbers = torch.where(has_parent, numbers, 0)  # one for each step asked for
        bounds = torch.searchsorted(self.places, packing.starts)  # T+1
        self.bounds: list[int] = bounds.tolist()
        self.rows = packing.rows[self.places]  # Q

    def __len__(self) -> int:
        return len(self.places)

    def made_at(self, step: int) -> tuple[slice, Tensor]:
        """The numbers of the states that a step makes, and their sorted rows."""
        begin, end = self.bounds[step], self.bounds[step + 1]
        return slice(1 + begin, 1 + end), self.rows[begin:end]


class TreePlan:
    """The steps of a batch of derivations as the tree recurrence visits them.

    The word RNN's steps are packed places of their own. Its tables begin with a start state for each sorted row;
    `latest` gives, for each place, the table row of the most recent word state up to it, and `word_before`, for each
    step of the word RNN, that of the one before it.
    """

    def __init__(self, batch: Batch, word_symbols: Tensor, start_action: int) -> None:
        packing = Packing((~batch.padding).sum(dim=1))
        num_rows, num_steps = len(packing.order), len(packing.counts)
        device = batch.actions.device
        actions = packing.pack(batch.actions)  # N
        is_word = word_symbols[packing.pack(batch.symbols)]  # N
        parents = packing.pack(batch.parents)  # N

        self.packing = packing
        self.num_rows = num_rows
        self.word_places = is_word.nonzero().squeeze(1)  # W
        self.word_rows = packing.rows[self.word_places]  # W
        self.word_sentences: list[int] = packing.sequences[self.word_places].tolist()
        self.word_bounds: list[int] = torch.searchsorted(self.word_places, packing.starts).tolist()
        self.sentences: list[int] = packing.order.tolist()

        made = torch.zeros(num_rows, num_steps, dtype=torch.long, device=device)  # B T   sorted rows
        num_words = len(self.word_places)
        made[self.word_rows, packing.steps[self.word_places]] = num_rows + torch.arange(num_words, device=device)
        starts = torch.arange(num_rows, device=device).unsqueeze(1)  # B 1
        # Word places are numbered step by step, so within a row the latest is the largest.
        latest = torch.cat([starts, made], dim=1).cummax(dim=1).values  # B T+1
        self.latest = latest[packing.rows, packing.steps + 1]  # N
        self.word_before = latest[packing.rows, packing.steps][self.word_places]  # W

        # The action before each place, and the last one that the word RNN generated before each of its steps.
        previous = batch.actions.new_full((num_rows, batch.actions.shape[1]), start_action)  # B T
        previous[:, 1:] = batch.actions[:, :-1]
        self.rule_tokens = packing.pack(previous)  # N
        starting = actions.new_full((num_rows,), start_action)  # B
        self.word_tokens = torch.cat([starting, actions[self.word_places]])[self.word_before]  # W

        has_parent = parents > 0  # N
        parent_places = packing.place(packing.rows, (parents - 1).clamp(min=0))  # N
        self.rule_parents = ReferencedStates(parent_places, has_parent, packing)
        self.word_parents = ReferencedStates(parent_places[self.word_places], has_parent[self.word_places], packing)

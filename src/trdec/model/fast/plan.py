"""Ragged batches without padding, and which of their steps feed which, worked out before a recurrence runs."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from trdec.data.batch import Batch
from trdec.model.fast.source_table import Readers


class Packing:
    """The places of a ragged batch, step by step, longest sequences first.

    Step t holds the sequences that have a step t: the first `counts[t]` of the sorted sequences. A sequence that has
    ended is therefore dropped by taking a shorter view, and what precedes a row of step t is the same row of step
    t - 1. The places of step t begin at `offsets[t]`.
    """

    def __init__(self, lengths: Tensor) -> None:
        device = lengths.device
        self.order = torch.argsort(lengths, descending=True, stable=True)  # B   sorted row -> sequence
        self.lengths = lengths[self.order]  # B
        num_steps = int(self.lengths[0])
        grid = torch.arange(num_steps, device=device).unsqueeze(1) < self.lengths  # T B
        self.steps, self.rows = grid.nonzero(as_tuple=True)  # N
        self.counts: list[int] = grid.sum(1).tolist()
        self.starts = torch.zeros(num_steps + 1, dtype=torch.long, device=device)  # T+1
        self.starts[1:] = grid.sum(1).cumsum(0)
        self.offsets: list[int] = self.starts.tolist()
        self.size = self.offsets[-1]
        self.sequences = self.order[self.rows]  # N

    def place(self, rows: Tensor, steps: Tensor) -> Tensor:
        """The places of these steps of these sorted rows."""
        return self.starts[steps] + rows

    def places_in(self, num_steps: int) -> Tensor:
        """N: where each place is in a padded batch of `num_steps` steps, flattened."""
        return self.sequences * num_steps + self.steps

    def pack(self, padded: Tensor) -> Tensor:
        """B T ... -> N ..."""
        return padded.flatten(0, 1).index_select(0, self.places_in(padded.shape[1]))

    def unpack(self, packed: Tensor, num_steps: int) -> Tensor:
        """N ... -> B T ..., zero at padding."""
        num_sequences = len(self.order)
        flat = packed.new_zeros(num_sequences * num_steps, *packed.shape[1:])
        flat = flat.index_copy(0, self.places_in(num_steps), packed)
        return flat.view(num_sequences, num_steps, *packed.shape[1:])  # B T ...

    def last_places(self) -> Tensor:
        """The last place of each sorted row."""
        return self.place(torch.arange(len(self.order), device=self.order.device), self.lengths - 1)  # B


def embed_tokens(embedding: Tensor, groups: list[tuple[Tensor, Tensor | None]]) -> list[tuple[Tensor, Tensor]]:
    """For each group of tokens N and its dropout mask N E: rows M E, and the row of each of the N places.

    Without dropout, each distinct token has one row; with it, every place has its own. All groups are looked up at
    once, so that the table's gradient is computed once.
    """
    distinct, places = [], []
    for tokens, mask in groups:
        if mask is None:
            tokens, numbers = tokens.unique(return_inverse=True)  # type: ignore[no-untyped-call] # M, N
        else:
            numbers = torch.arange(len(tokens), device=tokens.device)  # N
        distinct.append(tokens)
        places.append(numbers)
    rows = functional.embedding(torch.cat(distinct), embedding).split_with_sizes(list(map(len, distinct)))  # M E each
    masked = [part if mask is None else part * mask for part, (_, mask) in zip(rows, groups, strict=True)]
    return list(zip(masked, places, strict=True))


Rows = slice | Tensor
"""Rows of a table: a slice where they are adjacent, an index where they are not."""


class Visit(NamedTuple):
    """One step of an RNN: the places it fills, and the rows of their previous states in the RNN's tables.

    A table begins with a start state for each sorted row of the batch, followed by a row for each place.
    """

    begin: int
    end: int
    previous: Rows  # n   table rows
    rows: Rows  # n   sorted rows of the batch
    readers: Readers  # n   the sentence of each row


class ReferencedStates:
    """The rule states that are the parent of some step, numbered from 1 in packed order; 0 is the zero vector.

    A state with several children is projected once, at the step that makes it; one without children, never.
    """

    def __init__(self, parent_places: Tensor, has_parent: Tensor, packing: Packing) -> None:
        self.places = parent_places[has_parent].unique()  # type: ignore[no-untyped-call] # Q   sorted
        numbers = torch.searchsorted(self.places, parent_places) + 1
        self.numbers = torch.where(has_parent, numbers, 0)  # one for each of the given steps
        bounds = torch.searchsorted(self.places, packing.starts)  # T+1
        self.bounds: list[int] = bounds.tolist()
        self.rows = packing.rows[self.places]  # Q

    def __len__(self) -> int:
        return len(self.places)

    def made_at(self, step: int) -> tuple[slice, Tensor]:
        """The numbers of the referenced states that a step makes, and their sorted rows."""
        begin, end = self.bounds[step], self.bounds[step + 1]
        return slice(1 + begin, 1 + end), self.rows[begin:end]


class WordPlan:
    """The steps of a tree decoder's word RNN, which has its own packed places, and the parents of both RNNs' steps.

    `latest` gives, for each place of the batch, the table row of the most recent word state up to and including it.
    """

    def __init__(self, batch: Batch, packing: Packing, word_symbols: Tensor, start_action: int) -> None:
        num_rows, num_steps = len(packing.order), len(packing.counts)
        device = batch.actions.device
        actions = packing.pack(batch.actions)  # N
        parents = packing.pack(batch.parents)  # N
        places = word_symbols[packing.pack(batch.symbols)].nonzero().squeeze(1)  # W
        self.places = places
        self.rows = packing.rows[places]  # W
        self.sentences = packing.sequences[places]  # W

        made = torch.zeros(num_rows, num_steps, dtype=torch.long, device=device)  # B T   sorted rows
        made[self.rows, packing.steps[places]] = num_rows + torch.arange(len(places), device=device)
        starts = torch.arange(num_rows, device=device).unsqueeze(1)  # B 1
        # Word places are numbered step by step, so within a row the latest is the largest.
        latest = torch.cat([starts, made], dim=1).cummax(dim=1).values  # B T+1
        self.latest = latest[packing.rows, packing.steps + 1]  # N
        self.before = latest[packing.rows, packing.steps][places]  # W

        # The last action that the word RNN generated before each of its steps.
        starting = actions.new_full((num_rows,), start_action)  # B
        self.tokens = torch.cat([starting, actions[places]])[self.before]  # W

        has_parent = parents > 0  # N
        parent_places = packing.place(packing.rows, (parents - 1).clamp(min=0))  # N
        self.rule_parents = ReferencedStates(parent_places, has_parent, packing)
        self.word_parents = ReferencedStates(parent_places[places], has_parent[places], packing)

        sentences: list[int] = self.sentences.tolist()
        bounds: list[int] = torch.searchsorted(places, packing.starts).tolist()
        self.visits: list[Visit] = []
        for begin, end in pairwise(bounds):
            here = slice(begin, end)
            readers = Readers(self.sentences[here], sentences[here])
            self.visits.append(Visit(begin, end, self.before[here], self.rows[here], readers))


class StepPlan:
    """The steps of a batch as a recurrence visits them; `words` has those of the word RNN, if there is one."""

    def __init__(self, batch: Batch, start_action: int, word_symbols: Tensor | None) -> None:
        self.packing = packing = Packing((~batch.padding).sum(dim=1))
        self.num_rows = len(packing.order)
        previous = torch.full_like(batch.actions, start_action)  # B T
        previous[:, 1:] = batch.actions[:, :-1]
        self.tokens = packing.pack(previous)  # N   the action before each place
        self.words = None if word_symbols is None else WordPlan(batch, packing, word_symbols, start_action)
        self.visits = visits_of(packing)

    @property
    def before(self) -> Tensor:
        """N: the table row of each place's previous state."""
        return rows_before(self.packing)


def visits_of(packing: Packing) -> list[Visit]:
    """A visit for each step of the packing."""
    sentences: list[int] = packing.order.tolist()
    num_rows, before, visits = len(sentences), 0, []
    for count, begin in zip(packing.counts, packing.offsets, strict=False):
        previous = slice(before, before + count)
        rows = slice(0, count)
        readers = Readers(packing.order[:count], sentences[:count])
        visits.append(Visit(begin, begin + count, previous, rows, readers))
        before = num_rows + begin
    return visits


def rows_before(packing: Packing) -> Tensor:
    """N: the row of each place's previous state, in tables that begin with B start states."""
    before = len(packing.order) + packing.place(packing.rows, packing.steps - 1)
    return torch.where(packing.steps == 0, packing.rows, before)


def take(table: Tensor, rows: Rows) -> Tensor:
    """These rows of the table; `index_select` copies whole rows several times as fast as `[]`."""
    return table[rows] if isinstance(rows, slice) else table.index_select(0, rows)

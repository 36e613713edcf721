"""Ragged sequences without padding, and the embeddings of their tokens."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


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

"""Ragged sequences without padding."""

from __future__ import annotations

import torch
from torch import Tensor


class Packing:
    """The places of a ragged batch, step by step, longest sequences first.

    Step t holds the sequences that have a step t. These are the first `counts[t]` of the sorted sequences, so a
    sequence that has ended drops out by taking a shorter view, and the row before place p of step t is the same
    row of step t - 1. Places of step t begin at `offsets[t]`.
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

    def pack(self, padded: Tensor) -> Tensor:
        """B T ... -> N ..."""
        return padded.flatten(0, 1).index_select(0, self.sequences * padded.shape[1] + self.steps)

    def unpack(self, packed: Tensor, num_steps: int) -> Tensor:
        """N ... -> B T ..., zero at padding."""
        num_sequences = len(self.order)
        flat = packed.new_zeros(num_sequences * num_steps, *packed.shape[1:])
        flat = flat.index_copy(0, self.sequences * num_steps + self.steps, packed)
        return flat.view(num_sequences, num_steps, *packed.shape[1:])  # B T ...

    def last_places(self) -> Tensor:
        """The last place of each sorted row."""
        return self.place(torch.arange(len(self.order), device=self.order.device), self.lengths - 1)  # B

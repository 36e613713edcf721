"""What the states that rules made contribute to their children."""

from __future__ import annotations

import torch
from torch import Tensor

from trdec.model.history import History


class Parents:
    """The share that states of a history have in one RNN's gates: projected when first asked for, and kept.

    Most states that a search makes are dropped with their hypothesis before they have a child.
    """

    def __init__(self, states: History, columns: Tensor) -> None:  # H 4H
        self._states = states
        self._columns = columns
        self._projected = History(columns.new_empty(0, columns.shape[1]))
        self._places = torch.zeros(1, dtype=torch.long, device=columns.device)  # by address; 0 = not yet

    def gates(self, addresses: Tensor) -> Tensor:
        """n 4H: what the parents at these addresses n add to the gates."""
        if len(self._places) < len(self._states):
            self._places = torch.cat([self._places, self._places.new_zeros(2 * len(self._states))])
        new = torch.unique(addresses[(self._places[addresses] == 0) & (addresses != 0)])  # m
        if len(new):
            self._places[new] = self._projected.append(self._states.at(new) @ self._columns)
        return self._projected.at(self._places[addresses])

    def __len__(self) -> int:
        """How many have been projected."""
        return len(self._projected) - 1

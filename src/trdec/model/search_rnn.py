"""One LSTM with attention, as a search steps it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from trdec.model.attention import Attention
from trdec.model.lstm_cell import LSTMCell
from trdec.model.memory import Memory
from trdec.model.row_attention import Sight
from trdec.model.row_spacing import turned


@dataclass(frozen=True)
class RNNRows:
    """What an LSTM leaves behind after a step besides its hidden states."""

    cell: Tensor  # R H
    seen: Tensor  # R X   what attention saw: its share in the next step's gates, 4H, then in the features

    def merged(self, rows: Tensor, places: Tensor, new: RNNRows, new_places: Tensor) -> RNNRows:
        """These rows m of R at their places, and new ones at theirs: places of R' rows."""

        def merge(old: Tensor, changed: Tensor) -> Tensor:
            table = old.new_empty(len(places) + len(new_places), old.shape[1])  # R' ...
            table.index_copy_(0, places, old.index_select(0, rows))
            return table.index_copy_(0, new_places, changed)

        return RNNRows(merge(self.cell, new.cell), merge(self.seen, new.seen))


class SearchRNN:
    """The weights of an LSTM with attention, arranged for steps of many rows without gradients."""

    def __init__(
        self,
        cell: LSTMCell,
        attention: Attention,
        embedding: Tensor,  # A+1 E
        state_weight: Tensor,  # 4H K   what multiplies the states before
        readout_weight: Tensor,  # F C   what multiplies the context in the readout
    ) -> None:
        parts = cell.input_weights
        self.size = cell.hidden_size
        self._attention = attention
        self._actions = functional.linear(embedding, parts["action"], cell.bias)  # A+1 4H
        self._states = turned(state_weight)  # K 4H
        self._shown = torch.cat([parts["context"], readout_weight])  # 4H+F C

    def sight(self, memory: Memory) -> Sight:
        """The source as this RNN looks at it."""
        states, lengths = memory.packed_states(), memory.lengths.tolist()  # sum(S) C
        keys = self._attention.keys(states)  # sum(S) H
        comparison = self._attention.comparison(keys)
        return Sight(
            comparison,
            comparison.keys.split_with_sizes(lengths),
            functional.linear(states, self._shown).split_with_sizes(lengths),
        )

    def start(self, cell: Tensor) -> RNNRows:
        """Before the first step nothing is seen."""
        return RNNRows(cell, cell.new_zeros(len(cell), len(self._shown)))

    def gates(self, states: Tensor, seen: Tensor, rows: Tensor, actions: Tensor) -> Tensor:
        """n 4H: what the states R K before, what was seen and the actions n add, for these rows n of R.

        Hypotheses that continue the same one share its products.
        """
        distinct, place = torch.unique(rows, return_inverse=True)  # m, n
        shared = seen.index_select(0, distinct)  # m X
        shared[:, : 4 * self.size].addmm_(states.index_select(0, distinct), self._states)
        gates = shared.index_select(0, place)[:, : 4 * self.size]  # n 4H
        return gates.add_(self._actions.index_select(0, actions))

    def advance(self, gates: Tensor, cell: Tensor, sight: Sight, counts: list[int]) -> tuple[Tensor, RNNRows]:
        """The hidden states n H, and the rest; gates n 4H are overwritten."""
        gates[:, : 3 * self.size].sigmoid_()
        i, f, o, g = gates.chunk(4, dim=1)  # n H each
        cell = (f * cell).addcmul_(i, g.tanh_())  # n H
        hidden = cell.tanh().mul_(o)  # n H
        return hidden, RNNRows(cell, sight.look(hidden, counts))

"""The sequence decoder's step as a search takes it: what `SequenceDecoder.step` defines, computed with less."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trdec.model.memory import Memory
from trdec.model.search_memory import SearchMemory
from trdec.model.search_rnn import RNNRows, SearchRNN
from trdec.model.sequence_decoder import SequenceDecoder


@dataclass(frozen=True)
class SequenceStepperState:
    """The LSTM after a step of R rows, of which R' go on: each continues one of them, its origin."""

    states: Tensor  # R H
    rnn: RNNRows
    origins: Tensor  # R'
    here: Tensor  # R'

    def select(self, rows: Tensor) -> SequenceStepperState:
        """These rows in this order; the step that follows copies what it needs."""
        return replace(self, origins=self.origins[rows], here=self.here[rows])


class SequenceStepper:
    """Steps of a sequence decoder with the weights that it had when this was made, without gradients or dropout."""

    def __init__(self, decoder: SequenceDecoder, output_columns: list[Tensor]) -> None:
        self.output_columns = output_columns  # F a each
        self._decoder = decoder
        self._readout = decoder.readout.split()
        self._rnn = SearchRNN(
            decoder.cell,
            decoder.attention,
            decoder.embedding.weight,
            decoder.cell.hidden_weight,
            *self._readout.contexts,
        )

    def prepare(self, memory: Memory) -> SearchMemory:
        """What all steps share of the source."""
        return SearchMemory(self, self._decoder.start_state(memory), (self._rnn.sight(memory),))

    def start(self, memory: SearchMemory) -> SequenceStepperState:
        """The state before the first step, one row a sentence."""
        states, cell = memory.starts  # B H
        numbers = torch.arange(len(states), device=states.device)  # B
        return SequenceStepperState(states, self._rnn.start(cell), numbers, torch.zeros_like(numbers))

    def step(
        self,
        state: SequenceStepperState,
        memory: SearchMemory,
        previous: Tensor,  # R
        symbols: Tensor,  # noqa: ARG002  R   a sequence knows no open symbols
        parents: Tensor,  # noqa: ARG002  R   nor parents
    ) -> tuple[Tensor, SequenceStepperState]:
        """Features R F of the next action, and the state after it."""
        rows, num_sentences = state.origins, len(memory.starts[0])
        gates = self._rnn.gates(state.states, state.rnn.seen, rows, previous)  # R 4H
        cell = state.rnn.cell.index_select(0, rows)  # R H
        counts = [len(rows) // num_sentences] * num_sentences
        states, rnn = self._rnn.advance(gates, cell, memory.sights[0], counts)  # R H
        features = self._readout.features(states, rnn.seen[:, 4 * self._rnn.size :])  # R F
        numbers = torch.arange(len(rows), device=rows.device)  # R
        return features, SequenceStepperState(states, rnn, numbers, torch.zeros_like(numbers))

"""A decoder's own step as search runs it, with the softmax's weights laid out once."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from trdec.data.batch import SourceBatch
from trdec.model.fast.compiled import kernels_for
from trdec.model.interfaces import AnyDecoder, DecoderState, Encoder, Memory
from trdec.model.softmax import ActionSoftmax


class SteppingSearch:
    """A search model with a copy of a decoder's weights, so that training on does not change it."""

    @torch.no_grad()
    def __init__(self, decoder: AnyDecoder, encoder: Encoder, softmax: ActionSoftmax, output_matrix: Tensor) -> None:
        self.num_actions = len(output_matrix)
        self._decoder = copy.deepcopy(decoder)
        self._encoder = encoder
        self._softmax = softmax
        matrix = kernels_for(output_matrix).matrix
        self._columns = [matrix(columns.clone()) for columns in softmax.columns(output_matrix.detach())]  # F a

    @torch.no_grad()
    def encode(self, source: SourceBatch) -> Memory:
        """The memory of the sources."""
        memory: Memory = self._decoder.prepare(self._encoder(source))
        return memory

    def start(self, memory: Memory) -> DecoderState:
        """The state before the first step, one row per sentence."""
        state: DecoderState = self._decoder.start(memory)
        return state

    @torch.no_grad()
    def step(
        self, state: DecoderState, memory: Memory, previous: Tensor, symbols: Tensor, parents: Tensor
    ) -> tuple[Tensor, DecoderState]:
        """Log-probabilities R A of the next action, and the state after it."""
        features, state = self._decoder.step(state, memory, previous, symbols, parents)  # R F
        return self._softmax.log_probs(self._columns, features, symbols), state

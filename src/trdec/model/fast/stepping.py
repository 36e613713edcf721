"""A decoder's own step as search runs it, with the softmax's weights laid out once."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from trdec.data.batch import SourceBatch
from trdec.model.fast.compiled import kernels_for
from trdec.model.interfaces import AnyDecoder, DecoderState, Encoder
from trdec.model.lexical import LexicalFeatures, ModelMemory
from trdec.model.softmax import ActionSoftmax


class SteppingSearch:
    """A search model with a copy of a decoder's weights, so that training on does not change it."""

    @torch.no_grad()
    def __init__(
        self,
        decoder: AnyDecoder,
        encoder: Encoder,
        lexical: LexicalFeatures | None,
        softmax: ActionSoftmax,
        output_matrix: Tensor,
    ) -> None:
        self.num_actions = len(output_matrix)
        self._decoder = copy.deepcopy(decoder)
        self._encoder = encoder
        self._lexical = copy.deepcopy(lexical)
        self._softmax = softmax
        matrix = kernels_for(output_matrix).matrix
        self._columns = [matrix(columns.clone()) for columns in softmax.columns(output_matrix.detach())]  # F a

    @torch.no_grad()
    def encode(self, source: SourceBatch) -> ModelMemory:
        """The memory of the sources."""
        encoding = self._encoder(source)
        meanings = None if self._lexical is None else self._lexical.meanings(encoding)
        return ModelMemory(self._decoder.prepare(encoding), meanings)

    def start(self, memory: ModelMemory) -> DecoderState:
        """The state before the first step, one row per sentence."""
        state: DecoderState = self._decoder.start(memory.decoder)
        return state

    @torch.no_grad()
    def step(
        self, state: DecoderState, memory: ModelMemory, previous: Tensor, symbols: Tensor, parents: Tensor
    ) -> tuple[Tensor, DecoderState]:
        """Log-probabilities R A of the next action, and the state after it."""
        features, state = self._decoder.step(state, memory.decoder, previous, symbols, parents)  # R F
        if self._lexical is not None and memory.meanings is not None:
            features = features + self._lexical(memory.meanings, state.attention)  # R F
        return self._softmax.log_probs(self._columns, features, symbols), state

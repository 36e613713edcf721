"""A model's own step as search runs it, with the softmax's weights laid out once."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from trdec.data.batch import SourceBatch
from trdec.model.fast.compiled import kernels_for
from trdec.model.interfaces import DecoderState
from trdec.model.lexical import ModelMemory

if TYPE_CHECKING:
    from trdec.model.translation_model import TranslationModel


class SteppingSearch:
    """A search model with a copy of a model's weights, so that training on does not change its steps."""

    @torch.no_grad()
    def __init__(self, model: TranslationModel) -> None:
        self.num_actions = model.num_actions
        self._model = copy.deepcopy(model, {id(model.encoder): model.encoder})  # the encoder takes no steps
        matrix = kernels_for(model.output_matrix()).matrix
        self._columns = [matrix(columns.clone()) for columns in model.softmax.columns(model.output_matrix())]  # F a

    @torch.no_grad()
    def encode(self, source: SourceBatch) -> ModelMemory:
        """The memory of the sources."""
        return self._model.encode(source)

    def start(self, memory: ModelMemory) -> DecoderState:
        """The state before the first step, one row per sentence."""
        return self._model.start(memory)

    @torch.no_grad()
    def step(
        self, state: DecoderState, memory: ModelMemory, previous: Tensor, symbols: Tensor, parents: Tensor
    ) -> tuple[Tensor, DecoderState]:
        """Log-probabilities R A of the next action, and the state after it."""
        features, state = self._model.features(state, memory, previous, symbols, parents)  # R F
        return self._model.softmax.log_probs(self._columns, features, symbols), state

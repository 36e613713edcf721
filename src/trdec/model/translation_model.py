"""The whole network: encoder, decoder and softmax."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, Self

import torch
from torch import Tensor, nn

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import Batch, Inventory
from trdec.model.action_softmax import ActionSoftmax
from trdec.model.decoder import State
from trdec.model.dropout import NO_DROPOUT
from trdec.model.encoder import Encoder
from trdec.model.memory import Memory
from trdec.model.search_memory import SearchMemory
from trdec.model.sequence_decoder import SequenceDecoder
from trdec.model.sequence_stepper import SequenceStepper
from trdec.model.tree_decoder import TreeDecoder
from trdec.model.tree_stepper import TreeStepper

DECODERS: dict[str, type[TreeDecoder] | type[SequenceDecoder]] = {"tree": TreeDecoder, "sequence": SequenceDecoder}
STEPPERS: dict[str, type[TreeStepper] | type[SequenceStepper]] = {"tree": TreeStepper, "sequence": SequenceStepper}


@dataclass(frozen=True)
class Loss:
    """What training minimises and what it reports."""

    total: Tensor  # scalar   smoothed, summed over all steps
    negative_log_probs: Tensor  # B T   of the gold actions, not smoothed, 0 at padding


class TranslationModel(nn.Module, Generic[State]):
    """log p(action | source, actions before): what training, search and scoring know of the network."""

    def __init__(
        self,
        configuration: ModelConfiguration,
        inventory: Inventory,
        encoder: str = "lstm",  # noqa: ARG002
        decoder: str = "tree",
    ) -> None:
        super().__init__()
        self.configuration = configuration
        self.decoder_name = decoder
        self.num_actions = inventory.num_actions
        self.encoder = Encoder(configuration, inventory.source_size)
        self.decoder: Any = DECODERS[decoder](configuration, inventory)
        self.softmax = ActionSoftmax(inventory)
        if configuration.tie_embeddings:
            self.register_parameter("output_weight", None)
        else:
            self.output_weight = nn.Parameter(torch.empty(inventory.num_actions, self.decoder.feature_size))
        self._stepper: tuple[tuple[tuple[int, int], ...], TreeStepper | SequenceStepper] | None = None
        INITIALISATIONS[configuration.initialisation](self, configuration.initialisation_range)

    def encode(self, source: Tensor, source_lengths: Tensor) -> Memory | SearchMemory:
        """The memory of sources B S of these lengths B; without gradients, one over which steps are fast."""
        encoded = self.encoder(source, source_lengths)
        decoder = self.decoder if torch.is_grad_enabled() else self._current_stepper()
        memory: Memory | SearchMemory = decoder.prepare(encoded)
        return memory

    def start(self, memory: Memory | SearchMemory) -> State:
        """The decoder's state before the first step, one row a sentence."""
        decoder = memory.stepper if isinstance(memory, SearchMemory) else self.decoder
        state: State = decoder.start(memory)
        return state

    def step(
        self, state: State, memory: Memory | SearchMemory, previous: Tensor, symbols: Tensor, parents: Tensor
    ) -> tuple[Tensor, State]:
        """Log-probabilities R A of the next action, and the state after it."""
        if isinstance(memory, SearchMemory):
            features, state = memory.stepper.step(state, memory, previous, symbols, parents)  # R F
            return self.softmax.log_probs(memory.stepper.output_columns, features, symbols), state
        features, state = self.decoder.step(state, memory, previous, symbols, parents)  # R F
        return self.softmax.log_probs(self.softmax.columns(self._output_weight()), features, symbols), state

    def log_probs(self, batch: Batch) -> Tensor:
        """B T: the log-probability of every gold action, 0 at padding."""
        return -self.loss(batch).negative_log_probs

    def loss(self, batch: Batch, label_smoothing: float = 0.0) -> Loss:
        """The cross-entropy of the batch; smoothing spreads its share evenly over the legal actions."""
        memory = self.decoder.prepare(self.encoder(batch.source, batch.source_lengths))
        dropout = self.decoder.sample_dropout(batch) if self.training else NO_DROPOUT
        features, packing = self.decoder.packed_sequence(memory, batch, dropout)  # N F
        plain, smoothed = self.softmax.losses(
            self._output_weight(),
            features,
            packing.pack(batch.symbols),
            packing.pack(batch.actions),
            label_smoothing,
        )  # N
        return Loss(smoothed.sum(), packing.unpack(plain, batch.actions.shape[1]))

    def train(self, mode: bool = True) -> Self:
        """Turn training on or off; what search prepared from the weights is forgotten, since training changes them.

        Their versions do not always tell: a fused optimiser on the CPU leaves them as they are.
        """
        if mode:
            self._stepper = None
        return super().train(mode)

    def _current_stepper(self) -> TreeStepper | SequenceStepper:
        """The fast way to step, with the present weights."""
        versions = tuple((p.data_ptr(), p._version) for p in self.parameters())
        if self._stepper is None or self._stepper[0] != versions:
            columns = self.softmax.spaced_columns(self._output_weight())
            self._stepper = (versions, STEPPERS[self.decoder_name](self.decoder, columns))
        return self._stepper[1]

    def _output_weight(self) -> Tensor:
        if self.output_weight is None:
            tied: Tensor = self.decoder.embedding.weight[: self.num_actions]  # A F
            return tied
        return self.output_weight


def uniform(model: nn.Module, bound: float) -> None:
    """Draw every parameter from [-bound, bound]."""
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -bound, bound)


def xavier(model: nn.Module, bound: float) -> None:  # noqa: ARG001
    """Draw matrices after Glorot and Bengio (2010), vectors that multiply like a matrix of one row; biases zero."""
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
        else:
            limit = math.sqrt(6 / (1 + len(parameter)))
            nn.init.uniform_(parameter, -limit, limit)


INITIALISATIONS = {"uniform": uniform, "xavier": xavier}

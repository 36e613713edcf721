"""The whole network: encoder, decoder and softmax."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import Batch, Inventory, SourceBatch
from trdec.errors import UsageError
from trdec.extensions import load_extension
from trdec.model.attention import guidance_loss
from trdec.model.dropout import NO_DROPOUT
from trdec.model.encoder import LSTMEncoder
from trdec.model.fast.form import fast_form
from trdec.model.interfaces import (
    AnyDecoder,
    DecoderPass,
    DecoderState,
    Encoder,
    SearchModel,
    SearchPrecision,
    step_through,
)
from trdec.model.lexical import LexicalFeatures, ModelMemory
from trdec.model.sequence_decoder import SequenceDecoder
from trdec.model.softmax import ActionSoftmax
from trdec.model.transformer.decoder import TransformerDecoder
from trdec.model.transformer.encoder import TransformerEncoder
from trdec.model.transformer.tree_decoder import TreeTransformerDecoder
from trdec.model.tree_decoder import TreeDecoder
from trdec.model.tree_encoder import TreeLSTMEncoder

MakeEncoder = Callable[[ModelConfiguration, int], Encoder]
MakeDecoder = Callable[[ModelConfiguration, Inventory, int], AnyDecoder]

ENCODERS: dict[str, MakeEncoder] = {
    "lstm": LSTMEncoder,
    "transformer": TransformerEncoder,
    "tree-lstm": TreeLSTMEncoder,
}
"""From the configuration and the number of source pieces to an encoder, by the name that systems use."""

DECODERS: dict[str, MakeDecoder] = {
    "tree": TreeDecoder,
    "sequence": SequenceDecoder,
    "tree-transformer": TreeTransformerDecoder,
    "transformer": TransformerDecoder,
}
"""From the configuration, the inventory and the size of the encoder's states to a decoder, by name."""


def encoder_called(name: str) -> MakeEncoder:
    """The encoder with this name: a row of the table, or your own class as `module:Class`."""
    return ENCODERS[name] if name in ENCODERS else _own_module(name)


def decoder_called(name: str) -> MakeDecoder:
    """The decoder with this name: a row of the table, or your own class as `module:Class`."""
    return DECODERS[name] if name in DECODERS else _own_module(name)


def _own_module(name: str) -> Any:
    found = load_extension(name)
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        raise UsageError(f"{name}: expected a class that inherits from torch.nn.Module, found {found!r}.")
    return found


@dataclass(frozen=True)
class Loss:
    """What training minimises and what it reports."""

    total: Tensor  # scalar   smoothed, summed over all steps, with what attention costs that strays from its guide
    negative_log_probs: Tensor  # B T   of the gold actions, not smoothed, 0 at padding


class TranslationModel(nn.Module):
    """log p(action | source, earlier actions): the network as training, search and scoring use it.

    `encode`, `start` and `step` are its definition. `loss` computes the same for whole batches, and `for_search`
    returns a model that steps fast with the present weights; both use the decoder's fast form, if it has one.
    """

    def __init__(
        self,
        configuration: ModelConfiguration,
        inventory: Inventory,
        encoder: str = "lstm",
        decoder: str = "tree",
    ) -> None:
        super().__init__()
        self.configuration = configuration
        self.num_actions = inventory.num_actions
        self.encoder: Encoder = encoder_called(encoder)(configuration, inventory.source_size)
        self.decoder: AnyDecoder = decoder_called(decoder)(configuration, inventory, self.encoder.output_size)
        self.softmax = ActionSoftmax(inventory)
        sizes = (configuration.embedding_size, self.decoder.feature_size)
        self.lexical = LexicalFeatures(*sizes, configuration.dropout) if configuration.lexical else None
        if configuration.tie_embeddings:
            self.register_parameter("output_weight", None)
        else:
            self.output_weight = nn.Parameter(torch.empty(inventory.num_actions, self.decoder.feature_size))
        INITIALISATIONS[configuration.initialisation](self, configuration.initialisation_range)
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.reset_parameters()  # scales that are near zero would hide what they scale

    def encode(self, source: SourceBatch) -> ModelMemory:
        """The memory of the sources that the decoder attends to."""
        encoding = self.encoder(source)
        meanings = None if self.lexical is None else self.lexical.meanings(encoding)
        return ModelMemory(self.decoder.prepare(encoding), meanings)

    def start(self, memory: ModelMemory) -> DecoderState:
        """The decoder's state before the first step, one row per sentence."""
        state: DecoderState = self.decoder.start(memory.decoder)
        return state

    def step(
        self, state: DecoderState, memory: ModelMemory, previous: Tensor, symbols: Tensor, parents: Tensor
    ) -> tuple[Tensor, DecoderState]:
        """Log-probabilities R A of the next action, and the state after it."""
        features, state = self.features(state, memory, previous, symbols, parents)  # R F
        return self.softmax.log_probs(self.softmax.columns(self.output_matrix()), features, symbols), state

    def features(
        self, state: DecoderState, memory: ModelMemory, previous: Tensor, symbols: Tensor, parents: Tensor
    ) -> tuple[Tensor, DecoderState]:
        """What the softmax chooses the next action by, R F, and the state after it."""
        features, state = self.decoder.step(state, memory.decoder, previous, symbols, parents)  # R F
        if self.lexical is not None and memory.meanings is not None:
            features = features + self.lexical(memory.meanings, state.attention)  # R F
        return features, state

    def run(self, batch: Batch) -> DecoderPass:
        """The decoder's features and attention at all steps of the batch."""
        encoding = self.encoder(batch.source)
        dropout = self.decoder.sample_dropout(batch) if self.training else NO_DROPOUT
        fast = fast_form(self.decoder)
        found = (
            step_through(self.decoder, encoding, batch, dropout) if fast is None else fast.run(encoding, batch, dropout)
        )
        return found if self.lexical is None else self.lexical.added_to(found, encoding)

    def log_probs(self, batch: Batch) -> Tensor:
        """B T: the log-probability of every gold action, 0 at padding."""
        return -self.loss(batch).negative_log_probs

    def loss(self, batch: Batch, label_smoothing: float = 0.0) -> Loss:
        """The cross-entropy of the batch; for pieces of text, smoothing spreads its share over the legal actions.

        In a batch that guides attention, attention's own cross-entropy is added to what training minimises.
        """
        found = self.run(batch)
        symbols, actions = found.pack(batch.symbols), found.pack(batch.actions)  # N
        plain, smoothed = self.softmax.losses(self.output_matrix(), found.features, symbols, actions, label_smoothing)
        total = smoothed.sum() if batch.guide is None else smoothed.sum() + guidance_loss(found, batch.guide)
        return Loss(total, found.unpack(plain))

    def attention(self, batch: Batch) -> dict[str, Tensor]:
        """B T S by RNN: its attention weights when each action of the batch is chosen, zero where it does not run."""
        found = self.run(batch)
        return {rnn: found.unpack(weights) for rnn, weights in found.attention.items()}

    def for_search(self, precision: SearchPrecision = "float32") -> SearchModel:
        """A model that steps with the weights as they are now, without gradients.

        A decoder without a fast form steps as its definition says, which is in full precision.
        """
        fast = fast_form(self.decoder)
        if precision != "float32" and (fast is None or precision not in fast.precisions):
            raise UsageError(
                f"`precision` {precision}: the decoder {type(self.decoder).__name__} searches in float32 only. "
                "Leave out the precision; only the LSTM decoders can search in int8."
            )
        if fast is None:
            return self
        return fast.for_search(self, precision)

    def output_matrix(self) -> Tensor:
        """A F: the softmax's W."""
        if self.output_weight is None:
            return self.decoder.embedding.weight[: self.num_actions]
        return self.output_weight


def weight_shapes(
    configuration: ModelConfiguration, inventory: Inventory, encoder: str, decoder: str
) -> dict[str, tuple[int, ...]]:
    """The shape of every weight of the network of these sizes, found without giving it any memory."""
    with torch.device("meta"):
        model = TranslationModel(configuration, inventory, encoder, decoder)
    return {name: tuple(weight.shape) for name, weight in model.named_parameters()}


def uniform(model: nn.Module, bound: float) -> None:
    """Draw every parameter from [-bound, bound]."""
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -bound, bound)


def xavier(model: nn.Module, bound: float) -> None:  # noqa: ARG001
    """Draw matrices as Glorot and Bengio (2010) do, other vectors like matrices of one row; set biases to zero."""
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
        else:
            limit = math.sqrt(6 / (1 + len(parameter)))
            nn.init.uniform_(parameter, -limit, limit)


INITIALISATIONS: dict[str, Any] = {"uniform": uniform, "xavier": xavier}

"""What the parts of a network expect of each other.

An encoder turns a batch of sources into an `Encoding`. A decoder prepares a `Memory` from it once, starts in a
`DecoderState`, and steps: each step gives the features of the next action. Search uses the whole network as a
`SearchModel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from trdec.data.batch import Batch, SourceBatch
from trdec.model.dropout import NO_DROPOUT, DecoderDropout


@dataclass(frozen=True)
class Summary:
    """A whole source in two vectors: the final states of an encoder that has such states."""

    hidden: Tensor  # B C
    cell: Tensor  # B C


@dataclass(frozen=True)
class Encoding:
    """The encoded sources."""

    states: Tensor  # B S C   zero at padding
    lengths: Tensor  # B
    summary: Summary | None = None
    pieces: Tensor | None = None  # B S E   the embeddings of what stands at each place

    @cached_property
    def padding(self) -> Tensor:
        """B S, true = ignore."""
        return torch.arange(self.states.shape[1], device=self.lengths.device) >= self.lengths.unsqueeze(1)

    @cached_property
    def packed_states(self) -> Tensor:
        """sum(S) C: the states without padding, sentence after sentence."""
        return self.pack(self.states)

    def pack(self, values: Tensor) -> Tensor:
        """sum(S) X: the values B S X without padding, sentence after sentence."""
        return values.flatten(0, 1).index_select(0, self._places)

    def unpack(self, packed: Tensor) -> Tensor:
        """B S X: vectors sum(S) X computed from the packed states, each at its place, zero at padding."""
        flat = packed.new_zeros(self.padding.numel(), packed.shape[1])  # B*S X
        return flat.index_copy(0, self._places, packed).view(*self.padding.shape, -1)

    @cached_property
    def _places(self) -> Tensor:
        return (~self.padding).flatten().nonzero().squeeze(1)  # sum(S)

    def select(self, sentences: Tensor) -> Encoding:
        """These sentences in this order."""
        summary = self.summary and Summary(self.summary.hidden[sentences], self.summary.cell[sentences])
        pieces = None if self.pieces is None else self.pieces[sentences]
        return Encoding(self.states[sentences], self.lengths[sentences], summary, pieces)


class Encoder(Protocol):
    """Reads the source. Built from the model's configuration and the number of source pieces.

    A class that says `reads_trees = True` is given the places of trees; for any other, trees become brackets.
    """

    @property
    def output_size(self) -> int:
        """C: the size of its states."""

    def __call__(self, source: SourceBatch) -> Encoding:
        """The encoding of a batch of sources."""


class Memory(Protocol):
    """What a decoder attends to while it writes: the encoded sources, as it prepared them."""

    def select(self, sentences: Tensor) -> Self:
        """These sentences in this order."""


class ModelState(Protocol):
    """The state of the rows of a search after a step."""

    def select(self, rows: Tensor) -> Self:
        """These rows in this order."""


class DecoderState(ModelState, Protocol):
    """The state of the rows of a batch or a search after a decoder's `step`."""

    @property
    def attention(self) -> Mapping[str, Tensor]:
        """R S by the name of an RNN: its attention weights at the latest step, zero in rows where it did not run.

        Where there are several RNNs, the last is the one that writes words.
        """


AnyMemory = TypeVar("AnyMemory", bound=Memory)
AnyState = TypeVar("AnyState", bound=DecoderState)


class Decoder(Protocol[AnyMemory, AnyState]):
    """Turns what has been written so far into the features of the next action.

    Built from the model's configuration, the target's inventory and the size of the encoder's states.
    """

    @property
    def feature_size(self) -> int:
        """F: the size of the features."""

    @property
    def embedding(self) -> nn.Embedding:
        """The vectors of all actions, and one more that stands for no action yet."""

    def prepare(self, encoding: Encoding) -> AnyMemory:
        """The memory of the source that all steps share."""

    def start(self, memory: AnyMemory) -> AnyState:
        """The state before the first step, one row per sentence."""

    def step(
        self,
        state: AnyState,
        memory: AnyMemory,
        previous: Tensor,  # R   the action just taken; the number of actions = none yet
        symbols: Tensor,  # R   the open symbol
        parents: Tensor,  # R   1 + the step whose rule opened it; 0 = none
        dropout: DecoderDropout = NO_DROPOUT,
    ) -> tuple[Tensor, AnyState]:
        """Features R F of the next action, and the state after it.

        The memory's sentences may have several rows each, all equally many; the rows of a sentence are adjacent.
        """

    def sample_dropout(self, batch: Batch) -> DecoderDropout:
        """The dropout masks for training on this batch."""


AnyDecoder = Decoder[Any, Any]
"""A decoder with any kind of memory and state."""


SearchPrecision = Literal["float32", "int8"]
"""What a search multiplies: numbers as they are, or, faster and less exactly, rounded to eight bits."""


class SearchModel(Protocol):
    """Scores the next action of many hypotheses. Memory and state are opaque: search only selects from them."""

    @property
    def num_actions(self) -> int:
        """A; also the number that stands for no action yet."""

    def encode(self, source: SourceBatch) -> Any:
        """The memory of these sources."""

    def start(self, memory: Any) -> Any:
        """The state before the first step, one row per sentence."""

    def step(self, state: Any, memory: Any, previous: Tensor, symbols: Tensor, parents: Tensor) -> tuple[Tensor, Any]:
        """Log-probabilities R A of the next action, exactly -inf where it is illegal, and the state after it.

        The log-probabilities are a new tensor, which the caller may change.
        """


@dataclass(frozen=True)
class DecoderPass:
    """A decoder's output for every step of a batch."""

    features: Tensor  # N F   of the steps that are not padding, in the order of `places`
    places: Tensor  # N   where in the batch, B T flattened, each of them is
    attention: Mapping[str, Tensor]  # N S by RNN, zero where it did not run
    shape: tuple[int, int]  # B, T

    @classmethod
    def of(cls, features: Tensor, attention: Mapping[str, Tensor], padding: Tensor) -> DecoderPass:
        """The output with features B T F, attention B T S by RNN and padding B T."""
        places = (~padding).flatten().nonzero().squeeze(1)  # N
        packed = {rnn: weights.flatten(0, 1)[places] for rnn, weights in attention.items()}  # N S each
        return cls(features.flatten(0, 1)[places], places, packed, (padding.shape[0], padding.shape[1]))

    def pack(self, padded: Tensor) -> Tensor:
        """B T -> N."""
        return padded.flatten(0, 1).index_select(0, self.places)

    def unpack(self, packed: Tensor) -> Tensor:
        """N ... -> B T ..., zero at padding."""
        flat = packed.new_zeros(self.shape[0] * self.shape[1], *packed.shape[1:])
        return flat.index_copy(0, self.places, packed).view(*self.shape, *packed.shape[1:])


def previous_actions(batch: Batch, none_yet: int) -> Tensor:
    """B T: the action before each step."""
    return torch.cat([torch.full_like(batch.actions[:, :1], none_yet), batch.actions[:, :-1]], dim=1)


def step_through(decoder: AnyDecoder, encoding: Encoding, batch: Batch, dropout: DecoderDropout) -> DecoderPass:
    """The features of all steps by the decoder's own `step`: how a decoder without a fast form is trained."""
    memory = decoder.prepare(encoding)
    state = decoder.start(memory)
    previous = previous_actions(batch, decoder.embedding.num_embeddings - 1)  # B T
    features, attention = [], []
    for step in range(batch.actions.shape[1]):
        found, state = decoder.step(
            state, memory, previous[:, step], batch.symbols[:, step], batch.parents[:, step], dropout.at(step)
        )
        features.append(found)  # B F
        attention.append(state.attention)  # B S each
    together = {rnn: torch.stack([each[rnn] for each in attention], dim=1) for rnn in attention[0]}  # B T S each
    return DecoderPass.of(torch.stack(features, dim=1), together, batch.padding)

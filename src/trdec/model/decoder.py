"""What training and search expect of a decoder."""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

from torch import Tensor

from trdec.data.batch import Batch
from trdec.model.dropout import NO_DROPOUT, DecoderDropout
from trdec.model.memory import Memory
from trdec.model.packing import Packing


class DecoderState(Protocol):
    """Where the rows of a search stand after a step."""

    @property
    def here(self) -> Tensor:
        """R: the address, in the shared history, of the state that each row's latest step made.

        Whoever applies a rule keeps it as the parent of the symbols that the rule opens. Address 0 is the zero
        vector; a step that can open nothing, because it writes a word, has this address too.
        """

    def select(self, rows: Tensor) -> Self:
        """These rows in this order; addresses keep their meaning."""


State = TypeVar("State", bound=DecoderState)


class Decoder(Protocol[State]):
    """Turns what was written so far into the features of the next action."""

    def prepare(self, memory: Memory) -> Memory:
        """The memory with what all steps share."""

    def start(self, memory: Memory) -> State:
        """The state before the first step, one row a sentence."""

    def step(
        self,
        state: State,
        memory: Memory,
        previous: Tensor,  # R   the action just taken; the number of actions = none yet
        symbols: Tensor,  # R
        parents: Tensor,  # R   addresses
        dropout: DecoderDropout = NO_DROPOUT,
    ) -> tuple[Tensor, State]:
        """Features R F of the next action, and the state after it: the definition of the decoder.

        Rows may be several times the sentences of the memory; then those of a sentence stand together.
        """

    def sequence(self, memory: Memory, batch: Batch, dropout: DecoderDropout = NO_DROPOUT) -> Tensor:
        """Features B T F of all steps: what stepping through the batch gives, computed faster."""

    def packed_sequence(
        self, memory: Memory, batch: Batch, dropout: DecoderDropout = NO_DROPOUT
    ) -> tuple[Tensor, Packing]:
        """Features N F of the steps that are not padding, and where in the batch each of them is."""

    def sample_dropout(self, batch: Batch) -> DecoderDropout:
        """The places to drop while training on this batch."""

"""Which decoders have a fast form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from trdec.data.batch import Batch
from trdec.model.dropout import DecoderDropout
from trdec.model.fast.network import FastNetwork
from trdec.model.fast.search import FastSearch
from trdec.model.fast.stepping import SteppingSearch
from trdec.model.interfaces import AnyDecoder, DecoderPass, Encoding, SearchModel, SearchPrecision
from trdec.model.sequence_decoder import SequenceDecoder
from trdec.model.transformer.decoder import TransformerDecoder
from trdec.model.transformer.tree_decoder import TreeTransformerDecoder
from trdec.model.tree_decoder import TreeDecoder

if TYPE_CHECKING:
    from trdec.model.translation_model import TranslationModel


class FastForm(Protocol):
    """A faster way to compute what a decoder's definition says."""

    precisions: ClassVar[tuple[SearchPrecision, ...]]
    """The precisions that it can search in."""

    def run(self, encoding: Encoding, batch: Batch, dropout: DecoderDropout) -> DecoderPass:
        """The same values and gradients as `step_through`."""

    def for_search(self, model: TranslationModel, precision: SearchPrecision) -> SearchModel:
        """A model that steps with the present weights of a model with this decoder, without gradients."""


class FastLSTM:
    """The fast form of the two LSTM decoders."""

    precisions: ClassVar[tuple[SearchPrecision, ...]] = ("float32", "int8")

    def __init__(self, decoder: TreeDecoder | SequenceDecoder) -> None:
        self._network = FastNetwork.of(decoder)

    def run(self, encoding: Encoding, batch: Batch, dropout: DecoderDropout) -> DecoderPass:
        """All steps of a batch, in one recurrence."""
        return self._network.run(encoding, batch, dropout)

    def for_search(self, model: TranslationModel, precision: SearchPrecision) -> SearchModel:
        """A search model with the weights laid out for few rows."""
        return FastSearch(self._network, model, precision)


class OnePass:
    """The fast form of Transformers, whose definition can take all steps of a batch at once."""

    precisions: ClassVar[tuple[SearchPrecision, ...]] = ("float32",)  # states are not in [-1, 1], as int8 needs

    def __init__(self, decoder: TransformerDecoder | TreeTransformerDecoder) -> None:
        self._decoder = decoder

    def run(self, encoding: Encoding, batch: Batch, dropout: DecoderDropout) -> DecoderPass:
        """All steps of a batch, in one pass."""
        return self._decoder.run(encoding, batch, dropout)

    def for_search(
        self,
        model: TranslationModel,
        precision: SearchPrecision,  # noqa: ARG002  always float32
    ) -> SearchModel:
        """A search model that steps as the decoder's definition does."""
        return SteppingSearch(model)


FAST_FORMS: dict[type, Callable[[Any], FastForm]] = {
    TreeDecoder: FastLSTM,
    SequenceDecoder: FastLSTM,
    TransformerDecoder: OnePass,
    TreeTransformerDecoder: OnePass,
}
"""From a decoder to its fast form, by its class: exactly these, as a subclass may step differently."""


def fast_form(decoder: AnyDecoder) -> FastForm | None:
    """The decoder's fast form, or None if it has none."""
    make = FAST_FORMS.get(type(decoder))
    return None if make is None else make(decoder)

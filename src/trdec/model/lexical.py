"""What source pieces say by themselves, whatever stands around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from trdec.configuration.sections import DropoutConfiguration
from trdec.errors import UsageError
from trdec.model.dropout import drop, sample_embedding_mask, sample_mask
from trdec.model.interfaces import DecoderPass, Encoding, Memory


class LexicalFeatures(nn.Module):
    """Features of the next action that follow from the pieces attended to alone (after Nguyen and Chiang, 2018).

        tanh(L sum over j of a[j] e[j])

    a is the attention of what writes words, e[j] the embedding of the piece at place j. They are added to what the
    decoder makes of the whole sentence, so that a rare word need not be learnt in all its contexts.
    """

    def __init__(self, embedding_size: int, feature_size: int, dropout: DropoutConfiguration) -> None:
        super().__init__()
        self.dropout = dropout
        self.projection = nn.Linear(embedding_size, feature_size, bias=False)  # L

    def meanings(self, encoding: Encoding) -> Tensor:
        """B S F: L e[j] for every place."""
        found: Tensor = self.projection(pieces_of(encoding))
        return found

    def forward(self, meanings: Tensor, attention: Mapping[str, Tensor]) -> Tensor:
        """R F: the features of rows with this attention, R S by RNN; a sentence's rows are adjacent."""
        weights = writers_attention(attention)  # R S
        grouped = weights.view(len(meanings), -1, weights.shape[-1])  # B K S
        return torch.tanh(grouped @ meanings).flatten(0, 1)

    def added_to(self, found: DecoderPass, encoding: Encoding) -> DecoderPass:
        """What a decoder found for a batch with this encoding, with these features added to its own."""
        pieces = pieces_of(encoding)  # B S E
        if self.training:
            pieces = drop(pieces, sample_embedding_mask(tuple(pieces.shape), self.dropout, pieces))
        sums = found.pack(found.unpack(writers_attention(found.attention)) @ pieces)  # N E
        features = torch.tanh(self.projection(sums))  # N F
        if self.training:
            features = drop(features, sample_mask(tuple(features.shape), self.dropout.readout, features))
        return replace(found, features=found.features + features)


def pieces_of(encoding: Encoding) -> Tensor:
    """B S E: the embeddings of the pieces; UsageError if the encoder gives none."""
    if encoding.pieces is None:
        raise UsageError(
            "model.lexical: this encoder does not give the embeddings of its pieces, `Encoding.pieces`. Let it, or set "
            "model.lexical to false."
        )
    return encoding.pieces


def writers_attention(attention: Mapping[str, Tensor]) -> Tensor:
    """The attention of what writes words: that of the last RNN. It is zero where no word is written."""
    if not attention:
        raise UsageError("model.lexical: this decoder tells nothing of its attention. Set model.lexical to false.")
    return list(attention.values())[-1]


@dataclass(frozen=True)
class ModelMemory:
    """A decoder's memory of some sources, and what their pieces say where the network has lexical features."""

    decoder: Memory
    meanings: Tensor | None  # B S F

    def select(self, sentences: Tensor) -> ModelMemory:
        """These sentences in this order."""
        meanings = None if self.meanings is None else self.meanings[sentences]
        return ModelMemory(self.decoder.select(sentences), meanings)

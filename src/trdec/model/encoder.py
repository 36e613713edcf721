"""The bidirectional LSTM encoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import SourceBatch
from trdec.model.dropout import sample_embedding_mask, sample_mask
from trdec.model.fast.plan import Packing, embed_tokens
from trdec.model.fast.recurrence import run_lstm
from trdec.model.interfaces import Encoding, Summary
from trdec.model.lstm_cell import LSTMCell


class LSTMEncoder(nn.Module):
    """A bidirectional LSTM (paper, section 3): h[j] = [h_forward[j]; h_backward[j]], the layers stacked."""

    def __init__(self, configuration: ModelConfiguration, source_size: int) -> None:
        super().__init__()
        embedding, hidden = configuration.embedding_size, configuration.hidden_size
        self.output_size = 2 * hidden
        self.dropout = configuration.dropout
        self.embedding = nn.Embedding(source_size, embedding)
        sizes = [embedding] + [2 * hidden] * (configuration.encoder_layers - 1)
        self.forwards = nn.ModuleList(LSTMCell({"below": size}, hidden) for size in sizes)
        self.backwards = nn.ModuleList(LSTMCell({"below": size}, hidden) for size in sizes)

    def forward(self, source: SourceBatch) -> Encoding:
        """The states of all places; the summary is the final state of the last layer in each direction."""
        packing = Packing(source.lengths)
        last_steps = source.lengths[packing.sequences] - 1  # N
        # The backward direction reads place j of a sentence of n pieces at its step n - 1 - j.
        mirrored = packing.place(packing.rows, last_steps - packing.steps)  # N
        mask = self._sample_embedding_mask((packing.size, self.embedding.embedding_dim))  # N E
        [(embedded, token_rows)] = embed_tokens(self.embedding.weight, [(packing.pack(source.pieces), mask)])  # M E, N
        states: Tensor | None = None  # N C   of the layer below
        for forwards, backwards in zip(self.forwards, self.backwards, strict=True):
            outputs, finals = [], []
            for cell, places in ((forwards, None), (backwards, mirrored)):
                assert isinstance(cell, LSTMCell)
                weight = cell.input_weights["below"]
                if states is None:
                    rows = nn.functional.linear(embedded, weight, cell.bias)  # M 4H
                    row_of = token_rows if places is None else token_rows[places]  # N
                    inputs = nn.functional.embedding(row_of, rows)  # N 4H
                else:
                    inputs = nn.functional.linear(states, weight, cell.bias)  # N 4H
                    inputs = inputs if places is None else inputs[places]
                mask = self._sample_mask((len(source), cell.hidden_size), self.dropout.states)  # B H
                hidden, cells = run_lstm(inputs, cell.hidden_weight, mask, packing)  # N H, B H
                finals.append((hidden[packing.last_places()], cells))  # B H
                outputs.append(hidden if places is None else hidden[places])  # N H
            states = torch.cat(outputs, dim=1)  # N C
        assert states is not None
        unsort = torch.argsort(packing.order)  # B
        return Encoding(
            states=packing.unpack(states, source.pieces.shape[1]),  # B S C
            lengths=source.lengths,
            summary=Summary(
                hidden=torch.cat([hidden for hidden, _ in finals], dim=1)[unsort],  # B C
                cell=torch.cat([cell for _, cell in finals], dim=1)[unsort],  # B C
            ),
            pieces=self.embedding(source.pieces),  # B S E
        )

    def _sample_embedding_mask(self, shape: tuple[int, ...]) -> Tensor | None:
        return sample_embedding_mask(shape, self.dropout, self.embedding.weight) if self.training else None

    def _sample_mask(self, shape: tuple[int, ...], share: float) -> Tensor | None:
        return sample_mask(shape, share, self.embedding.weight) if self.training else None

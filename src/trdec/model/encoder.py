"""The bidirectional LSTM encoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trdec.configuration.sections import ModelConfiguration
from trdec.model.dropout import sample_mask
from trdec.model.embedded_tokens import embed_tokens
from trdec.model.full_precision import apply_in_precision_of
from trdec.model.lstm_cell import LSTMCell
from trdec.model.lstm_recurrence import LSTMRecurrence
from trdec.model.memory import Memory
from trdec.model.packing import Packing


class Encoder(nn.Module):
    """A bidirectional LSTM (paper, section 3): h[j] = [h_forward[j]; h_backward[j]], the layers stacked."""

    def __init__(self, configuration: ModelConfiguration, source_size: int) -> None:
        super().__init__()
        embedding, hidden = configuration.embedding_size, configuration.hidden_size
        self.dropout = configuration.dropout
        self.embedding = nn.Embedding(source_size, embedding)
        sizes = [embedding] + [2 * hidden] * (configuration.encoder_layers - 1)
        self.forwards = nn.ModuleList(LSTMCell({"below": size}, hidden) for size in sizes)
        self.backwards = nn.ModuleList(LSTMCell({"below": size}, hidden) for size in sizes)

    def forward(self, source: Tensor, source_lengths: Tensor) -> Memory:
        """The memory of sources B S."""
        packing = Packing(source_lengths)
        last_steps = source_lengths[packing.sequences] - 1  # N
        # The backward direction reads place j of a sentence of n pieces at its step n - 1 - j.
        mirrored = packing.place(packing.rows, last_steps - packing.steps)  # N
        tokens = packing.pack(source)  # N
        mask = None
        if self.training:
            mask = sample_mask(
                (packing.size, self.embedding.embedding_dim), self.dropout.embeddings, self.embedding.weight
            )
        [(embedded, embedded_rows)] = embed_tokens(self.embedding.weight, [(tokens, mask)])  # M E, N
        states: Tensor | None = None  # N C   the layer below's
        for forwards, backwards in zip(self.forwards, self.backwards, strict=True):
            outputs, finals = [], []
            for cell, places in ((forwards, None), (backwards, mirrored)):
                assert isinstance(cell, LSTMCell)
                if states is None:
                    rows = nn.functional.linear(embedded, cell.input_weights["below"], cell.bias)  # M 4H
                    row_of = embedded_rows if places is None else embedded_rows[places]  # N
                    inputs = nn.functional.embedding(row_of, rows)  # N 4H
                else:
                    inputs = nn.functional.linear(states, cell.input_weights["below"], cell.bias)  # N 4H
                    inputs = inputs if places is None else inputs[places]
                hidden, cells = apply_in_precision_of(
                    cell.hidden_weight,
                    LSTMRecurrence,
                    inputs,
                    cell.hidden_weight,
                    self._sample_state_mask(len(source), cell),
                    packing,
                )  # N H, B H
                finals.append((hidden[packing.last_places()], cells))  # B H
                outputs.append(hidden if places is None else hidden[places])  # N H
            states = torch.cat(outputs, dim=1)  # N C
        assert states is not None
        unsort = torch.argsort(packing.order)  # B
        return Memory(
            states=packing.unpack(states, source.shape[1]),  # B S C
            padding=torch.arange(source.shape[1], device=source.device) >= source_lengths.unsqueeze(1),  # B S
            lengths=source_lengths,
            final_hidden=torch.cat([hidden for hidden, _ in finals], dim=1)[unsort],  # B C
            final_cells=torch.cat([cell for _, cell in finals], dim=1)[unsort],  # B C
        )

    def _sample_state_mask(self, num_sentences: int, cell: LSTMCell) -> Tensor | None:
        if not self.training:
            return None
        return sample_mask((num_sentences, cell.hidden_size), self.dropout.states, cell.hidden_weight)

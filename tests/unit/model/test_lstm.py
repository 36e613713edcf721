"""The LSTM cell and its recurrence are torch's own LSTM, gates in another order."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import SourceBatch
from trdec.model.encoder import LSTMEncoder
from trdec.model.fast.kernels import RightMatrix
from trdec.model.fast.plan import Packing
from trdec.model.fast.recurrence import LSTMRecurrence
from trdec.model.lstm_cell import LSTMCell

torch.set_num_threads(1)


def in_torch_order(weight: Tensor) -> Tensor:
    """Gates i, f, o, g as torch's i, f, g, o."""
    i, f, o, g = weight.chunk(4)
    return torch.cat([i, f, g, o])


def random_cell(parts: dict[str, int], size: int) -> LSTMCell:
    cell = LSTMCell(parts, size).double()
    for parameter in cell.parameters():
        nn.init.normal_(parameter)
    return cell


def test_a_step_is_a_step_of_torchs_cell_on_the_concatenated_parts() -> None:
    torch.manual_seed(1)
    cell, oracle = random_cell({"a": 2, "b": 3}, 4), nn.LSTMCell(5, 4).double()
    with torch.no_grad():
        oracle.weight_ih.copy_(in_torch_order(torch.cat(list(cell.input_weights.values()), dim=1)))
        oracle.weight_hh.copy_(in_torch_order(cell.hidden_weight))
        oracle.bias_ih.copy_(in_torch_order(cell.bias))
        oracle.bias_hh.zero_()
    a, b, hidden, state = (torch.randn(6, size, dtype=torch.float64) for size in (2, 3, 4, 4))
    torch.testing.assert_close(cell({"a": a, "b": b}, hidden, state), oracle(torch.cat([a, b], 1), (hidden, state)))


def test_the_encoder_is_torchs_bidirectional_lstm_over_packed_sequences() -> None:
    torch.manual_seed(2)
    configuration = ModelConfiguration(embedding_size=3, hidden_size=4, encoder_layers=2)
    encoder = LSTMEncoder(configuration, source_size=7).double().eval()
    for parameter in encoder.parameters():
        nn.init.normal_(parameter)
    oracle = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True).double()
    with torch.no_grad():
        for suffix, cells in (("", encoder.forwards), ("_reverse", encoder.backwards)):
            for layer, cell in enumerate(cells):
                name = f"l{layer}{suffix}"
                getattr(oracle, f"weight_ih_{name}").copy_(in_torch_order(cell.input_weights["below"]))
                getattr(oracle, f"weight_hh_{name}").copy_(in_torch_order(cell.hidden_weight))
                getattr(oracle, f"bias_ih_{name}").copy_(in_torch_order(cell.bias))
                getattr(oracle, f"bias_hh_{name}").zero_()
    lengths = torch.tensor([2, 5, 1, 3])
    source = torch.randint(7, (4, 5))
    packed = nn.utils.rnn.pack_padded_sequence(
        encoder.embedding(source), lengths, batch_first=True, enforce_sorted=False
    )
    states, (hidden, cells) = oracle(packed)
    states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
    memory = encoder(SourceBatch(source, lengths))
    torch.testing.assert_close(memory.states, states)
    torch.testing.assert_close(memory.summary.hidden, torch.cat([hidden[-2], hidden[-1]], dim=1))
    torch.testing.assert_close(memory.summary.cell, torch.cat([cells[-2], cells[-1]], dim=1))
    assert memory.padding.tolist() == [[place >= n for place in range(5)] for n in lengths.tolist()]


def test_the_recurrence_has_the_gradients_of_its_values_with_dropped_states() -> None:
    torch.manual_seed(3)
    packing = Packing(torch.tensor([3, 1, 2]))
    inputs = torch.randn(6, 8, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[2.0, 0.0], [0.0, 2.0], [2.0, 2.0]], dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda x, w: LSTMRecurrence.apply(x, w, mask, packing, RightMatrix), (inputs, weight)
    )

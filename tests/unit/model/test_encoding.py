"""The encoded source with and without its padding, and where decoders start from."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trdec.errors import UsageError
from trdec.model.interfaces import Encoding, Summary
from trdec.model.start import Bridge, LastState

SIZE = 4
lengths = st.lists(st.integers(1, 6), min_size=1, max_size=5)


def encoding_of(sizes: list[int]) -> Encoding:
    """Random states; what stands at padding would be seen if it were looked at."""
    draw = torch.Generator().manual_seed(1)
    states = torch.randn(len(sizes), max(sizes), SIZE, generator=draw)
    padding = torch.arange(max(sizes)) >= torch.tensor(sizes).unsqueeze(1)
    return Encoding(states.masked_fill(padding.unsqueeze(2), 1e9), torch.tensor(sizes))


@given(lengths)
def test_packed_states_are_those_of_one_sentence_after_the_other(sizes: list[int]) -> None:
    encoding = encoding_of(sizes)
    rows = [states[:size] for states, size in zip(encoding.states, sizes, strict=True)]
    assert torch.equal(encoding.packed_states, torch.cat(rows))


@given(lengths)
def test_unpacking_puts_states_where_they_stood_and_zeros_at_padding(sizes: list[int]) -> None:
    encoding = encoding_of(sizes)
    expected = encoding.states.masked_fill(encoding.padding.unsqueeze(2), 0.0)
    assert torch.equal(encoding.unpack(encoding.packed_states), expected)


def test_a_decoder_starts_from_the_summary_or_from_the_mean_of_the_states() -> None:
    states = torch.tensor([[[1.0, 2, 3, 4], [3, 2, 1, 0]], [[5, 5, 5, 5], [0, 0, 0, 0]]])  # the last place is padding
    lengths = torch.tensor([2, 1])
    summary = Summary(torch.ones(2, 4), torch.arange(8.0).view(2, 4))
    hidden, cell = LastState(2, 4)(Encoding(states, lengths, summary))
    assert hidden.tolist() == [[1, 1], [1, 1]]
    assert cell.tolist() == [[1, 2], [5, 6]]
    hidden, cell = LastState(2, 4)(Encoding(states, lengths))
    assert hidden.tolist() == cell.tolist() == [[2, 2], [5, 5]]
    bridge = Bridge(2, 4)
    hidden, cell = bridge(Encoding(states, lengths))
    expected = bridge.projection(torch.tensor([[2.0, 2, 2, 2], [5, 5, 5, 5]]))
    torch.testing.assert_close(cell, expected)
    torch.testing.assert_close(hidden, expected.tanh())
    with pytest.raises(UsageError, match=r"multiple of hidden_size, 3.*size 4.*bridge"):
        LastState(3, 4)

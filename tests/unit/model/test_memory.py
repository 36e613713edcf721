"""The encoded source with and without its padding."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from trdec.model.context_features import context_features
from trdec.model.memory import Memory
from trdec.model.packing import Packing

SIZE = 4
lengths = st.lists(st.integers(1, 6), min_size=1, max_size=5)


def memory_of(sizes: list[int], seed: int = 1) -> Memory:
    """Random states; what stands at padding would be seen if it were looked at."""
    draw = torch.Generator().manual_seed(seed)
    counts = torch.tensor(sizes)
    states = torch.randn(len(sizes), max(sizes), SIZE, generator=draw, dtype=torch.float64)
    padding = torch.arange(max(sizes)) >= counts.unsqueeze(1)
    final = states[:, 0]
    return Memory(states.masked_fill(padding.unsqueeze(2), 1e9), padding, counts, final, final)


@given(lengths)
def test_packed_states_are_those_of_one_sentence_after_the_other(sizes: list[int]) -> None:
    memory = memory_of(sizes)
    rows = [states[:size] for states, size in zip(memory.states, sizes, strict=True)]
    assert torch.equal(memory.packed_states(), torch.cat(rows))


@given(lengths)
def test_unpacking_puts_states_where_they_stood_and_zeros_at_padding(sizes: list[int]) -> None:
    memory = memory_of(sizes)
    expected = memory.states.masked_fill(memory.padding.unsqueeze(2), 0.0)
    assert torch.equal(memory.unpack(memory.packed_states()), expected)


@given(lengths, st.integers(1, 2), st.data())
def test_context_features_are_contexts_times_their_weights(
    sizes: list[int], attentions: int, data: st.DataObject
) -> None:
    memory = memory_of(sizes)
    steps = data.draw(st.lists(st.integers(1, 5), min_size=len(sizes), max_size=len(sizes)))
    packing, draw = Packing(torch.tensor(steps)), torch.Generator().manual_seed(2)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    hidden = memory.padding.unsqueeze(1)  # B 1 S
    weights = [
        random(len(sizes), max(steps), max(sizes)).masked_fill(hidden, -torch.inf).softmax(2) for _ in range(attentions)
    ]
    projections = [random(3, SIZE) for _ in range(attentions)]
    contexts = [padded @ memory.states for padded in weights]  # B T C
    expected = sum(context @ projection.t() for context, projection in zip(contexts, projections, strict=True))
    found = context_features(memory, memory.packed_states(), packing, list(map(packing.pack, weights)), projections)
    assert isinstance(expected, Tensor)
    torch.testing.assert_close(found, packing.pack(expected))

"""The attention of training is what the definition gives, values and gradients, however large the numbers are."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from trdec.model.attention import AdditiveAttention, Attention, DotAttention
from trdec.model.attention_tape import AdditiveTape, DotTape
from trdec.model.block_attention_tape import AdditiveBlockTape

SIZE = 3
KINDS = {"a sentence at a time": AdditiveTape, "in blocks": AdditiveBlockTape, "dot": DotTape}


def by_definition(attention: Attention, hidden: Tensor, keys: Tensor, padding: Tensor) -> Tensor:
    """B S: the weights of one row a sentence."""
    scores = attention.compare(attention.queries(hidden).unsqueeze(1), keys).squeeze(1)  # B S
    return scores.masked_fill(padding, -torch.inf).softmax(dim=1)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    away=st.sampled_from([0.0, 15.0, 60.0, 400.0]),
)
def test_tapes_compute_the_definition(kind: str, seed: int, lengths: list[int], away: float) -> None:
    """Keys far above 0 and queries as far below, so that their sums are near it; every row looks twice."""
    draw = torch.Generator().manual_seed(seed)
    attention = (AdditiveAttention if kind != "dot" else DotAttention)(SIZE, SIZE).double()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw, dtype=torch.float64))
        if kind != "dot":
            attention.query_weight.copy_(torch.eye(SIZE))
    rows = len(lengths)
    keys = torch.randn(rows, max(lengths), SIZE, generator=draw, dtype=torch.float64) + away
    hidden = torch.randn(2 * rows, SIZE, generator=draw, dtype=torch.float64) - away
    d_weights = torch.randn(2 * rows, max(lengths), generator=draw, dtype=torch.float64)
    padding = torch.arange(max(lengths)) >= torch.tensor(lengths).unsqueeze(1)  # B S
    d_weights[padding.repeat(2, 1)] = 0
    sentences = list(range(rows))

    parameters = attention.parameters_in_loop()
    tape = KINDS[kind](keys, lengths, 2 * rows, tuple(parameter.detach() for parameter in parameters))
    for begin in (0, rows):
        tape.forward(begin, hidden[begin : begin + rows], sentences)
    tape.start_backward()
    d_hidden = [tape.backward(begin, sentences, d_weights[begin : begin + rows]) for begin in (0, rows)]
    gradients = tape.gradients(hidden, torch.tensor(sentences * 2))

    inputs = [keys.requires_grad_(), hidden.requires_grad_(), *parameters]
    weights = torch.cat([by_definition(attention, part, keys, padding) for part in hidden.split(rows)])
    expected = torch.autograd.grad((weights * d_weights).sum(), inputs)
    torch.testing.assert_close(tape.weights[rows:], weights.detach())
    assert not tape.weights[:rows].any()
    torch.testing.assert_close(torch.cat(d_hidden), expected[1])
    for found, wanted in zip(gradients, (expected[0], *expected[2:]), strict=True):
        torch.testing.assert_close(found, wanted)

"""Fast attention is what the definition gives, values and gradients, however large the numbers are."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from trdec.model.attention import AdditiveAttention, Attention, DotAttention
from trdec.model.fast import source_table
from trdec.model.fast.attention import LARGEST_KEY, AttentionTape, comparison_of, parameters_of
from trdec.model.fast.compiled import kernels_for, using
from trdec.model.fast.kernels import Kernels
from trdec.model.fast.search import RowSource
from trdec.model.fast.source_table import Readers

SIZE = 3
KINDS = {"additive": AdditiveAttention, "dot": DotAttention}


def additive(dtype: torch.dtype = torch.float64) -> AdditiveAttention:
    """An additive attention whose queries are the hidden states themselves."""
    attention = AdditiveAttention(SIZE, SIZE).to(dtype)
    with torch.no_grad():
        attention.query_weight.copy_(torch.eye(SIZE))
        attention.key_weight.copy_(torch.eye(SIZE))
        attention.score_weight.copy_(torch.linspace(-1.5, 2.0, SIZE))
    return attention


@pytest.mark.parametrize("at_once", [0, source_table.CACHED], ids=["a sentence at a time", "in groups of sentences"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    away=st.sampled_from([0.0, 15.0, 60.0, 400.0]),
)
def test_training_computes_the_definition(kind: str, at_once: int, seed: int, lengths: list[int], away: float) -> None:
    """Keys far above 0 and queries as far below, so that their sums are near it; every second row looks once more."""
    draw = torch.Generator().manual_seed(seed)
    attention = KINDS[kind](SIZE, SIZE).double()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw, dtype=torch.float64))
        if kind == "additive":
            attention.query_weight.copy_(torch.eye(SIZE))
    rows = len(lengths)
    again = list(range(0, rows, 2))  # not side by side
    visits = [(0, list(range(rows))), (rows, again)]
    sentences = torch.tensor([*range(rows), *again])
    keys = torch.randn(sum(lengths), SIZE, generator=draw, dtype=torch.float64) + away
    hidden = torch.randn(len(sentences), SIZE, generator=draw, dtype=torch.float64) - away
    padding = torch.arange(max(lengths)) >= torch.tensor(lengths).unsqueeze(1)  # B S
    d_weights = torch.randn(len(sentences), max(lengths), generator=draw, dtype=torch.float64)
    d_weights[padding[sentences]] = 0

    parameters = parameters_of(attention)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_table, "CACHED", at_once)
        comparison = comparison_of(
            KINDS[kind], keys, lengths, [parameter.detach() for parameter in parameters], kernels_for(keys).matrix
        )
        tape = AttentionTape(comparison, len(sentences))
        for begin, chosen in visits:
            tape.forward(begin, hidden[begin : begin + len(chosen)], Readers(torch.tensor(chosen)))
        tape.start_backward()
        d_hidden = [
            tape.backward(begin, Readers(torch.tensor(chosen)), d_weights[begin : begin + len(chosen)])
            for begin, chosen in visits
        ]
        gradients = tape.gradients(hidden)

    keys.requires_grad_()
    hidden.requires_grad_()
    padded = torch.nn.utils.rnn.pad_sequence(list(keys.split(lengths)), batch_first=True)[sentences]  # N S H
    scores = attention.score(hidden.unsqueeze(1), padded).squeeze(1)  # N S
    weights = scores.masked_fill(padding[sentences], -torch.inf).softmax(dim=1)
    expected = torch.autograd.grad((weights * d_weights).sum(), [keys, hidden, *parameters])
    torch.testing.assert_close(tape.weights[rows:], weights.detach())
    assert not tape.weights[:rows].any()
    torch.testing.assert_close(torch.cat(d_hidden), expected[1])
    for found, wanted in zip(gradients, (expected[0], *expected[2:]), strict=True):
        torch.testing.assert_close(found, wanted)


def rows_of(attention: Attention, keys: list[Tensor], values: list[Tensor]) -> RowSource:
    lengths = [len(each) for each in keys]
    comparison = comparison_of(
        type(attention), torch.cat(keys), lengths, parameters_of(attention), kernels_for(keys[0]).matrix
    )
    table = kernels_for(values[0]).table(torch.cat(values), lengths)
    return RowSource(comparison, table, torch.arange(len(lengths)))


def places(counts: list[int]) -> Tensor:
    """The sentence of each row, `counts` rows for each sentence."""
    return torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))


def by_definition(attention: Attention, hidden: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The sums with the softmax of the scores, for the rows k H of one sentence."""
    return attention.score(hidden.unsqueeze(0), keys.unsqueeze(0))[0].softmax(dim=1) @ values


@pytest.mark.parametrize("kind", ["additive", "dot"])
@pytest.mark.parametrize("at_once", [1, 20, 2**18])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    counts=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    scale=st.sampled_from([0.1, 3.0, 50.0]),
    away=st.sampled_from([0.0, 15.0, 60.0]),
)
def test_rows_of_a_search_see_what_the_definition_gives(
    kind: str, at_once: int, seed: int, counts: list[int], scale: float, away: float
) -> None:
    """Keys far above 0 and queries as far below, so that their sums are near it."""
    draw = torch.Generator().manual_seed(seed)
    attention = additive() if kind == "additive" else DotAttention(SIZE, SIZE).double()
    lengths = [1 + (seed + place) % 6 for place in range(len(counts))]

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    keys = [scale * random(length, SIZE) + away for length in lengths]
    values = [random(length, 4) for length in lengths]
    hidden = [scale * random(count, SIZE) - away for count in counts]
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(source_table, "COMPARED_AT_ONCE", at_once)
        found = rows_of(attention, keys, values).contexts(torch.cat(hidden), places(counts))
        expected = [by_definition(attention, *each) for each in zip(hidden, keys, values, strict=True)]
    torch.testing.assert_close(found, torch.cat(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("largest", [0.99 * LARGEST_KEY, 5 * LARGEST_KEY])
@pytest.mark.parametrize("query", [0.0, 30.0, 44.5, 1e4, -30.0, -44.5, -1e4])
def test_single_precision_suffices(largest: float, query: float) -> None:
    attention = additive(torch.float32)
    keys = torch.tensor([[-largest] * SIZE, [0.5] * SIZE, [largest] * SIZE])
    hidden = torch.full((2, SIZE), query)
    with torch.no_grad():
        found = rows_of(attention, [keys], [torch.eye(3)]).contexts(hidden, places([2]))
        torch.testing.assert_close(found, by_definition(attention, hidden, keys, torch.eye(3)), rtol=1e-5, atol=1e-6)


def test_sentences_that_leave_take_nothing_from_the_others() -> None:
    torch.manual_seed(1)
    keys, values = [torch.randn(n, SIZE) for n in (2, 4, 3)], [torch.randn(n, 5) for n in (2, 4, 3)]
    hidden = torch.randn(4, SIZE)
    with torch.no_grad():
        all_three = rows_of(additive(torch.float32), keys, values)
        chosen = all_three.select(torch.tensor([2, 0]))
        assert chosen.values is all_three.values
        found = chosen.contexts(hidden, places([3, 1]))
        assert torch.equal(found[:3], all_three.contexts(hidden[:3], places([0, 0, 3])))
        assert torch.equal(found[3:], all_three.contexts(hidden[3:], places([1, 0, 0])))


def test_a_query_that_overflows_does_no_harm_beside_padding() -> None:
    attention = additive(torch.float32)
    with using(Kernels()):
        comparison = comparison_of(
            AdditiveAttention,
            torch.randn(5, SIZE),
            [3, 2],
            parameters_of(attention),
            kernels_for(torch.empty(0)).matrix,
        )
        tape = AttentionTape(comparison, 2)
        with torch.no_grad():
            tape.forward(0, torch.full((2, SIZE), 60.0), Readers(torch.tensor([0, 1])))
    torch.testing.assert_close(tape.weights[2:], torch.tensor([[1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0.0]]))

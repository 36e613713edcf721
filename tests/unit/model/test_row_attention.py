"""What the rows of a search see is what the definition of attention gives, however large the numbers are."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from trdec.model import row_attention
from trdec.model.attention import AdditiveAttention, Attention, DotAttention
from trdec.model.reciprocals import LARGEST_KEY
from trdec.model.row_attention import Sight

SIZE = 3


def additive(dtype: torch.dtype = torch.float64) -> AdditiveAttention:
    """An additive attention whose queries are the hidden states themselves."""
    attention = AdditiveAttention(SIZE, SIZE).to(dtype)
    with torch.no_grad():
        attention.query_weight.copy_(torch.eye(SIZE))
        attention.key_weight.copy_(torch.eye(SIZE))
        attention.score_weight.copy_(torch.linspace(-1.5, 2.0, SIZE))
    return attention


def sight(attention: Attention, keys: list[Tensor], shown: list[Tensor]) -> Sight:
    comparison = attention.comparison(torch.cat(keys))
    return Sight(comparison, comparison.keys.split([len(each) for each in keys]), tuple(shown))


def by_definition(attention: Attention, hidden: Tensor, keys: Tensor, shown: Tensor) -> Tensor:
    """The sums with the softmax of `compare`, for the rows k H of one sentence."""
    scores = attention.compare(attention.queries(hidden).unsqueeze(0), keys.unsqueeze(0))[0]  # k S
    return scores.softmax(dim=1) @ shown


@pytest.mark.parametrize("kind", ["additive", "dot"])
@pytest.mark.parametrize("at_once", [1, 20, 2**18])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    counts=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    scale=st.sampled_from([0.1, 3.0, 50.0]),
    away=st.sampled_from([0.0, 15.0, 60.0]),
)
def test_rows_see_what_the_definition_gives(
    kind: str, at_once: int, seed: int, counts: list[int], scale: float, away: float
) -> None:
    """Keys far above 0 and queries as far below, so that their sums are near it."""
    draw = torch.Generator().manual_seed(seed)
    attention = additive() if kind == "additive" else DotAttention(SIZE, SIZE).double()
    lengths = [1 + (seed + place) % 6 for place in range(len(counts))]

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    keys = [scale * random(length, SIZE) + away for length in lengths]
    shown = [random(length, 4) for length in lengths]
    hidden = [scale * random(count, SIZE) - away for count in counts]
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(row_attention, "CACHED", at_once)
        found = sight(attention, keys, shown).look(torch.cat(hidden), counts)
        expected = [by_definition(attention, *each) for each in zip(hidden, keys, shown, strict=True)]
    torch.testing.assert_close(found, torch.cat(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("largest", [0.99 * LARGEST_KEY, 5 * LARGEST_KEY])
@pytest.mark.parametrize("query", [0.0, 30.0, 44.5, 1e4, -30.0, -44.5, -1e4])
def test_single_precision_suffices(largest: float, query: float) -> None:
    attention = additive(torch.float32)
    keys = torch.tensor([[-largest] * SIZE, [0.5] * SIZE, [largest] * SIZE])
    hidden = torch.full((2, SIZE), query)
    with torch.no_grad():
        found = sight(attention, [keys], [torch.eye(3)]).look(hidden, [2])
        torch.testing.assert_close(found, by_definition(attention, hidden, keys, torch.eye(3)), rtol=1e-5, atol=1e-6)


def test_sentences_that_leave_take_nothing_from_the_others() -> None:
    torch.manual_seed(1)
    keys, shown = [torch.randn(n, SIZE) for n in (2, 4, 3)], [torch.randn(n, 5) for n in (2, 4, 3)]
    hidden = torch.randn(4, SIZE)
    with torch.no_grad():
        all_three = sight(additive(torch.float32), keys, shown)
        chosen = all_three.select([2, 0])
        assert all(one.data_ptr() == all_three.shown[n].data_ptr() for one, n in zip(chosen.shown, (2, 0), strict=True))
        found = chosen.look(hidden, [3, 1])
        assert torch.equal(found[:3], all_three.look(hidden[:3], [0, 0, 3]))
        assert torch.equal(found[3:], all_three.look(hidden[3:], [1, 0, 0]))

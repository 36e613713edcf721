"""The best continuations are those that sorting all of them gives."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trdec.search import beam
from trdec.search.beam import best_continuations


@pytest.mark.parametrize("group", [2, 3, 16])
@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    num_sentences=st.integers(1, 3),
    width=st.integers(1, 4),
    num_actions=st.integers(1, 70),
    wanted=st.integers(1, 40),
    illegal=st.sampled_from([0.0, 0.5, 0.95]),
)
def test_the_best_are_those_that_sorting_gives(
    group: int, seed: int, num_sentences: int, width: int, num_actions: int, wanted: int, illegal: float
) -> None:
    draw = torch.Generator().manual_seed(seed)
    rows = num_sentences * width
    totals = torch.randn(rows, generator=draw, dtype=torch.float64)
    totals[torch.rand(rows, generator=draw) < 0.2] = -torch.inf  # rows that stand for no hypothesis
    log_probs = torch.randn(rows, num_actions, generator=draw, dtype=torch.float64)
    log_probs[torch.rand(rows, num_actions, generator=draw) < illegal] = -torch.inf
    count = min(wanted, width * num_actions)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beam, "GROUP", group)
        best, found_rows, actions = best_continuations(totals, log_probs, num_sentences, count)

    sums = (totals.unsqueeze(1) + log_probs).view(num_sentences, -1)
    assert torch.equal(best, sums.sort(dim=1, descending=True).values[:, :count])
    finite = best.isfinite()
    assert torch.equal((totals[found_rows] + log_probs[found_rows, actions])[finite], best[finite])
    for sentence in range(num_sentences):
        own = [(row // width, row, a) for row, a in zip(found_rows[sentence], actions[sentence], strict=True)]
        kept = [(int(s), int(r), int(a)) for (s, r, a), good in zip(own, finite[sentence], strict=True) if good]
        assert all(place == sentence for place, _, _ in kept)
        assert len(set(kept)) == len(kept)

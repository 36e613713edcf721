"""Packed places: sequences sorted, padding gone, nothing lost."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from trdec.model.fast.plan import Packing

lengths = st.lists(st.integers(1, 9), min_size=1, max_size=7)


@given(lengths)
def test_unpacking_restores_what_was_packed(sizes: list[int]) -> None:
    packing = Packing(torch.tensor(sizes))
    padded = torch.zeros(len(sizes), max(sizes), dtype=torch.long)
    for row, size in enumerate(sizes):
        padded[row, :size] = 100 * row + torch.arange(size) + 1
    assert packing.size == sum(sizes)
    assert torch.equal(packing.unpack(packing.pack(padded), max(sizes)), padded)


@given(lengths)
def test_the_rows_of_a_step_are_the_first_of_the_sorted_sequences(sizes: list[int]) -> None:
    packing = Packing(torch.tensor(sizes))
    for step, count in enumerate(packing.counts):
        begin, end = packing.offsets[step], packing.offsets[step + 1]
        assert end - begin == count == sum(size > step for size in sizes)
        assert packing.rows[begin:end].tolist() == list(range(count))
        assert packing.steps[begin:end].unique().tolist() == [step]


@given(lengths)
def test_the_last_place_of_a_sequence_holds_its_last_step(sizes: list[int]) -> None:
    packing = Packing(torch.tensor(sizes))
    last = packing.last_places()
    assert (packing.steps[last] + 1).tolist() == sorted(sizes, reverse=True)
    assert torch.equal(packing.sequences[last], packing.order)

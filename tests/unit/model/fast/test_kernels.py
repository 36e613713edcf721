"""A matrix laid out for speed is the same matrix."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trdec.model.fast.kernels import RightMatrix, padded_stride

sizes = st.integers(1, 70)


@given(sizes, sizes)
def test_layout_changes_no_number(height: int, width: int) -> None:
    matrix = torch.arange(height * width, dtype=torch.float64).view(height, width)
    assert torch.equal(padded_stride(matrix), matrix)
    assert torch.equal(torch.eye(width, dtype=torch.float64) @ RightMatrix(matrix.t()), matrix.t())


@pytest.mark.parametrize("width", [1, 15, 16, 17, 255, 256, 257, 512, 1000, 2048])
def test_rows_begin_at_cache_lines_that_do_not_collide(width: int) -> None:
    pitch, step = padded_stride(torch.zeros(3, width)).stride()
    assert step == 1
    assert width <= pitch < width + 32
    assert pitch % 16 == 0
    assert pitch % 256 != 0

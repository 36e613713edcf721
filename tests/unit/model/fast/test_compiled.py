"""The kernels in C compute what the kernels in torch compute, to the rounding of single precision."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from support.random_batches import random_batch, sequence_inventory, tree_inventory
from trdec.configuration.sections import ModelConfiguration
from trdec.model.attention import AdditiveAttention, DotAttention
from trdec.model.fast import compiled
from trdec.model.fast.attention import comparison_of
from trdec.model.fast.compiled import CompiledKernels, compiled_kernels, kernels_for, using
from trdec.model.fast.kernels import Kernels, RightMatrix
from trdec.model.fast.source_table import Readers
from trdec.model.translation_model import TranslationModel

TORCH = Kernels()
BUILDS = list(compiled_kernels())

pytestmark = pytest.mark.skipif(not BUILDS, reason="the kernels are not compiled here")

builds = pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.name)
seeds = st.integers(0, 10_000)
widths = st.sampled_from([1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64, 65, 100, 130])
counts = st.integers(1, 14)
scales = st.sampled_from([1e-4, 1.0, 30.0, 1e4])


def drawing(seed: int) -> Callable[..., Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(*shape, generator=generator)


def assert_near(found: Tensor, wanted: Tensor, terms: int = 1, magnitude: float = 1.0) -> None:
    """Within a few roundings of sums of this many terms of this magnitude."""
    bound = 1e-6 * magnitude * (2 + math.sqrt(terms))
    torch.testing.assert_close(found, wanted, rtol=4e-6, atol=bound, equal_nan=True)


# Functions


FUNCTIONS = {"exponential": torch.exp, "sigmoid": torch.sigmoid, "tanh": torch.tanh}


def computed(build: CompiledKernels, name: str, x: Tensor) -> Tensor:
    out = torch.empty_like(x)
    getattr(build.library, name)(len(x), x.data_ptr(), out.data_ptr())
    return out


@builds
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_err_by_less_than_three_units_in_the_last_place(build: CompiledKernels, name: str) -> None:
    x = torch.cat([torch.linspace(-86, 86, 400_001), torch.linspace(-2, 2, 400_001), torch.logspace(-30, 0, 1001)])
    exact = FUNCTIONS[name](x.double())
    unit = torch.nextafter(exact.float().abs(), torch.tensor(math.inf)) - exact.float().abs()
    errors = (computed(build, name, x).double() - exact).abs() / unit
    assert errors.max() <= 2.5


@builds
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_extreme_numbers_have_their_limits(build: CompiledKernels, name: str) -> None:
    x = torch.tensor([-math.inf, -1e30, -200.0, -88.0, 0.0, -0.0, 88.0, 1e30, math.inf])
    found, exact = computed(build, name, x), FUNCTIONS[name](x)
    largest = torch.finfo(torch.float32).max
    torch.testing.assert_close(found.clamp(max=1e38), exact.clamp(max=1e38), rtol=1e-6, atol=1e-37)
    assert (found <= largest).all()
    assert computed(build, name, torch.tensor([1.0, math.nan, 2.0])).isnan().tolist() == [False, True, False]


# Products


@builds
@settings(max_examples=30)
@given(seed=seeds, rows=st.integers(0, 40), height=widths, width=widths, flipped=st.booleans(), strided=st.booleans())
def test_a_product_is_torchs(
    build: CompiledKernels, seed: int, rows: int, height: int, width: int, flipped: bool, strided: bool
) -> None:
    random = drawing(seed)
    matrix = random(width, height).t() if flipped else random(height, width)
    left = random(rows, 2 * height)[:, ::2] if strided else random(rows, height)
    wide = random(rows, width + 5)
    wanted, added = left.double() @ matrix.double(), wide.clone()
    right = build.matrix(matrix)
    assert_near(right.times(left).double(), wanted, height)
    right.add_product(added[:, :width], left)
    assert_near((added[:, :width] - wide[:, :width]).double(), wanted, height)
    assert torch.equal(added[:, width:], wide[:, width:])


@builds
@settings(max_examples=30)
@given(seed=seeds, rows=st.integers(2, 40), height=widths, width=widths)
def test_a_row_of_a_product_does_not_depend_on_the_others(
    build: CompiledKernels, seed: int, rows: int, height: int, width: int
) -> None:
    random = drawing(seed)
    right, left = build.matrix(random(height, width)), random(rows, height)
    together = right.times(left)
    for begin, end in ((0, 1), (rows // 2, rows), (rows - 1, rows)):
        assert torch.equal(right.times(left[begin:end]), together[begin:end])


@builds
def test_many_rows_are_multiplied_by_torch(build: CompiledKernels) -> None:
    matrix, rows = torch.randn(9, 33), torch.randn(compiled.FEW + 1, 9)
    right = build.matrix(matrix)
    torch.testing.assert_close(right.times(rows), rows @ matrix)
    assert "_panels" not in vars(right)


SMALL_NUMBERS: list[Callable[[Kernels, Tensor], RightMatrix]] = [
    lambda kernels, matrix: kernels.bfloat16_matrix(matrix),
    lambda kernels, matrix: kernels.int8_matrix(matrix),
]
of_small_numbers = pytest.mark.parametrize("make", SMALL_NUMBERS, ids=["bfloat16", "int8"])


@builds
@of_small_numbers
@settings(max_examples=30)
@given(
    seed=seeds,
    rows=st.integers(0, 40),
    height=widths,
    width=widths,
    flipped=st.booleans(),
    strided=st.booleans(),
    scale=st.sampled_from([1e-20, 1.0, 1e10]),
)
def test_a_product_of_small_numbers_is_torchs(
    build: CompiledKernels,
    make: Callable[[Kernels, Tensor], RightMatrix],
    seed: int,
    rows: int,
    height: int,
    width: int,
    flipped: bool,
    strided: bool,
    scale: float,
) -> None:
    random = drawing(seed)
    matrix = scale * (random(width, height).t() if flipped else random(height, width))
    matrix[:, 0] = 0  # in int8, a column without a scale
    left = random(rows, 2 * height)[:, ::2] if strided else random(rows, height)  # some beyond 1, in int8 they are 1
    wide = scale * random(rows, width + 5)
    right, added = make(build, matrix), wide.clone()
    wanted = make(TORCH, matrix).times(left)
    assert_near(right.times(left) / scale, wanted / scale, height)
    right.add_product(added[:, :width], left)
    assert_near((added[:, :width] - wide[:, :width]) / scale, wanted / scale, height)
    assert torch.equal(added[:, width:], wide[:, width:])
    for row in range(rows):
        assert torch.equal(right.times(left[row : row + 1])[0], right.times(left)[row])


@builds
@given(seed=seeds, rows=counts, height=widths, width=widths)
def test_sums_in_int8_are_exact(build: CompiledKernels, seed: int, rows: int, height: int, width: int) -> None:
    """Whole numbers are added, so nothing is rounded but the result."""
    random = drawing(seed)
    matrix, left = random(height, width), random(rows, height).tanh()
    assert torch.equal(build.int8_matrix(matrix).times(left), TORCH.int8_matrix(matrix).times(left))


@builds
def test_sums_in_int8_of_the_largest_numbers_do_not_overflow(build: CompiledKernels) -> None:
    signs = torch.tensor([1.0, -1.0]).repeat(4000)  # K
    for rows, columns in ((signs, signs), (-signs, signs), (signs.abs(), signs), (signs.abs(), -signs.abs())):
        found = build.int8_matrix(columns.unsqueeze(1)).times(rows.unsqueeze(0))
        torch.testing.assert_close(found.squeeze(), rows @ columns)


@builds
def test_a_product_in_bfloat16_rounds_to_even_and_keeps_what_is_no_number(build: CompiledKernels) -> None:
    """Halfway between two numbers of bfloat16, beyond the largest, and not a number: as torch rounds."""
    x = torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8, 1e-30, 3.4e38, -3.4e38, math.inf, math.nan, 0.0])
    rounded = x.bfloat16().float()
    one = torch.ones(1, 1)
    as_rows = build.bfloat16_matrix(one).times(x.unsqueeze(1)).squeeze(1)
    as_columns = build.bfloat16_matrix(x.unsqueeze(0)).times(one).squeeze(0)
    for found in (as_rows, as_columns):
        torch.testing.assert_close(found, rounded, rtol=0, atol=0, equal_nan=True)


@builds
@of_small_numbers
@given(seed=seeds, rows=widths, height=widths, width=widths)
def test_the_product_of_a_transposed_matrix_is_torchs(
    build: CompiledKernels,
    make: Callable[[Kernels, Tensor], RightMatrix],
    seed: int,
    rows: int,
    height: int,
    width: int,
) -> None:
    random = drawing(seed)
    matrix, right = random(height, width), random(height, rows).tanh()
    wanted = make(TORCH, matrix).times(right.t()).t()
    assert_near(make(build, matrix).transposed_times(right), wanted, height)
    assert_near(make(TORCH, matrix).transposed_times(right), wanted, height)
    torch.testing.assert_close(build.matrix(matrix).transposed_times(right), matrix.t() @ right)


@pytest.mark.parametrize("kernels", [TORCH, *BUILDS], ids=lambda kernels: kernels.name)
@given(seed=seeds, rows=counts, height=widths, width=widths)
def test_a_product_in_bfloat16_is_near_the_product(
    kernels: Kernels, seed: int, rows: int, height: int, width: int
) -> None:
    """Both factors of a term err by a 256th of their size, or less."""
    random = drawing(seed)
    matrix, left = random(height, width), random(rows, height)
    bound = 2.01 / 256 * (left.abs() @ matrix.abs())
    assert ((kernels.bfloat16_matrix(matrix).times(left) - left @ matrix).abs() <= bound + 1e-6).all()


@pytest.mark.parametrize("kernels", [TORCH, *BUILDS], ids=lambda kernels: kernels.name)
@given(seed=seeds, rows=counts, height=widths, width=widths)
def test_a_product_in_int8_is_near_the_product(kernels: Kernels, seed: int, rows: int, height: int, width: int) -> None:
    """Each term errs by half a 127th of its row and half a 127th of the largest weight of its column, or less."""
    random = drawing(seed)
    matrix, left = random(height, width), random(rows, height).tanh()
    bound = 0.51 / 127 * (matrix.abs().sum(0) + 1.01 * left.abs().sum(1, keepdim=True) * matrix.abs().amax(0))
    assert ((kernels.int8_matrix(matrix).times(left) - left @ matrix).abs() <= bound + 1e-6).all()


# Gates


@builds
@settings(max_examples=30)
@given(seed=seeds, rows=counts, size=widths, scale=scales)
def test_gates_are_torchs(build: CompiledKernels, seed: int, rows: int, size: int, scale: float) -> None:
    random = drawing(seed)
    gates, cell = scale * random(rows, 4 * size + 3), random(rows, size)
    d_hidden, d_cell = random(rows, size), random(rows, size)
    found = []
    for kernels in (build, TORCH):
        activated = gates.clone()[:, : 4 * size]  # rows that are not contiguous
        outputs = torch.empty(3, rows, size).unbind(0)
        kernels.lstm_gates(activated, cell, *outputs)
        d_gates, d_previous = torch.empty(rows, 4 * size), d_cell.clone()
        kernels.lstm_gates_backward(activated, cell, outputs[1], d_hidden, d_previous, d_gates)
        found.append([activated, *outputs, d_gates, d_previous])
    for one, other in zip(*found, strict=True):
        assert_near(one, other)


# Sources


def readers_of(seed: int, sentences: int, shared: bool) -> Readers:
    """Rows that each read one of the sentences, in any order; where they share, one to nine rows for each."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(sentences, generator=generator)
    repeats = torch.randint(1, 10, (sentences,), generator=generator)
    return Readers(order.repeat_interleave(repeats) if shared else order)


lengths = st.lists(st.integers(1, 20), min_size=1, max_size=6)


@builds
@settings(max_examples=30)
@given(seed=seeds, lengths=lengths, size=widths, shared=st.booleans())
def test_sums_are_torchs(build: CompiledKernels, seed: int, lengths: list[int], size: int, shared: bool) -> None:
    random, readers = drawing(seed), readers_of(seed, len(lengths), shared)
    packed, weights, out = random(sum(lengths), size), random(readers.count, max(lengths)), random(readers.count, size)
    for row, sentence in enumerate(readers.sentences):
        weights[row, lengths[sentence] :] = 0
    found = [out.clone(), out.clone()]
    for kernels, into in zip((build, TORCH), found, strict=True):
        kernels.table(packed, lengths).add_sums(readers, weights, into)
    assert_near(*found, terms=max(lengths))


@builds
@settings(max_examples=30)
@given(seed=seeds, lengths=lengths, size=widths)
def test_dots_are_torchs(build: CompiledKernels, seed: int, lengths: list[int], size: int) -> None:
    random, readers = drawing(seed), readers_of(seed, len(lengths), shared=False)
    packed, rows, out = random(sum(lengths), size), random(readers.count, size), random(readers.count, max(lengths))
    found = [out.clone(), out.clone()]
    for kernels, into in zip((build, TORCH), found, strict=True):
        kernels.table(packed, lengths).add_dots(readers, rows, into)
        for row, sentence in enumerate(readers.sentences):
            into[row, lengths[sentence] :] = 0  # padding has no meaning
    assert_near(*found, terms=size)


@builds
@pytest.mark.parametrize("kind", [AdditiveAttention, DotAttention])
@settings(max_examples=40)
@given(
    seed=seeds,
    lengths=lengths,
    size=widths,
    shared=st.booleans(),
    away=st.sampled_from([0.0, 15.0, 60.0, 300.0]),
    beyond=st.sampled_from([0.0, 0.0, 50.0, -50.0, 1e4, -1e4]),
)
def test_attention_is_torchs(
    build: CompiledKernels,
    kind: type,
    seed: int,
    lengths: list[int],
    size: int,
    shared: bool,
    away: float,
    beyond: float,
) -> None:
    """Keys far above 0 and queries as far below, and queries so far from all keys that their exponentials overflow."""
    random, readers = drawing(seed), readers_of(seed, len(lengths), shared)
    keys, hidden = random(sum(lengths), size) + away, random(readers.count, size) / math.sqrt(size) - away + beyond
    parameters = (torch.eye(size), random(size) / math.sqrt(size)) if kind is AdditiveAttention else ()
    d_scores = random(readers.count, max(lengths))
    for row, sentence in enumerate(readers.sentences):
        d_scores[row, lengths[sentence] :] = 0
    found = []
    for kernels in (build, TORCH):
        with using(kernels):
            comparison = comparison_of(kind, keys.clone(), lengths, parameters, kernels.matrix)
            queries, weights = comparison.queries(hidden), torch.empty(readers.count, max(lengths))
            comparison.weights(readers, queries, weights)
            outputs = [weights]
            if not shared:
                d_queries = torch.empty_like(hidden)
                comparison.start_backward()
                comparison.backward(readers, queries, d_scores, d_queries)
                outputs += [d_queries, *comparison.gradients(hidden, d_queries)]
        found.append(outputs)
    if kind is DotAttention and (away or beyond):
        return  # scores of thousands differ by more than a softmax forgives
    for one, other in zip(*found, strict=True):
        assert_near(one, other, terms=size * max(lengths), magnitude=max(1.0, away))


@builds
def test_attention_beyond_all_numbers_is_not_a_number(build: CompiledKernels) -> None:
    """A training that diverges must show it, whatever computes it."""
    with using(build):
        comparison = comparison_of(DotAttention, torch.tensor([[math.nan], [1.0]]), [2], (), build.matrix)
        weights = torch.empty(1, 2)
        comparison.weights(Readers(torch.tensor([0])), torch.ones(1, 1), weights)
    assert weights.isnan().all()


@builds
@given(seed=seeds, rows=counts, width=widths)
def test_the_gradient_of_a_softmax_is_torchs(build: CompiledKernels, seed: int, rows: int, width: int) -> None:
    random = drawing(seed)
    weights, d_weights = random(rows, width).softmax(dim=1), random(rows, width)
    assert_near(build.softmax_backward(weights, d_weights), TORCH.softmax_backward(weights, d_weights))


# What is refused


@builds
def test_tensors_that_c_would_misread_are_refused(build: CompiledKernels) -> None:
    right, rows = build.matrix(torch.randn(4, 5)), torch.randn(2, 4)
    with pytest.raises(ValueError, match=r"\(2, 4\).*\(2, 3\)"):
        right.times(rows[:, :3])
    with pytest.raises(ValueError, match="float64"):
        right.times(rows.double())
    with pytest.raises(ValueError, match=r"rows \(2, 5\)"):
        right.add_product(torch.zeros(5, 2).t(), rows)
    cell = torch.zeros(2, 4)
    with pytest.raises(ValueError, match="contiguous"):
        build.lstm_gates(torch.zeros(2, 16), cell, torch.zeros(4, 2).t(), cell.clone(), cell.clone())


# Whole networks


@builds
@pytest.mark.parametrize("attention", ["additive", "dot"])
@pytest.mark.parametrize("decoder", ["tree", "sequence"])
def test_a_network_trains_and_searches_the_same(build: CompiledKernels, decoder: str, attention: str) -> None:
    torch.manual_seed(1)
    inventory = tree_inventory() if decoder == "tree" else sequence_inventory()
    configuration = ModelConfiguration(embedding_size=19, hidden_size=37, initialisation_range=0.3, attention=attention)
    model, batch = TranslationModel(configuration, inventory, decoder=decoder), random_batch(3)
    found = []
    for kernels in (build, TORCH):
        with using(kernels):
            model.zero_grad()
            model.log_probs(batch).sum().backward()
            gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
            searching = model.for_search()
            memory = searching.encode(batch.source)
            state, previous = searching.start(memory), torch.full_like(batch.source.lengths, model.num_actions)
            for step in range(3):
                scores, state = searching.step(state, memory, previous, batch.symbols[:, step], batch.parents[:, step])
                previous = batch.actions[:, step]
        found.append([*gradients, scores.exp()])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_other_precisions_are_served_by_torch() -> None:
    assert type(kernels_for(torch.zeros(1, dtype=torch.float64))) is Kernels
    assert type(kernels_for(torch.zeros(1, dtype=torch.bfloat16))) is Kernels
    assert type(kernels_for(torch.zeros(1))) is CompiledKernels

"""The tree LSTM computes, for all trees of a batch at once, what its equations say of one node after the other."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch import Tensor

from support.random_batches import SOURCE_SIZE, random_places
from support.small_models import SMALL
from trdec.configuration.sections import DropoutConfiguration
from trdec.data.batch import SourceBatch
from trdec.errors import UsageError
from trdec.model.tree_encoder import TreeLSTMEncoder

torch.set_num_threads(1)


def make_encoder(**changes: object) -> TreeLSTMEncoder:
    torch.manual_seed(1)
    encoder = TreeLSTMEncoder(SMALL.model_copy(update=changes), SOURCE_SIZE).double()
    for parameter in encoder.parameters():
        torch.nn.init.uniform_(parameter, -0.7, 0.7)
    return encoder.eval()


def chain(length: int, right: bool) -> np.ndarray:
    """S 3: a tree as deep as its sentence is long."""
    places = [[1 + number % 7, 1, 0] for number in range(length)] + [[8, 1, 0]]
    below, *others = range(length)[::-1] if right else range(length)
    for piece in (None, *others):  # the lowest node is unary
        places.append([2 + len(places) % 3, 0, 0])
        for child in (below, *([] if piece is None else [piece])):
            places[child][2] = len(places)
        below = len(places) - 1
    return np.array(places, dtype=np.int32)


def sources(seed: int) -> list[np.ndarray]:
    draw = random.Random(seed)
    found = [random_places(draw, [draw.randrange(SOURCE_SIZE) for _ in range(length)]) for length in (6, 1, 11, 3, 2)]
    flat = [[1 + number % 7, 1, 10] for number in range(8)] + [[8, 1, 0], [5, 0, 0]]
    return [*found, np.array(flat, dtype=np.int32), chain(9, right=True), chain(7, right=False)]


def defined(encoder: TreeLSTMEncoder, places: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
    """The states of all places S C, and the root's hidden state and cell, node after node by the equations."""
    numbers, is_text, parents = places.T.tolist()
    text = torch.tensor([[number for number, text in zip(numbers, is_text, strict=True) if text]])
    pieces = encoder.sequence(SourceBatch(text, torch.tensor([text.shape[1]]))).states[0]  # S C
    u_i, u_f, u_o, u_g = encoder.cell.hidden_weight.chunk(4)

    def visit(place: int) -> tuple[Tensor, Tensor]:
        if is_text[place]:
            return pieces[place], pieces[place]
        children = [visit(child) for child in range(len(numbers)) if parents[child] == place + 1]
        label = encoder.sequence.embedding.weight[numbers[place]]
        x_i, x_f, x_o, x_g = (encoder.cell.input_weights["label"] @ label + encoder.cell.bias).chunk(4)
        summed = sum((hidden for hidden, _ in children), start=torch.zeros_like(pieces[0]))
        cell = torch.sigmoid(x_i + u_i @ summed) * torch.tanh(x_g + u_g @ summed)
        for hidden, memory in children:
            cell = cell + torch.sigmoid(x_f + u_f @ hidden) * memory
        return torch.sigmoid(x_o + u_o @ summed) * torch.tanh(cell), cell

    states = torch.stack([visit(place)[0] for place in range(len(numbers))])
    return states, *visit(len(numbers) - 1)


def gradients(encoder: TreeLSTMEncoder, *outputs: Tensor) -> dict[str, Tensor]:
    encoder.zero_grad()
    torch.manual_seed(3)
    sum((output * torch.randn_like(output)).sum() for output in outputs).backward()  # type: ignore[union-attr]
    return {name: parameter.grad.clone() for name, parameter in encoder.named_parameters()}  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(3))
def test_all_trees_of_a_batch_have_the_states_and_gradients_of_the_equations(seed: int) -> None:
    encoder, given = make_encoder(), sources(seed)
    encoding = encoder(SourceBatch.of(given))
    assert encoding.summary is not None
    assert encoding.lengths.tolist() == list(map(len, given))
    for row, places in enumerate(given):
        states, hidden, cell = defined(encoder, places)
        found = (encoding.states[row, : len(places)], encoding.summary.hidden[row], encoding.summary.cell[row])
        for one, other in zip(found, (states, hidden, cell), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)
        assert not encoding.states[row, len(places) :].any()
        expected = gradients(encoder, states, hidden, cell)
        alone = encoder(SourceBatch.of([places]))
        for name, gradient in gradients(
            encoder, alone.states[0], alone.summary.hidden[0], alone.summary.cell[0]
        ).items():
            torch.testing.assert_close(gradient, expected[name], rtol=1e-9, atol=1e-9, msg=name)
            assert gradient.any(), name


def test_the_gradients_of_a_batch_are_the_sum_of_its_sentences() -> None:
    encoder, given = make_encoder(), sources(5)

    def summed(encoded: list[np.ndarray]) -> dict[str, Tensor]:
        encoding = encoder(SourceBatch.of(encoded))
        encoder.zero_grad()
        (encoding.states.sum() + (encoding.summary.cell**2).sum()).backward()
        return {name: parameter.grad.clone() for name, parameter in encoder.named_parameters()}

    parts = [summed([places]) for places in given]
    for name, together in summed(given).items():
        torch.testing.assert_close(together, sum(part[name] for part in parts), rtol=1e-9, atol=1e-9, msg=name)


def test_the_order_of_sources_does_not_matter() -> None:
    encoder, batch = make_encoder(), SourceBatch.of(sources(7))
    order = torch.tensor([3, 0, 7, 1, 5, 2, 6, 4])
    moved, still = encoder(batch.select(order)), encoder(batch)
    torch.testing.assert_close(moved.states, still.states[order], rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(moved.summary.cell, still.summary.cell[order], rtol=1e-10, atol=1e-10)


def test_a_tree_may_be_as_deep_as_a_long_sentence() -> None:
    encoder = make_encoder()
    encoding = encoder(SourceBatch.of([chain(1500, right=True), chain(3, right=False)]))
    encoding.summary.cell.sum().backward()
    assert encoding.states.isfinite().all()
    assert encoder.sequence.embedding.weight.grad.isfinite().all()


def test_dropout_is_the_same_for_all_nodes_of_a_source() -> None:
    rates = DropoutConfiguration(embeddings=0, tokens=0, states=0.5, readout=0)
    encoder = make_encoder(dropout=rates).train()
    with torch.no_grad():
        encoder.sequence.dropout = DropoutConfiguration(embeddings=0, tokens=0, states=0, readout=0)
        encoder.cell.hidden_weight.copy_(torch.eye(encoder.output_size).repeat(4, 1))
        encoder.cell.input_weights["label"].zero_()
        # A leaf's state reaches a node only through the units that the mask keeps.
        torch.manual_seed(11)
        first = encoder(SourceBatch.of([chain(4, right=True)])).states
        torch.manual_seed(11)
        assert torch.equal(encoder(SourceBatch.of([chain(4, right=True)])).states, first)
        assert not torch.equal(encoder(SourceBatch.of([chain(4, right=True)])).states, first)


def test_sources_without_trees_are_refused() -> None:
    with pytest.raises(UsageError, match="expected sources with trees, found some without"):
        make_encoder()(SourceBatch(torch.tensor([[1, 2]]), torch.tensor([2])))

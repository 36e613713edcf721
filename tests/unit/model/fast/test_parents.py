"""A parent's share in its children's gates is its state, projected; and it is projected once."""

from __future__ import annotations

import torch

from trdec.model.fast.kernels import RightMatrix
from trdec.model.fast.search import GrowingTable, ProjectedParents

SIZE = 3


@torch.no_grad()
def test_gates_are_projected_states_however_much_is_appended() -> None:
    torch.manual_seed(1)
    weight = torch.randn(4 * SIZE, SIZE, dtype=torch.float64)
    history = GrowingTable(torch.empty(1, SIZE, dtype=torch.float64))
    parents = ProjectedParents(history, RightMatrix(weight.t()))
    states = torch.zeros(1, SIZE, dtype=torch.float64)  # number 0 is no parent
    for count in (2, 300, 1, 400):
        new = torch.randn(count, SIZE, dtype=torch.float64)
        states = torch.cat([states, new])
        history.append(new)
        asked = torch.randint(0, len(states), (7,)).repeat(2)  # some for the first time, all twice
        torch.testing.assert_close(parents.gates(asked), states[asked] @ weight.t())


@torch.no_grad()
def test_a_parent_is_projected_when_first_asked_for_and_then_kept() -> None:
    history = GrowingTable(torch.empty(1, SIZE))
    parents = ProjectedParents(history, RightMatrix(torch.randn(SIZE, 4 * SIZE)))
    history.append(torch.randn(5, SIZE))
    for asked, projected in (([0], 0), ([4, 2, 4, 0], 2), ([2, 4], 2), ([5, 2], 3)):
        parents.gates(torch.tensor(asked))
        assert len(parents) == projected


def test_a_number_keeps_its_vector_however_much_is_appended() -> None:
    torch.manual_seed(1)
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            history, expected = GrowingTable(torch.empty(1, 3)), [torch.zeros(1, 3)]
            for count in (2, 300, 1, 400):
                vectors = torch.randn(count, 3)
                assert history.append(vectors).tolist() == list(
                    range(sum(map(len, expected)), sum(map(len, expected)) + count)
                )
                expected.append(vectors)
            everything = torch.cat(expected)
            assert torch.equal(history.at(torch.arange(len(everything))), everything)

"""A parent's share in its children's gates is its state, projected; and it is projected once."""

from __future__ import annotations

import torch

from trdec.model.history import History
from trdec.model.parents import Parents
from trdec.model.row_spacing import turned

SIZE = 3


@torch.no_grad()
def test_gates_are_projected_states_however_much_is_appended() -> None:
    torch.manual_seed(1)
    weight = torch.randn(4 * SIZE, SIZE, dtype=torch.float64)
    history = History(torch.empty(1, SIZE, dtype=torch.float64))
    parents = Parents(history, turned(weight))
    states = torch.zeros(1, SIZE, dtype=torch.float64)  # address 0 is no parent
    for count in (2, 300, 1, 400):
        new = torch.randn(count, SIZE, dtype=torch.float64)
        states = torch.cat([states, new])
        history.append(new)
        asked = torch.randint(0, len(states), (7,)).repeat(2)  # some for the first time, all twice
        torch.testing.assert_close(parents.gates(asked), states[asked] @ weight.t())


@torch.no_grad()
def test_a_parent_is_projected_when_first_asked_for_and_then_kept() -> None:
    history = History(torch.empty(1, SIZE))
    parents = Parents(history, turned(torch.randn(4 * SIZE, SIZE)))
    history.append(torch.randn(5, SIZE))
    for asked, projected in (([0], 0), ([4, 2, 4, 0], 2), ([2, 4], 2), ([5, 2], 3)):
        parents.gates(torch.tensor(asked))
        assert len(parents) == projected

"""A readout gives all places of a batch what it gives each."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from trdec.model.readout import TREE_READOUTS, SequenceReadout

EMBEDDING, HIDDEN, CONTEXT = 3, 4, 5


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("kind", TREE_READOUTS)
def test_places_see_the_latest_word_state(kind: str) -> None:
    torch.manual_seed(1)
    readout = TREE_READOUTS[kind](EMBEDDING, HIDDEN, CONTEXT).double()
    rule, word, latest = random(6, HIDDEN), random(3, HIDDEN), torch.tensor([0, 0, 2, 1, 2, 0])
    rule_contexts, word_contexts = random(6, CONTEXT), random(6, CONTEXT)
    expected = readout(rule, rule_contexts, word[latest], word_contexts)

    def contexts(rule_weight: Tensor, word_weight: Tensor) -> Tensor:
        return rule_contexts @ rule_weight.t() + word_contexts @ word_weight.t()

    torch.testing.assert_close(readout.sequence(rule, word, latest, contexts), expected)


def test_a_sequence_sees_its_state_and_context() -> None:
    torch.manual_seed(1)
    readout = SequenceReadout(EMBEDDING, HIDDEN, CONTEXT).double()
    hidden, contexts = random(6, HIDDEN), random(6, CONTEXT)
    found = readout.sequence(hidden, lambda weight: contexts @ weight.t())
    torch.testing.assert_close(found, readout(hidden, contexts))

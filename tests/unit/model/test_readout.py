"""The readout's two projections, and what becomes of a network that had one."""

from __future__ import annotations

import pytest
import torch

from support.random_batches import random_batch, sequence_inventory, tree_inventory
from trdec.configuration.sections import ModelConfiguration
from trdec.model.readout import ReleasedReadout, with_two_projections
from trdec.model.translation_model import TranslationModel

SMALL = ModelConfiguration(embedding_size=6, hidden_size=5)


def test_words_and_rules_have_projections_of_their_own() -> None:
    readout = ReleasedReadout(4, 3, 6)
    states = [torch.randn(2, size) for size in (3, 6, 3, 6)]
    before = readout(torch.tensor([False, True]), *states)
    with torch.no_grad():
        readout.word.projection.weight += 1.0
    after = readout(torch.tensor([False, True]), *states)
    assert torch.equal(before[0], after[0])
    assert not torch.allclose(before[1], after[1])


def test_a_network_with_one_projection_computes_the_same_with_two() -> None:
    batch = random_batch(3)
    model = TranslationModel(SMALL, tree_inventory(), decoder="tree")
    with torch.no_grad():
        model.decoder.readout.word.projection.weight.copy_(model.decoder.readout.rule.projection.weight)
    expected = model.log_probs(batch)
    weights = model.state_dict()
    weights["decoder.readout.projection.weight"] = weights.pop("decoder.readout.rule.projection.weight")
    del weights["decoder.readout.word.projection.weight"]

    loaded = TranslationModel(SMALL, tree_inventory(), decoder="tree")
    loaded.load_state_dict(with_two_projections(weights))
    torch.testing.assert_close(loaded.log_probs(batch), expected, rtol=0, atol=0)


@pytest.mark.parametrize("decoder", ["tree", "sequence"])
def test_weights_of_today_are_left_alone(decoder: str) -> None:
    inventory = tree_inventory() if decoder == "tree" else sequence_inventory()
    weights = TranslationModel(SMALL, inventory, decoder=decoder).state_dict()
    assert with_two_projections(weights).keys() == weights.keys()

"""Search between updates, as dev BLEU has it, uses the weights of that moment."""

from __future__ import annotations

import copy

import pytest
import torch

from support.small_models import small
from trdec.configuration.sections import OptimiserConfiguration
from trdec.search.beam import BeamSettings, beam_search
from trdec.search.limits import LengthLimits
from trdec.training.optimiser import Optimiser


@pytest.mark.parametrize("system", ["trdec-binary", "seq2seq"])
def test_search_after_an_update_is_that_of_a_new_model_with_the_same_weights(system: str) -> None:
    one = small(system)
    model = copy.deepcopy(one.model)
    optimiser = Optimiser(model.named_parameters(), OptimiserConfiguration(learning_rate=0.1))
    settings = BeamSettings(2, limits=LengthLimits(max_ratio=0, max_extra=30))
    source = one.sources([0, 1])
    for _ in range(3):
        model.train(True)
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimiser.step(0.1)
        model.train(False)
        new = copy.deepcopy(one.model)
        new.load_state_dict(model.state_dict())
        with torch.no_grad():
            found = beam_search(model.for_search(), one.effects, source, settings)
            assert found == beam_search(new.for_search(), one.effects, source, settings)

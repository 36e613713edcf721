"""Training under autocast runs, and stays close to full precision."""

from __future__ import annotations

import pytest
import torch

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import Batch, Inventory, SourceBatch
from trdec.model.translation_model import DECODERS, ENCODERS, TranslationModel

torch.set_num_threads(1)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("decoder", DECODERS)
def test_autocast_changes_the_loss_little(encoder: str, decoder: str) -> None:
    torch.manual_seed(1)
    legal = torch.tensor([[True, False, False], [False, True, True]])
    words = torch.tensor([False, decoder != "sequence"])
    inventory = Inventory(5, 3, 2, legal, words, *[torch.tensor([False, True, True])] * 2)
    model = TranslationModel(ModelConfiguration(embedding_size=8, hidden_size=8), inventory, encoder, decoder)
    steps = torch.tensor([[0, 1, 2, 0]])
    batch = Batch(
        source=SourceBatch(torch.tensor([[1, 2, 3]]), torch.tensor([3])),
        actions=steps,
        symbols=(steps > 0).long(),
        parents=torch.tensor([[0, 1, 1, 0]]),
        padding=torch.zeros(1, 4, dtype=torch.bool),
    )
    full = model.loss(batch).total
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model.loss(batch).total
    loss.backward()
    torch.testing.assert_close(loss, full, rtol=0.02, atol=0.02)
    assert all(bool(torch.isfinite(p.grad).all()) for p in model.parameters() if p.grad is not None)

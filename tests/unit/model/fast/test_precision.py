"""Training under autocast runs, and stays close to full precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import Batch, Inventory, SourceBatch
from trdec.model.fast.compiled import compiled_kernels, using
from trdec.model.fast.kernels import Kernels
from trdec.model.fast.plan import Packing
from trdec.model.fast.recurrence import run_lstm
from trdec.model.translation_model import DECODERS, ENCODERS, TranslationModel
from trdec.systems import TREE_ENCODER_NAMES

torch.set_num_threads(1)

SOURCE = SourceBatch(torch.tensor([[1, 2, 3]]), torch.tensor([3]))
SOURCE_WITH_TREE = SourceBatch.of([np.array([(1, 1, 4), (2, 1, 4), (3, 1, 0), (4, 0, 0)], dtype=np.int32)])


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
        source=SOURCE_WITH_TREE if encoder in TREE_ENCODER_NAMES else SOURCE,
        actions=steps,
        symbols=(steps > 0).long(),
        parents=torch.tensor([[0, 1, 1, 0]]),
        padding=torch.zeros(1, 4, dtype=torch.bool),
    )
    model.loss(batch).total.backward()
    full, wanted = model.loss(batch).total, {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model.loss(batch).total
    loss.backward()
    torch.testing.assert_close(loss, full, rtol=0.02, atol=0.02)
    found = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert found.keys() == wanted.keys()
    if "transformer" in encoder + decoder:  # gradients of layers that normalise may nearly cancel
        assert all(bool(gradient.isfinite().all()) for gradient in found.values())
        return
    difference = torch.cat([(found[name] - wanted[name]).flatten() for name in found]).norm()
    assert difference <= 0.02 * torch.cat([gradient.flatten() for gradient in wanted.values()]).norm()


@pytest.mark.parametrize("kernels", [Kernels(), *compiled_kernels()], ids=lambda kernels: kernels.name)
def test_a_recurrence_is_rounded_only_under_autocast(kernels: Kernels) -> None:
    torch.manual_seed(1)
    inputs, weight = torch.randn(5, 4 * 8), torch.randn(4 * 8, 8)
    packing = Packing(torch.tensor([3, 2]))
    with using(kernels):
        full, _ = run_lstm(inputs, weight, None, packing)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rounded, cells = run_lstm(inputs, weight, None, packing)
        again, _ = run_lstm(inputs, weight, None, packing)
    assert torch.equal(full, again)
    assert not torch.equal(full, rounded)
    assert rounded.dtype == cells.dtype == torch.float32
    torch.testing.assert_close(rounded, full, rtol=0, atol=0.02)

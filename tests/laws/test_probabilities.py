"""Probabilities are over the legal actions and nothing else."""

from __future__ import annotations

import pytest
import torch

from support.random_batches import (
    EOP,
    FIRST_WORD,
    NUM_ACTIONS,
    NUM_SYMBOLS,
    random_batch,
    sequence_inventory,
    tree_inventory,
)
from support.small_models import SMALL
from trdec.data.batch import Batch
from trdec.model.translation_model import DECODERS, TranslationModel

torch.set_num_threads(1)

decoders = pytest.mark.parametrize("decoder", DECODERS)


def make_model(decoder: str) -> TranslationModel:
    torch.manual_seed(2)
    inventory = sequence_inventory() if decoder == "sequence" else tree_inventory()
    configuration = SMALL.model_copy(update={"initialisation_range": 0.8})
    return TranslationModel(configuration, inventory, decoder=decoder).double().eval()


def first_step(model: TranslationModel, symbols: torch.Tensor) -> torch.Tensor:
    """Log-probabilities with these symbols open, one row each."""
    batch = random_batch(3, sizes=(1,))
    memory = model.encode(batch.source)
    state = model.start(memory).select(torch.zeros(len(symbols), dtype=torch.long))
    return model.step(state, memory, torch.full_like(symbols, NUM_ACTIONS), symbols, torch.zeros_like(symbols))[0]


@decoders
def test_probabilities_sum_to_one_over_legal_actions_and_are_zero_elsewhere(decoder: str) -> None:
    model, symbols = make_model(decoder), torch.arange(NUM_SYMBOLS).repeat(2)
    probabilities = first_step(model, symbols).exp()
    legal = model.softmax.legal[symbols]
    assert probabilities.shape == (2 * NUM_SYMBOLS, NUM_ACTIONS)
    assert bool((probabilities[~legal] == 0).all())
    assert bool((probabilities[legal] > 0).all())
    torch.testing.assert_close(probabilities.sum(1), torch.ones(2 * NUM_SYMBOLS, dtype=torch.float64))


def test_the_only_legal_action_is_certain() -> None:
    end = torch.tensor([4])
    with torch.no_grad():
        assert float(first_step(make_model("tree"), end)[0].max()) == 0.0


@decoders
def test_probabilities_follow_the_softmax_of_the_legal_logits_alone(decoder: str) -> None:
    """Changing what only illegal actions depend on changes nothing."""
    model, symbols = make_model(decoder), torch.tensor([0])
    before = first_step(model, symbols)
    illegal = ~model.softmax.legal[0]
    with torch.no_grad():
        model.output_weight[illegal] += 100.0
    torch.testing.assert_close(first_step(model, symbols), before, rtol=0, atol=0)


def smoothed_by_hand(model: TranslationModel, batch: Batch, share: float) -> torch.Tensor:
    """The smoothed loss from full distributions, one step at a time."""
    passed = model.run(batch)
    features = passed.unpack(passed.features)  # B T F
    total = torch.zeros((), dtype=torch.float64)
    for row, step in (~batch.padding).nonzero().tolist():
        legal = model.softmax.legal[batch.symbols[row, step]]
        log_probs = (model.output_weight @ features[row, step])[legal].log_softmax(0)
        gold = int(legal[: int(batch.actions[row, step])].sum())
        smoothing = share if FIRST_WORD <= int(batch.actions[row, step]) < EOP else 0.0
        total = total - (1 - smoothing) * log_probs[gold] - smoothing * log_probs.mean()
    return total


@decoders
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_label_smoothing_spreads_over_legal_actions_where_pieces_are_written(decoder: str, share: float) -> None:
    model, batch = make_model(decoder), random_batch(5)
    loss = model.loss(batch, label_smoothing=share)
    torch.testing.assert_close(loss.total, smoothed_by_hand(model, batch, share))
    gradients = torch.autograd.grad(loss.total, model.output_weight, retain_graph=True)[0]
    by_hand = torch.autograd.grad(smoothed_by_hand(model, batch, share), model.output_weight)[0]
    torch.testing.assert_close(gradients, by_hand)
    assert bool(torch.isfinite(gradients).all())


@decoders
def test_the_reported_loss_is_never_smoothed(decoder: str) -> None:
    model, batch = make_model(decoder), random_batch(5)
    reported = model.loss(batch, label_smoothing=0.3).negative_log_probs
    torch.testing.assert_close(reported, -model.log_probs(batch))
    torch.testing.assert_close(reported.sum(), model.loss(batch).total)

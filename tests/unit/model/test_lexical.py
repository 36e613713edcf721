"""What source pieces say by themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from support.random_batches import random_batch, tree_inventory
from support.small_models import SMALL
from trdec.configuration.sections import DropoutConfiguration
from trdec.data.batch import Batch
from trdec.errors import UsageError
from trdec.model.interfaces import SearchModel
from trdec.model.lexical import LexicalFeatures
from trdec.model.translation_model import TranslationModel

torch.set_num_threads(1)


def network(dropout: DropoutConfiguration | None = None) -> TranslationModel:
    torch.manual_seed(1)
    chosen = {"lexical": True, "dropout": dropout or DropoutConfiguration()}
    return TranslationModel(SMALL.model_copy(update=chosen), tree_inventory())


def test_only_words_follow_from_pieces() -> None:
    """What the pieces say changes the features of words, and of nothing else."""
    model, batch = network(), random_batch(3)
    before = model.run(batch)
    assert model.lexical is not None
    with torch.no_grad():
        model.lexical.projection.weight.add_(1.0)
    changed = (model.run(batch).features != before.features).any(dim=1)  # N
    assert torch.equal(changed, tree_inventory().word_symbols[before.pack(batch.symbols)])
    assert bool(changed.any())
    assert not bool(changed.all())


def test_eight_bits_hold_features_beyond_one() -> None:
    """Two features that add up to more than 1 are not taken for 1, as int8 takes other numbers."""
    model, batch = network().eval(), random_batch(3)
    assert model.lexical is not None
    with torch.no_grad():
        model.lexical.projection.weight.mul_(1000)
        for weight in model.decoder.readout.parameters():
            weight.mul_(100)
        model.output_matrix().mul_(5)
    assert model.run(batch).features.abs().max() > 1.5
    torch.testing.assert_close(first_step(model.for_search("int8"), batch), first_step(model, batch), rtol=0, atol=0.02)


def first_step(model: SearchModel, batch: Batch) -> Tensor:
    """B A: the probabilities of the first action."""
    memory = model.encode(batch.source)
    previous = torch.full_like(batch.actions[:, 0], model.num_actions)
    words = torch.full_like(previous, int(tree_inventory().word_symbols.nonzero()[0]))
    log_probs, _ = model.step(model.start(memory), memory, previous, words, torch.zeros_like(previous))
    return log_probs.exp()


def test_a_decoder_that_tells_nothing_of_its_attention_is_refused() -> None:
    batch = random_batch(3)
    found = replace(network().run(batch), attention={})
    lexical = LexicalFeatures(SMALL.embedding_size, found.features.shape[1], DropoutConfiguration())
    with pytest.raises(UsageError, match=r"model.lexical.*attention.*false"):
        lexical.added_to(found, network().encoder(batch.source))


def test_an_encoder_that_gives_no_embeddings_is_refused() -> None:
    encoding = replace(network().encoder(random_batch(3).source), pieces=None)
    with pytest.raises(UsageError, match=r"model.lexical.*Encoding.pieces.*false"):
        LexicalFeatures(SMALL.embedding_size, 4, DropoutConfiguration()).meanings(encoding)


@pytest.mark.parametrize("rates", [{"embeddings": 0.9}, {"tokens": 0.9}, {"readout": 0.9}], ids=str)
def test_pieces_are_dropped_in_training_only(rates: dict[str, float]) -> None:
    model, batch = network(DropoutConfiguration(**rates)), random_batch(3)
    plain = model.eval().run(batch)
    assert model.lexical is not None
    nothing = replace(plain, features=torch.zeros_like(plain.features))
    encoding = model.encoder(batch.source)  # without dropout
    kept = model.lexical.added_to(nothing, encoding).features
    undropped = network().lexical
    assert undropped is not None
    assert torch.equal(kept, undropped.added_to(nothing, encoding).features)
    assert not torch.equal(model.lexical.train().added_to(nothing, encoding).features, kept)

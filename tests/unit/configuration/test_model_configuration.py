"""A model's configuration is checked, explained, and says clearly what does not go together."""

from __future__ import annotations

import pytest
import torch
from pydantic import ValidationError

from trdec.configuration import Configuration
from trdec.configuration.sections import DropoutConfiguration, ModelConfiguration
from trdec.data.batch import Inventory
from trdec.model.translation_model import TranslationModel


def small_inventory() -> Inventory:
    legal = torch.tensor([[True, False, False], [False, True, True]])
    return Inventory(5, 3, 2, legal, torch.tensor([False, True]), *[torch.tensor([False, True, True])] * 2)


def test_every_key_says_what_it_does() -> None:
    for configuration in (ModelConfiguration, DropoutConfiguration):
        for name, field in configuration.model_fields.items():
            assert field.description, name
            assert field.description.endswith("."), name


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(ValidationError, match="hiden_size"):
        ModelConfiguration.model_validate({"hiden_size": 5})


def test_tied_embeddings_need_features_of_their_size() -> None:
    corpus = {"source": "x", "target": "y"}
    rest = {"output": "z", "data": {"train": corpus, "dev": corpus}}
    small = ModelConfiguration(embedding_size=4, hidden_size=3, tie_embeddings=True, readout="paper")
    with pytest.raises(ValidationError, match=r"tie_embeddings needs features of the embeddings' size, 4, .* gives 6"):
        Configuration(system="trdec-binary", model=small, **rest)
    for system, network in (("trdec-binary", small.model_copy(update={"embedding_size": 6})), ("seq2seq", small)):
        configuration = Configuration(system=system, model=network, **rest)
        model = TranslationModel(configuration.model, small_inventory(), decoder=configuration.system.decoder)
        assert model.decoder.feature_size == network.embedding_size


@pytest.mark.parametrize("system", [{"encoder": "transformer"}, {"decoder": "tree-transformer"}])
def test_a_transformer_s_heads_divide_its_width(system: dict[str, str]) -> None:
    corpus = {"source": "x", "target": "y"}
    keys = {"output": "z", "data": {"train": corpus, "dev": corpus}, "model": {"embedding_size": 12}}
    Configuration(system="trdec-binary", **keys)
    with pytest.raises(ValidationError, match=r"multiple of twice model.transformer.heads, 8; found 12"):
        Configuration(system={"trees": "binary-1", **system}, **keys)
    keys["model"] = {"embedding_size": 12, "transformer": {"heads": 3}}
    Configuration(system={"trees": "binary-1", **system}, **keys)


@pytest.mark.parametrize("initialisation", ["uniform", "xavier"])
def test_norms_start_as_the_identity(initialisation: str) -> None:
    configuration = ModelConfiguration(embedding_size=8, hidden_size=8, initialisation=initialisation)
    model = TranslationModel(configuration, small_inventory(), "transformer", "tree-transformer")
    norms = [module for module in model.modules() if isinstance(module, torch.nn.LayerNorm)]
    assert len(norms) == 4 * (2 + 3) + 2
    for norm in norms:
        assert bool((norm.weight == 1).all())
        assert not bool(norm.bias.any())


@pytest.mark.parametrize("bound", [0.1, 0.02])
def test_uniform_initialisation_fills_its_range(bound: float) -> None:
    configuration = ModelConfiguration(embedding_size=8, hidden_size=8, initialisation_range=bound)
    model = TranslationModel(configuration, small_inventory())
    for name, parameter in model.named_parameters():
        assert float(parameter.detach().abs().max()) <= bound, name
        assert float(parameter.detach().abs().max()) > bound / 4, name


def test_xavier_initialisation_leaves_biases_zero_and_nothing_else() -> None:
    configuration = ModelConfiguration(embedding_size=8, hidden_size=8, initialisation="xavier")
    model = TranslationModel(configuration, small_inventory())
    for name, parameter in model.named_parameters():
        assert bool(parameter.any()) != name.endswith("bias"), name


def test_an_inventory_whose_words_are_scattered_is_refused() -> None:
    legal = torch.ones(2, 3, dtype=torch.bool)
    with pytest.raises(ValueError, match="one contiguous block"):
        Inventory(5, 3, 2, legal, torch.tensor([False, True]), *[torch.tensor([True, False, True])] * 2)


def test_an_inventory_that_lets_a_rule_stand_for_a_word_is_refused() -> None:
    legal = torch.ones(2, 3, dtype=torch.bool)
    with pytest.raises(ValueError, match="word symbol must allow word actions only"):
        Inventory(5, 3, 2, legal, torch.tensor([False, True]), *[torch.tensor([False, True, True])] * 2)

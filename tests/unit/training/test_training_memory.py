"""A network that cannot fit into memory is refused before it is made, with what to change."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from support.random_batches import tree_inventory
from trdec.configuration import Configuration
from trdec.configuration.sections import CorpusConfiguration, DataConfiguration, ModelConfiguration
from trdec.errors import TrainingError
from trdec.model.translation_model import TranslationModel
from trdec.training.memory import available_memory, check_memory, count_weights

CPU = torch.device("cpu")


def configured(**sizes: object) -> Configuration:
    corpus = CorpusConfiguration(source=Path("a"), target=Path("b"))
    model = ModelConfiguration.model_validate({"embedding_size": 6, "hidden_size": 5, **sizes})
    return Configuration(
        system="trdec-binary", output=Path("model"), data=DataConfiguration(train=corpus, dev=corpus), model=model
    )


@pytest.mark.parametrize("layers", [1, 2, 3, 5])
@pytest.mark.parametrize("readout", ["paper", "released"])
def test_weights_are_counted_without_being_made(layers: int, readout: str) -> None:
    configuration = configured(encoder_layers=layers, readout=readout)
    made = TranslationModel(configuration.model, tree_inventory())
    assert count_weights(configuration, tree_inventory()) == sum(weight.numel() for weight in made.parameters())
    check_memory(configuration, tree_inventory(), CPU)


@pytest.mark.parametrize(
    "sizes", [{"hidden_size": 65_536}, {"encoder_layers": 1024, "hidden_size": 4096}, {"hidden_size": 50_000}]
)
def test_what_does_not_fit_is_refused_at_once(sizes: dict[str, int]) -> None:
    began = time.monotonic()
    with pytest.raises(TrainingError) as raised:
        check_memory(configured(**sizes), tree_inventory(), CPU)
    assert time.monotonic() - began < 5
    for key, value in sizes.items():
        assert f"model.{key} ({value})" in str(raised.value)
    assert "GB" in str(raised.value)


def test_there_is_memory() -> None:
    found = available_memory(CPU)
    assert found is not None
    assert 2**20 < found < 2**50

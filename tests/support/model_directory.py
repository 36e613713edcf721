"""Model directories as training leaves them, made in a few seconds."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import torch

from support.small_models import toy_data
from trdec.configuration import CONFIGURATION_FILE, Configuration
from trdec.configuration.sections import DataConfiguration, ModelConfiguration
from trdec.data.batch import collate
from trdec.data.prepare import prepare
from trdec.model.translation_model import TranslationModel
from trdec.model.weights import weights_of, write_model_weights
from trdec.systems import SYSTEMS, System


@cache
def trained() -> Path:
    """The directory of a small model that learnt three toy sentences and their constituency trees by heart."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    return make_model(folder, "trdec-con", updates=120, sentences=3)


def make_model(folder: Path, system: str, updates: int = 0, sentences: int = 8) -> Path:
    """The directory of a small model that learnt the first toy sentences by heart, if it had the updates for it."""
    return make_model_of(SYSTEMS[system], toy_data(folder / "toy"), folder / system, updates, sentences)


def make_model_of(
    system: System, data: DataConfiguration, directory: Path, updates: int = 0, sentences: int = 8
) -> Path:
    """The same of any system and data."""
    torch.set_num_threads(1)
    network = ModelConfiguration(embedding_size=32, hidden_size=48, initialisation_range=0.2)
    configuration = Configuration(system=system, output=directory, data=data, model=network)
    preparation = prepare(data, system, directory)
    torch.manual_seed(1)
    model = TranslationModel(network, preparation.codec.inventory(), system.encoder, system.decoder)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    wanted = [n for n in range(len(preparation.train)) if preparation.train.sentences[n] < sentences]
    batch = collate([preparation.train[number] for number in wanted], preparation.codec.table.steps)
    for _ in range(updates):
        optimiser.zero_grad()
        (model.loss(batch).total / batch.num_sentences).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimiser.step()
    configuration.save(directory / CONFIGURATION_FILE)
    write_model_weights(directory, weights_of(model))
    return directory

"""From a configuration to a trained model in a directory: what `trdec train` does.

MODEL/
    config.yaml          every key with its value
    codec/               subwords, grammar: what turns text into actions and back
    data/                the prepared corpora; can be made again
    log.jsonl            one JSON object a line
    loss.png
    checkpoints/         the last two, to go on from
    best/                the best weights
    model.safetensors    the weights to translate with
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch

from trdec.configuration import CONFIGURATION_FILE, Configuration, check_unchanged, load_saved_configuration
from trdec.data.batch import Batcher
from trdec.data.codec import Codec
from trdec.data.prepare import PREPARATION_DESCRIPTION, Preparation, PreparationProgress, changed_inputs, prepare
from trdec.errors import ConfigError, FileError, TrainingError
from trdec.model.translation_model import TranslationModel
from trdec.model.weights import checksum
from trdec.systems import system_name
from trdec.training.checkpoint import Checkpoints
from trdec.training.device import choose_device
from trdec.training.interfaces import Observer, Observers
from trdec.training.loop import LOG, Loop, Outcome, TrainingCorpus
from trdec.training.metrics import Kinds
from trdec.training.observers import JsonLines, LossPlot, TensorBoard

Bleu = Callable[[TranslationModel[Any], Codec, Configuration], float]
"""Translates dev with a model and says how good that is."""

NOBODY_IS_TOLD: AbstractContextManager[None] = contextlib.nullcontext()


def train(
    configuration: Configuration,
    observer: Observer,
    bleu: Bleu | None = None,
    workers: int = 1,
    preparing: AbstractContextManager[PreparationProgress | None] = NOBODY_IS_TOLD,
) -> Outcome:
    """Train, or go on training, the model that a configuration describes.

    What `preparing` gives is told how far the preparation of the data is.
    """
    directory, training = configuration.output, configuration.training
    device = choose_device(training)
    torch.set_num_threads(training.threads)
    with _alone_in(directory):
        observers = Observers(_observers(configuration, observer))
        if Checkpoints(directory / "checkpoints").paths():
            _check_same_training(configuration, directory)
        data, system = configuration.located_data, configuration.system
        with preparing as progress:
            preparation = prepare(data, system, directory / "data", workers, progress)
        for line in preparation.report.lines():
            observer.note(line)
        configuration.save(directory / CONFIGURATION_FILE)
        if not _same_files(directory / "data" / "codec", directory / "codec"):
            preparation.codec.save(directory / "codec")
        torch.manual_seed(configuration.seed)
        model: TranslationModel[Any] = TranslationModel(
            configuration.model, preparation.codec.inventory(), system.encoder, system.decoder
        ).to(device)
        weights = sum(weight.numel() for weight in model.parameters())
        observer.note(f"{system_name(system)}: {weights:,} weights on {device.type}")
        loop = Loop(
            model,
            _corpus(configuration, preparation, directory / "data", device),
            training,
            directory,
            observers,
            device,
            (lambda: bleu(model, preparation.codec, configuration)) if bleu else None,
        )
        return loop.run()


def _check_same_training(configuration: Configuration, directory: Path) -> None:
    """Refuse to go on with another experiment, or with other data, before anything in the directory is changed."""
    if not (directory / CONFIGURATION_FILE).exists():
        raise ConfigError(
            f"{directory / CONFIGURATION_FILE}: expected the configuration of the training in this directory, found "
            "nothing, so this training cannot be resumed. Put the file back, or choose another output."
        )
    check_unchanged(load_saved_configuration(directory), configuration, directory / CONFIGURATION_FILE)
    if changed := changed_inputs(configuration.located_data, configuration.system, directory / "data"):
        raise TrainingError(
            f"{directory}: the training in this directory was begun with other data: {', '.join(changed)} changed. "
            "Choose another output for the new training, or give the data it was begun with."
        )


def _same_files(folder: Path, other: Path) -> bool:
    """Whether the other folder has every file of this one, with the same content."""
    return all(
        (other / path.name).is_file() and (other / path.name).read_bytes() == path.read_bytes()
        for path in folder.iterdir()
    )


def _corpus(
    configuration: Configuration, preparation: Preparation, data: Path, device: torch.device
) -> TrainingCorpus[Any]:
    return TrainingCorpus(
        Batcher(preparation.train, configuration.batches, configuration.seed),
        Batcher(preparation.dev, configuration.batches, configuration.seed),
        Kinds(preparation.codec.table.kinds, device),
        fingerprint_of_prepared(data),
    )


def fingerprint_of_prepared(data: Path) -> str:
    """A name for exactly these prepared data: what they were made from, and the codec that came of it."""
    files = [data / PREPARATION_DESCRIPTION, *sorted(path for path in (data / "codec").rglob("*") if path.is_file())]
    return hashlib.sha256("".join(checksum(file) for file in files).encode("ascii")).hexdigest()


def _observers(configuration: Configuration, observer: Observer) -> Iterator[Observer]:
    directory = configuration.output
    yield observer
    if configuration.training.plot:
        yield LossPlot(directory / "loss.png", JsonLines(directory / LOG))
    if configuration.training.tensorboard:
        yield TensorBoard(directory / "tensorboard")


@contextlib.contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Two trainings in one directory would ruin each other; the lock ends with the process, however it ends."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        stream = (directory / ".lock").open("w")
    except OSError as error:
        raise FileError(f"{directory}: cannot be written: {error.strerror}.") from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise TrainingError(
                f"{directory}: another process is training in this directory. Wait for it, or choose another output."
            ) from error
        except OSError as error:
            raise FileError(
                f"{directory}: cannot be locked: {error.strerror}. Choose an output on a file system with locks."
            ) from error
        yield

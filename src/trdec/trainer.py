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
from pathlib import Path
from typing import Any

import torch

from trdec.config import FILE, Configuration, check_unchanged, load_configuration
from trdec.data.batching import Batcher
from trdec.data.codec import Codec
from trdec.data.prepare import DESCRIPTION, Preparation, Progress, prepare
from trdec.errors import FileError, TrainingError
from trdec.model.translation_model import TranslationModel
from trdec.training.checkpoint import Checkpoints
from trdec.training.device import choose_device
from trdec.training.kinds import Kinds
from trdec.training.log import JsonLines
from trdec.training.loop import LOG, Corpus, Loop, Outcome
from trdec.training.plot import LossPlot
from trdec.training.protocols import Observer, Observers
from trdec.training.tensorboard import TensorBoard
from trdec.training.weights import checksum

Bleu = Callable[[TranslationModel[Any], Codec, Configuration], float]
"""Translates dev with a model and says how good that is."""


def train(
    configuration: Configuration,
    observer: Observer,
    bleu: Bleu | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Outcome:
    """Train, or go on training, the model that a configuration describes."""
    directory, training = configuration.output, configuration.training
    device = choose_device(training)
    torch.set_num_threads(training.threads)
    with _alone_in(directory):
        begun = bool(Checkpoints(directory / "checkpoints").paths())
        if begun and (directory / FILE).exists():
            check_unchanged(load_configuration(directory / FILE), configuration, directory / FILE)
        configuration.save(directory / FILE)
        preparation = prepare(configuration.located_data, configuration.system, directory / "data", workers, progress)
        for line in preparation.report.lines():
            observer.note(line)
        if not begun:
            preparation.codec.save(directory / "codec")
        torch.manual_seed(configuration.seed)
        model: TranslationModel[Any] = TranslationModel(configuration.model, preparation.codec.inventory()).to(device)
        observer.note(f"{sum(weight.numel() for weight in model.parameters()):,} weights on {device.type}")
        loop = Loop(
            model,
            _corpus(configuration, preparation, directory / "data", device),
            training,
            directory,
            Observers(_observers(configuration, observer)),
            device,
            (lambda: bleu(model, preparation.codec, configuration)) if bleu else None,
        )
        return loop.run()


def _corpus(configuration: Configuration, preparation: Preparation, data: Path, device: torch.device) -> Corpus[Any]:
    return Corpus(
        Batcher(preparation.train, configuration.batches, configuration.seed),
        Batcher(preparation.dev, configuration.batches, configuration.seed),
        Kinds(preparation.codec.table.kinds, device),
        fingerprint(data),
    )


def fingerprint(data: Path) -> str:
    """A name for exactly these prepared data: what they were made from, and the codec that came of it."""
    files = [data / DESCRIPTION, *sorted(path for path in (data / "codec").rglob("*") if path.is_file())]
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
        except OSError as error:
            raise TrainingError(
                f"{directory}: another process is training in this directory. Wait for it, or choose another output."
            ) from error
        yield

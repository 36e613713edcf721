"""From a configuration to a trained model in a directory.

MODEL/
    config.yaml          every key with its value
    codec/               subwords, and rules or marks: what turns text into actions and back
    data/                the prepared corpora; can be made again
    log.jsonl            one JSON object per line
    loss.png
    checkpoints/         the last two, to resume from
    best/                the best weights
    model.safetensors    the weights to translate with
    manifest.json        the checksums of what translating reads
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from trdec.configuration import CONFIGURATION_FILE, Configuration, check_unchanged, load_saved_configuration
from trdec.configuration.configuration import flatten
from trdec.configuration.recipe import search_for
from trdec.configuration.sections import TrainingConfiguration
from trdec.data.batch import Batcher, Change
from trdec.data.codec import Codec
from trdec.data.drawn_trees import DrawnTrees
from trdec.data.guidance import learn_guide
from trdec.data.manifest import WEIGHTS, replacing_model_file
from trdec.data.prepare import Preparation, lock_for_training, prepare
from trdec.data.store import Example
from trdec.data.subword_dropout import SubwordDropout
from trdec.data.workers import Processes
from trdec.errors import ConfigError, TrainingError, memory_errors
from trdec.files import checksum_of_text, write_errors
from trdec.model.translation_model import TranslationModel, decoder_called, encoder_called
from trdec.systems import system_name
from trdec.training.checkpoint import Checkpoints
from trdec.training.distributed import ALONE, Ranks
from trdec.training.interfaces import Observer, Observers
from trdec.training.loop import LESS_TO_TRAIN, LOG, Loop, Outcome, TrainingCorpus
from trdec.training.memory import check_memory
from trdec.training.metrics import Kinds, dev_bleu
from trdec.training.observers import JsonLines, LossPlot, TensorBoard
from trdec.training.transfer import Parent, start_from

SILENT = Observers(())
"""The observer that shows nothing."""

KEYS_OF_A_RANK = frozenset({"training.device", "training.threads", "training.rank_timeout"})
"""The keys that may differ between the ranks of a training, which may be on different machines."""


def train(
    configuration: Configuration,
    observer: Observer = SILENT,
    workers: int = 1,
    ranks: Ranks = ALONE,
) -> Outcome:
    """Train the model that a configuration describes, or resume its training; so many workers prepare the data.

    Every process of several gives its `ranks`; the first one prepares, writes and shows.
    """
    directory, training = configuration.output, configuration.training
    device = choose_device(training, ranks.local)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    torch.set_num_threads(training.threads)
    observer = observer if ranks.is_first else SILENT
    parent = None
    with contextlib.ExitStack() as held:
        with ranks.turn_of_first():
            if ranks.is_first:
                held.enter_context(lock_for_training(directory))
                parent = _parent(configuration)  # before the data are prepared, which may take hours
                preparation = _begin(configuration, observer, workers)
        if not ranks.is_first:
            preparation = Preparation.open(directory, configuration.system.foreign_code)
        check_ranks_agree(configuration, preparation.fingerprint, ranks)
        observers = Observers(_observers(configuration, observer)) if ranks.is_first else SILENT
        data = configuration.located_data
        torch.manual_seed(configuration.seed)
        codec, seed = preparation.codec, configuration.seed
        system = configuration.system
        inventory = codec.inventory()
        check_memory(configuration, inventory, device)
        with memory_errors(LESS_TO_TRAIN):
            model = TranslationModel(configuration.model, inventory, system.encoder, system.decoder).to(device)
        weights = sum(weight.numel() for weight in model.parameters())
        shared = f", {ranks.count} processes" if ranks.count > 1 else ""
        observer.note(f"{system_name(system)}: {weights:,} weights on {device.type}{shared}")
        in_bfloat16 = training.precision == "bfloat16" and device.type == "cpu"
        if in_bfloat16 and (advice := advice_on_bfloat16(bfloat16_cost())):
            observer.note(advice)
        if parent is not None:  # other ranks get the weights of the first
            observer.note(f"starting from {parent.path}: {start_from(parent, model, codec)}")
            parent = None  # so that its memory is free
        weights_of_corpora = [corpus.weight for corpus in data.corpora]
        weights_of_examples = preparation.of_each(weights_of_corpora) if set(weights_of_corpora) != {1.0} else None
        change, steps_of = _change(codec, configuration), codec.table.steps
        guide = None
        if training.guidance:
            guide = learn_guide(preparation.train, codec, training.guidance, observer.progress)
        corpus = TrainingCorpus(
            Batcher(preparation.train, steps_of, configuration.batches, seed, change, weights_of_examples, guide),
            Batcher(preparation.dev, steps_of, configuration.batches, seed),
            Kinds(codec.table.kinds, device),
            preparation.fingerprint,
        )
        bleu = (lambda: dev_bleu(model, codec, data, observer.progress)) if training.metric == "bleu" else None
        return Loop(model, corpus, training, directory, observers, device, bleu, seed, ranks).run()


def check_ranks_agree(configuration: Configuration, fingerprint: str, ranks: Ranks) -> None:
    """Raise a TrainingError on every rank if their configurations or data differ: the gradients of two different
    trainings can be added too.

    Paths and what depends on the machine may differ.
    """
    parts: dict[str, list[object]] = {}
    for key, value in flatten(configuration):
        if key not in KEYS_OF_A_RANK:  # all of `data` together, since all ranks must gather equally many numbers
            name = "data" if key.startswith("data.") else key
            parts.setdefault(name, []).append((key, None if isinstance(value, Path) else value))
    parts["the prepared data"] = [fingerprint]
    numbers = [int(checksum_of_text(repr(part))[:12], 16) for part in parts.values()]  # as exact as a float
    found = ranks.gather(numbers)
    if differing := [name for name, *each in zip(parts, *found, strict=True) if len(set(each)) > 1]:
        raise TrainingError(
            f"the {ranks.count} processes of this training do not agree on {', '.join(differing)}. Start all of them "
            f"with the same configuration and the same output; only paths and {', '.join(sorted(KEYS_OF_A_RANK))} may "
            "differ."
        )


def _parent(configuration: Configuration) -> Parent | None:
    """The model to start from; None where there are checkpoints, since the weights are then theirs."""
    path = configuration.training.start_from
    if path is None or Checkpoints(configuration.output / "checkpoints").paths():
        return None
    return Parent.load(path, configuration.system.foreign_code)


def _begin(configuration: Configuration, observer: Observer, workers: int) -> Preparation:
    """The prepared data, once it is clear that this training may use the directory; the configuration is saved."""
    directory = configuration.output
    _check_same_training(configuration, directory)
    data, system = configuration.located_data, configuration.system
    encoder_called(system.encoder)  # before the data are prepared, which may take hours
    decoder_called(system.decoder)
    preparation = prepare(data, system, directory, Processes(workers), observer.progress, is_training=True)
    for line in preparation.report.lines():
        observer.note(line)
    with write_errors(directory), replacing_model_file(directory, CONFIGURATION_FILE) as temporary:
        _to_save(configuration, directory).save(temporary)
    return preparation


def _to_save(configuration: Configuration, directory: Path) -> Configuration:
    """The configuration with all of `search`: what it leaves out is what the model in the directory does, which may
    have been tuned, or else what suits the system. A resumed training keeps the name of the model it started from.
    """
    training, other = configuration.training, search_for(configuration.system)
    if Checkpoints(directory / "checkpoints").paths():
        saved = load_saved_configuration(directory)
        training, other = training.model_copy(update={"start_from": saved.training.start_from}), saved.search
    given = {key: getattr(configuration.search, key) for key in configuration.search.model_fields_set}
    return configuration.model_copy(update={"training": training, "search": other.model_copy(update=given)})


def _change(codec: Codec, configuration: Configuration) -> Change | None:
    """What becomes of the training examples in each epoch; None if they stay as they are."""
    batches, seed = configuration.batches, configuration.seed
    changes: list[Change] = []
    if batches.trees == "drawn" and (trees := DrawnTrees(codec, seed)).has_any:
        changes.append(trees)
    if batches.subword_dropout:
        changes.append(SubwordDropout(codec, batches.subword_dropout, seed))
    if not changes:
        return None

    def change(example: Example, number: int, epoch: int) -> Example:
        for each in changes:
            example = each(example, number, epoch)
        return example

    return change


def choose_device(configuration: TrainingConfiguration, local: int = 0) -> torch.device:
    """The device that a configuration asks for; TrainingError if it is missing or cannot do what is asked.

    Of several processes on one machine, each has the device of its own number.
    """
    name = configuration.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    elif name == "cuda" and not torch.cuda.is_available():
        raise TrainingError("training.device is cuda, but torch finds no such device. Set training.device=cpu or auto.")
    if configuration.precision == "bfloat16" and name == "cuda" and not torch.cuda.is_bf16_supported():
        raise TrainingError(
            "training.precision is bfloat16, which this device does not support. Set training.precision=float32."
        )
    if name == "cuda" and local >= torch.cuda.device_count():
        raise TrainingError(
            f"process {local} of this machine (from 0) needs a device of its own, but torch finds "
            f"{torch.cuda.device_count()}. Start as many processes as there are devices, or set training.device=cpu."
        )
    return torch.device(name, local) if name == "cuda" else torch.device(name)


def bfloat16_cost(attempts: int = 5) -> float:
    """How many times as long a matrix product takes in bfloat16 as in float32 on this processor."""
    seconds = {}
    for precision in (torch.float32, torch.bfloat16):
        rows, columns = torch.ones(256, 512, dtype=precision), torch.ones(512, 1024, dtype=precision)
        rows @ columns  # the first product prepares the library
        times = []
        for _ in range(attempts):
            began = time.perf_counter()
            rows @ columns
            times.append(time.perf_counter() - began)
        seconds[precision] = min(times)  # other work on the machine only adds
    return seconds[torch.bfloat16] / seconds[torch.float32]


def advice_on_bfloat16(cost: float) -> str | None:
    """What to say to someone who trains in bfloat16 where a product costs so many times as much as in float32."""
    if cost < 1.2:
        return None
    return (
        "training.precision is bfloat16, but on this processor a product takes "
        f"{cost:.1f} times as long as in float32. A new training with training.precision=float32 is faster here."
    )


def _check_same_training(configuration: Configuration, directory: Path) -> None:
    """Refuse to resume the training in the directory as another experiment, before anything is changed."""
    checkpoints = Checkpoints(directory / "checkpoints")
    if not checkpoints.paths():
        if (directory / WEIGHTS).exists():
            raise TrainingError(
                f"{directory}: expected a directory without a model, or a checkpoint to resume from; found a trained "
                f"model, {WEIGHTS}, and no checkpoint in {checkpoints.folder}. Choose another output, or remove "
                f"{WEIGHTS} to train another model here."
            )
        return
    checkpoints.check_readable()
    path = directory / CONFIGURATION_FILE
    if not path.exists():
        raise ConfigError(
            f"{path}: expected the configuration of the training in this directory, found nothing, so this training "
            "cannot be resumed. Put the file back, or choose another output."
        )
    check_unchanged(load_saved_configuration(directory), configuration, path)


def _observers(configuration: Configuration, observer: Observer) -> Iterator[Observer]:
    directory = configuration.output
    yield observer
    if configuration.training.plot:
        yield LossPlot(directory / "loss.png", JsonLines(directory / LOG))
    if configuration.training.tensorboard:
        yield TensorBoard(directory / "tensorboard")

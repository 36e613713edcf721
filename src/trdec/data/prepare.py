"""Corpora prepared for training: made once, and again only when something they depend on changed.

    MODEL/codec/                   subwords, and rules or marks
    MODEL/data/train/, data/dev/   the examples
    MODEL/data/report.json         what was left out
    MODEL/data/preparation.json    what all of this was made from; written last
    MODEL/.data.unfinished/        what a preparation that was killed had done

Files count by their content, not by name, size or time: a corpus may be moved, copied or checked out again without
being prepared again, and no edit goes unseen. Hashing a file takes a small part of the time that preparing it takes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trdec.configuration.sections import DataConfiguration, SubwordConfiguration
from trdec.data.codec import Codec
from trdec.data.corpus import Corpus
from trdec.data.inspection import check_is_text
from trdec.data.make import Maker, side_tokeniser, silent
from trdec.data.manifest import remove_manifest
from trdec.data.report import Report
from trdec.data.store import (
    CORPUS_DESCRIPTION,
    PREPARE_AGAIN,
    Prepared,
    read_description,
    write_description,
)
from trdec.data.workers import HERE, ShardWorkers
from trdec.errors import (
    FileError,
    StoredDataError,
    TextFormatError,
    TrainingError,
    WorkerError,
)
from trdec.extensions import extension_file
from trdec.files import (
    checksum,
    checksum_of_text,
    count_lines,
    locked,
    remove_folder,
    remove_leftovers,
    replacing_folder,
    write_errors,
)
from trdec.systems import System
from trdec.tokenisers import tokeniser_before

if TYPE_CHECKING:
    from trdec.progress import Progress

log = logging.getLogger(__name__)

PREPARATION_FORMAT = "trdec preparation"
REPORT_FORMAT = "trdec preparation report"
PREPARATION_VERSION = 3

PREPARATION_DESCRIPTION = "preparation.json"
REPORT = "report.json"
SPLITS = ("train", "dev")

MADE_BY_TRAINING = ("checkpoints", "model.safetensors")
"""A directory with any of these has a model that depends on the codec: it must not be replaced by another."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """Prepared corpora, the codec that made them, and what was left out."""

    train: Prepared
    dev: Prepared
    codec: Codec
    report: Report
    fingerprint: str
    """Different for any other inputs or codec; checkpoints keep it."""
    first_sentences: tuple[int, ...] = (0,)
    """The number of the first sentence of each training corpus."""

    @classmethod
    def open(cls, directory: Path | str, allow: Collection[str] = ()) -> Preparation:
        """The preparation in a model directory; code from outside trdec that it names must be in `allow`."""
        directory = Path(directory)
        data = directory / "data"
        found = _read_inputs(directory)
        if _checksums(directory / "codec") != found["codec"]:
            raise StoredDataError(f"{directory / 'codec'}: is not the codec of {data}. {PREPARE_AGAIN}")
        described = read_description(data / REPORT, REPORT_FORMAT, 2, PREPARATION_VERSION)
        try:
            report = Report.from_json(described)
        except (KeyError, TypeError) as error:
            raise StoredDataError(f"{data / REPORT}: {error} is missing or invalid. {PREPARE_AGAIN}") from error
        codec = Codec.load(directory / "codec", allow)
        prepared = {name: Prepared.open(data / name) for name in SPLITS}
        for name, corpus in prepared.items():
            corpus.check_numbers(data / name, codec.source_size, len(codec.table.actions))
        parts = [found["inputs"], found["codec"]]
        if corpora := found.get("corpora"):  # before version 3, nothing was recorded of them
            if {name: checksum(data / name / CORPUS_DESCRIPTION) for name in SPLITS} != corpora:
                raise StoredDataError(f"{data}: its examples are not those that were prepared. {PREPARE_AGAIN}")
            parts.append(corpora)
        fingerprint = checksum_of_text(json.dumps(parts, sort_keys=True))
        first = tuple(found.get("first_sentences", (0,)))
        return cls(prepared["train"], prepared["dev"], codec, report, fingerprint, first)

    def of_each(self, values: Sequence[float]) -> NDArray[np.float64]:
        """For each training example, the value of its corpus, of which each has one."""
        places = np.searchsorted(self.first_sentences, self.train.sentences, side="right") - 1
        return np.asarray(values, dtype=np.float64)[places]


def lock_for_training(directory: Path) -> AbstractContextManager[None]:
    """The lock of a model directory, which is made; TrainingError if a training holds it."""
    with write_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
    refusal = TrainingError(
        f"{directory}: another process is training in this directory. Wait for it, or choose another output."
    )
    return locked(directory / ".lock", refusal)


def prepare(
    configuration: DataConfiguration,
    system: System,
    directory: Path,
    workers: ShardWorkers = HERE,
    progress: Progress | None = None,
    is_training: bool = False,
) -> Preparation:
    """The preparation in a model directory, made (again) if there is none or if anything it depends on changed.

    The result is the same, byte for byte, whoever the workers are. Data that a model in the directory was trained on,
    or that another process is training on, are never replaced by others. A training holds the directory's lock itself.
    """
    names = ["train", *(f"further.{place}" for place in range(len(configuration.further)))]
    files = zip(names, configuration.corpora, strict=True)
    train = [Corpus(name, given, system.trees, system.source_trees) for name, given in files]
    dev = Corpus("dev", configuration.dev, system.trees, system.source_trees)
    _check_files(configuration, (*train, dev))
    inputs = _inputs(configuration, system, (*train, dev))
    with write_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
    with locked(directory / ".data.lock"), write_errors(directory):
        found = _reusable(directory, inputs, system)
        if found is None:
            maker = Maker(configuration, system, train, dev, workers, progress or silent)
            with nullcontext() if is_training else lock_for_training(directory):
                _make(maker, directory, inputs)
            found = Preparation.open(directory, system.foreign_code)
        else:
            log.info("%s: nothing changed, used again", directory / "data")
        return found


def _check_files(configuration: DataConfiguration, corpora: tuple[Corpus, ...]) -> None:
    """Raise an error that names the key of a file that is missing, or is not what it should be."""
    named = {f"data.{corpus.name}.{role}": path for corpus in corpora for role, path in corpus.files.items()}
    for side in ("source", "target"):
        if (model := getattr(configuration, f"{side}_subwords").model) is not None:
            named[f"data.{side}_subwords.model"] = model
    for key, path in named.items():
        try:
            if key.endswith((".source", ".target")):
                check_is_text(path)
            else:
                count_lines(path)
        except (FileError, TextFormatError) as error:
            raise type(error)(f"{key}: {error}") from error


def _make(maker: Maker, directory: Path, inputs: Mapping[str, Any]) -> None:
    for name in ("codec", "data"):
        remove_leftovers(directory, name)
    unfinished = _unfinished(directory, inputs)
    # A kill between the two renames leaves data that do not name the codec beside them: they are made again.
    with (
        _kept_if_killed(unfinished),
        replacing_folder(directory / "codec", durable=True) as codec,
        replacing_folder(directory / "data") as data,
    ):
        report = maker.make(codec, data, unfinished)
        write_description(data / REPORT, REPORT_FORMAT, PREPARATION_VERSION, report.to_json())
        content: dict[str, Any] = {
            "inputs": inputs,
            "codec": _checksums(codec),
            "corpora": {name: checksum(data / name / CORPUS_DESCRIPTION) for name in SPLITS},
        }
        if len(maker.first_sentences) > 1:
            content["first_sentences"] = maker.first_sentences
        if _in_use(directory) and not _has_inputs(directory):
            _check_codec(directory, content["codec"])
        if _checksums(directory / "codec") != content["codec"]:
            remove_manifest(directory)  # the next weights that training writes get a new one
        write_description(data / PREPARATION_DESCRIPTION, PREPARATION_FORMAT, PREPARATION_VERSION, content)


def _unfinished(directory: Path, inputs: Mapping[str, Any]) -> Path:
    """The folder for what is done so far, empty unless it is of a preparation from the same inputs."""
    folder = directory / ".data.unfinished"
    recorded = folder / PREPARATION_DESCRIPTION
    try:
        same = read_description(recorded, PREPARATION_FORMAT, PREPARATION_VERSION).get("inputs") == inputs
    except StoredDataError:
        same = False
    if same:
        remove_leftovers(folder)
        return folder
    remove_folder(folder)
    folder.mkdir()
    write_description(recorded, PREPARATION_FORMAT, PREPARATION_VERSION, {"inputs": inputs})
    return folder


@contextmanager
def _kept_if_killed(folder: Path) -> Iterator[None]:
    """Deletes the folder at the end of the block, or at an error in the input, but not if the block was cut short."""
    try:
        yield
    except WorkerError:  # perhaps for lack of memory: what is done is worth keeping
        raise
    except Exception:
        remove_folder(folder)
        raise
    remove_folder(folder)


def _inputs(configuration: DataConfiguration, system: System, corpora: tuple[Corpus, ...]) -> dict[str, Any]:
    """Everything that prepared data depend on, by name."""
    found: dict[str, Any] = {
        **system.model_dump(mode="json"),
        "source_language": configuration.source_language,
        "target_language": configuration.target_language,
        "source_subwords": _subwords(configuration.source_subwords),
        "target_subwords": _subwords(configuration.target_subwords),
        "filters": configuration.filters.model_dump(mode="json"),
        "min_rule_count": configuration.min_rule_count,
    }
    for side in ("source", "target"):
        tokeniser = side_tokeniser(configuration, side)
        # Data that were prepared before there was a choice do not name theirs.
        if tokeniser.name != tokeniser_before(tokeniser.language):
            found[f"{side}_tokeniser"] = tokeniser.name
    for name in system.extensions:
        # What the extension's own file imports is not checked.
        if file := extension_file(name):
            found[name] = checksum(file)
    for corpus in corpora:
        found |= {f"{corpus.name}.{role}": digest for role, digest in corpus.checksums().items()}
    return found


def _subwords(configuration: SubwordConfiguration) -> dict[str, Any]:
    if configuration.model is not None:
        return {"model": checksum(configuration.model)}
    return {"kind": configuration.kind, "size": configuration.size}


def _reusable(directory: Path, inputs: Mapping[str, Any], system: System) -> Preparation | None:
    """What is in the directory, if it was made from the same inputs and is undamaged."""
    data = directory / "data"
    if not data.exists():
        return None
    if not data.is_dir() or (any(data.iterdir()) and not (data / PREPARATION_DESCRIPTION).exists()):
        raise StoredDataError(
            f"{data}: expected prepared data or nothing, found something else, which is left alone. "
            "Move it away, or choose another output."
        )
    try:
        old = _read_inputs(directory)["inputs"]
        if changed := sorted(name for name in {*old, *inputs} if old.get(name) != inputs.get(name)):
            if _in_use(directory):
                raise TrainingError(
                    f"{directory}: the model in this directory was trained on other data: {', '.join(changed)} "
                    "changed. Choose another output, or use the data it was trained on."
                )
            log.warning("%s: made again, because of changes in %s", data, ", ".join(changed))
            return None
        return Preparation.open(directory, system.foreign_code)
    except StoredDataError as error:
        log.warning("%s: made again: %s", data, error)
        return None


def _read_inputs(directory: Path) -> dict[str, Any]:
    """The inputs of the preparation in a model directory, and the checksums of its codec's files."""
    path = directory / "data" / PREPARATION_DESCRIPTION
    found = read_description(path, PREPARATION_FORMAT, 2, PREPARATION_VERSION)
    for key in ("inputs", "codec", *(["corpora"] if found["version"] > 2 else [])):
        if not isinstance(found.get(key), dict):
            raise StoredDataError(f"{path}: {key!r} is missing or invalid. {PREPARE_AGAIN}")
    return found


def _has_inputs(directory: Path) -> bool:
    try:
        return bool(_read_inputs(directory))
    except StoredDataError:
        return False


def _in_use(directory: Path) -> bool:
    return any((directory / name).exists() for name in MADE_BY_TRAINING)


def _check_codec(directory: Path, new: Mapping[str, str]) -> None:
    """Refuse to replace a model's codec by another where nothing says what data the model was trained on."""
    if _checksums(directory / "codec") not in ({}, new):
        raise TrainingError(
            f"{directory}: the model in this directory was trained with another codec than these data give. "
            "Choose another output, or use the data it was trained on."
        )


def _checksums(folder: Path) -> dict[str, str]:
    return {path.name: checksum(path) for path in sorted(folder.glob("*")) if path.is_file()}

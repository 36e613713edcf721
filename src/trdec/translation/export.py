"""A trained model as the few files that translating needs, with a card that says what it is."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import yaml

from trdec import __version__
from trdec.archives import ARCHIVE_ENDINGS, is_archive_name, pack
from trdec.configuration import CONFIGURATION_FILE, Configuration, load_saved_configuration
from trdec.data.manifest import CODEC, WEIGHTS, check_kinds, check_manifest, write_manifest
from trdec.errors import ModelError, UsageError
from trdec.files import replacing_folder, write_errors
from trdec.systems import System, system_name

CARD = "README.md"

Command = Callable[[System, str], str]
"""From a model's system and name to the command that translates with it."""


def export_model(
    model: Path, output: Path, scores: Mapping[str, float], translate: Command, licence: str | None = None
) -> None:
    """Write a model without its data and checkpoints to a folder, or to an archive if the name is one's.

    Its card shows the command `translate` for it. The same model gives the same archive, byte for byte.
    """
    if output.exists():
        raise UsageError(f"{output}: already exists. Choose another name.")
    for needed in (CONFIGURATION_FILE, CODEC, WEIGHTS):
        if not (model / needed).exists():
            raise ModelError(f"{model}: there is no {needed}, so this is not a trained model's directory.")
    _check_links(model)
    check_manifest(model)
    configuration = load_saved_configuration(model)
    name = output.name
    for ending in ARCHIVE_ENDINGS:
        name = name.removesuffix(ending)
    card = model_card(configuration, name, scores, translate, licence)
    with write_errors(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        if not is_archive_name(output):
            with replacing_folder(output) as folder:
                _write(model, folder, card)
            return
        with tempfile.TemporaryDirectory(prefix="trdec-export-") as temporary:
            _write(model, Path(temporary), card)
            pack(Path(temporary), output)


def _check_links(model: Path) -> None:
    """Refuse a link that leads out of the model: what is there may be private, and would be published."""
    check_kinds(model)
    for path in (model / CONFIGURATION_FILE, model / WEIGHTS, model / CODEC, *(model / CODEC).iterdir()):
        if not path.resolve().is_relative_to(model.resolve()):
            raise ModelError(
                f"{path}: expected a file of the model, found a link to {path.resolve()}. Copy the model with what its "
                "links lead to (cp -rL), and export the copy, if all of that may be published."
            )


def _write(model: Path, folder: Path, card: str) -> None:
    for name in (CONFIGURATION_FILE, WEIGHTS):
        shutil.copyfile(model / name, folder / name)
    shutil.copytree(model / CODEC, folder / CODEC, copy_function=shutil.copyfile)
    write_manifest(folder)
    (folder / CARD).write_text(card, encoding="utf-8", errors="backslashreplace")  # a file's name may be any bytes


def model_card(
    configuration: Configuration, name: str, scores: Mapping[str, float], translate: Command, licence: str | None
) -> str:
    """The card of a model: what hubs read between the two rules, and what people read below."""
    data = configuration.data
    system = system_name(configuration.system)
    languages = [code for code in (data.source_language, data.target_language) if code is not None]
    head: dict[str, object] = {"library_name": "trdec", "pipeline_tag": "translation", "tags": ["translation", system]}
    if languages:
        head = {"language": languages, **head}
    if licence is not None:
        head["license"] = licence
    if scores:
        metrics = [{"type": kind.split()[-1].lower(), "name": kind, "value": value} for kind, value in scores.items()]
        results = [{"task": {"type": "translation"}, "dataset": {"type": "dev", "name": "dev"}, "metrics": metrics}]
        head["model-index"] = [{"name": name, "results": results}]
    front = yaml.safe_dump(head, sort_keys=False, allow_unicode=True)
    missing = "" if licence is not None else "# license: fill this in\n"
    command = translate(configuration.system, name)
    text = "\n".join(_text(configuration, name, system, languages, scores, command))
    return f"---\n{front}{missing}---\n\n{text}\n"


def _text(
    configuration: Configuration,
    name: str,
    system: str,
    languages: list[str],
    scores: Mapping[str, float],
    command: str,
) -> Iterator[str]:
    direction = f" from {languages[0]} to {languages[1]}" if len(languages) == 2 else ""
    text = "raw text" if configuration.data.source_tokeniser != "none" else "tokenised text, words separated by spaces"
    yield f"# {name}\n"
    with_tree = ", which generates a tree together with the translation"
    yield f"A translation model{direction}{'' if configuration.system.target == 'seq2seq' else with_tree}."
    yield f"It is a `{system}` system of trdec {__version__}, and reads {text}.\n"
    yield "## Use\n"
    yield "```"
    yield "pip install .    # in a copy of trdec's repository"
    yield f"{command} < source.txt > translation.txt"
    yield "```\n"
    yield "## Scores\n"
    measured = (f"{kind} {value:.2f}" for kind, value in scores.items())
    yield f"While it was trained: {', '.join(measured)}.\n" if scores else "None are known.\n"
    yield "## Training\n"
    yield "```"
    yield f"trdec train {CONFIGURATION_FILE} output=NEW_MODEL"
    yield "```\n"
    yield f"`{CONFIGURATION_FILE}` has every setting; the corpus is not included."

"""The command line: text to translate, and options of every command that needs no network and no other process.

An input is a command line with an argument on each line. It is run in this process, in a folder of its own, with small
files to read and a small model. File names cannot leave that folder: a slash in an argument becomes an underscore.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import typer.main

from fuzz.harness import Target
from fuzz.inputs import lines_of, toy_sentences
from trdec.cli.main import INTERNAL_ERROR, app, main
from trdec.corpora.toy.generate import conllu
from trdec.errors import UsageError
from trdec.files import split_words
from trdec.trees import brackets

MODEL = "model"
FILES = ("source", "target", "trees", "shapes", "heads", "recipe.yaml", "broken")
typer.main.get_command = cache(typer.main.get_command)  # building every command takes longer than most cases
_ELSEWHERE = ("data", "experiment", "prepare", "serve", "toy", "train")  # the network, processes, or long work
_VALUES = (
    *("0", "-1", "1", "2", "7", "0.5", "1.0", "nan", "inf", "-inf", "1e18", "1e308", "1e-320", "1" + "0" * 30),
    *(
        "",
        " ",
        "x" * 5000,
        "\udcff",
        "\u202e",
        "%s",
        "-",
        "--",
        "~",
        "true",
        "None",
        "json",
        "text",
        "brackets",
        "conllu",
    ),
    *("out.html", "out.jsonl", "out.svg", "out", *FILES, MODEL),
)


@cache
def _model() -> Path:
    from support.model_directory import make_model

    folder = Path(tempfile.mkdtemp(prefix="trdec-fuzz-"))
    atexit.register(shutil.rmtree, folder)
    return make_model(folder, "trdec-con", updates=40, sentences=3)


@contextlib.contextmanager
def _folder() -> Iterator[None]:
    """A folder with files to read, while it is the current one."""
    sentences = toy_sentences(2)
    with tempfile.TemporaryDirectory(prefix="trdec-fuzz-") as name:
        folder = Path(name)
        (folder / MODEL).symlink_to(_model())
        parts = {
            "source": [sentence.source for sentence in sentences],
            "target": [sentence.target for sentence in sentences],
            "trees": [brackets.write(sentence.tree) for sentence in sentences],
            "shapes": ["(())"] * len(sentences),
            "heads": [conllu(sentence, "toy") for sentence in sentences],
        }
        for file, lines in parts.items():
            (folder / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        (folder / "recipe.yaml").write_text("system: seq2seq\noutput: out\n", encoding="utf-8")
        (folder / "broken").write_bytes(b"\xff\x00(((\n")
        with contextlib.chdir(folder):
            yield


def run_command_line(data: bytes) -> None:
    """Run a command line; one that ends with an error of ours, or of usage, was refused."""
    text = data.decode("utf-8", "surrogateescape")
    arguments = [re.sub(r"[/~\0]", "_", argument) for argument in text.split("\n")]
    if arguments[0] in _ELSEWHERE:
        return
    before = (sys.argv, sys.stdin)
    out, err = io.StringIO(), io.StringIO()
    status: Any = 0
    with _folder(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv, sys.stdin = ["trdec", *arguments], io.TextIOWrapper(io.BytesIO(b"Finise piti .\n"))
        try:
            main()
        except SystemExit as exit:
            status = exit.code
        finally:
            sys.argv, sys.stdin = before
    said = err.getvalue()
    if status == INTERNAL_ERROR:
        raise RuntimeError(_report(said))
    assert "Traceback" not in said, said
    assert len(said) < 20_000 + 8 * len(data), "a message nobody can read"
    if status:
        raise UsageError(said)


def _report(said: str) -> str:
    """What the report says, which is then removed."""
    path = Path(said.strip().rpartition(" ")[2])
    text = path.read_text(encoding="utf-8")
    path.unlink()
    return text


def run_translation(data: bytes) -> None:
    """Translate the lines; each gives a line."""
    lines = [line.text for line in lines_of(data)][:20]
    texts = [text[:100] for text in [*lines, data.decode("utf-8", "surrogateescape")]]
    found = _translator().translate(texts, beam_size=2, n_best=2, max_ratio=1, max_extra=5)
    assert len(found) == len(texts)
    for text, translation in zip(texts, found, strict=True):
        assert "\n" not in translation.text
        assert split_words(text) or not translation.text


@cache
def _translator() -> Any:
    from trdec.translation.translator import Translator

    return Translator.load(_model())


@cache
def _commands() -> dict[str, Any]:
    """Every command that can be run here, by its name with spaces."""
    found = {}

    def add(prefix: str, group: Any) -> None:
        for name, command in group.commands.items():
            if prefix or name not in _ELSEWHERE:
                if hasattr(command, "commands"):
                    add(f"{prefix}{name} ", command)
                else:
                    found[f"{prefix}{name}"] = command

    add("", typer.main.get_command(app))
    return found


def _value(random: Random) -> str:
    return random.choice(_VALUES)


_GOOD = {"model": MODEL, "hypotheses": "target", "reference": "target", "source": "source", "target": "target"}


def make_command_line(random: Random) -> bytes:
    """A command with arguments that are mostly good, and options that are mostly odd."""
    name = random.choice(list(_commands()))
    arguments = name.split()
    for parameter in _commands()[name].params:
        if parameter.param_type_name == "argument":
            good = _GOOD.get(parameter.name, random.choice(FILES))
            arguments.append(good if random.random() < 0.9 else _value(random))
        elif parameter.required or random.random() < 0.15:
            arguments.append(random.choice(parameter.opts))
            if not parameter.is_flag:
                arguments.append(_GOOD.get(parameter.name, "") or _value(random))
    return "\n".join(arguments).encode("utf-8", "surrogateescape")


def _command_lines() -> list[bytes]:
    lines = (
        "translate model source",
        "translate model source --format json --n-best 2 --beam-size 3 --batch 2 --length-power 0.5",
        "translate model source --length-unit words --no-attention",
        "translate model source --sample --temperature 0.5 --top-k 3 --top-p 0.9 --seed 7 --max-ratio 3 --max-extra 9",
        "translate model source --words 4 --min-ratio 0.5 --trees out --attention out.html",
        "translate model source --word-ratio 1.5 --threads 1 --draw out",
        "translate model source --prefix target --with model --max-ratio 1 --beam-size 2",
        "translate model --input source --skeleton shapes --output out",
        "score model --source source --target target --trees trees --format json",
        "evaluate target --reference target --tokenise 13a --json",
        "compare target a=target b=target --json --buckets 1,2 --samples 9 --trials 9 --seed 3 --examples 1",
        "trees build binary-1 target --transform null-labels",
        "trees convert trees --from brackets --transform binarise",
        "trees stats trees --json",
        "trees show trees --width 40",
        "grammar extract trees --output out",
    )
    return [line.replace(" ", "\n").encode() for line in lines]


def _texts() -> list[bytes]:
    return [f"{sentence.source}\n".encode() for sentence in toy_sentences(5)]


TARGETS = [
    Target("command line", run_command_line, _command_lines, tuple(map(os.fsencode, _VALUES)), make_command_line, 2.0),
    Target("text to translate", run_translation, _texts, weight=2.0),
]

"""`trdec trees` and `trdec grammar` from the arguments to the output."""

from __future__ import annotations

import contextlib
import io
import sys
from functools import cache
from random import Random

import click
import typer

from fuzz.harness import Target
from fuzz.inputs import toy_sentences
from fuzz.targets import tree_files
from trdec.cli.grammar import grammar_app
from trdec.cli.trees import trees_app
from trdec.trees import treebank
from trdec.trees.dependency import from_heads
from trdec.trees.tree import Nonterminal

_FORMATS = ("penn", "brackets", "conllu", "json")
_COMMANDS = (
    *(f"trees convert --from {read} --to {write}" for read in _FORMATS for write in ("brackets", "conllu", "json")),
    *(f"trees check --from {read}" for read in _FORMATS),
    *(f"trees stats --json --on-error skip --from {read}" for read in _FORMATS),
    *(f"trees show --width 60 --from {read}" for read in _FORMATS),
    *(f"trees show --svg /dev/null --from {read}" for read in _FORMATS),
    *(f"grammar extract --on-error skip --from {read}" for read in _FORMATS),
    "trees convert --on-error mark --transform binarise --max-depth 3",
    "trees convert --on-error mark --transform strip-tags --transform null-labels --to json",
    "trees build binary-1",
    "trees build phrase --on-error mark",
    "trees build random-binary --seed 3",
)


@cache
def _app() -> click.Command:
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.add_typer(trees_app, name="trees")
    app.add_typer(grammar_app, name="grammar")
    return typer.main.get_command(app)


def run_command(data: bytes) -> None:
    """The first line is the number of a command, the rest its standard input; what it prints must be UTF-8."""
    number, _, content = data.partition(b"\n")
    command = _COMMANDS[(number or b"@")[-1] % len(_COMMANDS)]
    before, out = sys.stdin, io.StringIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(content))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            _app().main(command.split(), standalone_mode=False)
    except click.exceptions.Exit:
        pass
    finally:
        sys.stdin = before
    out.getvalue().encode()


def _dependency_trees() -> list[Nonterminal]:
    return [from_heads(sentence.target.split(), sentence.heads) for sentence in toy_sentences()[:10]]


def command_seeds() -> list[bytes]:
    """Each command with what it reads."""
    seeds = {"conllu": tree_files.conllu_seeds, "json": tree_files.json_seeds}
    chosen = []
    for number, command in enumerate(_COMMANDS):
        _, _, name = command.partition("--from ")
        some = seeds.get(name.partition(" ")[0], tree_files.bracket_seeds)()
        if "--to conllu" in command and "--from conllu" not in command:
            name = name.partition(" ")[0].replace("penn", "brackets")
            some = [treebank.WRITERS[name].write(tree).encode() for tree in _dependency_trees()]
        text = b"The cat sleeps .\nIt , too .\n" if command.startswith("trees build") else some[number % 10]
        chosen.append(bytes([number + 3 * len(_COMMANDS)]) + b"\n" + text)
    return chosen


def generate_command(random: Random) -> bytes:
    """Any command with input that was made for some format."""
    make = random.choice((tree_files.generate_brackets, tree_files.generate_conllu))
    return bytes([random.randrange(3 * len(_COMMANDS), 4 * len(_COMMANDS))]) + b"\n" + make(random)


TARGETS = [Target("tree-commands", run_command, command_seeds, (b"(", b")", b"\t", b"\n"), generate_command, weight=2)]

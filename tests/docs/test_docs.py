"""The documents tell the truth: their console blocks are run, and their links lead somewhere.

In a block that opens with ```console, a line that starts with `$ ` is a command for bash; lines that start with
`> ` right after it are the rest of the command; the lines that follow are what it prints, on either stream. `...`
on a line of its own stands for any lines. The blocks of a file run in order, in one temporary directory. A block
that opens with ```console no-run is shown as skipped. A process whose number a file `*.pid` holds is ended at last.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
DOCUMENTS = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
SECONDS = 60

_FENCE = re.compile(r"^(`{3,})([^`\s]*)[ \t]*([^`]*)$")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Command:
    """A command of a console block, the line it stands on, and the lines it is said to print."""

    line: int
    text: str
    expected: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A fenced block: the line it opens on, what stands after the fence, and its lines."""

    line: int
    language: str
    options: str
    lines: tuple[str, ...]


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a document; a block ends at a fence as long as its own, or longer."""
    fence = ""
    opened: tuple[int, str, str] | None = None
    inside: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        found = _FENCE.match(line)
        if opened is None:
            if found:
                fence, opened, inside = found[1], (number, found[2], found[3].strip()), []
        elif found and found[1].startswith(fence) and not found[2]:
            yield Block(*opened, tuple(inside))
            opened = None
        else:
            inside.append(line)
    assert opened is None, f"the block that opens on line {opened[0]} is never closed"


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block, in order."""
    command: list[str] = []
    expected: list[str] = []
    start = block.line
    for number, line in enumerate(block.lines, start=block.line + 1):
        if line.startswith("$ "):
            if command:
                yield Command(start, "\n".join(command), tuple(expected))
            start, command, expected = number, [line[2:]], []
        elif line.startswith(">") and command and not expected:
            command.append(line[1:].removeprefix(" "))
        else:
            assert command, f"line {number}: expected a command such as '$ trdec --help', found {line!r}"
            expected.append(line)
    if command:
        yield Command(start, "\n".join(command), tuple(expected))


def agrees(expected: list[str], found: list[str]) -> bool:
    """Whether the lines found are those expected, where `...` stands for any number of lines."""
    # reachable: how many of the lines found can be used up by the expected lines read so far.
    reachable = {0}
    for line in expected:
        if line == "...":
            reachable = set(range(min(reachable), len(found) + 1))
        else:
            reachable = {used + 1 for used in reachable if used < len(found) and found[used] == line}
        if not reachable:
            return False
    return len(found) in reachable


def trimmed(lines: list[str]) -> list[str]:
    """The lines without white space at their ends, and without empty lines after the last."""
    kept = [line.rstrip() for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    return kept


def run(text: str, directory: Path) -> tuple[str, int]:
    """What the command prints on both streams, and the number it ends with."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "80",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", text],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        check=False,
    )
    return done.stdout.decode(), done.returncode


def _name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def _console(path: Path, options: str) -> list[Block]:
    found = [block for block in blocks(path.read_text(encoding="utf-8")) if block.language == "console"]
    for block in found:
        assert block.options in ("", "no-run"), f"{_name(path)}, line {block.line}: expected ```console [no-run]"
    return [block for block in found if block.options == options]


RUN = [path for path in DOCUMENTS if path.exists() and _console(path, "")]
NOT_RUN = [(path, block) for path in DOCUMENTS if path.exists() for block in _console(path, "no-run")]


@pytest.mark.documents
@pytest.mark.parametrize("path", RUN, ids=_name)
def test_commands_print_what_the_document_shows(path: Path, tmp_path: Path) -> None:
    try:
        for block in _console(path, ""):
            for command in commands(block):
                output, code = run(command.text, tmp_path)
                expected, found = trimmed(list(command.expected)), trimmed(output.split("\n"))
                where = f"{_name(path)}, line {command.line}: $ {command.text}"
                assert agrees(expected, found), "\n".join([where, "expected:", *expected, "found:", *found])
                assert code == 0 or expected, f"{where}\nends with {code} and prints nothing"
    finally:
        for file in tmp_path.glob("*.pid"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(file.read_text()), signal.SIGKILL)


@pytest.mark.parametrize(("path", "block"), NOT_RUN, ids=[f"{_name(path)}:{block.line}" for path, block in NOT_RUN])
def test_blocks_that_are_only_shown(path: Path, block: Block) -> None:
    assert list(commands(block))
    pytest.skip(f"{_name(path)}, line {block.line} is marked no-run")


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in _LINK.findall(path.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            assert (path.parent / target).exists(), f"{_name(path)} links to {target}, which is missing"


@pytest.mark.parametrize(
    ("expected", "found", "answer"),
    [
        ("a b", "a b", True),
        ("a b", "a", False),
        ("a", "a b", False),
        ("...", "", True),
        ("... b", "a a b", True),
        ("a ... c ... e", "a b c d e", True),
        ("a ... c", "a b c d", False),
        ("... b ... b", "a b", False),
    ],
)
def test_three_dots_stand_for_any_lines(expected: str, found: str, answer: bool) -> None:
    assert agrees(expected.split(), found.split()) is answer


def test_a_block_inside_a_longer_fence_is_not_run() -> None:
    text = "\n".join(["````", "```console", "$ false", "```", "````", "```console no-run", "$ false", "```"])
    assert [(block.language, block.options) for block in blocks(text)] == [("", ""), ("console", "no-run")]


def test_a_command_may_go_on_over_lines_and_its_output_may_hold_anything() -> None:
    text = "\n".join(["```console", "$ cat <<END", "> one", ">", "> END", "one", "", "> two", "$ true", "```"])
    (block,) = blocks(text)
    first, second = commands(block)
    assert first == Command(2, "cat <<END\none\n\nEND", ("one", "", "> two"))
    assert second == Command(9, "true", ())


def test_a_wrong_block_is_noticed(tmp_path: Path) -> None:
    output, code = run("echo 'The cat' | trdec trees build flat; exit 3", tmp_path)
    assert (output, code) == ("(ROOT The cat)\n", 3)
    assert not agrees(["(ROOT The dog)"], trimmed(output.split("\n")))

"""A corpus parsed sentence by sentence into files of trees; an interrupted run is resumed."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from trdec.corpora.parsers import Parser, ParserChoice, load_parser
from trdec.data.workers import HERE, ShardWorkers
from trdec.errors import AnnotationError, UsageError
from trdec.files import (
    STANDARD,
    Line,
    checksum_of_text,
    count_lines,
    locked,
    read_lines,
    text_file,
    write_errors,
    writing,
)
from trdec.trees import treebank
from trdec.trees.tree import words

if TYPE_CHECKING:
    from trdec.progress import Progress


def check_files(source: Path, output: Path, text: Path | None, restart: bool) -> None:
    """Raise an error if the files cannot be used, before time is spent on loading a model."""
    if STANDARD in (str(source), str(output), str(text)):
        raise UsageError("a parse can be resumed only between named files, not '-'. Name the input and the `output`.")
    next(read_lines(source), None)
    table, _ = text_file(source)  # the input may be a column of it
    if text is not None and text.absolute() == output.absolute():
        raise UsageError(f"{text}: is to hold the trees. Choose another `text_output`.")
    for option, path in (("output", output), ("text_output", text)):
        if path is None or not path.exists():
            continue
        if path.samefile(table):
            raise UsageError(f"{path}: is the input itself. Choose another `{option}`.")
        if not restart:
            raise UsageError(f"{path}: already exists. Choose another `{option}`, or parse again with `restart`.")


def annotate(
    parser: Parser,
    choice: ParserChoice,
    source: Path,
    output: Path,
    text: Path | None,
    batch: int,
    progress: Progress,
    workers: ShardWorkers = HERE,
) -> int:
    """Write the entry of each line after those that an earlier run wrote; return how many there are in all.

    With `text`, the words of each entry are written there, one sentence per line. Workers other than this process load
    the same parser for themselves.
    """
    # Batches begin at the same lines in every run, so that rounding errors are the same too.
    settings = {**asdict(choice), "parser": parser.identity, "batch": batch}
    lines, total = read_lines(source), count_lines(source)
    with resumable(output, settings) as parse:
        parse.resume(lines)
        progress("parsing", parse.sentences, total)
        for part, entries in workers.map(_ParseBatch(parser, choice), iter(lambda: list(islice(lines, batch)), [])):
            parse.add(part, entries)
            progress("parsing", parse.sentences, total)
        if text is not None:
            _write_words(parser.format_name, parse.path, text)
        parse.finish()
        return parse.sentences


class _ParseBatch:
    """Gives lines their entries, with the parser; where it is unpickled, with one that is loaded there."""

    def __init__(self, parser: Parser, choice: ParserChoice) -> None:
        self._parser = parser
        self._choice = choice

    def __reduce__(self) -> tuple[Any, ...]:
        return _ParseBatch._load, (self._choice, self._parser.identity)

    @classmethod
    def _load(cls, choice: ParserChoice, identity: str) -> _ParseBatch:
        parser = load_parser(choice)
        if parser.identity != identity:
            raise AnnotationError(
                f"a worker has {parser.identity}, and this command {identity}. Install the same on all machines."
            )
        return cls(parser, choice)

    def __call__(self, lines: list[Line]) -> tuple[list[Line], list[str]]:
        """The lines themselves, and their entries."""
        return lines, _entries(self._parser, lines)


def discard(output: Path) -> None:
    """Delete an unfinished parse; a finished file stays until another replaces it."""
    with write_errors(output):
        note(output).unlink(missing_ok=True)  # first: entries without a note count for nothing
        unfinished(output).unlink(missing_ok=True)


@contextlib.contextmanager
def resumable(output: Path, settings: Mapping[str, Any]) -> Iterator[ResumableParse]:
    """A parse to this output, locked against other processes."""
    path = unfinished(output)
    refusal = AnnotationError(
        f"{path}: another process is parsing to this file. Wait for it, or choose another output."
    )
    with locked(path, refusal), path.open("ab") as stream:
        yield ResumableParse(output, stream, settings)


class ResumableParse:
    """The entries so far, in a file beside the output, and a note of which sentences they belong to.

    Entries are written first and noted afterwards. Whatever follows the noted length is part of a batch that a kill
    interrupted, and is cut off. The note holds a checksum of the sentences, not of the file's bytes, so that sentences
    may still be added at the end.
    """

    def __init__(self, output: Path, stream: IO[bytes], settings: Mapping[str, Any]) -> None:
        self.output = output
        self.path = unfinished(output)
        self.sentences = 0
        self._note = note(output)
        self._stream = stream
        self._settings = dict(settings)
        self._checksum = ""

    def resume(self, lines: Iterator[Line]) -> None:
        """Consume the lines whose entries are written already; AnnotationError if they are not the same lines."""
        noted = self._noted()
        if noted is None:
            self._stream.truncate(0)
            return
        for name, setting in self._settings.items():
            if noted["settings"].get(name) != setting:
                raise AnnotationError(
                    f"{self.path}: was begun with {name} {noted['settings'].get(name)!r}, not {setting!r}. "
                    f"{_advice(self.path)}"
                )
        length = self._stream.seek(0, os.SEEK_END)
        if length < noted["bytes"]:
            raise AnnotationError(
                f"{self.path}: expected at least {noted['bytes']} bytes, found {length}. {_advice(self.path)}"
            )
        for line in islice(lines, noted["sentences"]):
            self._count(line)
        if self._checksum != noted["checksum"]:
            raise AnnotationError(
                f"{self.path}: holds the trees of {noted['sentences']} sentences, which are no longer the first "
                f"{noted['sentences']} lines of the input: it was changed. {_advice(self.path)}"
            )
        self._stream.truncate(noted["bytes"])
        self._stream.seek(0, os.SEEK_END)

    def add(self, lines: Sequence[Line], entries: Sequence[str]) -> None:
        """Add the entries of the next lines; afterwards a kill cannot lose them."""
        for line in lines:
            self._count(line)
        with write_errors(self.path):
            self._stream.write("".join(entries).encode())
            self._stream.flush()
            os.fsync(self._stream.fileno())
            content = {
                "settings": self._settings,
                "sentences": self.sentences,
                "checksum": self._checksum,
                "bytes": self._stream.tell(),
            }
            with writing(self._note) as stream:
                stream.write(json.dumps(content, ensure_ascii=False) + "\n")

    def finish(self) -> None:
        """Rename the file to the output, which is untouched until then."""
        with write_errors(self.output):
            self.path.replace(self.output)
            self._note.unlink(missing_ok=True)

    def _noted(self) -> dict[str, Any] | None:
        try:
            content: dict[str, Any] = json.loads(self._note.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise AnnotationError(f"{self._note}: cannot be read: {error}. {_advice(self.path)}") from error
        if "checksum" not in content:
            raise AnnotationError(f"{self._note}: was written by another version of trdec. {_advice(self.path)}")
        return content

    def _count(self, line: Line) -> None:
        self.sentences += 1
        self._checksum = checksum_of_text(f"{self._checksum}\n{line.text}")


def unfinished(output: Path) -> Path:
    """The file that holds the entries until they are complete."""
    return output.with_name(f"{output.name}.unfinished")


def note(output: Path) -> Path:
    """The file that notes which sentences those entries belong to."""
    return output.with_name(f"{output.name}.unfinished.json")


def _advice(path: Path) -> str:
    return f"Use the same settings as before, or start over with `restart`, which deletes {path.name}."


def _entries(parser: Parser, lines: Sequence[Line]) -> list[str]:
    """The entry of each line; a blank line has no tree."""
    sentences = [line.text for line in lines if line.text.split()]
    parsed: Iterator[str] = iter(parser.parse(sentences) if sentences else ())
    return [next(parsed) if line.text.split() else parser.without_tree for line in lines]


def _write_words(format_name: str, trees: Path, text: Path) -> None:
    with writing(text) as stream:
        for entry in treebank.read(format_name, trees):
            if entry.error is not None:
                raise entry.error
            stream.write(" ".join(words(entry.tree) if entry.tree else ()) + "\n")

"""Where `trdec translate` writes: lines, pages and pictures that grow with every translation."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from trdec.errors import FileError, UsageError
from trdec.text.lines import STANDARD, writing

if TYPE_CHECKING:
    from trdec.search.translation import Translation

Writer = Callable[[int, "Translation"], None]
"""Takes the translation of the line of this number, counted from 1."""

PAGE, JSON_LINES = ".html", ".jsonl"


@contextlib.contextmanager
def lines(path: Path, line_of: Callable[[Translation], str]) -> Iterator[Writer]:
    """A file of a line for each translation, or standard output for `-`."""
    with _growing(path) as stream:
        yield lambda _, translation: _write(stream, line_of(translation) + "\n")


def check_attention_file(path: Path) -> None:
    """Refuse a name that does not say how attention is written."""
    if path.suffix not in (PAGE, JSON_LINES):
        raise UsageError(
            f"{path}: expected a name that ends in {PAGE}, for a page of heatmaps, or in {JSON_LINES}, for JSON lines; "
            f"found {repr(path.suffix) if path.suffix else 'no ending'}."
        )


def check_distinct(inputs: Iterable[Path | None], outputs: Iterable[Path | None]) -> None:
    """Refuse an output that is an input, or another output: it would be written over before it is read."""
    taken = {path.resolve() for path in inputs if path is not None and str(path) != STANDARD}
    for path in outputs:
        if path is not None and str(path) != STANDARD:
            if path.resolve() in taken:
                raise UsageError(f"{path}: is named twice, and would be written over. Name another output.")
            taken.add(path.resolve())


@contextlib.contextmanager
def attention(path: Path) -> Iterator[Writer]:
    """A file of what each translation looked at, as the end of its name says: a page of heatmaps or JSON lines."""
    if path.suffix == JSON_LINES:
        with lines(path, _attention_line) as write:
            yield write
        return
    from trdec.pictures.heatmaps import HEAD, TAIL, heatmap

    with _growing(path) as stream:
        _write(stream, HEAD)
        try:
            yield lambda number, translation: _write(stream, heatmap(number, translation))
        finally:
            _write(stream, TAIL)  # what was written before an error is a whole page, too


@contextlib.contextmanager
def pictures(folder: Path) -> Iterator[Writer]:
    """A directory of a picture for each translation: 0001.svg and so on; other files in it stay as they are."""
    from trdec.pictures.picture import picture

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise FileError(f"{folder}: expected a directory for pictures, found a file. Name another.") from error
    except OSError as error:
        raise FileError(f"{folder}: cannot be made: {error.strerror}.") from error

    def draw(number: int, translation: Translation) -> None:
        with writing(folder / f"{number:04}.svg") as stream:
            stream.write(picture(translation))

    yield draw


def _attention_line(translation: Translation) -> str:
    from trdec.search.attention import NOTHING

    looked = translation.attention or NOTHING
    return json.dumps({"text": translation.text, **looked.to_json()}, ensure_ascii=False)


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


@contextlib.contextmanager
def _growing(path: Path) -> Iterator[TextIO]:
    """A file, or standard output for `-`, that keeps what was written to it even if the rest fails."""
    try:
        if str(path) == STANDARD:
            yield sys.stdout
        else:
            with path.open("w", encoding="utf-8", newline="\n") as stream:
                yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror}.") from error

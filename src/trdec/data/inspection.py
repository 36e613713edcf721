"""What a corpus looks like before it is trained on: examples, scripts, lengths, losses, and what is probably wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

from trdec.configuration.sections import DataConfiguration
from trdec.data.codec import Codec
from trdec.data.corpus import Corpus, RawPair, Reader
from trdec.data.report import LeftOut, SplitReport
from trdec.detection import expected_script, looks_raw, looks_swapped, main_script, script_shares
from trdec.errors import TextFormatError, excerpt
from trdec.files import count_lines, read_beginning, read_lines, split_words, text_file
from trdec.text import UNKNOWN, Side
from trdec.tokenisers import normalise
from trdec.trees import brackets
from trdec.trees.transforms import segment

SAMPLED = 2000
"""Pairs that are looked at, evenly spread."""

EXAMPLES = 2
LONGEST_EXAMPLE = 25
"""Words of a target shown as an example, if there is one as short as that."""

LEFT_OUT = 0.05
"""The share of examples left out, or of pairs whose sides are equal, above which something is probably wrong."""

_BEGINNING = 1 << 16


def check_is_text(path: Path) -> None:
    """Raise an error that says what the file is, if it is compressed, in UTF-16, a table or JSON lines."""
    start = read_beginning(path, _BEGINNING)
    file, part = text_file(path)
    if part is not None:
        next(read_lines(path), None)  # there is such a column or field
        return
    rows = start.split(b"\n")[: -1 if len(start) == _BEGINNING else None]  # the last may be cut off
    columns = {row.count(b"\t") + 1 for row in rows if row.strip()}
    if len(rows) > 2 and len(columns) == 1 and columns != {1}:
        name = path if ".tsv" in file.suffixes else file.with_suffix(".tsv")
        raise TextFormatError(
            f"{path}: expected one sentence per line, found a table with {columns.pop()} columns separated by tabs. "
            f"Name a column by its number: {name}:1{'' if name == path else ', once it is called so'}"
        )
    if fields := _fields(rows[0]) if rows else []:  # no row, if the first is longer than the beginning
        name = path if ".jsonl" in file.suffixes else file.with_suffix(".jsonl")
        raise TextFormatError(
            f"{path}: expected one sentence per line, found JSON with the fields {excerpt(', '.join(fields))}. "
            f"Name a field: {name}:{fields[0][:50]}{'' if name == path else ', once it is called so'}"
        )


def _fields(row: bytes) -> list[str]:
    """The fields of the JSON object in a line; none if it is something else."""
    try:
        found = json.loads(row)
    except (ValueError, RecursionError):
        return []
    return list(found) if isinstance(found, dict) else []


@dataclass(frozen=True, slots=True)
class SideStatistics:
    """What one side of the training text looks like."""

    tokeniser: str
    scripts: dict[str, float]
    """The share of letters in each of the most frequent scripts."""
    words: float
    """Words per line, on average."""
    pieces: float
    longest: int
    """Pieces of the longest line."""
    lines: int
    """Lines that were looked at."""
    changed: int
    """Lines that do not come back from words and pieces."""
    normalised: int
    """Lines that come back in the tokeniser's normal form, which they were not in."""
    first_changed: list[list[str]]
    """Some lines that do not come back, and what comes back."""

    def text(self, name: str) -> Iterator[str]:
        """The statistics as lines of text."""
        scripts = ", ".join(f"{script} {100 * share:.0f}%" for script, share in self.scripts.items()) or "no letters"
        yield (
            f"{name} text: {scripts}; on average {self.words:.1f} words, {self.pieces:.1f} pieces per line, "
            f"at most {self.longest} pieces (tokeniser: {self.tokeniser})"
        )
        yield f"  round trip: {self.changed:,} of {self.lines:,} lines do not come back from words and pieces"
        if self.normalised:
            yield f"  {self.normalised:,} come back normalised (NFC, single spaces)"
        for before, after in self.first_changed:
            yield f"    {before}"
            yield f"    -> {after}"


@dataclass(frozen=True, slots=True)
class ShownPair:
    """A training pair as the model sees it."""

    source: str
    target: str
    source_pieces: str
    trees: list[str]
    """The trees over target pieces, on one line each."""

    def text(self, number: int) -> Iterator[str]:
        """The pair as lines of text."""
        yield f"example {number}: {self.source}"
        yield f"        ->  {self.target}"
        yield f"  source: {self.source_pieces}"
        for tree in self.trees:
            yield f"  tree:   {tree}"


@dataclass(frozen=True, slots=True)
class Inspection:
    """Statistics of both sides, examples, and warnings."""

    source: SideStatistics
    target: SideStatistics
    examples: list[ShownPair]
    warnings: list[str]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Inspection:
        """The inspection that `to_json` wrote."""
        return cls(
            SideStatistics(**found["source"]),
            SideStatistics(**found["target"]),
            [ShownPair(**example) for example in found["examples"]],
            list(found["warnings"]),
        )

    def lines(self) -> Iterator[str]:
        """Everything but the warnings as lines of text."""
        yield from self.source.text("source")
        yield from self.target.text("target")
        for number, example in enumerate(self.examples, start=1):
            yield from example.text(number)


def inspect(configuration: DataConfiguration, reader: Reader, codec: Codec, report: SplitReport) -> Inspection:
    """What the training corpus looks like to this codec; `report` says what was left out of it."""
    pairs = list(_sample(reader.corpus))
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    return Inspection(
        _statistics(codec.source_side, sources),
        _statistics(codec.target_side, targets),
        list(islice(_examples(reader, codec, pairs), EXAMPLES)),
        list(_warnings(configuration, sources, targets, report, len(reader.system.trees))),
    )


def _sample(corpus: Corpus) -> Iterator[RawPair]:
    every = -(-count_lines(corpus.source) // SAMPLED) or 1
    return islice(corpus.pairs(), 0, None, every)


def _statistics(side: Side, lines: Sequence[str]) -> SideStatistics:
    known = frozenset(side.subwords.pieces)
    words = [side.split(line) for line in lines]
    pieces = [side.pieces(each) for each in words]
    back = [
        (line, side.text_of([piece if piece in known else UNKNOWN for piece in each]))
        for line, each in zip(lines, pieces, strict=True)
    ]
    expected = normalise if side.tokeniser.marks_spaces else _single_spaces
    changed = [[line, after] for line, after in back if after != expected(line)]
    lengths = [len(each) for each in pieces]
    return SideStatistics(
        tokeniser=side.tokeniser.name,
        scripts={script: share for script, share in islice(script_shares(lines).items(), 3) if share >= 0.005},
        words=fmean(map(len, words)) if words else 0.0,
        pieces=fmean(lengths or [0]),
        longest=max(lengths, default=0),
        lines=len(lines),
        changed=len(changed),
        normalised=sum(expected(line) == after != line for line, after in back),
        first_changed=changed[:2],
    )


def _single_spaces(line: str) -> str:
    return " ".join(split_words(line))


def _examples(reader: Reader, codec: Codec, pairs: Sequence[RawPair]) -> Iterator[ShownPair]:
    """Pairs that can be encoded, short ones first."""
    for pair in sorted(pairs, key=lambda pair: len(pair.target.split()) > LONGEST_EXAMPLE):
        found = reader.words(pair)
        if isinstance(found, LeftOut):
            continue
        source_tree = reader.source_tree(pair, found.source)
        if isinstance(source_tree, LeftOut):
            continue
        entries = list(reader.trees(pair, found.target))
        trees = [entry.tree for entry in entries if not isinstance(entry, LeftOut) and entry.tree is not None]
        if trees:
            pieces = [segment(tree, codec.target_side.subwords.split) for tree in trees]
            source = " ".join(codec.source_side.pieces(found.source))
            if source_tree is not None:
                source = brackets.write(segment(source_tree, codec.source_side.subwords.split))
            yield ShownPair(pair.source, pair.target, source, [brackets.write(tree) for tree in pieces])


def _warnings(
    configuration: DataConfiguration, sources: list[str], targets: list[str], report: SplitReport, trees: int
) -> Iterator[str]:
    languages = {"source": configuration.source_language, "target": configuration.target_language}
    codes = {side: code for side, code in languages.items() if code is not None}
    if len(codes) == 2 and looks_swapped(sources, targets, codes["source"], codes["target"]):
        yield (
            f"the sides are probably swapped: data.train.source looks like {languages['target']}, "
            f"data.train.target like {languages['source']}, but data.source_language is {languages['source']}."
        )
    else:
        for side, lines in (("source", sources), ("target", targets)):
            expected, found = expected_script(codes.get(side, "")), main_script(lines)
            if None not in (expected, found) and expected != found:
                yield (
                    f"data.train.{side} is mostly in {found} script, but data.{side}_language is {languages[side]}, "
                    f"which is written in {expected}. Is it the right file?"
                )
    for side, lines, name in (
        ("source", sources, configuration.source_tokeniser),
        ("target", targets, configuration.target_tokeniser),
    ):
        if name == "none" and looks_raw(lines):
            yield (
                f"data.train.{side} looks like raw text (punctuation is attached to words), but it is read as "
                f"tokenised. Set data.{side}_language, or data.tokeniser: unicode."
            )
    equal = sum(source.strip() == target.strip() for source, target in zip(sources, targets, strict=True))
    if equal > LEFT_OUT * len(sources):
        yield (
            f"source and target are equal in {equal:,} of {len(sources):,} pairs. "
            "Is the target a translation, not the same file?"
        )
    possible = report.pairs * trees
    if possible - report.examples > LEFT_OUT * possible:
        yield (
            f"{possible - report.examples:,} of {possible:,} training examples "
            f"({100 * (possible - report.examples) / possible:.0f}%) were left out. The report says why."
        )

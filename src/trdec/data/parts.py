"""Parts of a corpus, encoded before all its rules are known, so that each tree is built once.

Which number a rule or a mark has is known only when the last tree has been seen. So a part has numbers of its own,
which it gives to them and to symbols as it meets them; the codec's numbers replace them in the end. Finished parts stay
on disk until everything is prepared: if a preparation is killed, the next one goes on after the last of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trdec.data.codec import Codec, SourceNumbers
from trdec.data.corpus import RawPair, Reader
from trdec.data.report import LeftOut, Reason, SplitReport
from trdec.data.source_form import SourceForm, source_form
from trdec.data.store import (
    ARRAYS,
    PREPARE_AGAIN,
    Arrays,
    Example,
    Examples,
    PreparedWriter,
    open_arrays,
    read_description,
    with_source_trees,
    write_description,
)
from trdec.errors import Place, StoredDataError, TreeShapeError, UnknownActionError, UnknownRuleError
from trdec.files import replacing_folder
from trdec.targets.actions import EOP, EOS, Action, ApplyRule, EmitMark, EmitWord
from trdec.targets.target import Open, Step, Target, replay
from trdec.text import UNKNOWN
from trdec.trees.grammar import Rule
from trdec.trees.transforms import segment

PART_FORMAT = "trdec part of a corpus"
PART_VERSION = 1
PART_DESCRIPTION = "part.json"

PART_ARRAYS: Arrays = {**ARRAYS, "lines": (np.int64, ()), "projective": (np.int8, ())}

NUMBERED_TOGETHER = 1 << 21
"""About so many steps of a part get the codec's numbers at a time."""


@dataclass
class OwnNumbers:
    """Numbers of actions and symbols in the order in which they were met."""

    actions: dict[Action, int] = field(default_factory=dict)
    symbols: dict[str, int] = field(default_factory=dict)
    source_marks: dict[str, int] = field(default_factory=dict)

    def action(self, action: Action) -> int:
        """The number of an action that is no word."""
        return self.actions.setdefault(action, len(self.actions))

    def symbol(self, symbol: str) -> int:
        """The number of a symbol."""
        return self.symbols.setdefault(symbol, len(self.symbols))

    def source_mark(self, mark: str) -> int:
        """The number of a mark of a source's tree, which counts backwards from -1: pieces have numbers already."""
        return self.source_marks.setdefault(mark, -1 - len(self.source_marks))


class EncodedShard(NamedTuple):
    """Some examples in numbers of their own, and what was left out; piece p of the target has the number -1 - p."""

    examples: Examples
    numbers: OwnNumbers
    report: SplitReport


class EncodeShard:
    """Turns the raw pairs of a shard into examples."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._family: type[Target[Any]] = reader.system.target_class
        self._source = SourceNumbers(reader.source_side, _form_of(reader))
        self._pieces = {piece: -1 - number for number, piece in enumerate(reader.target_side.subwords.pieces)}

    def __call__(self, shard: list[RawPair]) -> EncodedShard:
        """The shard, encoded."""
        report, numbers = SplitReport(), OwnNumbers()
        written = [*self._written(shard, numbers, report)]
        counts = self._family.count(action for _, actions in written for action in actions)
        # Replaying takes no more of a target than the rules of these trees. One word stands for all.
        target = self._family.from_units(counts, (UNKNOWN,))
        examples = [
            replace(example, steps=self._rows(replay(target, actions), numbers)) for example, actions in written
        ]
        return EncodedShard(Examples.of(examples), numbers, report)

    def _rows(self, steps: Iterable[Step], numbers: OwnNumbers) -> NDArray[np.int32]:
        pieces, unknown = self._pieces, self._pieces[UNKNOWN]
        rows = [
            (
                pieces.get(action.word, unknown) if isinstance(action, EmitWord) else numbers.action(action),
                numbers.symbol(symbol),
                parent,
            )
            for action, symbol, parent in steps
        ]
        return np.array(rows, dtype=np.int32).reshape(-1, 3)  # T 3

    def _written(
        self, shard: list[RawPair], numbers: OwnNumbers, report: SplitReport
    ) -> Iterator[tuple[Example, list[Action]]]:
        """Each example without its steps, and the actions that write its tree."""
        reader, nothing = self._reader, np.zeros((0, 3), dtype=np.int32)
        for pair in shard:
            report.pairs += 1
            report.duplicates += pair.repeated
            words = reader.words(pair)
            if isinstance(words, LeftOut):
                report.leave_out_pair(words)
                continue
            source_tree = reader.source_tree(pair, words.source)
            if isinstance(source_tree, LeftOut):
                report.leave_out_pair(source_tree)
                continue
            source = self._source.of(words.source, source_tree, numbers.source_mark)
            for treebank, entry in enumerate(reader.trees(pair, words.target)):
                if isinstance(entry, LeftOut):
                    report.leave_out_tree(entry)
                    continue
                assert entry.tree is not None
                try:
                    actions = self._family.linearise(segment(entry.tree, reader.target_side.subwords.split))
                except TreeShapeError as error:
                    raise TreeShapeError(f"{entry.place}: {error}") from error
                sentence, line = reader.first + pair.number, entry.place.line
                yield Example(source, nothing, sentence, treebank, line, entry.was_projective), actions


class Part:
    """A part of a corpus on disk."""

    def __init__(self, directory: Path, reader: Reader) -> None:
        """The part in a directory that `write` wrote; StoredDataError if it is damaged."""
        self._reader = reader
        self._arrays = open_arrays(directory, PART_ARRAYS)
        path = directory / PART_DESCRIPTION
        found = read_description(path, PART_FORMAT, PART_VERSION)
        try:
            self._actions = [_read_action(action) for action in found["actions"]]
            self._counts = [int(count) for count in found["counts"]]
            self._symbols = [str(symbol) for symbol in found["symbols"]]
            self._source_marks = {str(mark): int(count) for mark, count in found["source_marks"].items()}
            self._report = SplitReport.from_json(found["report"])
        except (KeyError, TypeError, ValueError) as error:
            raise StoredDataError(f"{path}: {error} is missing or invalid. {PREPARE_AGAIN}") from error

    @staticmethod
    def write(directory: Path, shards: Iterable[EncodedShard], reader: Reader) -> None:
        """Write the shards as one part; the directory has its name only once it is whole."""
        numbers, report, counts, source_counts = OwnNumbers(), SplitReport(), Counter[int](), Counter[int]()
        kinds = PART_ARRAYS if _form_of(reader) is None else with_source_trees(PART_ARRAYS)
        with replacing_folder(directory) as folder:
            with PreparedWriter(folder, kinds) as writer:
                for examples, own, counted in shards:
                    actions = np.array([numbers.action(action) for action in own.actions], dtype=np.int32)
                    symbols = np.array([numbers.symbol(symbol) for symbol in own.symbols], dtype=np.int32)
                    steps = examples.steps.copy()  # T 3
                    is_word = steps[:, 0] < 0
                    steps[~is_word, 0] = actions[steps[~is_word, 0]]
                    steps[:, 1] = symbols[steps[:, 1]]
                    counts.update(dict(enumerate(np.bincount(steps[~is_word, 0]).tolist())))
                    marks = np.array([numbers.source_mark(mark) for mark in own.source_marks], dtype=np.int32)
                    source = _with_marks(examples.source, marks)
                    marked = -1 - source[source[:, 0] < 0, 0] if source.ndim > 1 else np.zeros(0, dtype=np.int64)
                    source_counts.update(dict(enumerate(np.bincount(marked).tolist())))
                    writer.append(replace(examples, steps=steps, source=source))
                    report.add(counted)
            content = {
                "actions": [_write_action(action) for action in numbers.actions],
                "counts": [counts[number] for number in range(len(numbers.actions))],
                "symbols": [*numbers.symbols],
                "source_marks": {mark: source_counts[-1 - number] for mark, number in numbers.source_marks.items()},
                "report": report.to_json(),
            }
            write_description(folder / PART_DESCRIPTION, PART_FORMAT, PART_VERSION, content)

    def __len__(self) -> int:
        return len(self._arrays["sentences"])

    def counts(self) -> Counter[Any]:
        """How often each rule or mark occurs."""
        unit_of = self._reader.system.target_class.unit_of
        found = ((unit_of(action), count) for action, count in zip(self._actions, self._counts, strict=True))
        return Counter({unit: count for unit, count in found if unit is not None})

    def source_marks(self) -> Counter[str]:
        """How often each mark of the sources' trees occurs."""
        return Counter(self._source_marks)

    def numbered(self, codec: Codec) -> Iterator[tuple[Examples, SplitReport]]:
        """The examples in the codec's numbers, some at a time, without those that need a rule or mark it lacks."""
        yield Examples.of([]), self._report
        renumbered = _Renumbering.of(codec, self._actions, self._symbols)
        source_marks = np.array([codec.source_mark_number(mark) for mark in self._source_marks], dtype=np.int32)
        offsets, last_sentence = self._arrays["step_offsets"], -1
        begin = 0
        while begin < len(self):
            end = int(np.searchsorted(offsets, offsets[begin] + NUMBERED_TOGETHER, side="right"))
            end = min(max(end, begin + 1), len(self))
            block = self._block(begin, end)
            steps = renumbered(block.steps)  # T 3
            known = np.minimum.reduceat(steps[:, 0], offsets[begin:end] - offsets[begin]) >= 0  # n
            report = SplitReport()
            for number in np.flatnonzero(~known):
                report.leave_out_tree(self._unknown(begin + int(number), codec))
            block = replace(block, source=_with_marks(block.source, source_marks))
            kept = block.select(known, steps)
            last_sentence = _count(report, kept, codec.unknown_action, last_sentence)
            yield kept, report
            begin = end

    def _block(self, begin: int, end: int) -> Examples:
        arrays = self._arrays
        sources, steps = arrays["source_offsets"][begin : end + 1], arrays["step_offsets"][begin : end + 1]
        rest = {name: arrays[name][begin:end] for name in ("sentences", "treebanks", "lines", "projective")}
        return Examples(
            arrays["source"][sources[0] : sources[-1]],
            np.diff(sources),
            arrays["steps"][steps[0] : steps[-1]],
            np.diff(steps),
            **rest,
        )

    def _unknown(self, number: int, codec: Codec) -> LeftOut:
        """Where an example is, and the first of its rules or marks that the codec lacks."""
        first, last = self._arrays["step_offsets"][number : number + 2]
        place = Place(self._files[self._arrays["treebanks"][number]], int(self._arrays["lines"][number]))
        for action, symbol, _ in self._arrays["steps"][first:last]:
            try:
                if action >= 0:
                    codec.target.open_after(Open(self._symbols[symbol], 0, None), self._actions[action], 1)
            except (UnknownRuleError, UnknownActionError) as error:
                return LeftOut(Reason.UNSEEN, f"{place}: {error}")
        raise AssertionError("the codec has every action of this example")

    @cached_property
    def _files(self) -> list[str]:
        """The file that the trees of each treebank come from."""
        corpus = self._reader.corpus
        return [str(corpus.annotations.get(kind, corpus.target)) for kind in self._reader.system.trees]


def _form_of(reader: Reader) -> SourceForm | None:
    """How the trees of sources are written; None if sources have none."""
    return None if reader.system.source_trees is None else source_form(reader.system.reads_trees)


def _with_marks(source: NDArray[np.int32], marks: NDArray[np.int32]) -> NDArray[np.int32]:
    """The sources with these numbers in place of -1, -2 and so on."""
    if source.ndim == 1:
        return source
    changed = source.copy()  # S 3
    is_mark = source[:, 0] < 0
    changed[is_mark, 0] = marks[-1 - source[is_mark, 0]]
    return changed


def _count(report: SplitReport, kept: Examples, unknown: int, last_sentence: int) -> int:
    """Count the examples that are kept; returns the last sentence. The trees of a sentence have the same pieces."""
    report.examples = len(kept.sentences)
    if not report.examples:
        return last_sentence
    report.steps = len(kept.steps)
    report.crossing_arcs = int(np.count_nonzero(kept.projective == 0))
    first = np.diff(kept.sentences, prepend=last_sentence) != 0  # n   a sentence's first example
    in_source, in_steps = np.repeat(first, kept.source_lengths), np.repeat(first, kept.step_lengths)
    source = kept.source[in_source]
    pieces = source if source.ndim == 1 else source[source[:, 1] == 1, 0]
    report.source_pieces = len(pieces)
    report.unknown_source_pieces = int(np.count_nonzero(pieces == 0))
    report.unknown_target_pieces = int(np.count_nonzero(kept.steps[in_steps, 0] == unknown))
    return int(kept.sentences[-1])


@dataclass(frozen=True)
class _Renumbering:
    """From a part's own numbers to a codec's; -1 for what the codec lacks."""

    actions: NDArray[np.int32]
    symbols: NDArray[np.int32]

    @classmethod
    def of(cls, codec: Codec, actions: list[Action], symbols: list[str]) -> _Renumbering:
        numbers = {action: number for number, action in enumerate(codec.table.actions)}
        rows = {symbol: number for number, symbol in enumerate(codec.table.symbols)}
        pieces = [numbers[EmitWord(piece)] for piece in codec.target_side.subwords.pieces]
        # The number -1 - p of piece p counts from the end, as numpy's indices do.
        found = [*(numbers.get(action, -1) for action in actions), *reversed(pieces)]
        return cls(
            np.array(found, dtype=np.int32), np.array([rows.get(symbol, -1) for symbol in symbols], dtype=np.int32)
        )

    def __call__(self, steps: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.stack([self.actions[steps[:, 0]], self.symbols[steps[:, 1]], steps[:, 2]], axis=1)  # T 3


def _write_action(action: Action) -> list[str]:
    """The action, which is no word, as JSON."""
    if isinstance(action, ApplyRule):
        return ["rule", str(action.rule)]
    return ["mark", action.mark] if isinstance(action, EmitMark) else [str(action)]


def _read_action(found: list[str]) -> Action:
    """The inverse of `_write_action`; ValueError for anything else."""
    match found:
        case ["rule", str(rule)]:
            return ApplyRule(Rule.parse(rule))
        case ["mark", str(mark)]:
            return EmitMark(mark)
        case ["<eop>"]:
            return EOP
        case ["<eos>"]:
            return EOS
    raise ValueError(f"the action {found!r}")

"""Parts of a corpus, encoded before all its rules are known, so that each tree is built once.

Which number a rule or a mark has is known only when the last tree has been seen. So a part has numbers of its own,
which it gives to them as it meets them; the codec's numbers replace them in the end. Finished parts stay
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
from trdec.targets.target import Target, replay
from trdec.text import UNKNOWN
from trdec.trees.grammar import Rule
from trdec.trees.transforms import segment

PART_FORMAT = "trdec part of a corpus"
PART_VERSION = 2
PART_DESCRIPTION = "part.json"

PART_ARRAYS: Arrays = {**ARRAYS, "lines": (np.int64, ()), "projective": (np.int8, ())}

NUMBERED_TOGETHER = 1 << 21
"""About so many actions of a part get the codec's numbers at a time."""


@dataclass
class OwnNumbers:
    """Numbers of actions and source marks in the order in which they were met."""

    actions: dict[Action, int] = field(default_factory=dict)
    source_marks: dict[str, int] = field(default_factory=dict)

    def action(self, action: Action) -> int:
        """The number of an action that is no word."""
        return self.actions.setdefault(action, len(self.actions))

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
        # A target that writes what it does not allow is noticed here rather than in training. Replaying needs only the
        # rules of these trees, and one word that stands for all.
        target = self._family.from_units(counts, (UNKNOWN,))
        for _, actions in written:
            replay(target, actions)
        examples = [replace(example, actions=self._numbered(actions, numbers)) for example, actions in written]
        return EncodedShard(Examples.of(examples), numbers, report)

    def _numbered(self, actions: Iterable[Action], numbers: OwnNumbers) -> NDArray[np.int32]:
        pieces, unknown = self._pieces, self._pieces[UNKNOWN]
        found = [
            pieces.get(action.word, unknown) if isinstance(action, EmitWord) else numbers.action(action)
            for action in actions
        ]
        return np.array(found, dtype=np.int32)  # T

    def _written(
        self, shard: list[RawPair], numbers: OwnNumbers, report: SplitReport
    ) -> Iterator[tuple[Example, list[Action]]]:
        """Each example without its actions, and the actions that write its tree."""
        reader, nothing = self._reader, np.zeros(0, dtype=np.int32)
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
                    shared = np.array([numbers.action(action) for action in own.actions], dtype=np.int32)
                    actions = examples.actions.copy()  # T
                    is_word = actions < 0
                    actions[~is_word] = shared[actions[~is_word]]
                    counts.update(dict(enumerate(np.bincount(actions[~is_word]).tolist())))
                    marks = np.array([numbers.source_mark(mark) for mark in own.source_marks], dtype=np.int32)
                    source = _with_marks(examples.source, marks)
                    marked = -1 - source[source[:, 0] < 0, 0] if source.ndim > 1 else np.zeros(0, dtype=np.int64)
                    source_counts.update(dict(enumerate(np.bincount(marked).tolist())))
                    writer.append(replace(examples, actions=actions, source=source))
                    report.add(counted)
            content = {
                "actions": [_write_action(action) for action in numbers.actions],
                "counts": [counts[number] for number in range(len(numbers.actions))],
                "source_marks": {mark: source_counts[-1 - number] for mark, number in numbers.source_marks.items()},
                "report": report.to_json(),
            }
            write_description(folder / PART_DESCRIPTION, PART_FORMAT, PART_VERSION, content)

    def __len__(self) -> int:
        return len(self._arrays["sources"])

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
        renumbered = _codec_numbers(codec, self._actions)
        source_marks = np.array([codec.source_mark_number(mark) for mark in self._source_marks], dtype=np.int32)
        offsets, sources = self._arrays["action_offsets"], self._arrays["sources"]
        begin = 0
        while begin < len(self):
            end = int(np.searchsorted(offsets, offsets[begin] + NUMBERED_TOGETHER, side="right"))
            end = min(max(end, begin + 1), len(self))
            # Examples that share a source stay together.
            end = int(np.searchsorted(sources, sources[end - 1], side="right"))
            block = self._block(begin, end)
            actions = renumbered[block.actions]  # T
            known = np.minimum.reduceat(actions, offsets[begin:end] - offsets[begin]) >= 0  # n
            report = SplitReport()
            for number in np.flatnonzero(~known):
                report.leave_out_tree(self._unknown(begin + int(number), codec))
            block = replace(block, actions=actions, source=_with_marks(block.source, source_marks))
            kept = block.select(known)
            _count(report, kept, codec.unknown_action)
            yield kept, report
            begin = end

    def _block(self, begin: int, end: int) -> Examples:
        arrays = self._arrays
        sources, actions = arrays["sources"][begin:end], arrays["action_offsets"][begin : end + 1]
        first, last = int(sources[0]), int(sources[-1])
        places = arrays["source_offsets"][first : last + 2]
        rest = {name: arrays[name][begin:end] for name in ("treebanks", "lines", "projective")}
        return Examples(
            arrays["source"][places[0] : places[-1]],
            np.diff(places),
            arrays["sentences"][first : last + 1],
            arrays["actions"][actions[0] : actions[-1]],
            np.diff(actions),
            sources - first,
            **rest,
        )

    def _unknown(self, number: int, codec: Codec) -> LeftOut:
        """Where an example is, and the first of its rules or marks that the codec lacks."""
        first, last = self._arrays["action_offsets"][number : number + 2]
        place = Place(self._files[self._arrays["treebanks"][number]], int(self._arrays["lines"][number]))
        numbers, word = self._arrays["actions"][first:last].tolist(), EmitWord(UNKNOWN)
        try:
            replay(codec.target, (word if action < 0 else self._actions[action] for action in numbers))
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


def _count(report: SplitReport, kept: Examples, unknown: int) -> None:
    """Count the examples that are kept. The trees of a sentence have the same pieces, which count once."""
    report.examples = len(kept.sources)
    report.steps = len(kept.actions)
    report.crossing_arcs = int(np.count_nonzero(kept.projective == 0))
    pieces = kept.source if kept.source.ndim == 1 else kept.source[kept.source[:, 1] == 1, 0]
    report.source_pieces = len(pieces)
    report.unknown_source_pieces = int(np.count_nonzero(pieces == 0))
    is_first = np.diff(kept.sources, prepend=-1) != 0  # n   of its sentence
    counted = kept.actions[np.repeat(is_first, kept.action_lengths)]
    report.unknown_target_pieces = int(np.count_nonzero(counted == unknown))


def _codec_numbers(codec: Codec, actions: list[Action]) -> NDArray[np.int32]:
    """By a part's own number, the codec's; -1 for what the codec lacks."""
    numbers = {action: number for number, action in enumerate(codec.table.actions)}
    pieces = [numbers[EmitWord(piece)] for piece in codec.target_side.subwords.pieces]
    # The number -1 - p of piece p counts from the end, as numpy's indices do.
    return np.array([*(numbers.get(action, -1) for action in actions), *reversed(pieces)], dtype=np.int32)


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

"""What is done to a shard of a corpus in a worker process: counting rules or marks, and encoding examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from trdec.data.codec import Codec
from trdec.data.corpus import RawPair
from trdec.data.notation import Notation
from trdec.data.prepared import Example, Examples
from trdec.data.reader import Reader
from trdec.data.report import LeftOut, Reason, SplitReport
from trdec.errors import TreeShapeError, UnknownActionError, UnknownRuleError

SHARD = 500
"""How many sentence pairs a worker takes at a time, however many workers there are."""

Item = TypeVar("Item")


def shards(items: Iterable[Item]) -> Iterator[list[Item]]:
    """The items in lists of SHARD, the last one shorter."""
    iterator = iter(items)
    while shard := list(islice(iterator, SHARD)):
        yield shard


@dataclass(frozen=True, slots=True)
class CountUnits:
    """Counts the rules or marks in the trees of a shard."""

    reader: Reader
    notation: Notation

    def __call__(self, shard: list[RawPair]) -> Counter[Any]:
        """How often each stands in the trees that are not left out."""
        counts: Counter[Any] = Counter()
        for pair in shard:
            words = self.reader.words(pair)
            if isinstance(words, LeftOut):
                continue
            for entry in self.reader.trees(pair, words.target):
                if not isinstance(entry, LeftOut) and entry.tree is not None:
                    counts.update(self.notation.units(entry.tree))
        return counts


@dataclass(frozen=True, slots=True)
class Encode:
    """Makes numbers of a shard."""

    reader: Reader
    codec: Codec

    def __call__(self, shard: list[RawPair]) -> tuple[Examples, SplitReport]:
        """The examples of the shard, and what was left out of it."""
        report = SplitReport()
        examples: list[Example] = []
        for pair in shard:
            examples += self._examples(pair, report)
        report.examples = len(examples)
        return Examples.of(examples), report

    def _examples(self, pair: RawPair, report: SplitReport) -> Iterator[Example]:
        report.pairs += 1
        report.duplicates += pair.repeated
        words = self.reader.words(pair)
        if isinstance(words, LeftOut):
            report.leave_out_pair(words)
            return
        source = self.codec.encode_source_words(words.source)
        for treebank, entry in enumerate(self.reader.trees(pair, words.target)):
            if isinstance(entry, LeftOut):
                report.leave_out_tree(entry)
                continue
            assert entry.tree is not None
            try:
                steps = self.codec.encode_target(entry.tree)
            except (UnknownRuleError, UnknownActionError) as error:
                report.leave_out_tree(LeftOut(Reason.UNSEEN, f"{entry.place}: {error}"))
                continue
            except TreeShapeError as error:
                raise TreeShapeError(f"{entry.place}: {error}") from error
            report.crossing_arcs += not entry.was_projective
            report.source_pieces += len(source)
            report.steps += len(steps)
            report.unknown_source_pieces += int(np.count_nonzero(source == 0))
            report.unknown_target_pieces += int(np.count_nonzero(steps[:, 0] == self.codec.unknown_action))
            yield Example(source, steps, pair.number, treebank)

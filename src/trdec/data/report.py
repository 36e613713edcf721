"""The report of a preparation: how much there was, what was left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trdec.data.inspection import Inspection

SHOWN = 3
"""For each reason, the report names the places of so many things that were left out."""


class Reason(StrEnum):
    """Why a sentence pair, or one of its trees, is left out."""

    EMPTY = "source or target is empty"
    DUPLICATE = "repeats an earlier pair"
    SOURCE_LENGTH = "source is too long"
    TARGET_LENGTH = "target is too long"
    RATIO = "lengths differ too much"
    NO_TREE = "parser found no tree"
    UNREADABLE = "tree cannot be read"
    MISALIGNED = "tree and sentence have different words"
    UNSEEN = "tree needs a rule or mark that is not in the grammar"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why something is left out, and where it is."""

    reason: Reason
    message: str


@dataclass(slots=True)
class SplitReport:
    """Counts over one corpus; pairs x treebanks = examples + all that was left out."""

    pairs: int = 0
    examples: int = 0
    source_pieces: int = 0
    steps: int = 0
    pairs_left_out: Counter[str] = field(default_factory=Counter)
    trees_left_out: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    crossing_arcs: int = 0
    unknown_source_pieces: int = 0
    unknown_target_pieces: int = 0
    first: dict[str, list[str]] = field(default_factory=dict)

    def leave_out_pair(self, left_out: LeftOut) -> None:
        """Count a pair that is left out with all its trees."""
        self.pairs_left_out[left_out.reason.value] += 1
        self._show(left_out.reason.value, [left_out.message])

    def leave_out_tree(self, left_out: LeftOut) -> None:
        """Count one tree that is left out."""
        self.trees_left_out[left_out.reason.value] += 1
        self._show(left_out.reason.value, [left_out.message])

    def add(self, other: SplitReport) -> None:
        """Add the counts of another report, on later sentences."""
        self.pairs += other.pairs
        self.examples += other.examples
        self.source_pieces += other.source_pieces
        self.steps += other.steps
        self.pairs_left_out += other.pairs_left_out
        self.trees_left_out += other.trees_left_out
        self.duplicates += other.duplicates
        self.crossing_arcs += other.crossing_arcs
        self.unknown_source_pieces += other.unknown_source_pieces
        self.unknown_target_pieces += other.unknown_target_pieces
        for reason, messages in other.first.items():
            self._show(reason, messages)

    def _show(self, reason: str, messages: list[str]) -> None:
        shown = self.first.setdefault(reason, [])
        shown += messages[: SHOWN - len(shown)]

    def to_json(self) -> dict[str, Any]:
        """The counts as JSON, reasons in a fixed order."""
        return {
            "pairs": self.pairs,
            "examples": self.examples,
            "source_pieces": self.source_pieces,
            "steps": self.steps,
            "pairs_left_out": _in_order(self.pairs_left_out),
            "trees_left_out": _in_order(self.trees_left_out),
            "duplicates": self.duplicates,
            "crossing_arcs": self.crossing_arcs,
            "unknown_source_pieces": self.unknown_source_pieces,
            "unknown_target_pieces": self.unknown_target_pieces,
            "first": _in_order(self.first),
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> SplitReport:
        """The report that `to_json` wrote."""
        counters = {name: Counter(found[name]) for name in ("pairs_left_out", "trees_left_out")}
        return cls(**{**found, **counters})

    def lines(self) -> Iterator[str]:
        """The counts as lines of text."""
        yield (
            f"{self.pairs:,} sentence pairs, {self.examples:,} examples, "
            f"{self.source_pieces:,} source pieces, {self.steps:,} steps"
        )
        for counts, what in ((self.pairs_left_out, "pairs"), (self.trees_left_out, "trees")):
            for reason in Reason:
                if counts[reason.value]:
                    yield f"  {counts[reason.value]:,} {what} left out: {reason.value}"
                    for message in self.first.get(reason.value, ()):
                        yield f"    {message}"
        kept = self.duplicates - self.pairs_left_out[Reason.DUPLICATE.value]
        for count, note in (
            (kept, "pairs repeat earlier ones and are kept"),
            (self.crossing_arcs, "trees had crossing arcs, which were lifted"),
            (self.unknown_source_pieces, "source pieces are unknown"),
            (self.unknown_target_pieces, "target pieces are unknown"),
        ):
            if count:
                yield f"  {count:,} {note}"


def _in_order(by_reason: Mapping[str, Any]) -> dict[str, Any]:
    return {reason.value: by_reason[reason.value] for reason in Reason if reason.value in by_reason}


@dataclass(frozen=True, slots=True)
class Report:
    """What became of train and dev, and the number of source pieces and actions."""

    train: SplitReport
    dev: SplitReport
    source_pieces: int
    actions: dict[str, int]
    """The number of actions of each kind."""
    inspection: Inspection | None = None
    """What the training text looks like; None in a report of an earlier version."""

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "train": self.train.to_json(),
            "dev": self.dev.to_json(),
            "source_pieces": self.source_pieces,
            "actions": self.actions,
            "inspection": None if self.inspection is None else self.inspection.to_json(),
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Report:
        """The report that `to_json` wrote."""
        from trdec.data.inspection import Inspection

        inspection = found.get("inspection")
        return cls(
            SplitReport.from_json(found["train"]),
            SplitReport.from_json(found["dev"]),
            found["source_pieces"],
            found["actions"],
            None if inspection is None else Inspection.from_json(inspection),
        )

    def lines(self) -> Iterator[str]:
        """The report as lines of text."""
        for name, split in (("train", self.train), ("dev", self.dev)):
            for number, line in enumerate(split.lines()):
                yield f"{name}: {line}" if number == 0 else line
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.actions.items())
        yield f"vocabulary: {self.source_pieces:,} source pieces; actions: {kinds}"
        if self.inspection is not None:
            yield from self.inspection.lines()

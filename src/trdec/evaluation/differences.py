"""The sentences on which systems differ most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trdec.evaluation.scores import sentence_scores


@dataclass(frozen=True, slots=True)
class Difference:
    """A sentence on which the systems differ."""

    index: int
    """The number of its line, from 1."""
    spread: float
    """The best sentence chrF++ less the worst."""
    reference: str
    texts: tuple[str, ...]
    """What each system wrote, its first seed."""
    scores: tuple[float, ...]
    """Sentence chrF++ of each."""

    def to_json(self) -> dict[str, Any]:
        """The sentence as JSON has it."""
        translations = [{"text": text, "chrf": score} for text, score in zip(self.texts, self.scores, strict=True)]
        return {
            "line": self.index,
            "spread": self.spread,
            "reference": self.reference,
            "translations": translations,
        }


def most_different(references: Sequence[str], systems: Sequence[Sequence[str]], number: int) -> tuple[Difference, ...]:
    """The sentences with the widest spread of sentence chrF++; equal scores are no difference."""
    if not number:
        return ()
    scores = list(zip(*(sentence_scores(lines, references) for lines in systems), strict=True))
    spreads = [max(row) - min(row) for row in scores]
    found = sorted((index for index, spread in enumerate(spreads) if spread > 0), key=lambda index: -spreads[index])
    return tuple(
        Difference(
            index + 1, spreads[index], references[index], tuple(lines[index] for lines in systems), scores[index]
        )
        for index in found[:number]
    )

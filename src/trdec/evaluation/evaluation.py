"""One system's translation by itself: scores, lengths, trees, and its worst sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trdec.evaluation.scores import Scores, score_texts, sentence_scores
from trdec.evaluation.tree_scores import TreeScores
from trdec.text.lines import split_words


@dataclass(frozen=True, slots=True)
class Example:
    """A translation beside its reference, and its source where that is given."""

    index: int
    """The number of its line, from 1."""
    score: float
    """Sentence chrF++."""
    hypothesis: str
    reference: str
    source: str | None

    def to_json(self) -> dict[str, Any]:
        """The example as JSON has it."""
        source = {} if self.source is None else {"source": self.source}
        texts = {**source, "reference": self.reference, "hypothesis": self.hypothesis}
        return {"line": self.index, "chrf": self.score, **texts}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything that is said of one output."""

    scores: Scores
    source_words: int | None
    """Words in the source, if it was given."""
    source_ratio: float | None
    """Words of the translation for each word of the source."""
    trees: TreeScores | None
    worst: tuple[Example, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        return {
            **self.scores.to_json(),
            "source_words": self.source_words,
            "source_ratio": self.source_ratio,
            "trees": self.trees.to_json() if self.trees else None,
            "worst": [example.to_json() for example in self.worst],
        }


def evaluate_texts(
    hypotheses: Sequence[str],
    references: Sequence[str],
    sources: Sequence[str] | None = None,
    trees: TreeScores | None = None,
    tokenise: str = "none",
    examples: int = 0,
) -> Evaluation:
    """Scores of the hypotheses, and as many of the worst translations as there should be examples."""
    words = ratio = None
    if sources is not None:
        words = _count(sources)
        ratio = _count(hypotheses) / words if words else None
    return Evaluation(
        scores=score_texts(hypotheses, references, tokenise),
        source_words=words,
        source_ratio=ratio,
        trees=trees,
        worst=_worst(hypotheses, references, sources, examples),
    )


def _count(lines: Sequence[str]) -> int:
    return sum(len(split_words(line)) for line in lines)


def _worst(
    hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str] | None, number: int
) -> tuple[Example, ...]:
    if not number:
        return ()
    scores = sentence_scores(hypotheses, references)
    return tuple(
        Example(index + 1, scores[index], hypotheses[index], references[index], sources[index] if sources else None)
        for index in sorted(range(len(scores)), key=scores.__getitem__)[:number]
    )

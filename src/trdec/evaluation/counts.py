"""Scores without text: what BLEU counts in each sentence is all that BLEU and its paired tests need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from trdec.evaluation.scores import bleu_metric

NUMBERS = 10
"""Of each sentence: the words of the translation and of the reference; of its n-grams with n from 1 to 4, how many the
reference has, and how many there are.
"""


def count_sentences(lines: Sequence[str], references: Sequence[str], tokenise: str = "none") -> tuple[str, ...]:
    """What BLEU counts in each line, as numbers with spaces between them."""
    metric = bleu_metric(tokenise, references)
    return tuple(" ".join(map(str, counts)) for counts in metric._extract_corpus_statistics(list(lines), None))


class CountedBLEU(BLEU):
    """sacreBLEU's BLEU of lines that hold what it counts in each sentence instead of the sentence."""

    def __init__(self, tokenise: str = "none") -> None:
        # The text was split into words where it was counted: the tokeniser, which may not be installed here, is a name.
        super().__init__(tokenize="none", force=True)
        self.tokenizer_signature = tokenise
        self.num_refs = 1

    def _extract_corpus_statistics(self, hypotheses: Sequence[str], references: Any) -> list[list[int]]:  # noqa: ARG002
        return [[int(number) for number in line.split()] for line in hypotheses]

    def of(self, lines: Sequence[str]) -> float:
        """The score of the whole text."""
        return float(self._aggregate_and_compute(self._extract_corpus_statistics(lines, None)).score)

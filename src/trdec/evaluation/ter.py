"""sacreBLEU's TER, with each pair of sentences computed once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sacrebleu.metrics.ter import TER

REMEMBERED = 2**15
"""Pairs of sentences whose edits are remembered."""


# A long, poor translation takes tens of milliseconds, and a comparison asks for the same pair many times: for the
# score, and for the two paired tests against every other system.
class RememberingTER(TER):
    """sacreBLEU's TER: lower is better, and case does not count."""

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[float]:
        return list(_statistics(hypothesis, tuple(" ".join(words) for words in ref_kwargs["ref_words"])))


@lru_cache(maxsize=REMEMBERED)
def _statistics(hypothesis: str, references: tuple[str, ...]) -> tuple[float, ...]:
    words = {"ref_words": [reference.split() for reference in references]}
    return tuple(TER()._compute_segment_statistics(hypothesis, words))

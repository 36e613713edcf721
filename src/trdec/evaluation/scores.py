"""BLEU and chrF++ of a translated text, through sacreBLEU and with its signatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from trdec.errors import TextFormatError, UsageError

TOKENISERS = ("none", "13a", "intl", "zh", "char")
"""sacreBLEU's tokenisers that need nothing more than sacreBLEU."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A score and the signature that says how it was computed."""

    name: str
    score: float
    signature: str

    def to_json(self) -> dict[str, Any]:
        """The score as JSON has it."""
        return {"name": self.name, "score": self.score, "signature": self.signature}


@dataclass(frozen=True, slots=True)
class Scores:
    """What a text scores against its references. Words are counted as BLEU's tokeniser parts them."""

    bleu: Metric
    chrf: Metric
    length_ratio: float
    sentences: int
    hypothesis_words: int
    reference_words: int

    def to_json(self) -> dict[str, Any]:
        """The scores as JSON has them."""
        return {
            "bleu": self.bleu.to_json(),
            "chrf": self.chrf.to_json(),
            "length_ratio": self.length_ratio,
            "sentences": self.sentences,
            "hypothesis_words": self.hypothesis_words,
            "reference_words": self.reference_words,
        }


def score_texts(hypotheses: Sequence[str], references: Sequence[str], tokenise: str = "none") -> Scores:
    """Corpus BLEU, corpus chrF++ and the length ratio; a hypothesis may be empty."""
    if len(hypotheses) != len(references):
        raise TextFormatError(
            f"expected a hypothesis for each reference, found {len(hypotheses)} hypotheses and "
            f"{len(references)} references. Both must hold the same sentences in the same order."
        )
    if not any(reference.split() for reference in references):
        raise TextFormatError(
            f"expected references with words in them, found {len(references)} without. "
            "Nothing can be scored against them: check which text was given as the reference."
        )
    bleu, chrf = bleu_metric(tokenise), chrf_metric()
    bleu_score = bleu.corpus_score(list(hypotheses), [list(references)])
    chrf_score = chrf.corpus_score(list(hypotheses), [list(references)])
    return Scores(
        bleu=Metric("BLEU", bleu_score.score, str(bleu.get_signature())),
        chrf=Metric("chrF++", chrf_score.score, str(chrf.get_signature())),
        length_ratio=bleu_score.sys_len / bleu_score.ref_len,
        sentences=len(references),
        hypothesis_words=bleu_score.sys_len,
        reference_words=bleu_score.ref_len,
    )


def bleu_metric(tokenise: str, references: Sequence[str] | None = None) -> BLEU:
    """sacreBLEU's BLEU; it does not complain of tokenised text, which is what trdec writes."""
    if tokenise not in TOKENISERS:
        raise UsageError(f"expected a tokeniser ({', '.join(TOKENISERS)}), found {tokenise!r}.")
    return BLEU(tokenize=tokenise, force=True, references=None if references is None else [list(references)])


def chrf_metric() -> CHRF:
    """sacreBLEU's chrF++: chrF with words and pairs of words besides characters."""
    return CHRF(word_order=2)


def sentence_scores(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF++ of every sentence by itself: BLEU says little of a single sentence."""
    chrf = chrf_metric()
    return [
        chrf.sentence_score(hypothesis, [reference]).score
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]

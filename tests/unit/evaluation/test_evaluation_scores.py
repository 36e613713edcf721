"""BLEU, chrF++ and lengths: by hand, by sacreBLEU's command line, and what must not matter."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.ter import TER

from support.degraded import VOCABULARY, degraded, invented
from trdec.errors import TextFormatError, UsageError
from trdec.evaluation.scores import evaluate_texts, score_texts, sentence_scores, ter_metric

lines = st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join)
pairs = st.lists(st.tuples(lines, lines.filter(bool)), min_size=1, max_size=8)


def sacrebleu(*arguments: object) -> Any:
    """What sacreBLEU's own command line says, as JSON."""
    command = [sys.executable, "-m", "sacrebleu", *map(str, arguments), "--force", "-f", "json", "-w", "10"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def write(path: Path, text: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    return path


def test_bleu_is_what_a_hand_computes() -> None:
    scores = score_texts(["the cat sat on the mat", "a dog"], ["the cat sat on a mat", "a dog barks"])
    # 1: the cat sat on mat (the second `the` is clipped), a dog: 5 + 2 of 6 + 2 words.
    # 2: the-cat cat-sat sat-on, a-dog:                           3 + 1 of 5 + 1 pairs.
    # 3: the-cat-sat cat-sat-on:                                      2 of 4.
    # 4: the-cat-sat-on:                                              1 of 3.
    precisions = (7 / 8, 4 / 6, 2 / 4, 1 / 3)
    brevity = math.exp(1 - 9 / 8)  # 8 words where the references have 9
    assert scores.bleu.score == pytest.approx(100 * brevity * math.prod(precisions) ** (1 / 4))
    assert (scores.hypothesis_words, scores.reference_words, scores.sentences) == (8, 9, 2)
    assert scores.length_ratio == 8 / 9


def test_chrf_is_what_a_hand_computes() -> None:
    # Orders of which neither side has n-grams do not count: 1 and 2 characters, 1 word.
    # Characters: a of {a, b} and {a, c}; no pair; the word differs. F is their mean, recall counting twice.
    scores = score_texts(["ab"], ["ac"])
    assert scores.chrf.score == pytest.approx(100 * (1 / 2 + 0 + 0) / 3)


def test_ter_is_what_a_hand_computes() -> None:
    # One shift (`the mat` to the end), one word replaced; then one word inserted: 3 edits for 6 + 3 words.
    scores = score_texts(["the mat a cat sat on", "a dog"], ["A cat sits on the mat", "a dog barks"])
    assert scores.ter is not None
    assert scores.ter.score == pytest.approx(100 * 3 / 9)
    assert score_texts(["a"], ["a"], with_ter=False).ter is None


@settings(max_examples=30)
@given(pairs)
def test_remembered_edits_are_sacrebleus(found: list[tuple[str, str]]) -> None:
    hypotheses, references = map(list, zip(*found, strict=True))
    expected = TER().corpus_score(hypotheses, [references]).score
    for _ in range(2):
        scores = score_texts(hypotheses, references)
        assert scores.ter is not None
        assert scores.ter.score == expected
        assert ter_metric(references).corpus_score(hypotheses, None).score == expected


@pytest.mark.parametrize("tokenise", ["none", "13a"])
def test_scores_and_signatures_are_those_of_sacrebleus_command_line(tmp_path: Path, tokenise: str) -> None:
    references = [f"{line}, (and so-on)." for line in invented(60)]
    hypotheses = [*degraded(references, 0.2)[:-1], ""]
    files = write(tmp_path / "ref", references), "-i", write(tmp_path / "hyp", hypotheses)
    bleu, chrf, ter = sacrebleu(*files, "-m", "bleu", "chrf", "ter", "--chrf-word-order", "2", "-tok", tokenise)
    scores = score_texts(hypotheses, references, tokenise)
    assert scores.bleu.score == pytest.approx(bleu["score"], abs=1e-9)
    assert scores.chrf.score == pytest.approx(chrf["score"], abs=1e-9)
    assert scores.ter is not None
    assert scores.ter.score == pytest.approx(ter["score"], abs=1e-9)
    assert (scores.bleu.signature, scores.chrf.signature) == (bleu["signature"], chrf["signature"])
    assert scores.ter.signature == ter["signature"]
    assert f"hyp_len = {scores.hypothesis_words} ref_len = {scores.reference_words}" in bleu["verbose_score"]
    assert f"tok:{tokenise}" in scores.bleu.signature


@settings(max_examples=30)
@given(pairs, st.randoms())
def test_the_order_of_sentences_does_not_matter(found: list[tuple[str, str]], random: Any) -> None:
    before = score_texts(*zip(*found, strict=True))  # type: ignore[arg-type]
    random.shuffle(found)
    after = score_texts(*zip(*found, strict=True))  # type: ignore[arg-type]
    assert after.bleu.score == pytest.approx(before.bleu.score)
    assert after.chrf.score == pytest.approx(before.chrf.score)
    assert after.length_ratio == before.length_ratio


@settings(max_examples=30)
@given(pairs)
def test_scores_are_percentages_and_the_references_score_best(found: list[tuple[str, str]]) -> None:
    # A text without any four words in a row has BLEU 0, whatever is said: so one sentence has them.
    hypotheses, references = map(list, zip(*found, ("a cat", "the cat eats fish ."), strict=True))
    scores, best = score_texts(hypotheses, references), score_texts(references, references)
    assert 0 <= scores.bleu.score <= 100
    assert best.bleu.score == pytest.approx(100)
    assert best.chrf.score == pytest.approx(100)
    assert best.length_ratio == 1
    for score in sentence_scores(hypotheses, references):
        assert 0 <= score <= 100 + 1e-9


def test_a_translation_of_nothing_scores_nothing() -> None:
    scores = score_texts(["", ""], ["a cat .", "a dog ."])
    assert (scores.bleu.score, scores.chrf.score, scores.length_ratio) == (0, 0, 0)


def test_what_cannot_be_scored_is_said() -> None:
    with pytest.raises(TextFormatError, match="found 1 hypotheses and 2 references"):
        score_texts(["a"], ["a", "b"])
    with pytest.raises(TextFormatError, match="expected references with words in them, found 1 without"):
        score_texts(["a"], [" "])
    with pytest.raises(TextFormatError, match="found 0 without"):
        score_texts([], [])
    with pytest.raises(UsageError, match=r"expected a tokeniser \(none, 13a, .*, found 'spm'"):
        score_texts(["a"], ["a"], "spm")


def test_the_worst_translations_are_shown_with_their_source() -> None:
    hypotheses, references = ["a cat", "", "a dig"], ["a cat", "a fish", "a dog"]
    found = evaluate_texts(hypotheses, references, ["x", "y z", "u"], examples=2)
    assert [(example.index, example.source) for example in found.worst] == [(2, "y z"), (3, "u")]
    assert (found.source_words, found.source_ratio) == (4, 4 / 4)
    assert found.to_json()["worst"][0] == {
        "line": 2,
        "chrf": 0.0,
        "source": "y z",
        "reference": "a fish",
        "hypothesis": "",
    }
    without = evaluate_texts(hypotheses, references, ["", "", ""], examples=9)
    assert (without.source_ratio, len(without.worst)) == (None, 3)
    assert "source" not in evaluate_texts(hypotheses, references, examples=1).to_json()["worst"][0]

"""Buckets by length, and histograms of length differences."""

from __future__ import annotations

from statistics import mean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.degraded import degraded, invented
from trdec.errors import UsageError
from trdec.evaluation.comparison import bucket_bleu, compare
from trdec.evaluation.lengths import bucket_gains, bucket_means, count_lengths, length_buckets, length_differences
from trdec.evaluation.scores import Output, score_texts

boundaries = st.sets(st.integers(1, 60), min_size=1, max_size=6).map(sorted)


@given(st.lists(st.integers(0, 60), max_size=30), boundaries)
def test_buckets_part_the_sentences(references: list[int], edges: list[int]) -> None:
    buckets = length_buckets(references, edges)
    assert sorted(number for bucket in buckets for number in bucket.sentences) == list(range(len(references)))
    assert len(buckets) == len(edges) + 1
    for bucket in buckets:
        for number in bucket.sentences:
            length = references[number]
            assert bucket.shortest <= max(1, length)
            assert bucket.longest is None or length <= bucket.longest


def test_a_sentence_as_long_as_a_boundary_stands_below_it() -> None:
    buckets = length_buckets((0, 10, 11, 20, 40, 41))
    assert [bucket.label for bucket in buckets] == ["1-10", "11-20", "21-30", "31-40", "41+"]
    assert [bucket.sentences for bucket in buckets] == [(0, 1), (2, 3), (), (4,), (5,)]
    assert buckets[-1].to_json() == {"shortest": 41, "longest": None, "sentences": 1}


@pytest.mark.parametrize("edges", [(), (0, 10), (10, 10), (20, 10)])
def test_boundaries_that_part_nothing_are_refused(edges: tuple[int, ...]) -> None:
    expected = ",".join(map(str, edges)) or "none"
    with pytest.raises(UsageError, match=f"lengths of buckets, .* found {expected}"):
        length_buckets([1], edges)


def test_a_bucket_scores_as_its_sentences_do_by_themselves() -> None:
    references = [*invented(30, longest=25), " ".join(invented(3))]
    hypotheses = degraded(references, 0.2)
    lengths = [len(line.split()) for line in references]
    buckets = length_buckets(lengths, (10, 20, 27, 30))
    found = bucket_bleu(hypotheses, references, buckets)
    assert found[3] is None  # 28 to 30 words
    for bucket, bleu in zip(buckets, found, strict=True):
        if bucket.sentences:
            chosen = [hypotheses[number] for number in bucket.sentences]
            alone = score_texts(chosen, [references[number] for number in bucket.sentences])
            assert bleu == alone.bleu.score
    assert bucket_bleu(hypotheses, references, length_buckets(lengths, (1000,))) == (
        score_texts(hypotheses, references).bleu.score,
        None,
    )


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=20))
def test_a_histogram_has_the_mean_and_deviation_of_its_differences(lengths: list[tuple[int, int]]) -> None:
    found = length_differences([[hypothesis for hypothesis, _ in lengths]], [reference for _, reference in lengths])
    differences = [hypothesis - reference for hypothesis, reference in lengths]
    assert found.sentences == len(lengths)
    assert found.mean == pytest.approx(mean(differences))
    assert found.std == pytest.approx(pstdev(differences))
    assert found.share(None, -1) + found.share(0, 0) + found.share(1, None) == pytest.approx(1)
    assert found.share(-2, 3) == sum(-2 <= difference <= 3 for difference in differences) / len(differences)
    assert list(found.counts) == sorted(set(differences))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1))
def test_lengths_are_counted_and_the_most_overused_one_is_found(lengths: list[tuple[int, int]]) -> None:
    hypotheses, references = map(list, zip(*lengths, strict=True))
    counts, differences = count_lengths([hypotheses], references), length_differences([hypotheses], references)
    assert sum(counts.outputs.values()) == sum(counts.references.values()) == counts.sentences == len(lengths)
    assert counts.ratio == sum(length for length, _ in lengths) / sum(length for _, length in lengths)
    assert differences.exact == sum(one == other for one, other in lengths) == len(lengths) * differences.share(0, 0)
    assert differences.mean_absolute == pytest.approx(mean(abs(one - other) for one, other in lengths))
    assert abs(differences.mean) <= differences.mean_absolute + 1e-9
    written, expected = ([pair[side] for pair in lengths] for side in (0, 1))
    excess = max(written.count(length) - expected.count(length) for length in range(10))
    found = counts.overused
    assert (found is None) == (sorted(written) == sorted(expected))
    if found is not None:
        assert (found.outputs, found.references) == (written.count(found.length), expected.count(found.length))
        assert found.outputs - found.references == excess
    perfect = count_lengths([references, references], references)
    assert perfect.outputs == perfect.references
    assert (perfect.ratio, perfect.overused) == (1, None)


def test_the_overused_length_is_told_with_its_counts() -> None:
    references = [2] * 3 + [3] * 4 + [1] * 3
    outputs = [[2] * 8 + [1] * 2, [2] * 6 + [3] * 4]
    found = count_lengths(outputs, references)
    assert found.overused is not None
    assert found.to_json()["overused"] == {"length": 2, "outputs": 14, "references": 6}
    assert found.to_json()["outputs"] == {"1": 2, "2": 14, "3": 4}


def test_seeds_are_counted_together() -> None:
    found = length_differences([[2, 1], [3, 0]], [2, 2])
    assert found.counts == {-2: 1, -1: 1, 0: 1, 1: 1}
    assert found.to_json()["counts"] == {"-2": 1, "-1": 1, "0": 1, "1": 1}


def test_only_ascii_space_parts_words() -> None:
    (row,) = compare(["a b c"], [Output("x", "x", ["10\u00a0000 cats"])]).systems
    assert row.histogram.counts == {-1: 1}


def test_buckets_without_sentences_have_no_part_in_means_and_gains() -> None:
    assert bucket_means([(1.0, None, 4.0), (3.0, None, None)]) == (2.0, None, 4.0)
    assert bucket_gains([((1.0, None, 4.0), (3.0, None, None)), ((2.0, 1.0, 1.0), (3.0, 3.0, 0.5))]) == (1.5, 2.0, -0.5)

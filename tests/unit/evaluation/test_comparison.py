"""Systems and seeds, compared."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import mean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.degraded import degraded, invented
from trdec.errors import TextFormatError, UsageError
from trdec.evaluation.comparison import Comparison, ComparisonOptions, compare, most_different
from trdec.evaluation.scores import Output, score_texts, sentence_scores
from trdec.evaluation.tables import scores_table, ter_table
from trdec.trees.brackets import parse

REFERENCES = invented(40, longest=35)
FAST = ComparisonOptions(samples=20, trials=20, examples=3)


def output(system: str, seed: int, rate: float) -> Output:
    return Output(system, f"{system}.{seed}", degraded(REFERENCES, rate, seed), str(seed))


def compared() -> Comparison:
    outputs = [output("base", 1, 0.3), output("better", 1, 0.1), output("base", 2, 0.35), output("better", 2, 0.15)]
    return compare(REFERENCES, [*outputs, output("single", 2, 0.5)], FAST)


def test_systems_stand_in_the_order_of_their_first_appearance_with_all_their_seeds() -> None:
    rows = compared().systems
    assert [row.name for row in rows] == ["base", "better", "single"]
    assert [row.outputs for row in rows] == [("base.1", "base.2"), ("better.1", "better.2"), ("single.2",)]


def test_means_and_deviations_are_over_seeds() -> None:
    base, better, single = compared().systems
    bleus = [
        score_texts(degraded(REFERENCES, rate, seed), REFERENCES).bleu.score for rate, seed in ((0.1, 1), (0.15, 2))
    ]
    assert [scores.bleu.score for scores in better.scores] == bleus
    assert better.mean == pytest.approx(mean(bleus))
    assert better.std == pytest.approx(stdev(bleus))
    assert better.difference == pytest.approx(mean(bleus) - base.mean)
    chrfs = [scores.chrf.score for scores in better.scores]
    assert (better.chrf_mean, better.chrf_std) == (pytest.approx(mean(chrfs)), pytest.approx(stdev(chrfs)))
    assert better.length_ratio == pytest.approx(mean(scores.length_ratio for scores in better.scores))
    ters = [scores.ter.score for scores in better.scores if scores.ter]
    assert (better.ter_mean, better.ter_std) == (pytest.approx(mean(ters)), pytest.approx(stdev(ters)))
    assert (single.std, single.chrf_std, single.ter_std, base.difference) == (None, None, None, 0)


def test_seeds_are_tested_pair_by_pair_against_the_first_system() -> None:
    base, better, single = compared().systems
    assert base.paired is None
    assert better.paired is not None
    assert single.paired is not None
    assert [(pair.baseline, pair.system) for pair in better.paired.pairs] == [
        ("base.1", "better.1"),
        ("base.2", "better.2"),
    ]
    assert [(pair.baseline, pair.system) for pair in single.paired.pairs] == [("base.2", "single.2")]


def test_gains_are_differences_of_bucket_means() -> None:
    comparison = compared()
    base, better, _ = comparison.systems
    assert [bucket.label for bucket in comparison.buckets] == ["1-10", "11-20", "21-30", "31-40", "41+"]
    assert better.buckets[-1] is better.gains[-1] is base.gains[-1] is None  # no reference is longer than 40
    assert base.gains[:-1] == (0, 0, 0, 0)
    chosen = comparison.buckets[1].sentences
    references = [REFERENCES[number] for number in chosen]

    def alone(rate: float, seed: int) -> float:
        lines = degraded(REFERENCES, rate, seed)
        return score_texts([lines[number] for number in chosen], references).bleu.score

    assert better.buckets[1] == pytest.approx((alone(0.1, 1) + alone(0.15, 2)) / 2)
    gain = (alone(0.1, 1) + alone(0.15, 2) - alone(0.3, 1) - alone(0.35, 2)) / 2
    assert better.gains[1] == pytest.approx(gain)
    assert better.histogram.sentences == 2 * len(REFERENCES)


@settings(max_examples=15)
@given(st.integers(1, 1000), st.floats(0, 1))
def test_identical_systems_do_not_differ(seed: int, rate: float) -> None:
    references = invented(6, longest=12, seed=seed)
    lines = degraded(references, rate, seed)
    comparison = compare(references, [Output("a", "a", lines), Output("b", "b", list(lines))], FAST)
    first, second = comparison.systems
    assert (second.difference, first.scores, first.buckets) == (0, second.scores, second.buckets)
    assert second.paired is not None
    assert (second.paired.p_bootstrap, second.paired.p_randomisation, second.paired.mark) == (1, 1, "")
    assert second.paired_ter is not None
    assert (second.paired_ter.p_bootstrap, second.paired_ter.p_randomisation) == (1, 1)
    assert comparison.different == ()


def test_the_sentences_that_differ_most_have_the_widest_spread() -> None:
    comparison = compared()
    firsts = [degraded(REFERENCES, rate, seed) for rate, seed in ((0.3, 1), (0.1, 1), (0.5, 2))]
    scores = [sentence_scores(lines, REFERENCES) for lines in firsts]
    spreads = {number: max(row) - min(row) for number, row in enumerate(zip(*scores, strict=True), start=1)}
    assert [different.spread for different in comparison.different] == sorted(spreads.values(), reverse=True)[:3]
    worst = comparison.different[0]
    assert spreads[worst.index] == worst.spread
    assert worst.reference == REFERENCES[worst.index - 1]
    assert worst.texts == tuple(lines[worst.index - 1] for lines in firsts)
    assert worst.scores == tuple(row[worst.index - 1] for row in scores)


def test_no_examples_are_shown_if_none_are_asked_for() -> None:
    assert most_different(["a"], [["a"], ["b"]], 0) == ()
    assert len(most_different(["a", "b"], [["a", "c"], ["b", "c"]], 5)) == 1


def test_json_holds_all_figures() -> None:
    comparison = compared()
    content = json.loads(json.dumps(comparison.to_json()))
    assert content["sentences"] == 40
    assert content["tests"] == {"samples": 20, "trials": 20, "seed": 12345}
    assert content["buckets"][0] == {
        "shortest": 1,
        "longest": 10,
        "sentences": len(comparison.buckets[0].sentences),
    }
    better = content["systems"][1]
    row = comparison.systems[1]
    assert better["bleu"] == {"mean": row.mean, "std": row.std}
    assert better["outputs"][0]["name"] == "better.1"
    assert better["outputs"][0]["bleu"]["signature"] == row.scores[0].bleu.signature
    assert better["gains"] == list(row.gains)
    assert row.paired is not None
    assert better["paired"]["p_bootstrap"] == row.paired.p_bootstrap
    assert sum(better["length_differences"]["counts"].values()) == 80
    assert [found["text"] for found in content["different"][0]["translations"]] == list(comparison.different[0].texts)
    untested = compare(REFERENCES, [output("a", 1, 0.1), output("b", 1, 0.2)], ComparisonOptions(significance=False))
    assert untested.to_json()["tests"] is untested.to_json()["systems"][1]["paired"] is None


def test_trees_are_scored_where_they_are_given() -> None:
    tree, other = parse("(ROOT (NP a cat))"), parse("(ROOT a cat)")
    outputs = [
        Output("with", "1", ["a cat"], trees=[tree]),
        Output("with", "2", ["a cat"], trees=[other]),
        Output("without", "3", ["a cat"]),
    ]
    found = compare(["a cat"], outputs, FAST, reference_trees=[tree])
    trees = found.systems[0].trees
    assert trees is not None
    assert trees.labelled is not None
    assert (trees.sentences, trees.labelled.matched, trees.labelled.found, trees.labelled.expected) == (2, 1, 1, 2)
    assert found.systems[1].trees is None
    assert found.to_json()["systems"][0]["trees"]["well_formed"] == 2


def test_one_system_is_compared_with_nothing() -> None:
    found = compare(REFERENCES, [output("base", 1, 0.3), output("base", 2, 0.35)], FAST)
    (row,) = found.systems
    assert row.scores == compared().systems[0].scores
    assert (row.paired, row.difference, found.different) == (None, 0, ())
    with pytest.raises(UsageError, match="expected the outputs of at least one system, found none"):
        compare(["x"], [], FAST)


def test_outputs_must_have_a_line_for_each_reference() -> None:
    with pytest.raises(TextFormatError, match=r"found 2 in b\.txt and 1 in the references"):
        compare(["x"], [Output("a", "a.txt", ["x"]), Output("b", "b.txt", ["x", "y"])], FAST)


def test_a_seed_that_is_worse_takes_the_mark_away_though_the_baseline_has_fewer() -> None:
    base, better, worse = (degraded(REFERENCES, rate, seed=9) for rate in (0.3, 0.0, 0.9))
    outputs = [Output("base", "b", base), Output("other", "o1", better), Output("other", "o2", worse)]
    options = ComparisonOptions(samples=200, trials=2000, examples=0, ter=False)
    _, alone = compare(REFERENCES, outputs[:2], options).systems
    _, both = compare(REFERENCES, outputs, options).systems
    assert alone.paired is not None
    assert both.paired is not None
    assert (alone.paired.mark, both.paired.mark) == ("†", "")  # too few samples for ‡
    assert [pair.system for pair in both.paired.pairs] == ["o1", "o2"]


def test_gains_and_tests_are_over_equal_seeds_and_the_table_says_so() -> None:
    rates = {"1": 0.3, "2": 0.6, "3": 0.9}
    base = [Output("base", f"base.{seed}", degraded(REFERENCES, rate, seed=1), seed) for seed, rate in rates.items()]
    better, best = (Output(name, f"{name}.1", degraded(REFERENCES, 0.0, seed=2), "1") for name in ("better", "best"))
    options = ComparisonOptions(samples=200, trials=2000, examples=0)
    found = compare(REFERENCES, [*base, better, best], options)
    alone = compare(REFERENCES, [base[0], better], options)
    assert found.systems[1].difference == alone.systems[1].difference != found.systems[1].mean - found.systems[0].mean
    assert found.systems[1].gains == alone.systems[1].gains
    ter, ter_alone = ter_table(found), ter_table(alone)
    assert ter is not None
    assert ter_alone is not None
    assert ter.rows[0][2:] == ter_alone.rows[0][2:]
    for asked in (found, compare(REFERENCES, [*base, better, best], replace(options, significance=False))):
        (note,) = [note for note in scores_table(asked).notes if "equal seeds" in note]
        assert note.startswith("better and best have no marks")
        assert note.endswith("base.2; base.3.")
    assert not any("equal seeds" in note for note in scores_table(alone).notes)

"""Paired tests: against sacreBLEU's command line, against enumeration, and pairs of seeds."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

from support.degraded import degraded, invented
from trdec.errors import UsageError
from trdec.evaluation.scores import Output, bleu_metric, ter_metric
from trdec.evaluation.significance import Paired, PairedTests, Significance, pair_seeds, without_partner
from unit.evaluation.test_evaluation_scores import sacrebleu, write

REFERENCES = invented(60)
BLEU, EDITS = bleu_metric("none", REFERENCES), ter_metric(REFERENCES)
BASELINE = Output("base", "base.1", degraded(REFERENCES, 0.3, seed=1))
BETTER = Output("better", "better.1", degraded(REFERENCES, 0.1, seed=2))
SIMILAR = Output("similar", "similar.1", degraded(REFERENCES, 0.3, seed=3))


def pair(difference: float, p_bootstrap: float, p_randomisation: float) -> Paired:
    return Paired("base", "system", difference, p_bootstrap, p_randomisation, 9, "", "")


@pytest.mark.parametrize("seed", [12345, 7])
def test_p_values_are_those_of_sacrebleus_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", str(seed))
    files = [write(tmp_path / "ref", REFERENCES), "-i"]
    files += [write(tmp_path / output.name, list(output.lines)) for output in (BASELINE, SIMILAR)]
    options = ("-m", "bleu", "-tok", "none")
    _, bootstrap = sacrebleu(*files, *options, "--paired-bs", "--paired-bs-n", 150)
    _, randomisation = sacrebleu(*files, *options, "--paired-ar", "--paired-ar-n", 250)
    monkeypatch.setenv("SACREBLEU_SEED", "99")
    found = PairedTests(BLEU, samples=150, trials=250, seed=seed).test(BASELINE, SIMILAR)
    assert found.p_bootstrap == pytest.approx(bootstrap["BLEU"]["p_value"], abs=1e-9)
    assert found.p_randomisation == pytest.approx(randomisation["BLEU"]["p_value"], abs=1e-9)
    assert f"bs:150|seed:{seed}|" in found.signature_bootstrap
    assert f"ar:250|seed:{seed}|" in found.signature_randomisation
    assert os.environ["SACREBLEU_SEED"] == "99"


def test_p_values_of_ter_are_sacrebleus(monkeypatch: pytest.MonkeyPatch) -> None:  # its command line fails on TER
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    references = invented(30, longest=15)
    outputs = [(name, degraded(references, 0.3, seed)) for name, seed in (("base", 1), ("similar", 3))]
    tests = PairedTests(ter_metric(references), samples=150, trials=250, seed=7)
    found = tests.test(*(Output(name, name, lines) for name, lines in outputs))
    for kind, number, p in (("bs", 150, found.p_bootstrap), ("ar", 250, found.p_randomisation)):
        _, results = PairedTest(outputs, {"TER": TER(references=[references])}, None, kind, number)()
        base, similar = results["TER"]
        assert isinstance(base, Result)
        assert isinstance(similar, Result)
        assert p == similar.p_value
        assert found.difference == pytest.approx(similar.score - base.score)
    assert "bs:150|seed:7|case:lc|tok:tercom|" in found.signature_bootstrap


def test_the_environment_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    PairedTests(BLEU, samples=2, trials=2).test(BASELINE, BETTER)
    assert "SACREBLEU_SEED" not in os.environ


@pytest.mark.parametrize("metric", [BLEU, EDITS])
def test_sentences_that_count_the_same_add_nothing_to_significance(metric: SacrebleuMetric) -> None:
    words = [line.split() for line in REFERENCES]
    base = [" ".join(["foo", *line[1:]]) for line in words]
    other = [line.replace("foo", "bar") for line in base]
    other[3] = REFERENCES[3]
    found = PairedTests(metric, samples=20, trials=50).test(Output("a", "a", base), Output("b", "b", other))
    assert found.differing == len(REFERENCES)
    assert found.p_randomisation == 1.0


def test_randomisation_is_close_to_enumeration() -> None:
    references = invented(12, longest=9, seed=4)
    base = degraded(references, 0.5, seed=1)
    changed = degraded(references, 0.45, seed=5)
    places = [number for number in range(12) if base[number] != changed[number]][:9]
    other = [changed[number] if number in places else line for number, line in enumerate(base)]

    metric = bleu_metric("none", references)

    def bleu(lines: list[str]) -> float:
        return metric.corpus_score(lines, None).score

    difference = bleu(other) - bleu(base)
    greater = 0
    for swapped in itertools.product((False, True), repeat=len(places)):
        one, two = list(base), list(other)
        for number, swap in zip(places, swapped, strict=True):
            if swap:
                one[number], two[number] = two[number], one[number]
        greater += abs(bleu(two) - bleu(one)) > abs(difference) + 1e-9
    expected = greater / 2 ** len(places)
    found = PairedTests(bleu_metric("none", references), samples=10, trials=4000).test(
        Output("a", "a", base), Output("b", "b", other)
    )
    assert found.difference == pytest.approx(difference)
    assert found.differing == len(places) == 9
    assert 0.1 < expected < 0.95  # neither certain nor chance alone, or the next line would say little
    assert found.p_randomisation == pytest.approx(expected, abs=0.04)


def test_the_same_seed_gives_the_same_p_values_and_another_seed_others() -> None:
    first, again, other = (
        PairedTests(BLEU, samples=200, trials=200, seed=seed).test(BASELINE, SIMILAR) for seed in (5, 5, 6)
    )
    assert first == again
    assert (first.p_bootstrap, first.p_randomisation) != (other.p_bootstrap, other.p_randomisation)


@settings(max_examples=10)
@given(st.integers(1, 100), st.floats(0, 1))
def test_a_system_does_not_differ_from_itself(seed: int, rate: float) -> None:
    references = invented(5, seed=seed)
    lines = degraded(references, rate, seed)
    spaced = [line.replace(" ", "  ") for line in lines]
    found = PairedTests(bleu_metric("none", references), samples=5, trials=5).test(
        Output("a", "a", lines), Output("b", "b", spaced)
    )
    assert (found.difference, found.differing, found.p_bootstrap, found.p_randomisation) == (0, 0, 1, 1)
    assert Significance((found,)).mark == ""


def test_few_different_sentences_prove_nothing() -> None:
    tests = PairedTests(BLEU, samples=100, trials=100)
    for differing in (1, 2, 3):
        lines = [*REFERENCES[:differing], *BASELINE.lines[differing:]]
        different = sum(one != two for one, two in zip(lines, BASELINE.lines, strict=True))
        found = tests.test(BASELINE, Output("b", "b", lines))
        assert found.differing == different > 0
        assert 2.0 ** (1 - different) <= found.p_randomisation <= 1


def test_a_much_better_system_is_marked_in_either_direction() -> None:
    tests = PairedTests(BLEU, trials=1000)
    better, worse = tests.test(BASELINE, BETTER), tests.test(BETTER, BASELINE)
    assert better.difference == -worse.difference > 0
    assert Significance((better,)).mark == Significance((worse,)).mark == "‡"
    assert Significance((tests.test(BASELINE, SIMILAR),)).mark == ""


def test_fewer_edits_are_a_difference_below_nothing() -> None:
    better = PairedTests(EDITS, trials=1000).test(BASELINE, BETTER)
    assert better.difference < 0
    assert Significance((better,)).mark == "‡"
    assert PairedTests(EDITS, samples=5, trials=5).test(BASELINE, BASELINE).p == 1


def test_a_system_is_as_certain_as_its_least_certain_pair_and_test() -> None:
    certain = pair(1.0, 0.0009, 0.0009)
    assert Significance((certain, certain)).mark == "‡"
    for p_bootstrap, p_randomisation, mark in ((0.001, 0.0001, "†"), (0.0001, 0.049, "†"), (0.05, 0.0001, "")):
        found = Significance((certain, pair(0.5, p_bootstrap, p_randomisation)))
        assert found.mark == mark
        assert found.p_bootstrap == max(0.0009, p_bootstrap)
        assert found.p_randomisation == max(0.0009, p_randomisation)
        assert found.to_json()["mark"] == mark
    assert Significance((certain, pair(-1.0, 0.0001, 0.0001))).mark == ""


def seeds(*names: str | None) -> list[Output]:
    return [Output("x", f"output {number}", (), name) for number, name in enumerate(names)]


@pytest.mark.parametrize(
    ("baseline", "system", "expected"),
    [
        ((None, None), (None, None), [(0, 0), (1, 1)]),
        ((None, None, None), (None, None), [(0, 0), (1, 1), (2, 0)]),
        ((None,), (None, None, None), [(0, 0), (0, 1), (0, 2)]),
        (("1", "2"), ("2", "1"), [(1, 0), (0, 1)]),
        (("1", "2", "3"), ("3", "1"), [(2, 0), (0, 1)]),
        (("1", "2", "3"), ("3", "4"), [(2, 0)]),
        (("1", "2"), ("2", "3"), [(0, 0), (1, 1)]),
        (("1", "2"), ("3", "4", "5"), [(0, 0), (1, 1), (0, 2)]),
    ],
)
def test_seeds_are_paired_by_name_or_else_by_place(
    baseline: tuple[str | None, ...], system: tuple[str | None, ...], expected: list[tuple[int, int]]
) -> None:
    found = pair_seeds(seeds(*baseline), seeds(*system))
    assert [(one.name, other.name) for one, other in found] == [(f"output {a}", f"output {b}") for a, b in expected]


def test_outputs_without_a_partner_are_named_and_leave_no_mark() -> None:
    baseline = [Output("base", f"base.{seed}", BASELINE.lines, seed) for seed in "123"]
    system = [Output("better", f"better.{seed}", BETTER.lines, seed) for seed in "14"]
    pairs = pair_seeds(baseline, system)
    untested = without_partner([*baseline, *system], pairs)
    assert [output.name for output in untested] == ["base.2", "base.3", "better.4"]
    tests = PairedTests(BLEU, trials=1000)
    assert tests.test_pairs(pairs).mark == "‡"
    found = tests.test_pairs(pairs, untested)
    assert (found.mark, found.to_json()["untested"]) == ("", ["base.2", "base.3", "better.4"])


@pytest.mark.parametrize("name", ["samples", "trials", "seed"])
def test_a_test_needs_a_number_of_samples_and_a_seed(name: str) -> None:
    with pytest.raises(UsageError, match=f"expected at least 1 for the {name} of a paired test, found 0"):
        PairedTests(BLEU, **{name: 0})  # type: ignore[arg-type]

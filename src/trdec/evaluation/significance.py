"""Whether a difference of scores may be chance: sacreBLEU's paired bootstrap and approximate randomisation."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.significance import PairedTest, Result

from trdec.errors import UsageError
from trdec.evaluation.scores import Output

LEVELS = ((0.001, "‡"), (0.05, "†"))
"""The paper's levels, and the marks that stand for its ** and *."""

SEED = 12345
"""sacreBLEU's own default, so that its command line gives the same p-values."""

_VARIABLE = "SACREBLEU_SEED"


@dataclass(frozen=True, slots=True)
class Paired:
    """One output against one output of the first system, on the same sentences."""

    baseline: str
    system: str
    difference: float
    """The score of the system minus that of the baseline."""
    p_bootstrap: float
    p_randomisation: float
    differing: int
    """Sentences on which the two have different words."""
    signature_bootstrap: str
    signature_randomisation: str

    @property
    def p(self) -> float:
        """The larger of the two."""
        return max(self.p_bootstrap, self.p_randomisation)

    def to_json(self) -> dict[str, Any]:
        """The tests as JSON has them."""
        return {
            "baseline": self.baseline,
            "system": self.system,
            "difference": self.difference,
            "p_bootstrap": self.p_bootstrap,
            "p_randomisation": self.p_randomisation,
            "differing": self.differing,
            "signature_bootstrap": self.signature_bootstrap,
            "signature_randomisation": self.signature_randomisation,
        }


@dataclass(frozen=True, slots=True)
class Significance:
    """A system against the first one, seed by seed: only as significant as its least significant pair."""

    pairs: tuple[Paired, ...]
    untested: tuple[str, ...] = ()
    """The names of outputs, of either system, whose seed the other does not have."""

    @property
    def difference(self) -> float:
        """The system's score minus the baseline's, mean over the pairs."""
        return fmean(pair.difference for pair in self.pairs)

    @property
    def p_bootstrap(self) -> float:
        """The largest over the pairs."""
        return max(pair.p_bootstrap for pair in self.pairs)

    @property
    def p_randomisation(self) -> float:
        """The largest over the pairs."""
        return max(pair.p_randomisation for pair in self.pairs)

    @property
    def mark(self) -> str:
        """† or ‡ if every test of every pair is below 0.05 or 0.001 and all differ in one direction; else nothing.

        There is none where outputs were not tested: they count in the means that the mark would stand beside.
        """
        differences = [pair.difference for pair in self.pairs]
        if self.untested or min(differences) < 0 < max(differences):
            return ""
        p = max(pair.p for pair in self.pairs)
        return next((mark for level, mark in LEVELS if p < level), "")

    def to_json(self) -> dict[str, Any]:
        """The result and its pairs as JSON has them."""
        return {
            "p_bootstrap": self.p_bootstrap,
            "p_randomisation": self.p_randomisation,
            "mark": self.mark,
            "pairs": [pair.to_json() for pair in self.pairs],
            "untested": list(self.untested),
        }


class PairedTests:
    """Paired tests of one metric, which holds its references; the same seed gives the same p-values."""

    def __init__(self, metric: SacrebleuMetric, samples: int = 1000, trials: int = 10_000, seed: int = SEED) -> None:
        for name, number in (("samples", samples), ("trials", trials), ("seed", seed)):
            if number < 1:  # sacreBLEU takes 0 samples for its default, and a seed of 0 for no seed at all
                raise UsageError(f"expected at least 1 for the {name} of a paired test, found {number}.")
        self._metric = metric
        self.samples, self.trials, self.seed = samples, trials, seed

    def test(self, baseline: Output, system: Output) -> Paired:
        """Both tests of the system against the baseline.

        sacreBLEU counts the shuffles that differ by *more* than what was found, so that equal outputs would have
        p = 1 / (trials + 1). Where the metric counts otherwise in k sentences there are 2 ** (k - 1) ways to divide
        them, one of which is the one found: p is at least 2 ** (1 - k), and 1 where the scores are equal.
        """
        first, second, bootstrap_signature = self._run("bs", self.samples, baseline, system)
        _, shuffled, randomisation_signature = self._run("ar", self.trials, baseline, system)
        difference = second.score - first.score
        differing = sum(one.split() != other.split() for one, other in zip(baseline.lines, system.lines, strict=True))
        counts = (self._metric._extract_corpus_statistics(list(each.lines), None) for each in (baseline, system))
        counted = sum(one != other for one, other in zip(*counts, strict=True))
        least = 1.0 if difference == 0 else 2.0 ** (1 - min(counted, 1000))
        return Paired(
            baseline=baseline.name,
            system=system.name,
            difference=difference,
            p_bootstrap=1.0 if difference == 0 else _p_value(second),
            p_randomisation=max(least, _p_value(shuffled)),
            differing=differing,
            signature_bootstrap=bootstrap_signature,
            signature_randomisation=randomisation_signature,
        )

    def test_pairs(self, pairs: Sequence[tuple[Output, Output]], untested: Sequence[Output] = ()) -> Significance:
        """Both tests of each pair, a baseline and a system; the outputs in no pair are `untested`."""
        return Significance(tuple(self.test(*pair) for pair in pairs), tuple(output.name for output in untested))

    def _run(self, kind: str, number: int, baseline: Output, system: Output) -> tuple[Result, Result, str]:
        """sacreBLEU's results for the baseline and the system, and the signature of the test."""
        named: list[tuple[str, Sequence[str]]] = [("baseline", list(baseline.lines)), ("system", list(system.lines))]
        with _seeded(self.seed):
            signatures, results = PairedTest(named, {"": self._metric}, None, kind, number)()
        ((name, signature),) = signatures.items()  # sacreBLEU names the metric itself
        first, second = results[name]
        assert isinstance(first, Result)
        assert isinstance(second, Result)
        return first, second, str(signature)


def pair_seeds(baseline: Sequence[Output], system: Sequence[Output]) -> list[tuple[Output, Output]]:
    """Outputs to test against each other: those with equal seeds where seeds are named, else the n-th of each.

    Where one system has fewer outputs without names, they are taken again from the first, so that all are tested.
    """
    named = {output.seed: output for output in baseline if output.seed is not None}
    shared = [(named[output.seed], output) for output in system if output.seed in named]
    same_names = len(shared) == len(system) == len(baseline)
    if shared and (same_names or len(system) != len(baseline)):
        return shared
    longest = max(len(baseline), len(system))
    return [(baseline[number % len(baseline)], system[number % len(system)]) for number in range(longest)]


def without_partner(outputs: Sequence[Output], pairs: Sequence[tuple[Output, Output]]) -> list[Output]:
    """The outputs that are in no pair."""
    paired = {id(output) for pair in pairs for output in pair}
    return [output for output in outputs if id(output) not in paired]


def _p_value(result: Result) -> float:
    assert result.p_value is not None
    return result.p_value


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Set the environment variable from which sacreBLEU takes its seed, while it does."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before

"""Which beam and which power of the length translate dev best: one search with each beam serves every power.

A beam keeps hypotheses by their log-probabilities. The power only ranks those that have ended, so all that a search has
found can be ranked again with another power, and the best is what a search with that power would have returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from trdec.configuration import CONFIGURATION_FILE, load_saved_configuration
from trdec.configuration.sections import SearchConfiguration
from trdec.data.manifest import replacing_model_file
from trdec.errors import TrainingError
from trdec.evaluation.scores import Metric, bleu_metric
from trdec.files import locked, write_errors
from trdec.search.beam import BeamSettings
from trdec.search.limits import Normalisation
from trdec.translation.source import ParsedLine
from trdec.translation.translation import Translation
from trdec.translation.translator import Translator
from trdec.translation.workers import Workers

BEAMS = (5, 10, 20)
POWERS = (0.0, 0.5, 1.0, 1.5, 2.0)


@dataclass(frozen=True, slots=True)
class Trial:
    """How well a beam and a power translate a text."""

    search: SearchConfiguration
    bleu: Metric
    length_ratio: float
    seconds: float
    """Of the search, which all powers share."""

    def to_json(self) -> dict[str, Any]:
        """The trial as JSON has it."""
        return {
            "beam_size": self.search.beam_size,
            "length_power": self.search.length_power,
            "bleu": self.bleu.to_json(),
            "length_ratio": self.length_ratio,
            "seconds": round(self.seconds, 1),
        }


def trials(
    translator: Translator,
    lines: Sequence[str | ParsedLine],
    references: Sequence[str],
    beams: Sequence[int],
    powers: Sequence[float],
    tokenise: str,
    progress: Callable[[int], None],
    workers: Workers | None = None,
) -> Iterator[Trial]:
    """Every power with every beam, beam by beam; `progress` is called with the lines of all beams done so far."""
    metric = bleu_metric(tokenise, references)
    for number, beam_size in enumerate(beams):
        began = time.monotonic()
        settings = BeamSettings(beam_size, n_best=beam_size)  # all that ends is wanted, whatever its rank
        found = translator.stream(
            lines, settings, progress=partial(_count, progress, number * len(lines)), workers=workers
        )
        texts = list(zip(*(_best_texts(each, powers) for each in found), strict=True))  # one list for each power
        seconds = time.monotonic() - began
        for power, hypotheses in zip(powers, texts, strict=True):
            score = metric.corpus_score(list(hypotheses), None)
            bleu = Metric("BLEU", score.score, str(metric.get_signature()))
            search = SearchConfiguration(beam_size=beam_size, length_power=power)
            yield Trial(search, bleu, score.sys_len / score.ref_len, seconds)


def _count(progress: Callable[[int], None], before: int, done: int) -> None:
    progress(before + done)


def best_trial(every: Sequence[Trial]) -> Trial:
    """The one with the highest BLEU; of equals, the narrower beam, then the power nearest to 1."""
    return min(every, key=lambda trial: (-trial.bleu.score, trial.search.beam_size, abs(trial.search.length_power - 1)))


def _best_texts(found: Translation, powers: Sequence[float]) -> list[str]:
    """The text of the best derivation by each power."""
    derivations = (found, *found.alternatives)
    return [max(derivations, key=lambda each: _score(each, power)).text for power in powers]


def _score(translation: Translation, power: float) -> float:
    return Normalisation(power).score(translation.log_prob, len(translation.actions), 0)


def check_free(directory: Path) -> None:
    """Raise TrainingError if a training is running in the directory."""
    with _free(directory):
        pass


def _free(directory: Path) -> AbstractContextManager[None]:
    refusal = TrainingError(f"{directory}: a training is running in this directory. Tune the model when it has ended.")
    return locked(directory / ".lock", refusal)


def set_search(directory: Path, search: SearchConfiguration) -> None:
    """Make this how the model in a directory translates unless told otherwise."""
    with _free(directory):
        configuration = load_saved_configuration(directory).model_copy(update={"search": search})
        with write_errors(directory), replacing_model_file(directory, CONFIGURATION_FILE) as temporary:
            configuration.save(temporary)

"""How a model searches, chosen on dev: a figure is what translating so scores, and the choice becomes its default."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.model_directory import make_model
from trdec.configuration.sections import SearchConfiguration
from trdec.errors import TrainingError
from trdec.evaluation.scores import Metric, score_texts
from trdec.files import locked
from trdec.search.beam import BeamSettings
from trdec.search.limits import Normalisation
from trdec.training.tuning import Trial, best_trial, set_search, trials
from trdec.translation.model_directory import load_model
from trdec.translation.translator import Translator

POWERS = (0.0, 1.0, 4.0)


@pytest.fixture(scope="module")
def half_trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that is unsure enough for beams and powers to matter."""
    return make_model(tmp_path_factory.mktemp("tuning"), "trdec-binary", updates=25)


@pytest.fixture
def model(half_trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(half_trained, tmp_path / "model"))


@pytest.fixture(scope="module")
def pairs(half_trained: Path) -> tuple[list[str], list[str]]:
    toy = half_trained.parent / "toy"
    source, target = ((toy / f"train.{side}").read_text(encoding="utf-8").splitlines()[:12] for side in ("vel", "en"))
    return source, target


def test_each_trial_is_what_translating_with_its_settings_scores(
    half_trained: Path, pairs: tuple[list[str], list[str]]
) -> None:
    source, references = pairs
    translator = Translator.load(half_trained)
    done: list[int] = []
    every = list(trials(translator, source, references, (2, 5), POWERS, "none", done.append))
    assert [(trial.search.beam_size, trial.search.length_power) for trial in every] == [
        (beam, power) for beam in (2, 5) for power in POWERS
    ]
    for trial in every:
        found = translator.translate(source, trial.search.beam_size, length_power=trial.search.length_power)
        scores = score_texts([each.text for each in found], references, with_ter=False)
        assert (trial.bleu, trial.length_ratio) == (scores.bleu, scores.length_ratio)
    assert len({trial.length_ratio for trial in every}) > 1  # the settings must matter, or nothing is shown
    assert done[-1] == 2 * len(source)
    assert done == sorted(done)


def _trial(beam_size: int, power: float, bleu: float) -> Trial:
    search = SearchConfiguration(beam_size=beam_size, length_power=power)
    return Trial(search, Metric("BLEU", bleu, ""), 1.0, 1.0)


@pytest.mark.parametrize(
    ("every", "chosen"),
    [
        ([(5, 1.0, 20.0), (20, 2.0, 21.0), (10, 1.0, 20.5)], (20, 2.0)),
        ([(20, 1.0, 20.0), (5, 2.0, 20.0)], (5, 2.0)),  # of equals, the narrower beam
        ([(5, 0.0, 20.0), (5, 1.5, 20.0), (5, 3.0, 20.0)], (5, 1.5)),  # and the power nearest to 1
    ],
)
def test_the_best_trial(every: Sequence[tuple[int, float, float]], chosen: tuple[int, float]) -> None:
    best = best_trial([_trial(*each) for each in every]).search
    assert (best.beam_size, best.length_power) == chosen


def test_a_model_translates_as_it_was_tuned_unless_told_otherwise(
    model: Path, pairs: tuple[list[str], list[str]]
) -> None:
    source, _ = pairs
    untuned = Translator.load(model)
    assert untuned.own == SearchConfiguration(beam_size=5, length_power=1.0)
    set_search(model, SearchConfiguration(beam_size=2, length_power=4.0))
    assert load_model(model).configuration.search.beam_size == 2  # and the manifest agrees with the files
    tuned = Translator.load(model)
    expected = untuned.translate(source, 2, length_power=4.0)
    assert expected != untuned.translate(source)
    assert tuned.translate(source) == expected
    assert list(tuned.stream(source)) == expected
    assert tuned.translate(source, 5, length_power=1.0) == untuned.translate(source)
    settings = BeamSettings(5, normalisation=Normalisation(1.0))
    assert list(tuned.stream(source, settings)) == untuned.translate(source)


def test_a_model_in_training_is_not_changed(model: Path) -> None:
    before = (model / "config.yaml").read_bytes()
    with locked(model / ".lock"), pytest.raises(TrainingError, match="training is running"):
        set_search(model, SearchConfiguration(beam_size=2))
    assert (model / "config.yaml").read_bytes() == before

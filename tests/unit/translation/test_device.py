"""Translating on another device than the processor gives the same translations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from support.fake_device import DEVICE, fake_device
from support.model_directory import make_model, trained
from trdec.errors import UsageError
from trdec.search.sampling import SamplingSettings
from trdec.translation.demands import Demands
from trdec.translation.translation import Translation
from trdec.translation.translator import Translator
from trdec.trees.brackets import parse

LINES = ["Finise piti yesebil .", "Finise ."]
SHAPE = parse("(ROOT (S (NP The fish) (VP is not (ADJP small)) .))")

Use = Callable[[Translator], list[Translation]]
USES: dict[str, Use] = {
    "beam": lambda translator: translator.translate(LINES, beam_size=3, n_best=2),
    "attention": lambda translator: translator.translate(LINES, attention=True),
    "samples": lambda translator: list(translator.stream(LINES, SamplingSettings(samples=2))),
    "prefixes": lambda translator: list(translator.stream(LINES, demands=Demands(prefixes=["The", "A"]))),
    "words": lambda translator: list(translator.stream(LINES, demands=Demands(words=4))),
    "skeletons": lambda translator: list(translator.stream(LINES, demands=Demands(skeletons=[SHAPE, None]))),
}


def said(translations: list[Translation]) -> list[tuple[str, float]]:
    return [(each.text, round(each.score, 4)) for one in translations for each in (one, *one.alternatives)]


@pytest.mark.parametrize("use", USES)
def test_translations_are_the_same_on_another_device(use: str) -> None:
    here = USES[use](Translator.load(trained()))
    with fake_device():
        there = USES[use](Translator.load(trained(), device=str(DEVICE)))
    assert said(there) == said(here)


@pytest.mark.slow
def test_a_system_without_rules_works_there_too(tmp_path: Path) -> None:
    model = make_model(tmp_path, "seq2seq")
    here = Translator.load(model).translate(LINES, beam_size=2, max_ratio=1, max_extra=4)
    with fake_device():
        there = Translator.load(model, device=str(DEVICE)).translate(LINES, beam_size=2, max_ratio=1, max_extra=4)
    assert said(there) == said(here)


def test_the_fake_device_refuses_to_mix() -> None:
    with fake_device():
        there = torch.arange(3, device=DEVICE)
        assert (there + there).tolist() == [0, 2, 4]
        with pytest.raises(RuntimeError, match="one device"):
            there + torch.arange(3)
        with pytest.raises(RuntimeError, match="one device"):
            torch.arange(3)[there]
        with pytest.raises(RuntimeError):
            there.numpy()


def test_a_device_that_cannot_be_used_is_refused() -> None:
    for name in ("nowhere", "meta"):
        with pytest.raises(UsageError, match=rf"`device` {name}: cannot be used here"):
            Translator.load(trained(), device=name)
    with fake_device(), pytest.raises(UsageError, match=r"int8 is for processors"):
        Translator.load(trained(), device=str(DEVICE), precision="int8")

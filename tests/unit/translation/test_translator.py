"""The translator as a program holds it."""

from __future__ import annotations

import doctest
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import trdec.translation.translator
from support.model_directory import trained
from trdec.data.manifest import write_manifest
from trdec.errors import ModelError, OutOfMemoryError, TextFormatError, TreeFormatError, UsageError
from trdec.model.interfaces import SearchPrecision
from trdec.model.weights import read_tensors, write_model_weights
from trdec.search.beam import BeamSettings
from trdec.search.limits import LengthLimits
from trdec.search.sampling import SamplingSettings
from trdec.translation.demands import Demands
from trdec.translation.source import CONTROL_CHARACTERS, TOO_LONG, UNKNOWN_CHARACTERS
from trdec.translation.translation import CUT_SHORT, Translation
from trdec.translation.translator import Translator
from trdec.trees.brackets import parse
from trdec.trees.tree import words


@pytest.fixture(scope="module")
def directory() -> Path:
    return trained()


@pytest.fixture(scope="module")
def translator(directory: Path) -> Translator:
    return Translator.load(directory)


@pytest.fixture(scope="module")
def lines(directory: Path) -> list[str]:
    return (directory.parent / "toy" / "train.vel").read_text(encoding="utf-8").splitlines()[:12]


def test_the_examples_in_the_documentation_run(directory: Path) -> None:
    failures, tried = doctest.testmod(trdec.translation.translator, extraglobs={"MODEL": directory})
    assert tried >= 5
    assert not failures


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_translations_come_in_the_order_of_the_lines_whatever_the_batch(
    directory: Path, precision: SearchPrecision, lines: list[str]
) -> None:
    translator = Translator.load(directory, precision=precision)
    mixed = ["", *lines, "   ", *lines[:3]]
    alone = [translator.translate([line])[0] for line in mixed]
    for size in (1, 2, 5, 100):
        together = translator.translate(mixed, batch_size=size)
        assert [t.text for t in together] == [t.text for t in alone]
        assert [t.tree for t in together] == [t.tree for t in alone]
        assert [t.score for t in together] == pytest.approx([t.score for t in alone], abs=1e-4)
    assert alone[0].text == alone[13].text == ""
    assert alone[0].brackets == "(())"


def test_int8_translates_nearly_the_same(translator: Translator, directory: Path, lines: list[str]) -> None:
    exact = translator.translate(lines)
    rounded = Translator.load(directory, precision="int8").translate(lines)
    assert sum(one.text == other.text for one, other in zip(exact, rounded, strict=True)) >= len(lines) - 2
    assert [one.score for one in exact] != [other.score for other in rounded]
    assert [one.score for one in exact] == pytest.approx([other.score for other in rounded], abs=0.1)


def test_a_translation_is_the_words_of_its_tree_and_its_score_the_sum_of_its_actions(
    translator: Translator, lines: list[str]
) -> None:
    for translation in translator.translate(lines, beam_size=4, n_best=4):
        scores = [translation.score, *(other.score for other in translation.alternatives)]
        assert len(scores) == 4
        assert scores == sorted(scores, reverse=True)
        for one in (translation, *translation.alternatives):
            assert one.tree is not None
            assert one.text == " ".join(words(one.tree))
            assert one.log_prob == pytest.approx(sum(action.log_prob for action in one.actions))
            assert one.score == pytest.approx(one.log_prob / len(one.actions))
            assert one.actions[-1].kind == "eos"


def test_threads_may_share_it(translator: Translator, lines: list[str]) -> None:
    short = LengthLimits(0, 1, 3)
    wishes = (BeamSettings(limits=short), BeamSettings(1, limits=short), SamplingSettings(seed=3, limits=short))
    calls = [
        (texts, wish, attention)
        for texts in (lines[start : start + 1 + start % 3] for start in range(len(lines)))
        for wish in wishes
        for attention in (False, True)
    ]

    def answer(number: int) -> list[Translation]:
        texts, wish, attention = calls[number % len(calls)]
        return list(translator.stream(texts, wish, attention=attention))

    alone = [answer(number) for number in range(len(calls))]
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(answer, range(5 * len(calls))))
    assert len(together) == 360
    assert together == 5 * alone


def test_attention_changes_nothing_else_and_is_the_same_in_any_batch(translator: Translator, lines: list[str]) -> None:
    mixed = [*lines[:4], "", lines[4]]
    plain = translator.translate(mixed, n_best=2, beam_size=3)
    looked = translator.translate(mixed, n_best=2, beam_size=3, attention=True)
    assert all(other.attention is None for one in plain for other in (one, *one.alternatives))
    assert [_unlooked(one) for one in looked] == plain
    assert looked[4].attention is None
    with ThreadPoolExecutor(3) as pool:
        alone = list(pool.map(lambda line: translator.translate([line], attention=True)[0], mixed))
    for one, other in zip(looked, alone, strict=True):
        if one.text and one.text == other.text:
            assert one.attention is not None and other.attention is not None
            assert one.attention.source == other.attention.source
            for row, same in zip(one.attention.rows, other.attention.rows, strict=True):
                assert row[:4] == same[:4]
                assert row.weights == pytest.approx(same.weights, abs=1e-4)
    assert sum(bool(one.text) and one.text == other.text for one, other in zip(looked, alone, strict=True)) >= 4


def _unlooked(one: Translation) -> Translation:
    return replace(one, attention=None, alternatives=tuple(map(_unlooked, one.alternatives)))


def test_lines_stream_out_before_all_are_read(translator: Translator, lines: list[str]) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield lines[read % len(lines)]

    stream = translator.stream(endless(), batch_size=2)
    assert next(stream).text
    assert read <= 2 * trdec.translation.translator.WINDOW


def test_the_first_lines_are_not_kept_waiting_for_a_whole_window(translator: Translator, lines: list[str]) -> None:
    read, told = 0, []

    def many() -> Iterator[str]:
        nonlocal read
        for line in lines[:10] * 4:
            read += 1
            yield line

    stream = translator.stream(many(), batch_size=2, progress=told.append)
    assert next(stream).text
    assert read == 2
    assert len(list(stream)) == 39
    assert told == sorted(told)
    assert told[-1] == 40


@pytest.mark.parametrize("attention", [False, True])
def test_a_line_is_given_as_soon_as_its_search_ends(translator: Translator, lines: list[str], attention: bool) -> None:
    mixed = ["", *lines, "  "]
    groups = list(translator.as_found(mixed, BeamSettings(3), len(mixed), attention=attention))
    found = dict(pair for group in groups for pair in group)
    assert [found[number] for number in range(len(mixed))] == translator.translate(mixed, 3, attention=attention)
    assert sum(map(len, groups)) == len(mixed)
    assert [number for number, _ in groups[0]] == [0, len(mixed) - 1]
    steps = [{len(translation.actions) for _, translation in group} for group in groups[1:]]
    assert len(steps) == 1 if attention else len(steps) > 2
    # A search may go on for some steps after the hypothesis that it gives has ended, so groups are only roughly sorted.
    assert attention or max(steps[0]) < max(steps[-1])


def test_too_little_memory_says_what_to_change_after_the_lines_before(
    translator: Translator, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    search, calls = trdec.translation.translator.beam_search_ends, iter(range(9))

    def hungry(*arguments: Any) -> Any:
        if next(calls):
            raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 99 bytes.")
        return search(*arguments)

    monkeypatch.setattr(trdec.translation.translator, "beam_search_ends", hungry)
    stream = translator.stream(lines[:4], batch_size=1)
    assert next(stream).text
    with pytest.raises(OutOfMemoryError, match=r"for another 99 bytes.*`batch_size`, `beam_size` or `n_best`"):
        next(stream)


def test_lone_surrogates_are_no_text(translator: Translator, lines: list[str]) -> None:
    plain, odd = translator.translate([lines[0], f"{lines[0]} \ud800"])
    assert odd.text == plain.text
    assert CONTROL_CHARACTERS in odd.remarks
    with pytest.raises(TreeFormatError, match=r"skeletons, line 2: the label 'pre' is reserved"):
        Demands(skeletons=[None, parse("(ROOT (pre (S a)))")])
    with pytest.raises(UsageError, match=r"as many prefixes as lines to translate \(1\), found 2"):
        list(translator.stream(lines[:1], demands=Demands(prefixes=["", ""])))
    with pytest.raises(UsageError, match=r"as many skeletons as lines to translate \(1\), found 2"):
        list(translator.as_found(lines[:1], BeamSettings(), demands=Demands(skeletons=[None, None])))
    with pytest.raises(UsageError, match=r"prefix 1: .*surrogate '\\ud800' at character 2"):
        list(translator.stream(lines[:1], demands=Demands(prefixes=["a\ud800"])))


def test_what_was_read_before_an_error_is_translated(translator: Translator, lines: list[str]) -> None:
    def failing() -> Iterator[str]:
        yield from lines[:3]
        raise TextFormatError("line 4 is bad")

    stream = translator.stream(failing())
    assert len([next(stream) for _ in range(3)]) == 3
    with pytest.raises(TextFormatError, match="line 4 is bad"):
        next(stream)


def test_remarkable_lines_are_remarked(translator: Translator, lines: list[str]) -> None:
    limits = LengthLimits(max_ratio=0, max_extra=5)
    settings = BeamSettings(1, limits=limits)
    plain, long, strange, control = translator.stream(
        [lines[0], " ".join(lines * 8), "猫 " + lines[0], "a\x07b"], settings
    )
    assert TOO_LONG not in plain.remarks
    assert TOO_LONG in long.remarks
    assert UNKNOWN_CHARACTERS in strange.remarks
    assert CONTROL_CHARACTERS in control.remarks
    assert any(translation.truncated for translation in (plain, long, strange, control))
    assert all((CUT_SHORT in t.remarks) == t.truncated for t in (plain, long, strange, control))


def test_nothing_is_asked_of_one_string_or_of_a_beam_that_is_too_narrow(translator: Translator) -> None:
    with pytest.raises(UsageError, match="found one string"):
        translator.translate("one line")
    with pytest.raises(UsageError, match="beam_size 2 and n_best 3"):
        translator.translate(["a"], beam_size=2, n_best=3)
    with pytest.raises(UsageError, match="`length_power` from 0 to 10"):
        translator.translate(["a"], length_power=-1)
    with pytest.raises(UsageError, match="min_ratio no greater than max_ratio"):
        translator.translate(["a"], min_ratio=3, max_ratio=2)


def _copy(directory: Path, to: Path) -> Path:
    shutil.copytree(directory, to, ignore=shutil.ignore_patterns("data"))
    return to


def test_a_directory_that_is_no_model_says_so(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nowhere: expected a model directory, .*found nothing\. Make one with"):
        Translator.load(tmp_path / "nowhere")
    with pytest.raises(ModelError, match=r"there is no config\.yaml"):
        Translator.load(tmp_path)
    half = _copy(directory, tmp_path / "half")
    (half / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"there is no model\.safetensors"):
        Translator.load(half)


def test_a_damaged_model_or_one_of_another_version_says_so(directory: Path, tmp_path: Path) -> None:
    damaged = _copy(directory, tmp_path / "damaged")
    weights = damaged / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    write_manifest(damaged)
    with pytest.raises(ModelError, match=r"(?s)cannot be used.*model\.safetensors: expected a safetensors file"):
        Translator.load(damaged)
    newer = _copy(directory, tmp_path / "newer")
    description = newer / "codec" / "codec.json"
    description.write_text(description.read_text().replace('"version": 3', '"version": 99'))
    write_manifest(newer)
    with pytest.raises(ModelError, match=r"(?s)another version.*found version 99"):
        Translator.load(newer)
    failed = _copy(directory, tmp_path / "failed")
    tensors = read_tensors(failed / "model.safetensors")
    first = next(iter(tensors))
    write_model_weights(failed, {**tensors, first: torch.full_like(tensors[first], torch.nan)})
    with pytest.raises(ModelError, match="not finite numbers"):
        Translator.load(failed)


def test_a_skeleton_need_not_have_the_root_that_trees_have(translator: Translator, lines: list[str]) -> None:
    bare, whole = (
        list(translator.stream(lines[:1], demands=Demands(skeletons=[parse(shape)])))
        for shape in ("(S (NP a) (VP b (ADJP c)) .)", "(ROOT (S (NP a) (VP b (ADJP c)) .))")
    )
    assert bare == whole

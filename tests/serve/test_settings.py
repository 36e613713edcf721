"""Models, languages and keys as people name them."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path

import pytest

from support.commands import run
from trdec.cli.serve import serve_command
from trdec.errors import UsageError
from trdec.serve.jobs import LineSettings, ModelDescription, WaitingLine
from trdec.serve.languages import LanguageDetector, language_name, matching_code
from trdec.serve.observation import JsonFormatter, ServerMetrics
from trdec.serve.requests import Refusal
from trdec.serve.runner import ModelRunner, ProcessSettings
from trdec.serve.service import LoadedModel, TranslationService
from trdec.serve.settings import KeyRing, LanguagePair, ModelArgument, ServerLimits, ServerSettings, read_keys


@pytest.mark.parametrize(
    ("text", "name", "paths"),
    [
        ("models/a", None, ["models/a"]),
        ("de-en=models/a", "de-en", ["models/a"]),
        ("de-en=a+b", "de-en", ["a", "b"]),
        ("a+b", None, ["a", "b"]),
        ("de-en=dir=1/a", "de-en", ["dir=1/a"]),
    ],
)
def test_models_are_named(text: str, name: str | None, paths: list[str]) -> None:
    assert ModelArgument.parse(text) == ModelArgument(name, tuple(map(Path, paths)))


def test_a_path_with_odd_characters_is_a_path_if_it_is_there(tmp_path: Path) -> None:
    for name in ("a+b", "x=y"):
        (tmp_path / name).mkdir()
        assert ModelArgument.parse(str(tmp_path / name)).paths == (tmp_path / name,)
    assert ModelArgument.parse(f"n={tmp_path}/a+b").paths == (tmp_path / "a+b",)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("de-en", ("de", "en")),
        ("pt-BR-en", ("pt-BR", "en")),
        ("en-zh-Hans", ("en", "zh-Hans")),
        ("gaz-en", ("gaz", "en")),
        ("mine", None),
        ("my-model", None),
        ("", None),
    ],
)
def test_languages_are_read_from_names(text: str, pair: tuple[str, str] | None) -> None:
    assert LanguagePair.parse(text) == (None if pair is None else LanguagePair(*pair))


def test_given_languages_come_first_then_the_models_own_then_its_name() -> None:
    argument = ModelArgument("or-en", (Path("a"),))
    assert argument.languages(("om", None), None) == LanguagePair("om", "en")
    assert argument.languages(("om", "en"), LanguagePair("gaz", "en")) == LanguagePair("gaz", "en")
    with pytest.raises(UsageError, match="de-en=models/a"):
        ModelArgument("mine", (Path("a"),)).languages((None, "en"), None)


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (["a=x", "a=y"], "a"),
        (["de-en="], "de-en="),
        (["de-en=x", "--languages", "fr-en=fr-en"], "fr-en"),
        (["de-en=x", "--languages", "de-en=german"], "german"),
        (["de-en=x", "--beam-size", "30"], "30"),
        (["de-en=x", "--keys", "missing.txt"], "missing.txt"),
    ],
)
def test_mistakes_on_the_command_line_are_named(arguments: list[str], facts: str) -> None:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        result = run(serve_command, *arguments)
    finally:
        root.handlers[:], level = before
        root.setLevel(level)
    assert result.returncode == 1
    assert facts in result.stderr


def test_keys_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("# ours\n\n one \ntwo\n")
    ring = KeyRing(read_keys(path))
    assert [key in ring for key in ("one", "two", "# ours", "", "o")] == [True, True, False, False, False]
    path.write_text("# none\n")
    with pytest.raises(UsageError, match="keys"):
        read_keys(path)


@pytest.mark.parametrize(("key", "odd"), [("schlüssel", "ü"), ("a\tb", "t"), ("a\u00a0b", "xa0")])
def test_a_key_that_no_header_carries_is_refused_with_its_place_and_not_shown(
    tmp_path: Path, key: str, odd: str
) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# ü\none\n{key}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=f"keys, line 3.*ASCII.*{odd}") as caught:
        read_keys(path)
    assert key not in str(caught.value)


def test_languages_have_names_and_codes_match_loosely() -> None:
    assert [language_name(code) for code in ("om", "zh-Hans", "qtx")] == ["Oromo", "Chinese (Simplified)", "qtx"]
    codes = ["de", "zh-Hans", "pt-BR", "pt-PT"]
    wanted = ["DE", "zh", "zh_Hans", "pt", "pt-br", "de-AT", "en", ""]
    assert [matching_code(code, codes) for code in wanted] == [
        "de",
        "zh-Hans",
        "zh-Hans",
        None,
        "pt-BR",
        "de",
        None,
        None,
    ]


def test_a_code_that_several_models_have_is_one_code() -> None:
    assert matching_code("zh", ["zh-Hans", "de", "zh-Hans"]) == "zh-Hans"
    assert matching_code("zh", ["zh-Hans", "zh-Hant", "zh-Hans"]) is None


def test_detection_chooses_among_the_languages_served() -> None:
    detector = LanguageDetector(["de", "om", "fr", "vel"])
    best, *others = detector.rank("Das ist ein ganz einfacher deutscher Satz.")
    assert best.language == "de"
    assert best.confidence > 90
    assert {each.language for each in others} == {"om", "fr", "vel"}
    assert detector.rank("Das ist ein Satz.", ["om", "fr"])[0].language in ("om", "fr")
    assert detector.rank("12 !", ["fr", "om"]) == [("fr", 0.0), ("om", 0.0)]
    assert detector.rank("", ["vel"]) == [("vel", 100.0)]


def test_a_model_has_its_own_beam_unless_the_server_has_one() -> None:
    metrics = ServerMetrics()
    runner = ModelRunner("a", ProcessSettings((Path("a"),)), 10, metrics, lambda _: None)
    description = ModelDescription(None, None, "trdec-binary", True, beam_size=10)
    model = LoadedModel("a", LanguagePair("de", "en"), description, runner)
    for own, most, expected in ((None, 20, 10), (3, 20, 3), (None, 8, 8)):
        service = TranslationService(ServerSettings((), limits=ServerLimits(beam_size=most), beam_size=own), metrics)
        assert service.beam_size(model) == expected


def test_metrics_forget_the_name_that_a_model_had_while_it_was_loaded() -> None:
    metrics = ServerMetrics()
    metrics.states([("models", 3, False), ("b", 0, True)])
    metrics.states([("de-en", 2, True), ("b", 0, True)])
    found = metrics.text().decode()
    assert 'trdec_waiting_lines{model="de-en"} 2.0' in found
    assert 'trdec_model_ready{model="b"} 1.0' in found
    assert '"models"' not in found


def test_a_deadline_ends_a_request_and_it_leaves_the_queue() -> None:
    metrics = ServerMetrics()
    service = TranslationService(ServerSettings((), limits=ServerLimits(seconds=0.05)), metrics)
    never = ModelRunner("a", ProcessSettings((Path("a"),)), 10, metrics, lambda _: None)  # not started
    model = LoadedModel("a", LanguagePair("de", "en"), ModelDescription(None, None, "seq2seq", False), never)

    async def ask() -> None:
        asking = asyncio.create_task(service.answers(model, LineSettings(), [WaitingLine("a")]))
        await asyncio.sleep(0.01)
        assert never.waiting_lines == 1
        await asking

    with pytest.raises(Refusal, match=r"0\.05 s") as caught:
        asyncio.run(ask())
    assert caught.value.status == 503
    assert never.waiting_lines == 0


def test_logs_hold_where_an_error_was_and_not_what_it_said() -> None:
    try:
        raise ValueError("somebody's text")
    except ValueError:
        record = logging.getLogger("a").makeRecord(
            "a", logging.ERROR, "f", 1, "failed", (), sys.exc_info(), extra={"x": 1}
        )
    line = JsonFormatter().format(record)
    found = json.loads(line)
    assert (found["message"], found["level"], found["error"], found["x"]) == ("failed", "error", "ValueError", 1)
    assert "test_settings" in found["places"][0]
    assert "somebody" not in line

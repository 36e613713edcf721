"""What counts as a word, which languages a tokeniser knows, and what it says when it does not."""

from __future__ import annotations

import logging
import pickle
from importlib.util import find_spec

import pytest

from trdec import tokenisers
from trdec.errors import UsageError
from trdec.tokenisers import (
    IcuTokeniser,
    MosesTokeniser,
    UnicodeTokeniser,
    chosen_tokeniser,
    language_problem,
    normalise,
    tokeniser_before,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pẹ̀lú ọ̀rẹ́", "▁pẹ̀lú ▁ọ̀rẹ́"),
        ("Ga'aa Ng'ombe don't l'homme", "▁Ga'aa ▁Ng'ombe ▁don't ▁l'homme"),
        ("Ga’aa Ng’ombe don’t l’homme", "▁Ga’aa ▁Ng’ombe ▁don’t ▁l’homme"),
        ("'quoted'", "▁' quoted '"),
        ("at 3:30, or 12:05:59.", "▁at ▁3:30 , ▁or ▁12:05:59 ."),
        ("and/or", "▁and / or"),
        ("$1,000.50 3,5%", "▁$ 1,000.50 ▁3,5 %"),
        ("see https://a.org/b?c=d_e, (www.b.org).", "▁see ▁https://a.org/b?c=d_e , ▁( www.b.org ) ."),
        ("me@a.co.uk!", "▁me@a.co.uk !"),
        ("बिल्ली है।", "▁बिल्ली ▁है ।"),
        ("ድመት፣ ውሻ።", "▁ድመት ፣ ▁ውሻ ።"),
        ("well-known", "▁well - known"),
        ("👨‍👩‍👧🇩🇪🇫🇷", "▁👨‍👩‍👧 🇩🇪 🇫🇷"),
    ],
)
def test_words_are_those_of_unicode(text: str, words: str) -> None:
    assert UnicodeTokeniser("en").split(text) == words.split(" ")


def test_a_mark_after_an_address_or_a_time_keeps_its_letter() -> None:
    assert UnicodeTokeniser().split("http://a.org\u0325")[-1].endswith("g\u0325")
    assert UnicodeTokeniser().split("3:30\u0301")[-1] == "30\u0301"


def test_other_spaces_stay_and_belong_to_the_word_after_them() -> None:
    tokeniser = UnicodeTokeniser("fr")
    assert tokeniser.split("Oui\u00a0! 10\u202f000") == ["▁Oui", "\u00a0!", "▁10", "\u202f000"]
    assert [tokeniser.bare(word) for word in tokeniser.split("Oui\u00a0!")] == ["Oui", "!"]


def test_only_spaces_control_characters_composition_and_the_mark_are_normalised() -> None:
    assert normalise(" a \t b\u00a0 c\u200b\x00d\u2028e ") == "a b c d e"
    assert normalise("e\u0301 ﬁ Ａ ½ a▁b \ufeff\u00ad") == "é ﬁ Ａ ½ a_b \ufeff\u00ad"


def test_without_spaces_or_dictionaries_each_character_is_a_word(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tokenisers, "find_spec", lambda _name: None)
    tokenisers._say_that_dictionaries_are_missing.cache_clear()
    with caplog.at_level(logging.WARNING):
        tokeniser = chosen_tokeniser("unicode", "zh-Hans")
        chosen_tokeniser("unicode", "zh-Hans")
    assert tokeniser.split("猫在睡觉。") == ["▁猫", "在", "睡", "觉", "。"]
    assert len(caplog.records) == 1
    assert "zh-Hans" in caplog.text
    assert "trdec[icu]" in caplog.text


@pytest.mark.skipif(find_spec("icu4py") is None, reason="needs the extra `icu`")
def test_dictionaries_find_words_where_there_are_no_spaces() -> None:
    assert chosen_tokeniser("unicode", "th").split("สวัสดีครับ OK") == ["▁สวัสดี", "ครับ", "▁OK"]
    assert chosen_tokeniser("unicode", "zh").split("我们去北京。") == ["▁我们", "去", "北京", "。"]
    assert chosen_tokeniser("unicode", "ja").split("猫を食べる") == ["▁猫", "を", "食べる"]
    assert chosen_tokeniser("unicode", "de").name == "unicode"


@pytest.mark.skipif(find_spec("icu4py") is not None, reason="the extra `icu` is installed")
def test_a_model_that_needs_dictionaries_says_what_to_install() -> None:
    with pytest.raises(UsageError, match=r"icu4py is not installed.*trdec\[icu\]"):
        IcuTokeniser("th").split("สวัสดี")
    assert IcuTokeniser("th").join(["▁สวัสดี", "ครับ"]) == "สวัสดีครับ"


@pytest.mark.parametrize("language", ["german", "xx-nonsense", "tr", None])
def test_sacremoses_takes_only_languages_that_it_knows(language: str | None) -> None:
    problem = language_problem("sacremoses", language)
    assert problem is not None
    assert "cs, de, el, en" in problem
    assert (repr(language) if language else "no language code") in problem


def test_the_code_of_a_language_that_is_named_is_suggested() -> None:
    for tokeniser in ("sacremoses", "unicode"):
        assert "Did you mean 'de'?" in (language_problem(tokeniser, "german") or "")  # type: ignore[arg-type]


def test_unicode_takes_every_code_of_iso_639() -> None:
    for language in ("de", "yo", "gaz", "zh-Hans", "pt-BR", "es-419", None):
        assert language_problem("unicode", language) is None
    for language in ("german", "xx-nonsense", "xx", "de-", "DE", ""):
        assert repr(language) in (language_problem("unicode", language) or "")


def test_codecs_without_a_tokeniser_have_the_one_of_their_time() -> None:
    assert tokeniser_before(None) == "none"
    assert tokeniser_before("en") == "sacremoses"


@pytest.mark.parametrize("tokeniser", [UnicodeTokeniser("de"), MosesTokeniser("de")])
def test_a_pickled_tokeniser_splits_the_same(tokeniser: UnicodeTokeniser | MosesTokeniser) -> None:
    other = pickle.loads(pickle.dumps(tokeniser))
    assert other.split("Ja, 3:30.") == tokeniser.split("Ja, 3:30.")
    assert (other.name, other.language) == (tokeniser.name, "de")

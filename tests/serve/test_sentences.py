"""Texts are split into sentences, and nothing is lost between them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trdec.serve.sentences import cut, split_text, whole_text

TEXTS = st.text(st.sampled_from("aB. !?\n\r\t,;ä。、你\u2028\u00a0\u200f0'\"")) | st.text()


@given(TEXTS, st.sampled_from(["en", "de", "zh", "om", "xx"]), st.integers(1, 30))
def test_putting_sentences_back_gives_the_text(text: str, language: str, longest: int) -> None:
    split = split_text(text, language, "en", longest)
    assert len(split.gaps) == len(split.sentences) + 1
    # Only a space may be added, where a sentence follows another without one.
    assert split.join(split.sentences).replace(" ", "") == text.replace(" ", "")
    assert all(sentence == sentence.strip() and 1 <= len(sentence) <= longest for sentence in split.sentences)
    assert not any("\n" in sentence or "\r" in sentence for sentence in split.sentences)


@given(TEXTS)
def test_a_whole_text_is_one_sentence_or_none(text: str) -> None:
    split = whole_text(text)
    assert len(split.sentences) == any(map(str.isalnum, text))
    assert split.join(split.sentences) == text


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        ("en", "Mr. Smith left. He came back!", ("Mr. Smith left.", "He came back!")),
        ("de", "Am 3. Mai kam z.B. Dr. Ott. Gut?", ("Am 3. Mai kam z.B. Dr. Ott.", "Gut?")),
        ("om", "Inni deeme. Isheen hin deemne.", ("Inni deeme.", "Isheen hin deemne.")),
        ("zh", "你好。世界！", ("你好。", "世界！")),
        ("en", "A\u00a0. One.\u3000Two\u202f! Three.", ("A\u00a0.", "One.", "Two\u202f!", "Three.")),
        ("en", "one\ntwo\n\n- three", ("one", "two", "- three")),
        ("en", " \n…\n", ()),
    ],
)
def test_sentences_are_found(language: str, text: str, sentences: tuple[str, ...]) -> None:
    assert split_text(text, language, "en", 1000).sentences == sentences


def test_spaces_of_several_bytes_are_no_panic(capfd: pytest.CaptureFixture[str]) -> None:
    for space in filter(str.isspace, map(chr, range(0x80, 0x3001))):
        assert len(split_text(f"Die Katze{space}. Ja!", "de", "en", 100).sentences) == 2
    assert capfd.readouterr().err == "", "a panic is in the log"


class PanicException(BaseException):
    """What sentencex raises."""


def test_a_line_that_cannot_be_split_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def panicking(*_: str) -> list[str]:
        raise PanicException

    def losing(_: str, line: str) -> list[str]:
        return line.split(".")

    for segment in (panicking, losing):
        monkeypatch.setattr("sentencex.segment", segment)
        assert split_text("Gut. Ja!\nZwei. Drei.", "de", "en", 100).sentences == ("Gut. Ja!", "Zwei. Drei.")


def test_spaces_between_sentences_are_the_target_languages() -> None:
    assert split_text("你好。世界！", "zh", "en", 100).join(["Hello.", "World!"]) == "Hello. World!"
    assert split_text("Hello there. World!", "en", "zh-Hans", 100).join(["你好。", "世界！"]) == "你好。世界！"
    assert split_text("Hello there.\n World!", "en", "ja", 100).join(["a", "b"]) == "a\n b"


def test_long_sentences_are_cut_at_commas_and_spaces() -> None:
    assert list(cut("one two, three four", 10)) == ["one two, ", "three four"]
    assert list(cut("abcdefgh", 3)) == ["abc", "def", "gh"]
    assert "".join(cut("a b" * 500, 7)) == "a b" * 500


@pytest.mark.parametrize("unit", [".", " ", "a", "a. ", '"', "(", "...!?", "1.", "A.", "。"])
def test_no_text_takes_long_to_split(unit: str) -> None:
    text = unit * (10_000 // len(unit))
    began = time.process_time()
    split_text(text, "en", "de", 1000)
    assert time.process_time() - began < 1

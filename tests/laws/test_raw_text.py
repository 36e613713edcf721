"""Raw text comes back from words, and from pieces, in every script."""

from __future__ import annotations

import unicodedata
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.raw_lines import RAW_LINES
from trdec.text import Side, Subwords
from trdec.tokenisers import (
    DICTIONARY_LANGUAGES,
    SPACES,
    WORD_START,
    IcuTokeniser,
    UnicodeTokeniser,
    chosen_tokeniser,
    normalise,
)

_AWKWARD = "".join(RAW_LINES.values()) + SPACES + "▁\t\x00\x7f\x85\u2028\ufeff\u00ad\u200d\u0300\u0323'’:/@.,_<>"
texts = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",))),
    st.text(st.sampled_from(sorted(set(_AWKWARD)))),
    st.lists(st.sampled_from(list(RAW_LINES.values())), max_size=3).map("".join),
)
TOKENISERS = [UnicodeTokeniser("en")]
if find_spec("icu4py") is not None:
    TOKENISERS += [IcuTokeniser("ja"), IcuTokeniser("th")]

each_tokeniser = pytest.mark.parametrize("tokeniser", TOKENISERS, ids=lambda tokeniser: tokeniser.name)


@each_tokeniser
@given(texts)
def test_joining_undoes_splitting(tokeniser: UnicodeTokeniser, text: str) -> None:
    words = tokeniser.split(text)
    assert tokeniser.join(words) == normalise(text)
    assert "".join(words).replace(WORD_START, " ").removeprefix(" ") == normalise(text)


@given(texts)
@example("e\u0301 \u2001\u212b")
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)


@given(texts)
def test_normalising_changes_nothing_but_canonical_forms_spaces_and_the_mark(text: str) -> None:
    def letters(line: str) -> str:
        kept = (c for c in unicodedata.normalize("NFC", line) if unicodedata.category(c) not in ("Cc", "Zl", "Zp"))
        return "".join(c for c in kept if c not in SPACES)

    assert letters(normalise(text)) == letters(text.replace(WORD_START, "_"))


@each_tokeniser
@given(texts)
def test_no_word_is_empty_and_none_has_a_space_inside(tokeniser: UnicodeTokeniser, text: str) -> None:
    for word in tokeniser.split(text):
        assert tokeniser.bare(word)
        assert not set(tokeniser.bare(word)) & {*SPACES, WORD_START}


@given(texts)
def test_a_combining_mark_stays_with_its_letter(text: str) -> None:
    tokeniser = UnicodeTokeniser("en")
    for word in tokeniser.split(text):
        if not word.startswith((WORD_START, *SPACES)):
            assert unicodedata.category(word[0]) not in ("Mn", "Me", "Mc")


@given(texts, st.data())
def test_words_side_by_side_in_a_tree_are_found_again(text: str, data: st.DataObject) -> None:
    tokeniser = UnicodeTokeniser("en")
    words = tokeniser.split(text)
    start = data.draw(st.integers(0, len(words)))
    run = words[start : data.draw(st.integers(start, len(words)))]
    assert tokeniser.words_of("".join(run)) == run


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@given(line=st.one_of(st.sampled_from(list(RAW_LINES.values())), st.text(st.sampled_from(sorted(set(_AWKWARD))))))
def test_text_comes_back_from_pieces(kind: str, line: str) -> None:
    side = _SIDES[kind]
    pieces = [side.subwords.split(word) for word in side.split(line)]
    for word, parts in zip(side.split(line), pieces, strict=True):
        assert "".join(parts) == word
    assert side.text_of([piece for parts in pieces for piece in parts]) == normalise(line)


def _side(kind: str) -> Side:
    tokeniser = UnicodeTokeniser()
    counts = Counter(word for line in RAW_LINES.values() for word in tokeniser.split(line))
    counts.update(normalise(_AWKWARD).replace(" ", ""))
    return Side(Subwords.train_on_words(counts, kind, 700 if kind == "bpe" else 450), tokeniser)  # type: ignore[arg-type]


_SIDES = {kind: _side(kind) for kind in ("bpe", "unigram")}


@pytest.mark.parametrize("language", RAW_LINES)
def test_lines_in_many_scripts_come_back_as_they_were(language: str) -> None:
    line = RAW_LINES[language]
    tokeniser = chosen_tokeniser("unicode", None if language == "emoji" else language)
    assert line == normalise(line)
    assert tokeniser.join(tokeniser.split(line)) == line
    assert tokeniser.name == ("icu" if language in DICTIONARY_LANGUAGES and find_spec("icu4py") else "unicode")


@pytest.mark.corpus
def test_real_lines_come_back_as_they_were(corpora: Path) -> None:
    files = sorted((corpora / "scripts").glob("*.txt"))
    if not files:
        pytest.skip("there is no folder of lines in many scripts")
    for file in files:
        tokeniser = chosen_tokeniser("unicode", file.stem.split("-")[0])
        for line in file.read_text(encoding="utf-8").splitlines():
            assert tokeniser.join(tokeniser.split(line)) == normalise(line), file

"""Subwords and tokens: trained, saved, loaded, split and joined."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
import sentencepiece

from trdec.errors import EncodingError, SubwordError
from trdec.files import read_lines, split_words
from trdec.text import UNKNOWN, Side, Subwords
from trdec.tokenisers import MosesTokeniser, Tokeniser, UnicodeTokeniser

LINES = ["the cat eats the fish", "the fishes eat cats", "a cat and a fish eat", "cats and fishes"] * 20


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def subwords(request: pytest.FixtureRequest) -> Subwords:
    return Subwords.train(LINES, request.param, {"bpe": 30, "unigram": 22}[request.param])


def test_pieces_join_to_the_text_again(subwords: Subwords) -> None:
    for line in LINES[:4]:
        pieces = [piece for word in line.split() for piece in subwords.split(word)]
        assert pieces == subwords.split_text(line)
        assert subwords.join(pieces) == line
        assert set(pieces) <= set(subwords.pieces)


def test_the_unknown_comes_first_and_no_piece_twice(subwords: Subwords) -> None:
    assert subwords.pieces[0] == UNKNOWN
    assert len(set(subwords.pieces)) == len(subwords.pieces)
    assert "<s>" not in subwords.pieces


def test_an_unseen_character_keeps_its_spelling(subwords: Subwords) -> None:
    assert "".join(subwords.split("猫")).removeprefix("▁") == "猫"


@pytest.mark.parametrize(("kind", "size"), [("bpe", 30), ("unigram", 22)])
def test_a_word_that_the_normalisation_of_a_given_model_removes_is_not_lost(kind: str, size: int) -> None:
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=buffer, model_type=kind, vocab_size=size, minloglevel=2
    )
    assert Subwords(buffer.getvalue()).split("\u200b\u200b") in ((UNKNOWN,), ("▁",))


def test_training_twice_gives_the_same_model() -> None:
    assert Subwords.train(LINES, "bpe", 30).model == Subwords.train(LINES, "bpe", 30).model


def test_a_model_is_saved_and_loaded(subwords: Subwords, tmp_path: Path) -> None:
    subwords.save(tmp_path / "x.model")
    assert Subwords.load(tmp_path / "x.model").pieces == subwords.pieces


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SubwordError, match=re.escape("none.model: cannot be read: No such file or directory.")):
        Subwords.load(tmp_path / "none.model")
    (tmp_path / "bad.model").write_text("hello")
    with pytest.raises(SubwordError, match=r"bad\.model: not a sentencepiece model\."):
        Subwords.load(tmp_path / "bad.model")


def test_pieces_of_bytes_are_refused(tmp_path: Path) -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=model, model_type="bpe", vocab_size=300, byte_fallback=True
    )
    (tmp_path / "bytes.model").write_bytes(model.getvalue())
    with pytest.raises(SubwordError, match=r"bytes\.model: expected pieces of characters, found pieces of bytes"):
        Subwords.load(tmp_path / "bytes.model")


def test_a_model_serves_words_with_and_without_their_spaces() -> None:
    line = "the cat eats fish"
    for model in (Subwords.train(LINES, "bpe", 30), Subwords.train_on_words({"▁the": 2, "▁cat": 1, "s": 1}, "bpe", 14)):
        for tokeniser in (Tokeniser(), UnicodeTokeniser()):
            side = Side(model.for_words_of(tokeniser), tokeniser)
            assert side.text_of(side.pieces(side.split(line))) == line
    assert model.for_words_of(UnicodeTokeniser()).split("s") == ("s",)


def test_too_many_pieces_for_the_text_are_refused() -> None:
    with pytest.raises(SubwordError, match=r"cannot learn 5000 bpe pieces .* at most \d+\. Choose a smaller size\.$"):
        Subwords.train(LINES, "bpe", 5000)


def test_too_few_pieces_for_the_characters_are_refused() -> None:
    with pytest.raises(SubwordError, match=r"cannot learn 3 bpe pieces .* at least \d+\. Choose a larger size\.$"):
        Subwords.train(LINES, "bpe", 3)


@pytest.mark.parametrize("lines", [[], [""]])
def test_nothing_of_the_inside_of_sentencepiece_is_shown(lines: list[str]) -> None:
    with pytest.raises(SubwordError) as caught:
        Subwords.train(lines, "bpe", 30)
    assert ".cc" not in str(caught.value)


def test_words_come_back_as_they_were_written() -> None:
    lines = ["（ ２ ）", "می\u200cخواهم", "ﬁ x²", "e\u0301 10\u00a0000"]
    subwords = Subwords.train(lines, "bpe", 60)
    for word in " ".join(lines).split(" "):
        assert "".join(subwords.split(word)) == f"▁{word}"


def test_a_model_with_damaged_pieces_is_refused() -> None:
    model = Subwords.train(LINES, "bpe", 30).model
    damaged = model.replace("▁cat".encode(), b"\xe2\x96\r" + b"cat", 1)
    assert damaged != model
    with pytest.raises(SubwordError, match=r"UTF-8, found b'.*cat'.*damaged"):
        Subwords(damaged)


def test_text_that_cannot_be_read_is_said_to_be_that(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"a cat\ncaf\xe9\n")
    with pytest.raises(EncodingError, match="text, line 2: expected UTF-8, found the byte 0xe9"):
        Subwords.train((line.text for line in read_lines(tmp_path / "text")), "bpe", 10)


def test_tokens_join_to_the_raw_text_again() -> None:
    english = MosesTokeniser("en")
    assert english.split("The cat's fish (raw) is gone.") == [
        "The",
        "cat",
        "'s",
        "fish",
        "(",
        "raw",
        ")",
        "is",
        "gone",
        ".",
    ]
    for raw in ("The cat's fish (raw) is gone.", "Don't go, please!", "A & B < C"):
        assert english.join(english.split(raw)) == raw


def test_only_a_line_feed_ends_a_line_and_only_ascii_space_parts_words(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes("\ufeffa\u2028b\u0085c\r\nd\u00a0e\tf".encode())
    lines = [line.text for line in read_lines(tmp_path / "x")]
    assert lines == ["a\u2028b\u0085c", "d\u00a0e\tf"]
    assert split_words(lines[1]) == ["d\u00a0e", "f"]

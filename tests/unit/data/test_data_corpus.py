"""Files become sentence pairs, or an error that names them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trdec.configuration.sections import CorpusConfiguration
from trdec.data import corpus
from trdec.data.corpus import Corpus, repeats
from trdec.errors import EncodingError, FileError, TextFormatError, UsageError

FLAT = ("flat",)


def test_pairs_come_in_order_with_their_annotation(write) -> None:
    files = CorpusConfiguration(
        source=write("s", ["a", "b b"]),
        target=write("t", ["A", "B B"]),
        constituency=write("c", ["(S A)", "(S B B)"]),
        supertags=write("g", ["X", "Y Z"]),
    )
    corpus = Corpus("train", files, ("constituency", "supertags"))
    first, second = corpus.pairs()
    assert (first.number, first.source, first.target) == (0, "a", "A")
    assert [(record.line, record.text) for record in second.annotations] == [(2, "(S B B)"), (2, "Y Z")]


def test_files_that_no_treebank_needs_are_not_read(write, tmp_path: Path) -> None:
    files = CorpusConfiguration(source=write("s", ["a"]), target=write("t", ["A"]), supertags=tmp_path / "missing")
    assert len(list(Corpus("train", files, FLAT).pairs())) == 1


@pytest.mark.parametrize("action", [Corpus.checksums, lambda corpus: list(corpus.pairs())])
def test_unequal_numbers_of_lines_are_an_error_that_names_both_files(action, write) -> None:
    files = CorpusConfiguration(source=write("one", ["a", "b", "c"]), target=write("other", ["A", "B"]))
    with pytest.raises(TextFormatError, match=r"one has 3 (lines|sentences), .*other has 2\. The files of a corpus"):
        action(Corpus("train", files, FLAT))


@pytest.mark.parametrize(
    ("kind", "lines", "count"),
    [
        ("constituency", ["(S A)"], 1),
        ("constituency", ["(S A)", "(S B)", "(S C)", "(S D)", "(S E)"], 5),
        ("supertags", ["X"], 1),
        ("dependency", ["1\tA\t_\t_\t_\t_\t0\t_\t_\t_", "", "1\tB\t_\t_\t_\t_\t0\t_\t_\t_"], 2),
    ],
)
def test_too_few_or_too_many_trees_are_an_error_that_names_both_files(kind, lines, count, write) -> None:
    files = CorpusConfiguration(
        source=write("s", ["a", "b", "c"]), target=write("t", ["A", "B", "C"]), **{kind: write("trees", lines)}
    )
    with pytest.raises(TextFormatError, match=rf"s has 3 sentences, .*trees has {count}\."):
        list(Corpus("train", files, (kind,)).pairs())


def test_a_tree_may_be_spread_over_lines(write) -> None:
    trees = write("trees", ["(S", "  (NP A)", "  b)", "", "(S c)"])
    files = CorpusConfiguration(source=write("s", ["x", "y"]), target=write("t", ["A b", "c"]), constituency=trees)
    first, second = Corpus("train", files, ("constituency",)).pairs()
    assert first.annotations[0].text.split() == ["(S", "(NP", "A)", "b)"]
    assert (second.annotations[0].line, second.annotations[0].text) == (5, "(S c)")


def test_comments_belong_to_the_sentence_after_them(write) -> None:
    word = "1\tA\t_\t_\t_\t_\t0\t_\t_\t_"
    trees = write("trees", ["# newdoc", "", "# text = A", word, "", "", word])
    files = CorpusConfiguration(source=write("s", ["x", "y"]), target=write("t", ["A", "A"]), dependency=trees)
    first, second = Corpus("train", files, ("dependency",)).pairs()
    assert first.annotations[0].text == f"# text = A\n{word}"
    assert (second.annotations[0].line, second.annotations[0].text) == (7, word)


def test_a_pair_is_repeated_if_both_sides_stood_before(write) -> None:
    source, target = write("s", ["a", "a", "b", "a"]), write("t", ["A", "B", "A", "A"])
    corpus = Corpus("train", CorpusConfiguration(source=source, target=target), FLAT)
    assert corpus.repeated().tolist() == [False, False, False, True]
    assert [pair.repeated for pair in corpus.pairs(corpus.repeated())] == [False, False, False, True]


def test_a_last_line_without_an_end_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a\nb")
    (tmp_path / "t").write_text("A\nB\n")
    corpus = Corpus("train", CorpusConfiguration(source=tmp_path / "s", target=tmp_path / "t"), FLAT)
    assert set(corpus.checksums()) == {"source", "target"}
    assert [pair.source for pair in corpus.pairs()] == ["a", "b"]


def test_a_missing_file_is_named(write, tmp_path: Path) -> None:
    files = CorpusConfiguration(source=write("s", ["a"]), target=tmp_path / "missing")
    with pytest.raises(FileError, match=r"missing: cannot be read: No such file or directory. Check the name"):
        Corpus("train", files, FLAT).checksums()


def test_a_line_that_is_not_utf8_is_named(write, tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"A\n\xff\n")
    files = CorpusConfiguration(source=write("s", ["a", "b"]), target=tmp_path / "t")
    with pytest.raises(EncodingError, match="t, line 2: expected UTF-8"):
        list(Corpus("train", files, FLAT).pairs())


def test_a_system_that_needs_trees_says_which_file_is_missing(write) -> None:
    files = CorpusConfiguration(source=write("s", ["a"]), target=write("t", ["A"]))
    with pytest.raises(UsageError, match=r"learns dependency trees, but data.dev names no file .* data.dev.dependency"):
        Corpus("dev", files, ("dependency",))


@given(numbers=st.lists(st.integers(0, 9) | st.integers(0, 2**64 - 1), max_size=40))
def test_a_number_is_repeated_if_it_occurs_before(numbers: list[int]) -> None:
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(corpus, "_BLOCK", 7)
        found = repeats(np.array(numbers, dtype=np.uint64))
    assert found.tolist() == [number in numbers[:place] for place, number in enumerate(numbers)]

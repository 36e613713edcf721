"""Files of translations, references and trees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trdec.errors import FileError, MisalignedTreeError, TextFormatError
from trdec.evaluation.scores import read_output, read_reference_trees, read_references, read_trees
from trdec.trees.brackets import parse


def test_empty_translations_keep_their_line(tmp_path: Path) -> None:
    (tmp_path / "hyp").write_text("a cat\n\nx")
    output = read_output("system", tmp_path / "hyp", ["1", "2", "3"], "ref")
    assert (output.system, output.name, output.lines) == ("system", str(tmp_path / "hyp"), ["a cat", "", "x"])
    assert (output.seed, output.trees) == (None, None)


def test_unequal_numbers_of_lines_name_both_files_and_counts(tmp_path: Path) -> None:
    (tmp_path / "hyp").write_text("a\nb\n")
    expected = re.escape(f"found 2 in {tmp_path / 'hyp'} and 1 in dev.en. The two must hold the same sentences")
    with pytest.raises(TextFormatError, match=expected):
        read_output("system", tmp_path / "hyp", ["a"], "dev.en")


def test_references_must_have_words(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    (tmp_path / "blank").write_text("\n \n")
    (tmp_path / "good").write_text("\na\n")
    with pytest.raises(TextFormatError, match=r"empty: .* found an empty file"):
        read_references(tmp_path / "empty")
    with pytest.raises(TextFormatError, match="found 2 lines without words"):
        read_references(tmp_path / "blank")
    assert read_references(tmp_path / "good") == ["", "a"]
    with pytest.raises(FileError, match="missing: cannot be read"):
        read_references(tmp_path / "missing")


def test_each_line_is_a_tree_or_none(tmp_path: Path) -> None:
    lines = ["(ROOT (NP a cat))", "(())", "", "(NP a", "a cat", "(NP a) (NP b)", "(NP a)", "(ROOT a))"]
    (tmp_path / "trees").write_text("".join(f"{line}\n" for line in lines))
    found = read_trees(tmp_path / "trees")
    assert found == [parse(lines[0]), None, None, None, None, None, parse("(ROOT (NP a))"), None]


def test_reference_trees_are_spelt_as_the_references(tmp_path: Path) -> None:
    (tmp_path / "ref").write_text("a ( cat\nx\n")
    (tmp_path / "con").write_text("(ROOT (NP-SBJ a -LRB- Cat))\nSENTENCE_SKIPPED\n")
    assert read_reference_trees(tmp_path / "con", "penn", tmp_path / "ref") == [parse("(ROOT (NP a -LRB- cat))"), None]
    (tmp_path / "con").write_text("(ROOT (NP a))\n(ROOT x)\n")
    with pytest.raises(MisalignedTreeError, match="con, line 1: the tree has 1 words, its sentence has 3"):
        read_reference_trees(tmp_path / "con", "penn", tmp_path / "ref")
    (tmp_path / "con").write_text("(ROOT (NP a b cat))\n")
    with pytest.raises(TextFormatError, match="the trees ended before the text"):
        read_reference_trees(tmp_path / "con", "penn", tmp_path / "ref")

"""Constituency clean-up, CoNLL-U, supertags, and trees beside their text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trdec.errors import (
    HeadsError,
    MisalignedTreeError,
    Place,
    TextFormatError,
    TreeFormatError,
    TreeShapeError,
    UsageError,
)
from trdec.files import Line
from trdec.targets.derivation import BEGUN, END
from trdec.trees import brackets, conllu, constituency, supertags, treebank
from trdec.trees.dependency import from_heads, to_heads
from trdec.trees.tree import Entry, words


def _lines(text: str, name: str = "x") -> list[Line]:
    return [Line(Place(name, number), line) for number, line in enumerate(text.split("\n"), 1)]


@pytest.mark.parametrize(
    ("label", "plain"),
    [
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("-LRB-", "-LRB-"),
        ("-NONE-", "-NONE-"),
        ("PRP$", "PRP$"),
        ("NP|", "NP|"),
        ("=", "="),
    ],
)
def test_function_tags_and_indices_are_taken_off_labels(label: str, plain: str) -> None:
    assert constituency.plain_label(label) == plain


def test_traces_go_with_the_nodes_that_held_nothing_else() -> None:
    text = "( (S (NP-SBJ-1 (PRP He)) (VP (VBZ tries) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sleep)))))))"
    cleaned = constituency.clean(brackets.parse(text))
    assert repr(cleaned) == "(ROOT (S (NP (PRP He)) (VP (VBZ tries) (S (VP (TO to) (VP (VB sleep)))))))"


@pytest.mark.parametrize("top", ["(TOP (S a))", "( (S a))", "(ROOT (S a))", "(S a)", "(S1 (S a))"])
def test_every_tree_stands_under_one_root(top: str) -> None:
    assert repr(constituency.clean(brackets.parse(top))) == "(ROOT (S a))"


def test_square_and_curly_brackets_are_read() -> None:
    assert repr(constituency.clean(brackets.parse("(S -LSB- a -RSB- -LCB- -RCB-)"))) == "(ROOT (S [ a ] { }))"


def test_a_tree_of_traces_alone_is_an_error() -> None:
    (entry,) = constituency.read_penn(_lines("(S (NP (-NONE- *)))"))
    assert str(entry.error).startswith("x, line 1: the tree has no words, only traces.")


CONLLU = """# sent_id = 1
# text = Vámonos al mar
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\t_\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_
2.1\tvamos\t_\t_\t_\t_\t_\t_\t_\t_
3\ta el\t_\tADP\t_\t_\t4\tcase\t_\t_
4\tmar\tmar\tNOUN\t_\t_\t1\tobl\t_\t_

1\tuno\t_\t_\t_\t_\t_\t_\t_\t_
2\tdos\t_\t_\t_\t_\t_\t_\t_\t_

1\ta\t_\t_\t_\t_\t3\t_\t_\t_
2\tb\t_\t_\t_\t_\t0\t_\t_\t_
3\tc\t_\t_\t_\t_\t0\t_\t_\t_"""


def test_conllu_is_read_with_comments_ranges_empty_nodes_and_several_roots() -> None:
    first, unparsed, crossing = conllu.read_conllu(_lines(CONLLU))
    assert repr(first.tree) == "(ROOT (NULL Vamos (NULL nos) (NULL (NULL a\u00a0el) mar)))"
    assert unparsed.tree is None
    assert unparsed.error is None
    # The arc from c to a passes over the root b: it is lifted, and a becomes a root.
    assert not crossing.was_projective
    assert repr(crossing.tree) == "(ROOT (NULL a) (NULL b) (NULL c))"


def _conllu_error(text: str) -> Exception:
    (entry,) = conllu.read_conllu(_lines(text))
    assert entry.error is not None
    return entry.error


def _word(number: object, head: object) -> str:
    return f"{number}\tw\t_\t_\t_\t_\t{head}\t_\t_\t_"


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("1\tw\t0", TreeFormatError, "x, line 1: expected 10 columns separated by tabs, found 3."),
        (_word(2, 0), TreeFormatError, "x, line 1: expected word number 1, found '2'."),
        (_word(1, "x"), TreeFormatError, "x, line 1: expected a number in column 7 (HEAD), found 'x'."),
        (
            _word(1, 0) + "\n" + _word(2, "_"),
            TreeFormatError,
            "x, line 2: expected a number in column 7 (HEAD), found '_'.",
        ),
        (
            _word(1, 0) + "\n" + _word(2, 5),
            HeadsError,
            "x, line 1, the sentence that starts here: word 2 ('w') has head 5, "
            "expected a number from 0 (a root) to 2, the number of words",
        ),
        (
            _word(1, 2) + "\n" + _word(2, 1) + "\n" + _word(3, 0),
            HeadsError,
            "x, line 1, the sentence that starts here: word 1 ('w') reaches no root: its heads form a cycle.",
        ),
        ("1-2\tw\t_\t_\t_\t_\t_\t_\t_\t_", TreeFormatError, "x, line 1: expected a sentence, found no words in it"),
    ],
)
def test_broken_conllu_is_named_with_file_and_line(text: str, kind: type[Exception], message: str) -> None:
    error = _conllu_error(text)
    assert type(error) is kind
    assert str(error).startswith(message)


def test_reading_conllu_goes_on_after_a_broken_sentence() -> None:
    entries = list(conllu.read_conllu(_lines(_word(1, 7) + "\n\n" + _word(1, 0))))
    assert [entry.tree is not None for entry in entries] == [False, True]


def test_as_many_heads_as_words_are_needed() -> None:
    with pytest.raises(HeadsError, match="expected a head for each of 2 words, found 1 heads"):
        from_heads(["a", "b"], [0])


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("(ROOT (NULL a b))", "exactly one word among their children, found '(NULL a b)'"),
        ("(ROOT (S (NP the) sleeps))", "expected NULL nodes with exactly one word among their children, found '(S"),
        ("(ROOT a)", "expected NULL nodes under ROOT, found the word 'a'"),
    ],
)
def test_only_dependency_trees_have_heads(tree: str, message: str) -> None:
    with pytest.raises(TreeShapeError, match=re.escape(message)):
        to_heads(brackets.parse(tree))


def _supertags(tags: str, text: str) -> list[Entry]:
    return list(supertags.read_supertags(_lines(tags, "x.ccg"), _lines(text, "x")))


def test_supertags_become_a_flat_tree_of_tags() -> None:
    (entry,) = _supertags(r"NP/N N S[dcl]\NP", "The cat sleeps")
    assert repr(entry.tree) == r"(ROOT (NP/N The) (N cat) (S[dcl]\NP sleeps))"


def test_a_line_with_another_number_of_tags_than_words_is_named() -> None:
    good, bad, empty = _supertags("N N\nN\n", "a b\na b\na")
    assert good.error is None
    assert str(bad.error).startswith("x.ccg, line 2: expected a tag for each of 2 words, found 1 tags.")
    assert str(empty.error).startswith("x.ccg, line 3: expected a tag for each of 1 words, found 0 tags.")


@pytest.mark.parametrize(
    ("tags", "text", "message"),
    [
        ("N\nN", "a", "x.ccg, line 2: the text ended before the tags."),
        ("N", "a\nb", "x, line 2: the tags ended before the text."),
    ],
)
def test_supertags_and_text_of_unequal_length_are_an_error(tags: str, text: str, message: str) -> None:
    with pytest.raises(TextFormatError, match=re.escape(message)):
        _supertags(tags, text)


def _beside(tmp_path: Path, trees: str, text: str) -> list[Entry]:
    (tmp_path / "x.con").write_text(trees, encoding="utf-8")
    (tmp_path / "x.en").write_text(text, encoding="utf-8")
    return list(treebank.read("penn", tmp_path / "x.con", tmp_path / "x.en"))


def test_a_tree_takes_the_spelling_of_its_text(tmp_path: Path) -> None:
    (entry,) = _beside(tmp_path, "(S (`` ``) (X -LRB-) (Y 1\\/2))\n", '" [ 1/2\n')
    assert repr(entry.tree) == '(ROOT (S (`` ") (X [) (Y 1/2)))'


def test_trees_take_the_spelling_of_raw_text(tmp_path: Path) -> None:
    (entry,) = _beside(tmp_path, "(S (X -LRB-) (`` ``) (V does) (R n't) (. .))\n", "(“doesn't.\n")
    assert entry.tree is not None
    assert words(entry.tree) == ["(", "“", "does", "n't", "."]


def _dependencies(tmp_path: Path, rows: str, text: str) -> Entry:
    columns = (row.split("|") for row in rows.split())
    written = "".join("\t".join([place, form, *"____", head, *"___"]) + "\n" for place, form, head in columns)
    (tmp_path / "x.conllu").write_text(written.replace("~", " "), encoding="utf-8")
    (tmp_path / "x.txt").write_text(text, encoding="utf-8")
    (entry,) = treebank.read("conllu", tmp_path / "x.conllu", tmp_path / "x.txt")
    return entry


def test_as_many_spaces_as_words_make_no_tokenised_text(tmp_path: Path) -> None:
    entry = _dependencies(tmp_path, "1|Il|2 2|a|0 3|10~000|4 4|chats|2 5|.|2", "Il a 10 000 chats.\n")
    assert repr(entry.tree) == "(ROOT (NULL (NULL Il) a (NULL (NULL 10\u00a0000) chats) (NULL .)))"


def test_multiword_tokens_are_found_in_raw_text_and_their_words_in_tokenised(tmp_path: Path) -> None:
    rows = "1|Er|2 2|geht|0 3-4|zum|_ 3|zu|5 4|dem|5 5|Haus|2 6|.|2"
    for text, leaves in {
        "Er geht zum Haus.": "Er geht zu m Haus .",
        "Er geht zu dem Haus .": "Er geht zu dem Haus .",
    }.items():
        tree = _dependencies(tmp_path, rows, f"{text}\n").tree
        assert tree is not None
        assert words(tree) == leaves.split()


def test_a_tree_with_other_words_than_its_text_is_named(tmp_path: Path) -> None:
    (entry,) = _beside(tmp_path, "(S a b)\n", "a b c\n")
    assert isinstance(entry.error, MisalignedTreeError)
    assert "line 1: the tree has 2 words, its sentence has 3: word 3 is 'nothing' in one and 'c' in the other." in str(
        entry.error
    )


def test_trees_and_text_of_unequal_length_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(TextFormatError, match=r"x\.en, line 2: the trees ended before the text"):
        _beside(tmp_path, "(S a)\n", "a\nb\n")
    with pytest.raises(TextFormatError, match=r"x\.con, line 2: the text ended before the trees"):
        _beside(tmp_path, "(S a)\n(S b)\n", "a\n")


def test_supertags_need_their_text() -> None:
    with pytest.raises(UsageError, match="`text`"):
        treebank.read("ccg", "x.ccg")


def test_plain_brackets_keep_labels_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("(my-label a)\n")
    (entry,) = treebank.read("brackets", tmp_path / "x")
    assert repr(entry.tree) == "(ROOT (my-label a))"


def test_good_trees_raise_or_hand_over_errors(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("(S a)\n(S (b\n(())\n(S c)\n")
    with pytest.raises(TreeFormatError, match="line 2"):
        list(treebank.good_trees(treebank.read("penn", tmp_path / "x")))
    seen: list[Exception] = []
    assert len(list(treebank.good_trees(treebank.read("penn", tmp_path / "x"), seen.append))) == 2
    assert len(seen) == 1


def test_the_names_kept_from_labels_are_those_of_the_derivation() -> None:
    assert (BEGUN, END) == treebank.SYMBOLS_NOT_LABELS


def test_any_space_inside_a_form_becomes_one_that_parts_nothing() -> None:
    (entry,) = conllu.read_conllu(_lines("1\ta b\x0cc\t_\t_\t_\t_\t0\t_\t_\t_"))
    assert words(entry.tree) == ["a\u00a0b\u00a0c"]


def _row(number: str, form: str = "a", head: str = "0") -> str:
    return "\t".join([number, form, *"____", head, *"___"])


@pytest.mark.parametrize(
    "number", ["x-1", "2.", ".1", "-", "2-", "-2", "1-x", "2.x", "1.1.1", "2--3", "1 -2", "٢-٣", "02-3"]
)
def test_a_number_that_is_none_is_an_error_and_no_dropped_word(number: str) -> None:
    (entry,) = conllu.read_conllu(_lines("\n".join([_row("1"), _row(number, "lost", "1"), _row("2", "b", "1")])))
    assert entry.tree is None
    assert str(entry.error).startswith("x, line 2: expected word number 2")
    assert repr(number) in str(entry.error)


@pytest.mark.parametrize("number", ["1-2", "2-13", "0.1", "1.10"])
def test_ranges_and_empty_nodes_are_no_words(number: str) -> None:
    (entry,) = conllu.read_conllu(_lines("\n".join([_row("1"), _row(number, "x", "_"), _row("2", "b", "1")])))
    assert entry.tree is not None
    assert words(entry.tree) == ["a", "b"]


@pytest.mark.parametrize("head", ["9" * 5000, "9" * 4000, "٠", "-1", "1.0", " 0", "1_0"])
def test_a_head_that_is_no_number_of_a_word_is_an_error(head: str) -> None:
    (entry,) = conllu.read_conllu(_lines("\n".join([_row("1"), _row("2", "b", head)])))
    assert str(entry.error).startswith("x, line 2: expected a number in column 7 (HEAD)")
    assert len(str(entry.error)) < 400


@pytest.mark.parametrize("space", ["\u3000", "\u00a0", "\u2028", "\x85", "\x1c"])
def test_a_form_keeps_its_unicode_space(space: str) -> None:
    for form in (space, f"{space}a{space}b{space}"):
        (entry,) = conllu.read_conllu(_lines(f"# a comment\n{_row('1', form)}\n \t\n"))
        assert entry.tree is not None, entry
        assert words(entry.tree) == [form]
    first, second = conllu.read_conllu(_lines(f"{_row('1')}\n\n{_row('1')}\n{space}\n"))
    assert first.tree is not None
    assert str(second.error).startswith("x, line 4: expected 10 columns")

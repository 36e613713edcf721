"""A parser's words are found in the raw text by their characters."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.raw_lines import RAW_LINES
from trdec.errors import MisalignedTreeError, Place
from trdec.files import Line
from trdec.tokenisers import SPACES, UnicodeTokeniser
from trdec.trees.alignment import align
from trdec.trees.conllu import read_conllu
from trdec.trees.tree import Entry, Nonterminal, words
from trdec.trees.treebank import respell


@pytest.mark.parametrize(
    ("words", "text", "aligned"),
    [
        ("It does n't sleep .", "It doesn't sleep.", "▁It ▁does n't ▁sleep ."),
        ("He -LRB- `` Al '' -RRB- left", 'He ("Al") left', '▁He ▁( " Al " ) ▁left'),
        ("`` So '' , 1\\/2 ...", "“So”, 1/2…", "▁“ So ” , ▁1/2 …"),
        ("a-LRB-b-RRB- c", "a(b) c", "▁a(b) ▁c"),
        ("It ' s", "It’s", "▁It ’ s"),
        ("It 's n't l' été", "It’s n’t l’été", "▁It ’s ▁n’t ▁l’ été"),
        ("`` a '' b", "‘‘a’’ b", "▁‘‘ a ’’ ▁b"),
        ("a \u200bb\x01c", "a \u200bb\x01c", "▁a ▁b▁c"),
        ("x▁y", "x▁y", "▁x_y"),
        ("oui !", "oui\u00a0!", "▁oui \u00a0!"),
        ("10\u00a0000 men", "10 000 men", "▁10▁000 ▁men"),
        ("the cat", "The cat", "▁The ▁cat"),
        ("e\u0301te\u0301", "été", "▁été"),
    ],
)
def test_words_take_the_spelling_and_the_spaces_of_the_text(words: str, text: str, aligned: str) -> None:
    assert align(words.split(" "), text) == aligned.split(" ")


def _letters(text: str) -> str:
    return "".join(character for character in text if character not in SPACES)


@given(st.sampled_from(list(RAW_LINES.values())), st.data())
def test_aligned_words_join_to_the_text(line: str, data: st.DataObject) -> None:
    letters = _letters(line)
    cuts = data.draw(st.sets(st.integers(1, len(letters) - 1)))
    # No parser's word goes past a space.
    spaces = {len(_letters(line[:place])) for place, character in enumerate(line) if character in SPACES}
    borders = sorted({0, len(letters)} | cuts | spaces)
    words = [letters[start:end] for start, end in pairwise(borders)]
    assert UnicodeTokeniser().join(align(words, line)) == line


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(MisalignedTreeError, match=r"word 2 of the tree is 'dog', where the text has 'cat sleeps\.'"):
        align(["The", "dog"], "The cat sleeps.")
    with pytest.raises(MisalignedTreeError, match=r"after 2 words, where the text continues with 'sleeps\.'"):
        align(["The", "cat"], "The cat sleeps.")
    with pytest.raises(MisalignedTreeError, match="word 2 of the tree is 'cat', where the text has 'nothing'"):
        align(["The", "cat"], "The")


def _conllu(rows: str) -> Entry:
    """The entry of a sentence whose rows have a number, a form and a head."""
    lines = []
    for number, row in enumerate(rows.split("\n"), start=1):
        place, form, head = row.split()
        lines.append(Line(Place("x", number), "\t".join([place, form, *"____", head, *"___"])))
    (entry,) = read_conllu(lines)
    assert entry.error is None
    return entry


def test_the_words_of_a_multiword_token_share_its_spelling() -> None:
    entry = _conllu("1-2 zum _\n1 zu 3\n2 dem 3\n3 Haus 0\n4-5 del _\n4 de 3\n5 el 4\n6-7 don't _\n6 do 3\n7 n't 6")
    assert entry.tree is not None
    assert entry.as_written is not None
    assert words(entry.tree) == ["zu", "dem", "Haus", "de", "el", "do", "n't"]
    assert words(entry.as_written) == ["zu", "m", "Haus", "de", "l", "do", "n't"]
    assert null_words(entry.as_written) == null_words(entry.tree)


def test_a_word_without_a_letter_of_its_token_is_left_out() -> None:
    entry = _conllu("1 Vou 0\n2-3 à _\n2 a 3\n3 a 4\n4 escola 1")
    assert repr(entry.as_written) == "(ROOT (NULL Vou (NULL (NULL à) escola)))"
    assert repr(_conllu("1-2 à _\n1 a 2\n2 a 0\n3 b 2").as_written) == "(ROOT (NULL à) (NULL b))"


@pytest.mark.parametrize("token", ["_", "ab"])
def test_a_token_that_says_nothing_changes_nothing(token: str) -> None:
    entry = _conllu(f"1-2 {token} _\n1 a 2\n2 b 0")
    assert entry.as_written == entry.tree


def null_words(tree: Nonterminal) -> Nonterminal:
    return respell(tree, ["x"] * len(words(tree)))

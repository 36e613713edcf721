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
from trdec.trees.conllu import surface_words


@pytest.mark.parametrize(
    ("words", "text", "aligned"),
    [
        ("It does n't sleep .", "It doesn't sleep.", "▁It ▁does n't ▁sleep ."),
        ("He -LRB- `` Al '' -RRB- left", 'He ("Al") left', '▁He ▁( " Al " ) ▁left'),
        ("`` So '' , 1\\/2 ...", "“So”, 1/2…", "▁“ So ” , ▁1/2 …"),
        ("a-LRB-b-RRB- c", "a(b) c", "▁a(b) ▁c"),
        ("It ' s", "It’s", "▁It ’ s"),
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


def test_the_words_of_a_multiword_token_share_its_spelling() -> None:
    rows = ["# text = zum del à don't", "1-2\tzum", "1\tzu", "2\tdem", "3-4\tdel", "3\tde", "4\tel"]
    rows += ["5-6\tà", "5\ta", "6\ta", "7-8\tdon't", "7\tdo", "8\tn't", "8.1\tempty"]
    lines = [Line(Place("x", number), row) for number, row in enumerate(rows, start=1)]
    assert surface_words(lines) == ["zu", "m", "de", "l", "a", "a", "do", "n't"]

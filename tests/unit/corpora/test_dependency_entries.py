"""What a dependency parser found can be read back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support.strategies import any_heads
from trdec.corpora.parsers import WITHOUT_TREE, ParsedWord, write_dependencies
from trdec.errors import Place
from trdec.files import Line
from trdec.trees import conllu
from trdec.trees.dependency import from_heads
from trdec.trees.tree import Entry


def _read(text: str) -> list[Entry]:
    lines = text.removesuffix("\n").split("\n")
    return list(conllu.read_conllu(Line(Place("entries", number), line) for number, line in enumerate(lines, start=1)))


@given(heads=any_heads(), data=st.data())
def test_reading_what_was_written_gives_the_tree_of_the_heads(heads: list[int], data: st.DataObject) -> None:
    forms = data.draw(st.lists(st.text("ab#_1-.(", min_size=1, max_size=4), min_size=len(heads), max_size=len(heads)))
    words = [ParsedWord(form, "", "X", head, "dep") for form, head in zip(forms, heads, strict=True)]
    entry = write_dependencies(" ".join(forms), words)
    first, second, third = _read(entry + WITHOUT_TREE + entry)
    assert first.tree == third.tree == from_heads(forms, heads)
    assert (second.tree, second.error) == (None, None)


def test_an_entry_is_conllu() -> None:
    words = [ParsedWord("The", "DET", "DT", 2, "det"), ParsedWord("cat", "NOUN", "", 0, "root")]
    assert write_dependencies("The cat", words) == (
        "# text = The cat\n1\tThe\t_\tDET\tDT\t_\t2\tdet\t_\t_\n2\tcat\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    )

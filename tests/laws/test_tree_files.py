"""Laws of tree files: whatever characters words and labels hold, reading what was written gives the same trees."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from fuzz.inputs import lines_of
from support import strategies
from support.strategies import unicode_words
from trdec.trees import treebank
from trdec.trees.brackets import write
from trdec.trees.conllu import write_conllu
from trdec.trees.dependency import from_heads
from trdec.trees.supertags import from_tags, read_supertags
from trdec.trees.tree import PRE, ROOT, Nonterminal, Terminal, labels, words

unicode_labels = unicode_words.filter(lambda label: label not in (PRE, ROOT, *treebank.SYMBOLS_NOT_LABELS))
treebanks = st.lists(strategies.trees(unicode_labels, unicode_words), min_size=1, max_size=3)


def _read(format_name: str, content: str) -> list[Nonterminal | None]:
    entries = list(map(treebank.checked, treebank.FORMATS[format_name](lines_of(content.encode()))))
    assert [entry.error for entry in entries if entry.error] == []
    return [entry.tree for entry in entries]


@example([Nonterminal(ROOT, (Terminal(space),)) for space in "\u3000\u00a0\u2028\x85\x1c"])
@given(treebanks)
def test_a_file_of_brackets_is_read_back(trees: list[Nonterminal]) -> None:
    assert _read("brackets", "".join(f"{write(tree)}\n" for tree in trees)) == trees


@given(treebanks)
def test_a_file_of_json_is_read_back(trees: list[Nonterminal]) -> None:
    assert _read("json", "".join(map(treebank.WRITERS["json"].write, trees))) == trees


def test_a_deep_tree_is_read_back_from_every_format() -> None:
    heads = list(range(5000))
    tree = from_heads([f"w{number}" for number in heads], heads)
    for name, writer in treebank.WRITERS.items():
        assert _read(name, writer.write(tree)) == [tree], name


@st.composite
def dependency_trees(draw: st.DrawFn) -> Nonterminal:
    heads = draw(strategies.projective_heads())
    return from_heads(draw(st.lists(unicode_words, min_size=len(heads), max_size=len(heads))), heads)


@given(st.lists(dependency_trees(), min_size=1, max_size=3))
def test_a_file_of_conllu_is_read_back(trees: list[Nonterminal]) -> None:
    assert _read("conllu", "".join(map(write_conllu, trees))) == trees


@given(st.lists(st.tuples(unicode_words, unicode_words), min_size=1, max_size=6))
def test_a_file_of_supertags_is_read_back(pairs: list[tuple[str, str]]) -> None:
    tree = from_tags([word for word, _ in pairs], [tag for _, tag in pairs])
    # Only at the start of a file is U+FEFF the mark of its encoding: here both files start with another line.
    tag_lines = lines_of(f"S\n{' '.join(list(labels(tree))[1:])}\n".encode())
    word_lines = lines_of(f"a\n{' '.join(words(tree))}\n".encode())
    assert [entry.tree for entry in read_supertags(tag_lines, word_lines)][1] == tree

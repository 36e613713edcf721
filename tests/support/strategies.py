"""Generated trees, words and dependency heads for the laws."""

from __future__ import annotations

from hypothesis import strategies as st

from trdec.trees.tree import PRE, ROOT, Nonterminal, Terminal, Tree
from trdec.trees.treebank import SYMBOLS_NOT_LABELS

# Awkward on purpose: brackets, escapes and what looks like them, other alphabets, a no-break space.
_AWKWARD = ["(", ")", "-LRB-", "-RRB-", "\\", "\\-LRB-", "-LRB(", "a-b", "\\/", "*", "-NONE-", "->", "1\u00a0000", "猫"]
_letters = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), exclude_characters="▁"), min_size=1, max_size=5
)

# What a word may hold: everything but ASCII whitespace, so also spaces and line ends of other kinds.
unicode_words = st.one_of(
    st.text(st.sampled_from("\u3000\u00a0\u2028\u2029\x85\x1c\x1d\x1e\x1f\ufeff\0()\\-#_a"), min_size=1, max_size=4),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters=" \t\r\n\f\v"), min_size=1, max_size=5),
)

words = st.one_of(st.sampled_from(_AWKWARD), st.sampled_from(["the", "cat", "eats", "fish", "."]), _letters)
plain_words = st.text("abcdefgh", min_size=1, max_size=4)
labels = st.one_of(st.sampled_from(["S", "NP", "VP", "NULL", "(S\\NP)/NP", "-LRB-"]), _letters).filter(
    # What derivations call their own is no label; the readers refuse it.
    lambda label: label not in (PRE, ROOT, *SYMBOLS_NOT_LABELS)
)
plain_labels = st.sampled_from(["S", "NP", "VP", "PP", "NULL"])


def sentences(max_size: int = 40, min_size: int = 1) -> st.SearchStrategy[list[str]]:
    """Sentences of at least one word."""
    return st.lists(words, min_size=min_size, max_size=max_size)


def trees(
    label: st.SearchStrategy[str] = labels, word: st.SearchStrategy[str] = words
) -> st.SearchStrategy[Nonterminal]:
    """Trees under ROOT, words and nodes mixed under any node."""
    nodes: st.SearchStrategy[Tree] = st.recursive(
        st.builds(Terminal, word),
        lambda children: st.builds(Nonterminal, label, st.lists(children, min_size=1, max_size=4).map(tuple)),
        max_leaves=20,
    )
    return st.builds(Nonterminal, st.just(ROOT), st.lists(nodes, min_size=1, max_size=3).map(tuple))


@st.composite
def any_heads(draw: st.DrawFn, max_size: int = 12) -> list[int]:
    """Heads of any dependency tree, arcs crossing or not, one root or several."""
    number = draw(st.integers(1, max_size))
    order = draw(st.permutations(range(1, number + 1)))
    heads = [0] * (number + 1)
    for position, word in enumerate(order):
        heads[word] = draw(st.sampled_from([0, *order[:position]]))
    return heads[1:]


@st.composite
def projective_heads(draw: st.DrawFn, max_size: int = 12) -> list[int]:
    """Heads without crossing arcs, drawn span by span."""
    number = draw(st.integers(1, max_size))
    heads = [0] * (number + 1)
    spans = [(1, number, 0)]
    while spans:
        start, end, head = spans.pop()
        if start > end:
            continue
        # The first part of the span hangs from the head by one word; the rest of the span follows.
        last = draw(st.integers(start, end))
        top = draw(st.integers(start, last))
        heads[top] = head
        spans += [(start, top - 1, top), (top + 1, last, top), (last + 1, end, head)]
    return heads[1:]

"""Dependency trees as trees of phrases (paper, section 4 and figure 3), and back.

Each word gets a NULL node, which stands among the words and nodes of its head's node in sentence order:
heads 2 3 0 3 over "The cat eats fish" become (ROOT (NULL (NULL (NULL The) cat) eats (NULL fish))).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from trdec.errors import HeadsError, TreeShapeError, excerpt
from trdec.trees.tree import NULL, ROOT, Nonterminal, Terminal, Tree


def from_heads(words: Sequence[str], heads: Sequence[int]) -> Nonterminal:
    """The tree of NULL nodes for words with these heads (1-based; 0 is a root, of which there may be several).

    Where arcs cross, `projectivise` lifts them first, so the words always stand in their own order.
    """
    _check(words, heads)
    dependents = _dependents(projectivise(heads))
    nodes: list[Tree | None] = [None] * (len(words) + 1)
    for word in reversed(_top_down(dependents)[1:]):
        children: list[Tree] = []
        written = False
        for dependent in dependents[word]:
            if dependent > word and not written:
                children.append(Terminal(words[word - 1]))
                written = True
            child = nodes[dependent]
            assert child is not None
            children.append(child)
        if not written:
            children.append(Terminal(words[word - 1]))
        nodes[word] = Nonterminal(NULL, tuple(children))
    roots = [nodes[root] for root in dependents[0]]
    return Nonterminal(ROOT, tuple(root for root in roots if root is not None))


def to_heads(tree: Nonterminal) -> list[int]:
    """The heads that the tree encodes, 0 for a root: undoes `from_heads` where no arcs crossed."""
    heads: list[int] = []
    # A node's word may follow its first dependents, so a dependent first records its head's node.
    own_word: dict[int, int] = {}
    head_nodes: list[int] = []
    number = 0
    stack: list[tuple[Tree, int, int]] = [(child, -1, 0) for child in reversed(tree.children)]
    while stack:
        node, head_node, own_node = stack.pop()
        if isinstance(node, Terminal):
            head_nodes.append(head_node)
            if own_node == 0:
                raise TreeShapeError(f"expected NULL nodes under {tree.label}, found the word {excerpt(node.word)}")
            own_word[own_node] = len(head_nodes)
            continue
        number += 1
        if node.label != NULL or sum(isinstance(child, Terminal) for child in node.children) != 1:
            raise TreeShapeError(
                f"expected {NULL} nodes with exactly one word among their children, found {excerpt(repr(node))}. "
                "Constituency trees, trees built from the words, and trees over subwords have no heads."
            )
        for child in reversed(node.children):
            # A word carries its node's head; a dependent's node carries this node as its head.
            stack.append((child, head_node, number) if isinstance(child, Terminal) else (child, number, 0))
    for head_node in head_nodes:
        heads.append(0 if head_node == -1 else own_word[head_node])
    return heads


def is_projective(heads: Sequence[int]) -> bool:
    """Whether no two arcs cross, with the root before the first word."""
    return _inorder(_dependents(heads)) == list(range(1, len(heads) + 1))


def projectivise(heads: Sequence[int]) -> list[int]:
    """Heads without crossing arcs: the shortest crossing arc is lifted to its head's head until none is left.

    This is pseudo-projective lifting without labels to undo it; words keep their order, and arcs that cross
    nothing stay as they are. HeadsError for more words or more lifts than any sentence has.
    """
    if is_projective(heads):
        return list(heads)
    if len(heads) > MOST_WORDS:
        raise HeadsError(
            f"arcs cross, which is allowed in a sentence of up to {MOST_WORDS} words, and it has {len(heads)}. "
            "Leave the sentence out."
        )
    # An arc crosses if its word is outside its head's run: the words around the head that all hang from it. A lift
    # changes one run, that of the head it leaves, and only shortens it. So no arcs can begin to cross but those to that
    # head and the lifted one, and none ceases to. Sets of words are bits of numbers.
    size = len(heads) + 1
    lifted = [0, *heads]
    bits = [1 << word for word in range(size)]
    below = bits.copy()  # the words that hang from each word, and itself
    dependents = [0] * size  # only those whose arcs do not cross
    for word in reversed(_top_down(_dependents(heads))[1:]):
        below[lifted[word]] |= below[word]
        dependents[lifted[word]] |= bits[word]
    runs = [(1 << size) - 1, *(_run(below[word], word) for word in range(1, size))]
    crossing: list[tuple[int, int]] = []  # a heap of lengths and words

    def separate(head: int) -> None:
        outside = dependents[head] & ~runs[head]
        dependents[head] ^= outside
        while outside:
            word = outside.bit_length() - 1
            outside ^= bits[word]
            heappush(crossing, (abs(head - word), word))

    for head in range(1, size):
        separate(head)
    lifts = 0
    while crossing:
        word = heappop(crossing)[1]
        left = lifted[word]
        head = lifted[word] = lifted[left]
        if runs[head] & bits[word]:
            dependents[head] |= bits[word]
        else:
            heappush(crossing, (abs(head - word), word))
        below[left] ^= below[word]
        if below[word] & runs[left]:
            runs[left] = _run(below[left], left)
            separate(left)
        lifts += 1
        if lifts > MOST_LIFTS:
            raise HeadsError(
                f"the arcs of its {len(heads)} words cross so much that {MOST_LIFTS} lifts are not enough. "
                "Leave the sentence out."
            )
    return lifted[1:]


MOST_LIFTS = 500_000
"""Of the arcs of one sentence. Up to 1,000 words never need more: a word is lifted less often than it has ancestors."""

MOST_WORDS = 20_000
"""Of a sentence whose arcs cross: the sets of words that hang from each word must fit into memory."""


def _run(below: int, word: int) -> int:
    """The word and its neighbours on both sides, up to the first that does not hang from it."""
    after = ~(below >> word)
    end = word + (after & -after).bit_length() - 1
    start = (((1 << word) - 1) & ~below).bit_length()
    return (1 << end) - (1 << start)


def _check(words: Sequence[str], heads: Sequence[int]) -> None:
    if len(words) != len(heads):
        raise HeadsError(f"expected a head for each of {len(words)} words, found {len(heads)} heads")
    for word, head in enumerate(heads, start=1):
        if not 0 <= head <= len(heads):
            raise HeadsError(
                f"word {word} ({excerpt(words[word - 1])}) has head {head}, expected a number from 0 (a root) "
                f"to {len(heads)}, the number of words"
            )
    reached = len(_top_down(_dependents(heads))) - 1
    if reached != len(heads):
        hanging = set(range(1, len(heads) + 1)) - set(_top_down(_dependents(heads)))
        word = min(hanging)
        raise HeadsError(
            f"word {word} ({excerpt(words[word - 1])}) reaches no root: its heads form a cycle. "
            "Each word must lead to a word with head 0."
        )


def _dependents(heads: Sequence[int]) -> list[list[int]]:
    """The dependents of each word in order, those of the root at 0."""
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        dependents[head].append(word)
    return dependents


def _top_down(dependents: list[list[int]]) -> list[int]:
    """The root and every word that hangs from it, heads before dependents."""
    order = [0]
    for word in order:  # grows while it is read
        order += dependents[word]
    return order


def _inorder(dependents: list[list[int]]) -> list[int]:
    """The words as their tree reads left to right: 1 to n if no arcs cross."""
    order: list[int] = []
    stack: list[tuple[int, bool]] = [(root, False) for root in reversed(dependents[0])]
    while stack:
        word, expanded = stack.pop()
        if expanded:
            order.append(word)
            continue
        before = [dependent for dependent in dependents[word] if dependent < word]
        after = [dependent for dependent in dependents[word] if dependent > word]
        stack.extend((dependent, False) for dependent in reversed(after))
        stack.append((word, True))
        stack.extend((dependent, False) for dependent in reversed(before))
    return order

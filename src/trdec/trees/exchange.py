"""Trees for other packages and from them: NLTK's trees, and spaCy's documents. Neither package is needed otherwise."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trdec.errors import TreeShapeError, UsageError, excerpt
from trdec.files import split_words
from trdec.trees.dependency import from_heads, to_heads
from trdec.trees.tree import Nonterminal, Terminal, Tree, fold, words

if TYPE_CHECKING:
    from nltk import Tree as NltkTree
    from spacy.tokens import Doc
    from spacy.vocab import Vocab


def to_nltk(tree: Nonterminal) -> NltkTree:
    """The tree as `nltk.Tree`, its words as strings."""
    package = _optional("nltk", "nltk")

    def node_of(node: Nonterminal, children: list[Any]) -> Any:
        return package.Tree(node.label, children)

    return fold(tree, lambda leaf: leaf.word, node_of)


def from_nltk(tree: NltkTree) -> Nonterminal:
    """The tree of an `nltk.Tree`; TreeShapeError if a leaf or label is no word, or a node is empty."""
    kind = _optional("nltk", "nltk").Tree
    if not isinstance(tree, kind):
        raise TreeShapeError(f"expected an nltk.Tree, found a {type(tree).__name__}.")
    # One entry per open node: the node, its children still to visit, those done.
    stack: list[tuple[Any, Any, list[Tree]]] = [(tree, iter(tree), [])]
    while True:
        node, remaining, done = stack[-1]
        for child in remaining:
            if isinstance(child, kind):
                stack.append((child, iter(child), []))
                break
            done.append(Terminal(_name(child)))
        else:
            stack.pop()
            label = _name(node.label())
            if not done:
                raise TreeShapeError(f"expected words below every node, found none below {excerpt(label)}.")
            if not stack:
                return Nonterminal(label, tuple(done))
            stack[-1][2].append(Nonterminal(label, tuple(done)))


def to_spacy(tree: Nonterminal, vocab: Vocab | None = None) -> Doc:
    """A dependency tree as a spaCy document of one sentence per root; each word is `dep` of its head, or `ROOT`.

    TreeShapeError for any other tree, since a document has no place for its nodes.
    """
    spacy = _optional("spacy", "parse")
    try:
        heads = to_heads(tree)
    except TreeShapeError as error:
        raise TreeShapeError(f"a spaCy document holds dependency trees only: {error}") from error
    # spaCy counts words from 0, and a root is its own head.
    own = [head - 1 if head else number for number, head in enumerate(heads)]
    document: Doc = import_module("spacy.tokens").Doc(
        spacy.blank("xx").vocab if vocab is None else vocab,
        words=words(tree),
        heads=own,
        deps=["dep" if head else "ROOT" for head in heads],
    )
    return document


def from_spacy(document: Doc) -> Nonterminal:
    """The dependency tree of a parsed spaCy document or span, its arcs lifted where they cross."""
    tokens = list(document)
    if not tokens:
        raise TreeShapeError("expected a document with words, found an empty one.")
    if len(tokens) > 1 and not document[:].doc.has_annotation("DEP"):
        raise TreeShapeError("expected a parsed document, found one without dependencies. Run a parser on it first.")
    first, last = tokens[0].i, tokens[-1].i
    heads = [
        token.head.i - first + 1 if token.head.i != token.i and first <= token.head.i <= last else 0 for token in tokens
    ]
    return from_heads([_name(token.text) for token in tokens], heads)


def _name(name: object) -> str:
    if not isinstance(name, str) or split_words(name) != [name]:
        raise TreeShapeError(f"expected words and labels without whitespace, found {excerpt(str(name))}.")
    return name


def _optional(package: str, extra: str) -> Any:
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise UsageError(
            f"the package {package} is not installed. Install it with: pip install 'trdec[{extra}]'"
        ) from error

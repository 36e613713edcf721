"""Builders and transforms by name: a row of a table, or a function from outside as `module:function`.

A builder from outside takes the words of a sentence (at least one) and returns a tree over them; a `Builder` takes a
random generator too. A transform from outside takes a tree and returns another over the same words. What they return is
checked.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random

from trdec.errors import MisalignedTreeError, TrdecError, TreeShapeError, UsageError
from trdec.extensions import load_extension, unknown_name
from trdec.files import split_words
from trdec.trees.builders import BUILDERS, Builder, from_words
from trdec.trees.transforms import TRANSFORMS, Transform, rooted
from trdec.trees.tree import Nonterminal, Terminal, Tree, preorder, words
from trdec.trees.treebank import misused_label


@cache
def builder_called(name: str) -> Builder:
    """The builder of this name."""
    if name in BUILDERS:
        return BUILDERS[name]
    if mistake := unknown_name(name, BUILDERS, "a kind of tree", "module:function"):
        raise UsageError(mistake)
    found = load_extension(name)
    if isinstance(found, Builder):
        return _checked(name, found)
    if not callable(found):
        raise UsageError(
            f"{name}: expected a function from words to a tree, or a Builder, found a {type(found).__name__}."
        )
    return _checked(name, from_words((found.__doc__ or name).strip(), found))


@cache
def transform_called(name: str) -> Transform:
    """The transform of this name."""
    if name in TRANSFORMS:
        return TRANSFORMS[name]
    if mistake := unknown_name(name, TRANSFORMS, "a transform", "module:function"):
        raise UsageError(mistake)
    found = load_extension(name)
    if not callable(found):
        raise UsageError(f"{name}: expected a function from tree to tree, found a {type(found).__name__}.")

    def transform(tree: Nonterminal) -> Nonterminal:
        with _own_code(name, words(tree)):
            changed = found(tree)
        check_tree(name, changed, words(tree))
        if not isinstance(changed, Nonterminal):
            raise TreeShapeError(f"{name}: expected a whole tree, found the word {changed.word!r}.")
        return rooted(changed)

    return transform


def _checked(name: str, builder: Builder) -> Builder:
    """The same builder, which refuses to give anything but a tree over its words."""

    def shape(sentence: Sequence[str], generator: Random) -> Tree:
        with _own_code(name, sentence):
            tree = builder.shape(list(sentence), generator)  # which it may change
        check_tree(name, tree, sentence)
        return tree

    return Builder(builder.description, shape, builder.is_random)


@contextlib.contextmanager
def _own_code(name: str, sentence: Sequence[str]) -> Iterator[None]:
    """Turns an error that code from outside raises into one that shows the sentence and the place in that code."""
    try:
        yield
    except TrdecError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise TreeShapeError(
            f"{name}: raised {type(error).__name__}: {error} for the sentence {' '.join(sentence)!r}\n"
            f"  {last.filename}, line {last.lineno}, in {last.name}: {last.line}"
        ) from error


def check_tree(name: str, tree: Tree, sentence: Sequence[str]) -> None:
    """Refuse what is no tree over the words of the sentence."""
    where = f"{name}: for the sentence {' '.join(sentence)!r} expected"
    for node in preorder(tree):
        if not isinstance(node, Terminal | Nonterminal):
            raise TreeShapeError(f"{where} a tree of Terminal and Nonterminal, found {node!r} in it.")
        if isinstance(node, Terminal):
            if not _is_text(node.word):
                raise TreeShapeError(f"{where} words of text, found {node.word!r}.")
            continue
        if not isinstance(node.children, tuple):
            raise TreeShapeError(f"{where} a tuple of children, found {node.children!r} below {node.label!r}.")
        if not _is_text(node.label):
            raise TreeShapeError(f"{where} labels of text, found {node.label!r}.")
        if not node.children:
            raise TreeShapeError(f"{where} words below every node, found none below {node.label!r}.")
        if split_words(node.label) != [node.label]:
            raise TreeShapeError(f"{where} labels without white space, found {node.label!r}.")
        if misused_label(node):
            raise TreeShapeError(
                f"{where} other labels than {node.label!r}, which is kept for preterminals and what else is open "
                "in a derivation. Rename the label."
            )
    if words(tree) != list(sentence):
        raise MisalignedTreeError(f"{where} a tree over its words, found one over {' '.join(words(tree))!r}.")


def _is_text(value: object) -> bool:
    """Whether this is a string that a file can hold: without half of a surrogate pair."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)

"""Builders by name: a row of the table, or a function of one's own, named as `module:function`.

A function of one's own takes the words of a sentence (at least one) and gives a tree over them; a `Builder` takes a
random generator too. Its module is looked for as Python does, and then in the current directory. Nothing is imported
until a tree is to be built, so a trained model can be used where the function is not.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from types import ModuleType

from trdec.errors import MisalignedTreeError, TreeShapeError, UsageError
from trdec.files import split_words
from trdec.trees.builders import BUILDERS, Builder, from_words
from trdec.trees.tree import Nonterminal, Terminal, Tree, preorder, words
from trdec.trees.treebank import misused_label

_OWN = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def is_own(name: str) -> bool:
    """Whether this is how a function of one's own is named."""
    return _OWN.fullmatch(name) is not None


@cache
def builder_called(name: str) -> Builder:
    """The builder of this name."""
    if name in BUILDERS:
        return BUILDERS[name]
    if not is_own(name):
        raise UsageError(
            f"expected a kind of tree, one of {', '.join(BUILDERS)}, or a function of your own as module:function; "
            f"found {name!r}."
        )
    module = _module(name)
    function = name.partition(":")[2]
    found = getattr(module, function, None)
    if found is None:
        close = difflib.get_close_matches(function, vars(module), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UsageError(f"{name}: the module {module.__file__} has no {function!r}.{hint}")
    if isinstance(found, Builder):
        return _checked(name, found)
    if not callable(found):
        raise UsageError(
            f"{name}: expected a function from words to a tree, or a Builder, found a {type(found).__name__}."
        )
    return _checked(name, from_words((found.__doc__ or name).strip(), found))


def own_file(name: str) -> Path | None:
    """The file that a function of one's own is written in, if it is in one."""
    file = _module(name).__file__
    return None if file is None else Path(file)


def _module(name: str) -> ModuleType:
    # The console script does not look where it was called; last in the list, the directory hides nothing installed.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return import_module(name.partition(":")[0])
    except (ImportError, SyntaxError) as error:
        raise UsageError(
            f"{name}: the module cannot be imported: {error}. It is looked for among what is installed and in the "
            f"current directory, {here}."
        ) from error


def _checked(name: str, builder: Builder) -> Builder:
    """The same builder, which refuses to give anything but a tree over its words."""

    def shape(sentence: Sequence[str], generator: Random) -> Tree:
        tree = builder.shape(sentence, generator)
        where = f"{name}: for the sentence {' '.join(sentence)!r} expected"
        for node in preorder(tree):
            if not isinstance(node, Terminal | Nonterminal):
                raise TreeShapeError(f"{where} a tree of Terminal and Nonterminal, found {node!r} in it.")
            if isinstance(node, Terminal):
                continue
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
        return tree

    return Builder(builder.description, shape)

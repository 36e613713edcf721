"""Builders of one's own: found by name, checked in what they give, and told plainly when they cannot be used."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

from support import strategies
from trdec.errors import MisalignedTreeError, TrdecError, TreeShapeError, UsageError
from trdec.extensions import extension_file, is_extension
from trdec.trees.builders import BUILDERS
from trdec.trees.by_name import builder_called, transform_called
from trdec.trees.transforms import TRANSFORMS
from trdec.trees.tree import Nonterminal, words

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Module = Callable[[str, str], Path]

IMPORTS = "from trdec.trees.builders import Builder\nfrom trdec.trees.tree import Nonterminal, Terminal\n"
PAIRS = f"""\
{IMPORTS}
SEVEN = 7

def pairs(words):
    "Words two by two."
    leaves = [Terminal(word) for word in words]
    return Nonterminal("ALL", tuple(Nonterminal("PAIR", tuple(leaves[i:i + 2])) for i in range(0, len(leaves), 2)))

def _shuffled(words, generator):
    cut = generator.randrange(len(words))
    leaves = tuple(Terminal(word) for word in words)
    return Nonterminal("CUT", (*leaves[:cut], Nonterminal("REST", leaves[cut:])))

shuffled = Builder("cut once, at random", _shuffled)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """Write a module into a directory that is the current one from then on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def write(name: str, text: str) -> Path:
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_function_in_the_current_directory_is_found(module: Module) -> None:
    path = module("own_pairs", PAIRS)
    builder = builder_called("own_pairs:pairs")
    assert not builder.is_random
    assert repr(builder(["a", "b", "c"], Random(1))) == "(ROOT (ALL (PAIR a b) (PAIR c)))"
    assert builder.description == "Words two by two."
    assert extension_file("own_pairs:pairs") == path


def test_a_builder_is_given_the_generator(module: Module) -> None:
    module("own_random", PAIRS)
    builder = builder_called("own_random:shuffled")
    assert builder.is_random
    sentence = [f"w{number}" for number in range(50)]
    assert builder(sentence, Random(3)) == builder(sentence, Random(3))
    assert len({builder(sentence, Random(seed)) for seed in range(9)}) > 1


@pytest.mark.parametrize("name", BUILDERS)
def test_the_table_comes_first(name: str) -> None:
    assert builder_called(name) is BUILDERS[name]


@given(strategies.sentences())
def test_every_builder_of_ones_own_keeps_the_words_under_root(sentence: list[str]) -> None:
    tree = builder_called("trdec.trees.builders:ternary")(sentence, Random(1))
    assert (tree.label, words(tree)) == ("ROOT", sentence)
    assert tree == BUILDERS["ternary"](sentence, Random(1))


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("a:b", True),
        ("package.module:function", True),
        ("binary-1", False),
        ("a.b", False),
        (":b", False),
        ("a:", False),
        ("a..b:c", False),
        ("a:b:c", False),
        ("a/b.py:c", False),
        ("1a:b", False),
    ],
)
def test_how_a_function_is_named(name: str, answer: bool) -> None:
    assert is_extension(name) is answer


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "binary-3",
            "expected a kind of tree, one of binary-1, .*, or your own as module:function; found",
        ),
        (
            "nowhere_at_all:pairs",
            "nowhere_at_all:pairs: the module cannot be imported: No module named 'nowhere_at_all'",
        ),
        ("own_broken:pairs", r"own_broken:pairs: the module cannot be imported: .*own_broken.py, line 1"),
        ("own_named:pears", r"own_named:pears: the module .*own_named.py has no 'pears'. Did you mean 'pairs'\?"),
        ("own_named:SEVEN", "own_named:SEVEN: expected a function from words to a tree, or a Builder, found a int"),
    ],
)
def test_a_builder_that_cannot_be_found_is_named(module: Module, name: str, message: str) -> None:
    module("own_named", PAIRS)
    module("own_broken", "def pairs(:\n")
    with pytest.raises(UsageError, match=message):
        builder_called(name)


def test_an_import_error_says_where_was_looked(module: Module, tmp_path: Path) -> None:
    module("unused", "")
    with pytest.raises(UsageError, match=f"in the current directory, {re.escape(str(tmp_path))}"):
        builder_called("nowhere_to_be_found:pairs")


@pytest.mark.parametrize(
    ("code", "facts"),
    [
        ("1 / 0", ["ZeroDivisionError: division by zero"]),
        ("import nowhere_at_all", ["No module named 'nowhere_at_all'"]),
        ("raise SystemExit('bye')", ["SystemExit: bye"]),
    ],
    ids=["zero", "import", "exit"],
)
def test_an_error_while_a_module_is_imported_is_shown_with_its_place(
    module: Module, request: pytest.FixtureRequest, code: str, facts: list[str]
) -> None:
    name = f"own_raising_{request.node.callspec.id}"
    path = module(name, f"SEVEN = 7\n{code}\n")
    with pytest.raises(UsageError) as caught:
        builder_called(f"{name}:pairs")
    for fact in (f"{name}:pairs", f"{path}, line 2", code, *facts):
        assert fact in str(caught.value)


def test_a_module_without_a_file_is_named(module: Module) -> None:
    module("unused", "")
    with pytest.raises(UsageError, match="sys:nothing: the module sys has no 'nothing'"):
        builder_called("sys:nothing")
    assert extension_file("sys:nothing") is None


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        ("lambda words: list(words)", TreeShapeError, r"a tree of Terminal and Nonterminal, found \['a', 'b'\]"),
        ("lambda words: Nonterminal('X', tuple(words))", TreeShapeError, "found 'a' in it"),
        ("lambda words: Nonterminal('X', ())", TreeShapeError, "words below every node, found none below 'X'"),
        ("lambda words: Nonterminal('X Y', (Terminal('a'),))", TreeShapeError, "without white space, found 'X Y'"),
        ("lambda words: Nonterminal('<end>', (Terminal('a'),))", TreeShapeError, "other labels than '<end>'"),
        ("lambda words: Nonterminal('X', (Terminal('b'),))", MisalignedTreeError, "over its words, found one over 'b'"),
        ("lambda words: Nonterminal('X', Terminal('a'))", TreeShapeError, "a tuple of children, found .* below 'X'"),
        ("lambda words: Nonterminal('X', map(Terminal, words))", TreeShapeError, "a tuple of children, found <map"),
        ("lambda words: Nonterminal(7, (Terminal('a'),))", TreeShapeError, "labels of text, found 7"),
        ("lambda words: Nonterminal('X', (Terminal(7),))", TreeShapeError, "words of text, found 7"),
        (r"lambda words: Nonterminal('\ud800', (Terminal('a'),))", TreeShapeError, r"labels of text, found '.ud800'"),
        (
            "lambda words: words.sort(reverse=True) or Nonterminal('X', tuple(map(Terminal, words)))",
            MisalignedTreeError,
            "over its words, found one over 'b a'",
        ),
        ("Builder('', lambda words, _: Terminal('b'))", MisalignedTreeError, "over its words, found one over 'b'"),
    ],
)
def test_what_is_no_tree_over_its_words_is_refused(
    module: Module, request: pytest.FixtureRequest, function: str, error: type[TrdecError], message: str
) -> None:
    name = "own_" + re.sub(r"\W", "_", request.node.name)
    module(name, f"{IMPORTS}wrong = {function}\n")
    with pytest.raises(error, match=rf"{name}:wrong: for the sentence 'a b' expected .*{message}"):
        builder_called(f"{name}:wrong")(["a", "b"], Random(1))


def test_a_builder_may_use_up_its_words(module: Module) -> None:
    module(
        "own_eater",
        f"{IMPORTS}def eat(words): return Nonterminal('X', (Terminal(words.pop(0)), *map(Terminal, words)))\n",
    )
    assert repr(builder_called("own_eater:eat")(("a", "b"), Random(1))) == "(ROOT (X a b))"


def test_a_transform_is_checked(module: Module) -> None:
    module(
        "own_transforms",
        f"{IMPORTS}"
        "def same(tree): return tree\n"
        "def cut(tree): return Nonterminal(tree.label, tree.children[:1])\n"
        "def leaf(tree): return tree.children[0]\n"
        "def top(tree): return Nonterminal('X', tree.children)\n",
    )
    tree = BUILDERS["flat"](["a", "b"], Random(1))
    assert transform_called("own_transforms:same")(tree) == tree
    assert repr(transform_called("own_transforms:top")(tree)) == "(ROOT (X a b))"
    assert transform_called("null-labels") is TRANSFORMS["null-labels"]
    with pytest.raises(MisalignedTreeError, match=r"own_transforms:cut: for the sentence 'a b' expected .* over 'a'"):
        transform_called("own_transforms:cut")(tree)
    with pytest.raises(TreeShapeError, match="own_transforms:leaf: expected a whole tree, found the word 'a'"):
        transform_called("own_transforms:leaf")(BUILDERS["flat"](["a"], Random(1)))
    with pytest.raises(UsageError, match=r"expected a transform, .*found 'null-label'. Did you mean 'null-labels'\?"):
        transform_called("null-label")


def test_a_pre_node_over_words_is_welcome(module: Module) -> None:
    module(
        "own_pre",
        "from trdec.trees.tree import *\nown = lambda words: Nonterminal('pre', tuple(map(Terminal, words)))\n",
    )
    assert isinstance(builder_called("own_pre:own")(["a"], Random(1)), Nonterminal)


def test_the_command_line_builds_with_it(trdec: Run, tmp_path: Path) -> None:
    (tmp_path / "own_command.py").write_text(PAIRS, encoding="utf-8")
    result = trdec("trees", "build", "own_command:pairs", stdin="a b c\n", cwd=tmp_path)
    assert result.stdout == "(ROOT (ALL (PAIR a b) (PAIR c)))\n"
    result = trdec("trees", "build", "own_command:pears", stdin="a b c\n", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.startswith("UsageError: own_command:pears: the module ")


def test_a_function_that_raises_is_shown_with_the_sentence_and_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    code = "def grow(words):\n    return deeper(words)\n\ndef deeper(words):\n    {}[1]\n"
    (tmp_path / "raising_trees.py").write_text(code)
    for use in (
        lambda: builder_called("raising_trees:grow")(["a", "cat"], Random(1)),
        lambda: transform_called("raising_trees:grow")(BUILDERS["flat"](["a", "cat"], Random(1))),
    ):
        with pytest.raises(TreeShapeError) as caught:
            use()
        first, second = str(caught.value).splitlines()
        assert "raising_trees:grow" in first
        assert "KeyError: 1" in first
        assert "'a cat'" in first
        assert "raising_trees.py, line 5, in deeper: {}[1]" in second

"""Figures that are known of the paper's Oromo-English corpus, and of the failures real parsers leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from trdec.configuration import load_configuration
from trdec.files import read_lines, split_words
from trdec.systems import SYSTEMS
from trdec.targets.derivation import DerivationTarget
from trdec.trees import treebank
from trdec.trees.builders import BUILDERS
from trdec.trees.grammar import Grammar, coverage
from trdec.trees.transforms import bare_leaves, null_labels, strip_tags, wrap_words
from trdec.trees.tree import Nonterminal

pytestmark = pytest.mark.corpus
Transform = Callable[[Nonterminal], Nonterminal]


def _parsed(path: Path, kind: str, *transforms: Transform) -> Iterator[Nonterminal]:
    for tree in treebank.good_trees(treebank.read(kind, path)):
        for transform in transforms:
            tree = transform(tree)
        yield tree


def _built(path: Path, kind: str, *transforms: Transform) -> Iterator[Nonterminal]:
    for line in read_lines(path):
        tree = BUILDERS[kind](split_words(line.text), Random(1))
        for transform in transforms:
            tree = transform(tree)
        yield tree


def _mean_actions(trees: Iterator[Nonterminal]) -> float:
    lengths = [len(DerivationTarget.linearise(tree)) for tree in trees]
    return sum(lengths) / len(lengths)


@pytest.mark.parametrize(
    ("file", "kind", "transforms", "rules"),
    [
        ("train.eng.con", "penn", (strip_tags,), 2723),
        ("train.eng.con", "penn", (strip_tags, null_labels), 168),
        ("train.eng.conllu", "conllu", (), 132),
        # The released code counts 1,195: these and one dead rule for the unknown.
        ("train.eng.conllu", "conllu", (bare_leaves,), 1194),
    ],
)
def test_grammars_of_oromo_english(
    corpora: Path, file: str, kind: str, transforms: tuple[Transform, ...], rules: int
) -> None:
    assert len(Grammar.from_trees(_parsed(corpora / "or-en" / file, kind, *transforms))) == rules


def test_mean_actions_of_oromo_english(corpora: Path) -> None:
    folder = corpora / "or-en"
    text = folder / "train.eng"
    assert round(_mean_actions(_parsed(folder / "train.eng.con", "penn", strip_tags)), 1) == 70.6
    assert round(_mean_actions(_parsed(folder / "train.eng.conllu", "conllu")), 1) == 78.5
    binary = [_mean_actions(_built(text, kind)) for kind in ("binary-1", "binary-2")]
    assert round(sum(binary) / 2, 1) == 65.9
    for kind in ("binary-1", "binary-2"):
        assert round(_mean_actions(_built(text, kind, wrap_words)), 1) == 102.9


def test_87_of_358_dev_trees_need_a_rule_that_training_never_saw(corpora: Path) -> None:
    folder = corpora / "or-en"
    grammar = Grammar.from_trees(_parsed(folder / "train.eng.con", "penn", strip_tags))
    found = coverage(grammar, _parsed(folder / "dev.eng.con", "penn", strip_tags))
    assert (found.trees, found.uncovered) == (358, 87)


def test_three_lines_of_supertags_do_not_fit_their_words(corpora: Path) -> None:
    folder = corpora / "or-en"
    entries = list(treebank.read("ccg", folder / "train.eng.ccg", folder / "train.eng"))
    assert [entry.place.line for entry in entries if entry.error] == [12, 4373, 6174]
    assert len(entries) == 6450


def test_a_parser_gave_up_on_six_sentences(corpora: Path) -> None:
    folder = corpora / "kftt20k"
    entries = list(treebank.read("penn", folder / "dev.en.con", folder / "dev.en"))
    assert len(entries) == 1166
    assert sum(entry.tree is None and entry.error is None for entry in entries) == 6
    assert not any(entry.error for entry in entries)


def test_some_real_dependency_trees_have_crossing_arcs_or_several_roots(corpora: Path) -> None:
    entries = list(treebank.read("conllu", corpora / "kftt20k" / "train.en.conllu"))
    assert sum(not entry.was_projective for entry in entries) == 111
    assert sum(len(entry.tree.children) > 1 for entry in entries if entry.tree) >= 956


@pytest.mark.parametrize(("name", "folder"), [("or-en", "or-en"), ("de-en", "multi30k"), ("ja-en", "kftt20k")])
def test_recipes_name_files_that_are_there(corpora: Path, name: str, folder: str) -> None:
    recipe = Path(__file__).parent.parent.parent / "configs" / f"{name}.yaml"
    data = load_configuration(recipe, [f"folder={corpora / folder}"]).located_data
    values = [value for corpus in (data.train, data.dev) for value in corpus.model_dump().values()]
    files = [value for value in values if isinstance(value, Path)]
    files += [side.model for side in (data.source_subwords, data.target_subwords) if side.model is not None]
    assert len(files) >= 8
    assert [path for path in files if not path.is_file()] == []


def test_every_system_has_a_row_and_each_row_a_target() -> None:
    assert list(SYSTEMS) == [
        "seq2seq", "ccg", "ccg-null", "lin", "trdec-con", "trdec-con-null", "trdec-dep", "trdec-binary",
    ]  # fmt: skip

"""An epoch has each sentence in every kind of tree, or in one that is drawn; random trees are drawn anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from support.toy_corpora import changed_system, configuration
from trdec.configuration.sections import BatchConfiguration, DataConfiguration
from trdec.data.batch import Batcher
from trdec.data.drawn_trees import DrawnTrees
from trdec.data.prepare import Preparation, prepare
from trdec.systems import System
from trdec.trees import by_name
from trdec.trees.builders import Builder
from trdec.trees.tree import Nonterminal, Terminal, Tree, words

DRAWN = BatchConfiguration(trees="drawn")


@pytest.fixture(scope="module")
def binary(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Preparation:
    """Each sentence in two trees, the second of them random."""
    system = changed_system("trdec-binary", trees=["binary-1", "random-binary"])
    return prepare(configuration(toy), system, tmp_path_factory.mktemp("drawn"))


def test_every_epoch_has_each_sentence_once_in_one_of_its_trees(binary: Preparation) -> None:
    train, batcher = binary.train, Batcher(binary.train, binary.codec.table.steps, DRAWN, seed=1)
    kinds = []
    for epoch in range(4):
        examples = np.concatenate(batcher.plan(epoch))
        assert sorted(train.sentences[examples]) == list(range(600))
        kinds.append({int(train.sentences[n]): int(train.treebanks[n]) for n in examples})
        assert 240 < sum(kinds[-1].values()) < 360  # of 600 draws from two kinds
    assert kinds[0] != kinds[1]
    again = np.concatenate(Batcher(binary.train, binary.codec.table.steps, DRAWN, seed=1).plan(2))
    assert (again == np.concatenate(batcher.plan(2))).all()


def test_a_pair_of_weight_two_is_drawn_twice(binary: Preparation) -> None:
    weights = np.where(binary.train.sentences < 300, 2.0, 1.0)
    examples = np.concatenate(Batcher(binary.train, binary.codec.table.steps, DRAWN, 1, None, weights).plan(0))
    assert Counter(Counter(binary.train.sentences[examples].tolist()).values()) == {1: 300, 2: 300}
    kinds: dict[int, set[int]] = {}
    for example in examples:
        kinds.setdefault(int(binary.train.sentences[example]), set()).add(int(binary.train.treebanks[example]))
    doubled = [sentence for sentence, found in kinds.items() if len(found) > 1]
    assert 100 < len(doubled) < 200  # the two draws of a sentence differ in half of the sentences


def test_random_trees_are_other_trees_of_the_same_words_in_each_epoch(binary: Preparation) -> None:
    codec, drawn = binary.codec, DrawnTrees(binary.codec, seed=1)
    changed = 0
    for number in range(0, 200, 2):
        fixed, random = binary.train[number], binary.train[number + 1]
        assert drawn(fixed, number, 0) is fixed
        first, second, again = (drawn(random, number + 1, epoch) for epoch in (0, 1, 0))
        assert (first.actions == again.actions).all()
        trees = [codec.decode(example.actions).tree for example in (random, first, second)]
        assert words(trees[0]) == words(trees[1]) == words(trees[2])
        assert codec.decode(first.actions).text == codec.decode(random.actions).text
        changed += trees[1] != trees[2]
    assert changed > 90


def test_raw_text_keeps_its_spaces(toy: Path, tmp_path: Path) -> None:
    data = configuration(toy, target_language="en")
    made = prepare(data, changed_system("trdec-binary", trees="random-binary"), tmp_path)
    drawn = DrawnTrees(made.codec, seed=1)
    lines = (toy / "train.en").read_text().splitlines()
    for number in range(50):
        assert made.codec.decode(drawn(made.train[number], number, 3).actions).text == lines[number]


def test_a_tree_that_needs_a_rule_of_no_other_is_not_drawn(tmp_path: Path) -> None:
    """The only sentence has three words, hence one of two shapes: the other shape needs a rule that was never seen."""
    for name, line in (("source", "ein haus steht"), ("target", "a house stands")):
        (tmp_path / name).write_text(f"{line}\n")
    corpus = {"source": tmp_path / "source", "target": tmp_path / "target"}
    sizes = {f"{side}_subwords": {"size": 20} for side in ("source", "target")}
    data = DataConfiguration.model_validate({"train": corpus, "dev": corpus, **sizes})
    made = prepare(data, changed_system("trdec-binary", trees="random-binary"), tmp_path / "model")
    drawn, example = DrawnTrees(made.codec, seed=1), made.train[0]
    for epoch in range(20):  # all of which would be lucky once in a million times
        assert (drawn(example, 0, epoch).actions == example.actions).all()


def test_a_tree_that_needs_a_label_of_no_other_is_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def labelled(sentence: Sequence[str], generator: Random) -> Tree:
        return Nonterminal(f"L{generator.randrange(10**9)}", tuple(map(Terminal, sentence)))

    for name, line in (("source", "ein haus steht"), ("target", "a house stands")):
        (tmp_path / name).write_text(f"{line}\n")
    corpus = {"source": tmp_path / "source", "target": tmp_path / "target"}
    sizes = {f"{side}_subwords": {"size": 20} for side in ("source", "target")}
    data = DataConfiguration.model_validate({"train": corpus, "dev": corpus, **sizes})
    monkeypatch.setitem(by_name.BUILDERS, "random-binary", Builder("labels", labelled))
    by_name.builder_called.cache_clear()
    for target in ("lin", "derivation"):
        system = System.model_validate({"trees": ["random-binary"], "target": target})
        made = prepare(data, system, tmp_path / target)
        assert (DrawnTrees(made.codec, seed=1)(made.train[0], 0, 5).actions == made.train[0].actions).all()
    monkeypatch.undo()
    by_name.builder_called.cache_clear()

"""The laws once more, on the first trees of each file of the real corpora."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from trdec.files import read_lines, split_words
from trdec.systems import ANNOTATIONS, SYSTEMS, System
from trdec.targets.derivation import DerivationTarget
from trdec.targets.target import replay
from trdec.text import Subwords
from trdec.trees import brackets, preterminals, treebank
from trdec.trees.builders import BUILDERS
from trdec.trees.dependency import to_heads
from trdec.trees.transforms import binarise, desegment, limit_depth, segment, unbinarise
from trdec.trees.tree import Nonterminal, depth, words

pytestmark = pytest.mark.corpus

FILES = [
    (corpus, split, language)
    for corpus, language in (("or-en", "eng"), ("multi30k", "en"), ("kftt20k", "en"))
    for split in ("train", "dev")
]
SENTENCES = 1200
"""More than any dev set has."""

ENDINGS = {"penn": "con", "conllu": "conllu", "ccg": "ccg"}


def _trees(text: Path, kind: str) -> Iterator[Nonterminal]:
    """The trees of one kind, of a file's first sentences."""
    if kind in ANNOTATIONS:
        file_format = ANNOTATIONS[kind]
        entries = treebank.read(file_format, text.with_name(f"{text.name}.{ENDINGS[file_format]}"), text)
        yield from (entry.tree for entry in islice(entries, SENTENCES) if entry.tree is not None)
    else:
        for line in islice(read_lines(text), SENTENCES):
            yield BUILDERS[kind](split_words(line.text), Random(1))


def _treebanks(system: System, text: Path) -> Iterator[list[Nonterminal]]:
    for kind in system.trees:
        ending = ENDINGS.get(ANNOTATIONS.get(kind, ""))
        if ending and not text.with_name(f"{text.name}.{ending}").exists():
            pytest.skip(f"{text.parent.name} has no {kind}")
        yield [system.transform(tree) for tree in _trees(text, kind)]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(("corpus", "split", "language"), FILES)
def test_targets_read_back_what_they_write_and_gold_is_legal(
    corpora: Path, corpus: str, split: str, language: str, name: str
) -> None:
    system = SYSTEMS[name]
    for trees in _treebanks(system, corpora / corpus / f"{split}.{language}"):
        target = system.target_class.from_trees(trees, sorted({word for tree in trees for word in words(tree)}))
        legal = {symbol: set(target.legal(symbol)) for symbol in target.symbols}
        for tree in trees:
            actions = target.linearise(tree)
            assert target.read(actions) == tree
            for step in replay(target, actions):
                assert step.action in legal[step.symbol]


@pytest.mark.parametrize("kind", ["constituency", "dependency"])
@pytest.mark.parametrize(("corpus", "split", "language"), FILES)
def test_transforms_have_their_inverses(corpora: Path, corpus: str, split: str, language: str, kind: str) -> None:
    for tree in _trees(corpora / corpus / f"{split}.{language}", kind):
        assert brackets.parse(brackets.write(tree)) == tree
        assert preterminals.remove(preterminals.insert(tree)) == tree
        assert unbinarise(binarise(tree)) == tree
        assert depth(limit_depth(tree, 3)) == min(3, depth(tree))


@pytest.mark.parametrize(("corpus", "split", "language"), FILES)
def test_heads_come_back_from_real_dependency_trees(corpora: Path, corpus: str, split: str, language: str) -> None:
    path = corpora / corpus / f"{split}.{language}.conllu"
    heads: list[list[int]] = [[]]
    for line in read_lines(path):
        if line.text:
            heads[-1].append(int(line.text.split("\t")[6]))
        elif heads[-1]:
            heads.append([])
    sentences = [sentence for sentence in heads if sentence]
    entries = list(treebank.read("conllu", path))
    assert len(entries) == len(sentences)
    for entry, expected in zip(entries, sentences, strict=True):
        assert entry.tree is not None
        assert (to_heads(entry.tree) == expected) == entry.was_projective


def test_subwords_of_the_published_model_join_to_the_words_again(corpora: Path) -> None:
    subwords = Subwords.load(corpora / "or-en" / "eng.spm.model")
    for tree in _trees(corpora / "or-en" / "train.eng", "constituency"):
        segmented = segment(tree, subwords.split)
        assert desegment(segmented) == tree
        assert subwords.join(words(segmented)) == " ".join(words(tree))
        # Word by word or all at once, the pieces are the same.
        assert words(segmented) == subwords.split_text(" ".join(words(tree)))


def test_derivations_of_segmented_trees_read_back(corpora: Path) -> None:
    subwords = Subwords.load(corpora / "or-en" / "eng.spm.model")
    trees = [segment(tree, subwords.split) for tree in _trees(corpora / "or-en" / "dev.eng", "binary-1")]
    target = DerivationTarget.from_trees(trees, subwords.pieces)
    for tree in trees:
        assert target.read(target.linearise(tree)) == tree

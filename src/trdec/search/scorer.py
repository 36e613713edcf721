"""Given translations scored by a model: with their trees, or with the best of those that can be built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trdec.data.codec import Codec
from trdec.data.configuration import CorpusConfiguration
from trdec.data.corpus import Corpus
from trdec.data.reader import NOTHING, Reader
from trdec.data.report import LeftOut
from trdec.errors import MisalignedTreeError, TextFormatError, TrdecError, UsageError
from trdec.model.translation_model import TranslationModel
from trdec.search.forced import Forced, force
from trdec.systems import ANNOTATIONS
from trdec.trees import brackets, treebank
from trdec.trees.tree import Nonterminal

Steps = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A source sentence with the trees its translation may have, or why there is none."""

    source: list[str]
    trees: tuple[Nonterminal, ...]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """The most probable derivation of a translation, or why the model cannot write it."""

    forced: Forced | None
    tree: Nonterminal | None = None
    problem: str | None = None

    @property
    def brackets(self) -> str | None:
        """The tree on one line."""
        return None if self.tree is None else brackets.write(self.tree)


class Scorer:
    """Scores translations; a model that is not being trained is shared safely between threads."""

    def __init__(self, model: TranslationModel[Any], codec: Codec) -> None:
        self._model = model
        self._codec = codec

    def pairs(
        self, source: Path, target: Path, trees: Path | None = None, annotation: Path | None = None
    ) -> Iterator[Candidate]:
        """The lines of the files, with the trees given as they are, read from parses, or built."""
        codec = self._codec
        needed = [t.kind for t in codec.treebanks if t.kind in ANNOTATIONS] if trees is None else []
        if needed and annotation is None:
            raise UsageError(
                f"this model writes {needed[0]} trees, which cannot be built from the words. Give their parses with "
                "--annotation, or trees as `trdec translate --trees` writes them with --trees."
            )
        if annotation is not None and not needed:
            raise UsageError("this model builds its trees from the words: leave --annotation out.")
        files = CorpusConfiguration(source=source, target=target, **dict.fromkeys(needed, annotation))
        corpus = Corpus("score", files, codec.treebanks if trees is None else ())
        reader = Reader(corpus, codec.treebanks, codec.source_side, codec.target_side, NOTHING)
        given = None if trees is None else treebank.read("brackets", trees)
        for pair, entry in zip_longest(corpus.pairs(), given or ()):
            if given is not None and (pair is None or entry is None):
                raise TextFormatError(f"{trees} does not have as many trees as {target} has lines.")
            words = reader.words(pair)
            if isinstance(words, LeftOut):
                yield Candidate([], (), words.message)
            elif given is not None:
                yield _given(words.source, words.target, entry)
            else:
                read = list(reader.trees(pair, words.target))
                found = tuple(item.tree for item in read if not isinstance(item, LeftOut) and item.tree is not None)
                reasons = [item.message for item in read if isinstance(item, LeftOut)]
                yield Candidate(words.source, found, None if found else reasons[0])

    def score(self, candidates: Sequence[Candidate]) -> list[Scored]:
        """The most probable tree of each candidate."""
        pairs: list[tuple[Steps, Steps]] = []
        owners: list[tuple[int, Nonterminal]] = []
        problems: dict[int, str] = {}
        for number, candidate in enumerate(candidates):
            if candidate.problem is not None:
                problems[number] = candidate.problem
            for tree in candidate.trees:
                try:
                    steps = self._codec.encode_target(tree)
                except TrdecError as error:
                    problems[number] = str(error)
                    continue
                pairs.append((self._codec.encode_source_words(candidate.source), steps))
                owners.append((number, tree))
        best: dict[int, Scored] = {}
        for (number, tree), forced in zip(owners, force(self._model, self._codec, pairs), strict=True):
            before = best.get(number)
            if before is None or before.forced is None or forced.log_prob > before.forced.log_prob:
                best[number] = Scored(forced, tree)
        return [
            best.get(number) or Scored(None, None, problems.get(number, "there is no tree"))
            for number in range(len(candidates))
        ]


def _given(source: list[str], target: list[str], entry: Any) -> Candidate:
    if entry.error is not None:
        return Candidate(source, (), str(entry.error))
    if entry.tree is None:
        return Candidate(source, (), f"{entry.place}: there is no tree.")
    try:
        return Candidate(source, (treebank.respell(entry.tree, target),))
    except MisalignedTreeError as error:
        return Candidate(source, (), f"{entry.place}: {error}")

"""Forced decoding: the log-probabilities of given derivations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from trdec.configuration.sections import CorpusConfiguration
from trdec.data.batch import collate
from trdec.data.codec import Codec
from trdec.data.corpus import NO_FILTERS, Corpus, RawPair, Reader, Words
from trdec.data.report import LeftOut
from trdec.data.store import Example
from trdec.errors import MisalignedTreeError, TextFormatError, TrdecError, UsageError
from trdec.model.translation_model import TranslationModel
from trdec.systems import ANNOTATIONS
from trdec.translation.source import cleaned, source_parses
from trdec.trees import brackets, treebank
from trdec.trees.tree import Nonterminal

PLACES_AT_ONCE = 6000
"""The most source places and steps in a batch."""


class ScoredAction(NamedTuple):
    """One action of the derivation: what it wrote, its kind, its log-probability."""

    text: str
    kind: str
    log_prob: float


@dataclass(frozen=True, slots=True)
class Forced:
    """A given derivation with the log-probability of each of its actions."""

    actions: tuple[ScoredAction, ...]

    @property
    def log_prob(self) -> float:
        """The log-probability of the whole derivation."""
        return math.fsum(action.log_prob for action in self.actions)

    def by_kind(self) -> dict[str, tuple[int, float]]:
        """For each kind of action, how many there are and their summed log-probability."""
        kinds = dict.fromkeys(action.kind for action in self.actions)
        chosen = {kind: [a.log_prob for a in self.actions if a.kind == kind] for kind in kinds}
        return {kind: (len(log_probs), math.fsum(log_probs)) for kind, log_probs in chosen.items()}


@torch.inference_mode()
def force(
    model: TranslationModel,
    codec: Codec,
    pairs: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]],  # source S, actions T
) -> list[Forced]:
    """Each derivation as the model scores it, in the order given."""
    # Longest first, as `collate` orders a batch too, so rows keep the places they have here.
    order = sorted(range(len(pairs)), key=lambda number: -len(pairs[number][1]))
    found: dict[int, Forced] = {}
    device = next(model.parameters()).device
    for numbers in batches_of(order, pairs):
        batch = collate([Example(*pairs[number], number, 0) for number in numbers], codec.table.steps)
        log_probs = model.log_probs(batch.to(device)).tolist()
        for number, row in zip(numbers, log_probs, strict=True):
            actions = pairs[number][1].tolist()
            found[number] = Forced(
                tuple(
                    ScoredAction(str(codec.table.actions[action]), codec.table.kinds[action], log_prob)
                    for action, log_prob in zip(actions, row[: len(actions)], strict=True)
                )
            )
    return [found[number] for number in range(len(pairs))]


def batches_of(order: Sequence[int], pairs: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]]) -> list[list[int]]:
    """The numbers of the pairs in each batch, in this order: at most `PLACES_AT_ONCE` places, or one longer pair."""
    batches: list[list[int]] = []
    filled = PLACES_AT_ONCE
    for number in order:
        size = len(pairs[number][0]) + len(pairs[number][1])
        if filled + size > PLACES_AT_ONCE:
            batches.append([])
            filled = 0
        batches[-1].append(number)
        filled += size
    return batches


@dataclass(frozen=True, slots=True)
class Candidate:
    """A source sentence with the trees its translation may have, or the reason why there are none."""

    source: NDArray[np.int32]  # S, or with trees S 3
    trees: tuple[Nonterminal, ...]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """The most probable derivation of a translation, or the reason why the model cannot write it."""

    forced: Forced | None
    tree: Nonterminal | None = None
    problem: str | None = None

    @property
    def brackets(self) -> str | None:
        """The tree on one line."""
        return None if self.tree is None else brackets.write(self.tree)


class Scorer:
    """Scores given translations. Threads may share it while the model is not being trained."""

    def __init__(self, model: TranslationModel, codec: Codec) -> None:
        self._model = model
        self._codec = codec

    def pairs(
        self,
        source: Path,
        target: Path,
        trees: Path | None = None,
        annotation: Path | None = None,
        source_trees: Path | None = None,
    ) -> Iterator[Candidate]:
        """The lines of the files, with trees that are given, read from parses, or built from the words.

        `annotation` has the parses of the target, `source_trees` those of the source.
        """
        codec = self._codec
        needed = [kind for kind in codec.system.trees if kind in ANNOTATIONS] if trees is None else []
        if needed and annotation is None:
            raise UsageError(
                f"this model writes {needed[0]} trees, which cannot be built from the words. Give their parses as "
                "`annotation`, or bracketed trees as `trees`."
            )
        if annotation is not None and not needed:
            raise UsageError("this model builds its trees from the words. Leave `annotation` out.")
        files = {"source": source, "target": target, **dict.fromkeys(needed, annotation)}
        files |= source_parses(codec.system, source_trees)
        kinds = codec.system.trees if trees is None else ()
        corpus = Corpus("score", CorpusConfiguration.model_validate(files), kinds, codec.system.source_trees)
        reader = Reader(corpus, codec.system, codec.source_side, codec.target_side, NO_FILTERS)
        given = None if trees is None else treebank.read("brackets", trees)
        for pair, entry in zip_longest(corpus.pairs(), given or ()):
            if given is not None and (pair is None or entry is None):
                raise TextFormatError(f"{trees} does not have as many trees as {target} has lines.")
            pair = replace(pair, source=cleaned(pair.source))  # as it is translated
            words = reader.words(pair)
            tree = words if isinstance(words, LeftOut) else reader.source_tree(pair, words.source)
            if isinstance(words, LeftOut) or isinstance(tree, LeftOut):
                problem = words if isinstance(words, LeftOut) else tree
                assert isinstance(problem, LeftOut)
                yield Candidate(np.zeros(0, dtype=np.int32), (), problem.message)
                continue
            encoded = codec.encode_source_words(words.source, tree)
            if given is not None:
                yield _given(reader, pair, words, entry, encoded)
            else:
                read = list(reader.trees(pair, words.target))
                found = tuple(item.tree for item in read if not isinstance(item, LeftOut) and item.tree is not None)
                reasons = [item.message for item in read if isinstance(item, LeftOut)]
                yield Candidate(encoded, found, None if found else reasons[0])

    def score(self, candidates: Sequence[Candidate]) -> list[Scored]:
        """Each candidate with its most probable tree."""
        pairs: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        owners: list[tuple[int, Nonterminal]] = []
        problems: dict[int, str] = {}
        for number, candidate in enumerate(candidates):
            if candidate.problem is not None:
                problems[number] = candidate.problem
            for tree in candidate.trees:
                try:
                    actions = self._codec.encode_target(tree)
                except TrdecError as error:
                    problems[number] = str(error)
                    continue
                if self._codec.unknown_action in actions:
                    problems[number] = "it has characters that the model cannot write."
                    continue
                pairs.append((candidate.source, actions))
                owners.append((number, tree))
        best: dict[int, Scored] = {}
        for (number, tree), forced in zip(owners, force(self._model, self._codec, pairs), strict=True):
            before = best.get(number)
            if before is None or before.forced is None or forced.log_prob > before.forced.log_prob:
                best[number] = Scored(forced, self._codec.plain(tree))
        return [
            best.get(number) or Scored(None, None, problems.get(number, "there is no tree"))
            for number in range(len(candidates))
        ]


def _given(reader: Reader, pair: RawPair, found: Words, entry: Any, source: NDArray[np.int32]) -> Candidate:
    if entry.error is not None:
        return Candidate(source, (), str(entry.error))
    if entry.tree is None:
        return Candidate(source, (), f"{entry.place}: there is no tree.")
    try:
        return Candidate(source, (reader.target_trees.over_words(entry, pair.target, found.target),))
    except MisalignedTreeError as error:
        return Candidate(source, (), f"{entry.place}: {error}")

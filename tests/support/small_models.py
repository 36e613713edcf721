"""Tiny targets, and small random networks of all systems, encoders and decoders over the toy language."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import cycle
from pathlib import Path
from typing import Any

import torch

from trdec.configuration.sections import (
    CorpusConfiguration,
    DataConfiguration,
    ModelConfiguration,
    SubwordConfiguration,
    TransformerConfiguration,
)
from trdec.corpora.toy.generate import write_corpus
from trdec.data.batch import SourceBatch
from trdec.data.codec import Codec
from trdec.data.prepare import Preparation, prepare
from trdec.data.store import Prepared
from trdec.model.interfaces import SearchModel
from trdec.model.translation_model import DECODERS, ENCODERS, TranslationModel
from trdec.search.frontiers import Effects
from trdec.search.tabular import TabularModel
from trdec.systems import SYSTEMS, TREE_ENCODER_NAMES, System, system_name
from trdec.targets.actions import Action, EmitWord
from trdec.targets.derivation import DerivationTarget
from trdec.targets.sequence import CcgTarget, LinTarget, Seq2SeqTarget
from trdec.targets.target import ActionTable, Target
from trdec.tokenisers import SPACES, WORD_START
from trdec.trees.grammar import Grammar, Rule

torch.set_num_threads(1)  # small products are slower on several

RULES = ("ROOT -> S", "ROOT -> pre", "S -> NP S", "S -> pre NP", "S -> NP pre NP", "NP -> pre", "NP -> pre S pre")

TARGETS: dict[str, Target[Any]] = {
    "derivation": DerivationTarget(Grammar({Rule.parse(rule): 1 for rule in RULES}), ["a", "b"]),
    "seq2seq": Seq2SeqTarget((), ["a", "b", "c"]),
    "ccg": CcgTarget(["N", "N/N"], ["a", "b"]),
    "lin": LinTarget(["(S", ")S"], ["a", "b"]),
}


UNSEEN = [name for name in DECODERS if not any(row.decoder == name for row in SYSTEMS.values())]

ROWS: dict[str, System] = SYSTEMS | {
    f"{encoder} and {decoder}": System.model_validate(
        SYSTEMS["trdec-con"].model_dump() | {"encoder": encoder, "decoder": decoder}
    )
    for encoder, decoder in zip(cycle(name for name in reversed(ENCODERS) if name not in TREE_ENCODER_NAMES), UNSEEN)
}
"""The paper's systems, and rows that write derivations with every other registered decoder and encoder."""

ROWS["source brackets"] = System(trees=("binary-2",), source_trees="right-branching")
ROWS |= {
    f"source trees for {encoder}": System(trees=("binary-2",), source_trees="ternary", encoder=encoder)
    for encoder in TREE_ENCODER_NAMES
}
"""A tree of the source as a sequence, and as a tree for every encoder that reads trees."""

SMALL = ModelConfiguration(
    embedding_size=8, hidden_size=7, transformer=TransformerConfiguration(layers=2, heads=2, feed_forward=6)
)
"""Sizes that are quick, fit every encoder and decoder, and differ from each other."""


def may_follow(table: ActionTable, history: Sequence[int], action: Action) -> bool:
    """Whether the action leaves no word without letters: after the mark of a space alone, letters come."""
    if not history or str(table.actions[history[-1]]) != WORD_START:
        return True
    return isinstance(action, EmitWord) and action.word[0] not in WORD_START + SPACES


@dataclass(frozen=True)
class Tiny:
    """A tiny target with a model that is a table of random numbers."""

    target: Target[Any]
    table: ActionTable
    effects: Effects
    model: TabularModel

    @classmethod
    def of(cls, name: str, seed: int = 0, spread: float = 4.0) -> Tiny:
        target = TARGETS[name]
        table = ActionTable(target)
        return cls(target, table, Effects.of(target, table), TabularModel(table, seed, spread))

    def derivations(self, source: tuple[int, ...], most: int) -> Iterator[tuple[tuple[int, ...], float]]:
        """Every derivation of at most so many actions, with its log-probability, by the target's own states."""
        stack: list[tuple[tuple[int, ...], float, Any]] = [((), 0.0, self.target.start())]
        while stack:
            history, total, state = stack.pop()
            if state.finished:
                yield history, total
                continue
            if len(history) == most:
                continue
            symbol = self.table.symbol_number(state.symbol)
            log_probs = self.model.log_probs(source, history, symbol, state.parent)
            for action in self.target.legal(state.symbol):
                number = self.table.number(action)
                if not may_follow(self.table, history, action):
                    continue
                after = self.target.advance(state, action)
                stack.append(((*history, number), total + float(log_probs[number]), after))


def toy_data(folder: Path, sentences: int = 120) -> DataConfiguration:
    """A toy corpus, written into the folder, with few subwords."""
    write_corpus(folder, sentences, seed=1)

    def files(split: str) -> CorpusConfiguration:
        return CorpusConfiguration(
            source=folder / f"{split}.vel",
            target=folder / f"{split}.en",
            constituency=folder / f"{split}.en.con",
            dependency=folder / f"{split}.en.conllu",
            supertags=folder / f"{split}.en.ccg",
        )

    small = SubwordConfiguration(size=90)
    return DataConfiguration(train=files("train"), dev=files("dev"), source_subwords=small, target_subwords=small)


@dataclass(frozen=True)
class Small:
    """A small random network of one of the systems, with what search needs besides."""

    codec: Codec
    model: TranslationModel
    effects: Effects
    lines: list[str]

    @cached_property
    def searching(self) -> SearchModel:
        """The network as a translator searches with it."""
        return self.model.for_search()

    def sources(self, numbers: list[int]) -> SourceBatch:
        """These dev sentences side by side."""
        return SourceBatch.of([self.codec.encode_source(self.lines[number]) for number in numbers])


@cache
def _toy() -> tuple[tempfile.TemporaryDirectory[str], DataConfiguration]:
    folder = tempfile.TemporaryDirectory()
    return folder, toy_data(Path(folder.name) / "toy")


@cache
def _prepared(system: System) -> Preparation:
    folder, data = _toy()
    return prepare(data, system, Path(folder.name) / system_name(system).replace("/", "+"))


def _preparation(row: System) -> Preparation:
    """The toy corpus, as all systems with these trees and this target take it."""
    reading = {} if row.source_trees is None else {"encoder": row.encoder}
    given = row.model_dump(exclude={"encoder", "decoder"})
    return _prepared(System.model_validate(given | reading))


def small_dev(system: str) -> Prepared:
    """The examples of the dev corpus, as the small network of one of the rows takes them."""
    return _preparation(ROWS[system]).dev


@cache
def small(system: str, seed: int = 1, spread: float = 0.7) -> Small:
    """A network of one of the rows with random weights in double precision, so that rounding decides nothing."""
    row = ROWS[system]
    codec = _preparation(row).codec
    torch.manual_seed(seed)
    configuration = SMALL.model_copy(update={"initialisation_range": spread})
    model = TranslationModel(configuration, codec.inventory(), row.encoder, row.decoder).double().eval()
    lines = _toy()[1].dev.source.read_text(encoding="utf-8").splitlines()
    return Small(codec, model, Effects.of(codec.target, codec.table, [codec.unknown_action]), lines)

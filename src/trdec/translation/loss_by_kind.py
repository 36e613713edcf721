"""Where a model's loss lies: how much of it is the tree, and how much the words."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from trdec.targets.actions import KINDS, EmitWord
from trdec.translation.scoring import Scored


@dataclass(frozen=True, slots=True)
class KindLoss:
    """The actions of one kind in a text, or of several kinds together."""

    actions: int
    nats: float
    """Their summed negative log-probability."""


@dataclass(frozen=True, slots=True)
class LossByKind:
    """The negative log-probability of given translations, by kind of action."""

    sentences: int
    """Translations that the model can write."""
    left_out: int
    """Translations that it cannot write."""
    kinds: dict[str, KindLoss]

    @property
    def total(self) -> KindLoss:
        """All kinds together."""
        return _together(self.kinds.values())

    @property
    def words(self) -> KindLoss:
        """The words alone."""
        return self.kinds.get(_WORD, KindLoss(0, 0.0))

    @property
    def tree(self) -> KindLoss:
        """Everything but the words: rules or marks, and the ends of phrases and sentences."""
        return _together(loss for kind, loss in self.kinds.items() if kind != _WORD)

    def share(self, loss: KindLoss) -> float:
        """The part of the total that this is; 0 if the model is certain of everything."""
        return loss.nats / self.total.nats if self.total.nats else 0.0

    def per_sentence(self, loss: KindLoss) -> float:
        """Nats per sentence; 0 without sentences."""
        return loss.nats / self.sentences if self.sentences else 0.0

    def to_json(self) -> dict[str, Any]:
        """Sums, and what follows from them, as JSON has them."""
        return {
            "sentences": self.sentences,
            "left_out": self.left_out,
            "kinds": {kind: self._json(loss) for kind, loss in self.kinds.items()},
            "tree": self._json(self.tree),
            "words": self._json(self.words),
            "total": self._json(self.total),
        }

    def _json(self, loss: KindLoss) -> dict[str, Any]:
        return {
            "actions": loss.actions,
            "nats": loss.nats,
            "nats_per_sentence": self.per_sentence(loss),
            "share": self.share(loss),
        }


_WORD = KINDS[EmitWord]


def loss_by_kind(scored: Iterable[Scored]) -> LossByKind:
    """The losses of all translations that the model can write."""
    actions: dict[str, int] = defaultdict(int)
    nats: dict[str, list[float]] = defaultdict(list)
    sentences = left_out = 0
    for each in scored:
        if each.forced is None:
            left_out += 1
            continue
        sentences += 1
        for kind, (count, log_prob) in each.forced.by_kind().items():
            actions[kind] += count
            nats[kind].append(0.0 - log_prob)  # never -0.0
    kinds = {kind: KindLoss(actions[kind], math.fsum(nats[kind])) for kind in KINDS.values() if kind in actions}
    return LossByKind(sentences, left_out, kinds)


def _together(losses: Iterable[KindLoss]) -> KindLoss:
    every = list(losses)
    return KindLoss(sum(loss.actions for loss in every), math.fsum(loss.nats for loss in every))

"""A translation with its tree, scores and alternatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from trdec.data.codec import Codec
from trdec.search.hypotheses import Hypothesis
from trdec.translation.attention import TranslationAttention
from trdec.translation.scoring import ScoredAction
from trdec.trees import brackets
from trdec.trees.tree import Nonterminal

NO_TREE_BRACKETS = "(())"
"""How a file of trees marks a line that has none."""

CUT_SHORT = "reached the maximum length and stopped there"


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated line. An empty line's translation has no words, no tree and no actions."""

    text: str
    tree: Nonterminal | None = None
    """The tree over whole words."""
    score: float = 0.0
    """What it was ranked by: the log-probability normalised by length."""
    log_prob: float = 0.0
    actions: tuple[ScoredAction, ...] = ()
    truncated: bool = False
    remarks: tuple[str, ...] = ()
    """What the user should know, for example that the line was longer than any in training."""
    alternatives: tuple[Translation, ...] = ()
    """The next best translations, if more than one was requested."""
    attention: TranslationAttention | None = None
    """The attention to each source piece at each action, if requested."""

    @property
    def brackets(self) -> str:
        """The tree on one line, or (()) if there is none."""
        return NO_TREE_BRACKETS if self.tree is None or not self.tree.children else brackets.write(self.tree)

    def to_json(self) -> dict[str, Any]:
        """The contents as JSON values."""
        content: dict[str, Any] = {
            "text": self.text,
            "tree": self.brackets,
            "score": self.score,
            "log_prob": self.log_prob,
            "truncated": self.truncated,
            "remarks": list(self.remarks),
            "actions": [action._asdict() for action in self.actions],
        }
        if self.attention is not None:
            content["attention"] = self.attention.to_json()
        if self.alternatives:
            content["alternatives"] = [other.to_json() for other in self.alternatives]
        return content


def translation_of(
    codec: Codec,
    hypotheses: Sequence[Hypothesis],
    remarks: tuple[str, ...],
    attentions: Sequence[TranslationAttention] | None = None,
) -> Translation:
    """The first hypothesis as a translation, the others as its alternatives."""
    given: Sequence[TranslationAttention | None] = attentions or [None] * len(hypotheses)
    best, *others = (_one(codec, each, remarks, attention) for each, attention in zip(hypotheses, given, strict=True))
    return replace(best, alternatives=tuple(others))


def _one(
    codec: Codec, hypothesis: Hypothesis, remarks: tuple[str, ...], attention: TranslationAttention | None
) -> Translation:
    decoded = codec.decode(hypothesis.actions)
    actions, kinds = codec.table.actions, codec.table.kinds
    return Translation(
        text=decoded.text,
        tree=decoded.tree,
        score=hypothesis.score,
        log_prob=hypothesis.log_prob,
        actions=tuple(
            ScoredAction(str(actions[number]), kinds[number], log_prob)
            for number, log_prob in zip(hypothesis.actions, hypothesis.action_log_probs, strict=True)
        ),
        truncated=hypothesis.truncated,
        remarks=(*remarks, CUT_SHORT) if hypothesis.truncated else remarks,
        attention=attention,
    )

"""Random trees drawn anew: a sentence has another tree in each epoch."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from trdec.data.codec import Codec
from trdec.data.store import Example
from trdec.errors import UnknownActionError, UnknownRuleError
from trdec.systems import ANNOTATIONS
from trdec.trees import treebank
from trdec.trees.by_name import builder_called
from trdec.trees.transforms import desegment
from trdec.trees.tree import words


class DrawnTrees:
    """Gives an example with a random tree another one in each epoch: the same for a seed, whatever was drawn before."""

    def __init__(self, codec: Codec, seed: int) -> None:
        self._codec = codec
        self._seed = seed
        builders = [None if kind in ANNOTATIONS else builder_called(kind) for kind in codec.system.trees]
        self._builders = [builder if builder is not None and builder.is_random else None for builder in builders]

    @property
    def has_any(self) -> bool:
        """Whether the system has random trees."""
        return any(self._builders)

    def __call__(self, example: Example, number: int, epoch: int) -> Example:
        """The example with this number as it is in this epoch."""
        codec, builder = self._codec, self._builders[example.treebank]
        actions = example.actions
        if builder is None or (actions == codec.unknown_action).any():  # unknown pieces do not spell a word
            return example
        tokeniser = codec.target_side.tokeniser
        pieces = codec.target.read([codec.table.actions[action] for action in actions.tolist()])
        spelling = words(desegment(pieces, tokeniser.words_of))
        drawn = builder([tokeniser.bare(word) for word in spelling], Random(f"{self._seed} {epoch} {number}"))
        try:
            return replace(
                example, actions=codec.encode_target(treebank.respell(codec.system.transform(drawn), spelling))
            )
        except (UnknownRuleError, UnknownActionError):  # a tree that no tree of the preparation is like
            return example

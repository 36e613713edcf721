"""What seq2seq, CCG and LIN share: tokens in a row until `<eos>`, each of them legal anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple, Self

from trdec.errors import IllegalActionError
from trdec.targets.actions import EOS, Action, ApplyRule, EmitMark, EmitWord, EndPhrase, EndSentence
from trdec.trees.tree import Nonterminal

SENTENCE = "sentence"
"""The one symbol that is open in a sequence."""


class Position(NamedTuple):
    """The state of a sequence: whether it has ended."""

    finished: bool

    @property
    def symbol(self) -> str:
        """Always the sentence."""
        return SENTENCE

    @property
    def parent(self) -> int:
        """Always 0: nothing opens anything."""
        return 0


class SequenceTarget:
    """Words, and the marks a family interleaves with them, in a row."""

    def __init__(self, marks: Sequence[str], vocabulary: Sequence[str]) -> None:
        self.marks = tuple(marks)
        self.vocabulary = tuple(vocabulary)

    @classmethod
    def from_trees(cls, trees: Iterable[Nonterminal], vocabulary: Sequence[str], min_count: int = 1) -> Self:
        """A target with the marks that occur at least `min_count` times in the trees, most frequent first."""
        counts = Counter(mark for tree in trees for mark in cls.marks_of(tree))
        frequent = [mark for mark, count in counts.items() if count >= min_count]
        return cls(sorted(frequent, key=lambda mark: (-counts[mark], mark)), vocabulary)

    @staticmethod
    def marks_of(_tree: Nonterminal) -> list[str]:
        """The marks that writing the tree needs; a family that has some overrides this."""
        return []

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """Marks, words and EOS."""
        return (*map(EmitMark, self.marks), *map(EmitWord, self.vocabulary), EOS)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The sentence is all that can be open."""
        return (SENTENCE,)

    @staticmethod
    def start() -> Position:
        """Before the first token."""
        return Position(finished=False)

    @staticmethod
    def advance(state: Position, action: Action) -> Position:
        """After one more token."""
        if state.finished or isinstance(action, ApplyRule | EndPhrase):
            raise IllegalActionError(
                f"{action} is not legal {'after <eos>' if state.finished else 'in a sequence'}: "
                "expected a word, a mark or one <eos>"
            )
        return Position(isinstance(action, EndSentence))

    def legal(self, symbol: str) -> Sequence[Action]:
        """Everything, always."""
        assert symbol == SENTENCE
        return self.actions

    @staticmethod
    def replacement(action: Action) -> Sequence[str]:
        """The sentence stays open until EOS."""
        return () if isinstance(action, EndSentence) else (SENTENCE,)

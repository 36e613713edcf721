"""Constraints on a translation: its prefix, its tree, its number of words. All hold exactly, by masking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Self

import torch
from torch import Tensor

from trdec.errors import UsageError
from trdec.search.frontiers import MEASURES, PIECES, RULES, WORDS
from trdec.search.state import SearchState
from trdec.targets.actions import ApplyRule, EmitWord
from trdec.targets.target import ActionTable
from trdec.tokenisers import WORD_START
from trdec.trees.tree import PRE

ANY = -1
"""Padding: nothing is required here."""


class _OfTensors:
    """A dataclass of tensors."""

    def to(self, device: torch.device) -> Self:
        """The same on another device."""
        assert is_dataclass(self)
        return replace(self, **{field.name: getattr(self, field.name).to(device) for field in fields(self)})


@dataclass(frozen=True)
class Prefix(_OfTensors):
    """Each sentence's first pieces are given; anything that is not a piece (a rule, a mark) remains free between words.

    The piece after the prefix begins a new word, so the last given word is not continued.
    """

    pieces: Tensor  # B N   action numbers, padded with ANY
    lengths: Tensor  # B
    is_piece: Tensor  # A bool
    begins: Tensor  # A bool   which pieces begin a word

    @classmethod
    def of(cls, table: ActionTable, begins: Tensor, prefixes: Sequence[Sequence[str]]) -> Prefix:
        """The constraint that each sentence begins with these pieces."""
        rows = [torch.tensor([table.number(EmitWord(piece)) for piece in row], dtype=torch.long) for row in prefixes]
        pieces = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=ANY)  # B N
        is_piece = torch.tensor([isinstance(action, EmitWord) for action in table.actions])
        return cls(pieces, torch.tensor([len(row) for row in rows]), is_piece, begins)

    @property
    def least(self) -> Tensor:
        """B M: the number of pieces given, and of words that they begin."""
        words = (self.begins[self.pieces] & (self.pieces != ANY)).sum(dim=1)  # B
        return _least({PIECES: self.lengths, WORDS: words})

    def forbidden(self, state: SearchState) -> Tensor | None:
        """R A: pieces other than the one due, and anything that would end a word before its last given piece."""
        sentences, written = state.row_sentences(), state.used[:, PIECES]  # R
        lengths = self.lengths[sentences]  # R
        if not bool((written <= lengths).any()) or not self.pieces.shape[1]:
            return None
        due = self.pieces[sentences, written.clamp(max=self.pieces.shape[1] - 1)]  # R
        numbers = torch.arange(len(self.is_piece), device=due.device)
        inside, at_end = (written < lengths).unsqueeze(1), ((written == lengths) & (lengths > 0)).unsqueeze(1)
        wrong = self.is_piece & (numbers != due.unsqueeze(1))  # R A
        within_word = ~self.begins[due].unsqueeze(1)  # R 1   nothing but the next piece may follow
        wrong |= within_word & ~self.is_piece
        return (inside & wrong) | (at_end & self.is_piece & ~self.begins)


@dataclass(frozen=True)
class Skeleton(_OfTensors):
    """Each sentence's rules are given, and with them the shape of its tree; its words are free.

    The number of words in a phrase is free too. Only derivations have rules.
    """

    rules: Tensor  # B N   action numbers, padded with ANY
    is_rule: Tensor  # A bool

    @property
    def least(self) -> None:
        """Nothing: a derivation cannot end before its rules are applied."""
        return

    @classmethod
    def of(cls, table: ActionTable, skeletons: Sequence[Sequence[ApplyRule]]) -> Skeleton:
        """The constraint that each sentence's derivation applies these rules; an empty list leaves it free."""
        is_rule = torch.tensor([isinstance(action, ApplyRule) for action in table.actions])
        if not bool(is_rule.any()):
            raise UsageError("this system writes no rules, so it cannot take a skeleton. Choose a trdec system.")
        rows = [torch.tensor([table.number(rule) for rule in row], dtype=torch.long) for row in skeletons]
        return cls(torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=ANY), is_rule)

    def forbidden(self, state: SearchState) -> Tensor | None:
        """R A: rules other than the one due."""
        applied = state.used[:, RULES]  # R
        if not self.rules.shape[1]:
            return None
        due = self.rules[state.row_sentences(), applied.clamp(max=self.rules.shape[1] - 1)].unsqueeze(1)  # R 1
        return (due != ANY) & self.is_rule & (torch.arange(len(self.is_rule), device=due.device) != due)  # R A


@dataclass(frozen=True)
class ExactWords(_OfTensors):
    """Each sentence has a given number of words, however many pieces they have and whatever its tree is."""

    counts: Tensor  # B
    is_piece: Tensor  # A bool
    begins: Tensor  # A bool
    bare: Tensor  # A bool   the piece that begins a word and holds none of its letters
    fresh: Tensor  # Y bool   where a phrase has no word yet and must begin one

    @classmethod
    def of(cls, table: ActionTable, begins: Tensor, counts: Sequence[int]) -> ExactWords:
        """The constraint that each sentence has this many words."""
        if "mark" in table.kinds:
            raise UsageError("this system writes marks between words, so the number of words cannot be fixed.")
        is_piece = torch.tensor([isinstance(action, EmitWord) for action in table.actions])
        fresh = torch.tensor([symbol == PRE for symbol in table.symbols])
        bare = torch.tensor([action == EmitWord(WORD_START) for action in table.actions])
        return cls(torch.tensor(counts), is_piece, begins, bare, fresh)

    @property
    def least(self) -> Tensor:
        """B M: the number of words required."""
        return _least({WORDS: self.counts})

    def forbidden(self, state: SearchState) -> Tensor:
        """R A: actions that would make too many words, and pieces that continue a word where none has begun."""
        used, needs_below, effects = state.used, state.frontiers.needs_below, state.effects
        # The very first piece begins a word too, wherever it is.
        fresh = self.fresh[state.frontiers.symbols] | (used[:, PIECES] == 0)  # R
        room = self.counts[state.row_sentences()] - used[:, WORDS] - needs_below[:, WORDS]  # R
        too_many = (effects.gains + effects.needs_after)[:, WORDS] > room.unsqueeze(1)  # R A
        return self.bare | too_many | (fresh.unsqueeze(1) & self.is_piece & ~self.begins)


def _least(amounts: Mapping[int, Tensor]) -> Tensor:
    """B M: these amounts B of some measures, 0 of the others."""
    first = next(iter(amounts.values()))
    least = first.new_zeros(len(first), MEASURES)  # B M
    for measure, amount in amounts.items():
        least[:, measure] = amount
    return least

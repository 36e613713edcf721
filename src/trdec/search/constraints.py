"""Constraints on a translation: its prefix, its tree, its number of words. All hold exactly, by masking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Self

import torch
from torch import Tensor

from trdec.errors import UsageError
from trdec.search.frontiers import MEASURES, PIECES, RULES, STEPS, WORDS
from trdec.search.state import Due, SearchState
from trdec.targets.actions import ApplyRule, EmitWord
from trdec.targets.target import ActionTable
from trdec.tokenisers import SPACES, WORD_START, normalise
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
    """Each sentence's first words are given; anything that is not a piece (a rule, a mark) is free between words.

    The piece after the prefix does not continue its last word.
    """

    pieces: Tensor  # B N   action numbers, padded with ANY
    lengths: Tensor  # B
    within: Tensor  # B N bool   which pieces are not the first of their word
    left: Tensor  # B N+1 3   how many pieces from each place on begin a word, are attached to one, or are within one
    continuing: Tensor  # B A bool   which pieces would continue the last word
    is_piece: Tensor  # A bool

    @classmethod
    def of(
        cls, table: ActionTable, prefixes: Sequence[Sequence[Sequence[str]]], continues: Callable[[str, str], bool]
    ) -> Prefix:
        """The constraint that each sentence begins with these words, each a sequence of pieces.

        `continues` says of a text and a piece after it whether the piece continues the text's last word.
        """

        @cache  # sentences may share their prefix, and there are many pieces
        def continuing(text: str) -> Tensor:
            found = [isinstance(a, EmitWord) and text != "" and continues(text, a.word) for a in table.actions]
            return torch.tensor(found)  # A

        pad = torch.nn.utils.rnn.pad_sequence
        flat = [[piece for word in row for piece in word] for row in prefixes]
        places = [[place > 0 for word in row for place in range(len(word))] for row in prefixes]
        pieces = pad([torch.tensor([table.number(EmitWord(piece)) for piece in row]).long() for row in flat], True, ANY)
        within = pad([torch.tensor(row).bool() for row in places], batch_first=True)  # B N
        spaced = _begins_word(table)[pieces]  # B N
        kinds = torch.stack([spaced & ~within, ~spaced & ~within, within], dim=2) & (pieces != ANY).unsqueeze(2)
        none_left = torch.zeros(len(kinds), 1, 3, dtype=torch.long)
        return cls(
            pieces=pieces,
            lengths=torch.tensor([len(row) for row in flat]),
            within=within,
            left=torch.cat([kinds.flip(1).cumsum(1).flip(1), none_left], dim=1),
            continuing=torch.stack([continuing("".join(row)) for row in flat]),
            is_piece=_is_piece(table),
        )

    @property
    def amounts(self) -> Tensor:
        """B M: the number of pieces given."""
        return _amounts(PIECES, self.lengths)

    def forbidden(self, state: SearchState) -> Tensor | None:
        """R A: pieces other than the one due, and anything that would end a word before its last given piece."""
        sentences, written = state.row_sentences(), state.used[:, PIECES]  # R
        lengths = self.lengths[sentences]  # R
        if not bool((written <= lengths).any()) or not self.pieces.shape[1]:
            return None
        place = written.clamp(max=self.pieces.shape[1] - 1)  # R
        due = self.pieces[sentences, place].unsqueeze(1)  # R 1
        inside, at_end = (written < lengths).unsqueeze(1), ((written == lengths) & (lengths > 0)).unsqueeze(1)
        wrong = self.is_piece & (torch.arange(len(self.is_piece), device=due.device) != due)  # R A
        within_word = self.within[sentences, place].unsqueeze(1)  # R 1   nothing but the next piece may follow
        wrong |= within_word & ~self.is_piece
        return (inside & wrong) | (at_end & self.continuing[sentences])

    def due(self, state: SearchState) -> Due | None:
        """The pieces of the prefix that are still to be written."""
        sentences, written = state.row_sentences(), state.used[:, PIECES]  # R
        if not bool((written < self.lengths[sentences]).any()):
            return None
        before, after = (self.left[sentences, (written + n).clamp(max=self.pieces.shape[1])] for n in (0, 1))  # R 3
        left = torch.where(self.is_piece.unsqueeze(1), after.unsqueeze(1), before.unsqueeze(1))  # R A 3
        words, attached, within = left.unbind(2)
        counted = state.effects.bare[:-1] & (within > 0)  # R A   whose next piece is a step of the shortest completion
        return Due(words=words, attached=attached, within=within - counted.long())


@dataclass(frozen=True)
class Skeleton(_OfTensors):
    """Each sentence's rules are given, and with them the shape of its tree; its words are free.

    The number of words in a phrase is free too. Only derivations have rules.
    """

    rules: Tensor  # B N   action numbers, padded with ANY
    lengths: Tensor  # B
    phrases: Tensor  # B   how many phrases of words the rules open
    is_rule: Tensor  # A bool

    @classmethod
    def of(cls, table: ActionTable, skeletons: Sequence[Sequence[ApplyRule]]) -> Skeleton:
        """The constraint that each sentence's derivation applies these rules; an empty list leaves it free."""
        is_rule = torch.tensor([isinstance(action, ApplyRule) for action in table.actions])
        if not bool(is_rule.any()):
            raise UsageError("this system writes no rules, so it cannot take a skeleton. Choose a trdec system.")
        known = frozenset(table.actions)
        if missing := next((rule for row in skeletons for rule in row if rule not in known), None):
            raise UsageError(
                f"the model has no rule {missing}, which the skeleton needs. Take a shape from the trees it writes."
            )
        rows = [torch.tensor([table.number(rule) for rule in row], dtype=torch.long) for row in skeletons]
        return cls(
            rules=torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=ANY),
            lengths=torch.tensor([len(row) for row in rows]),
            phrases=torch.tensor([sum(action.rule.rhs.count(PRE) for action in row) for row in skeletons]),
            is_rule=is_rule,
        )

    @property
    def amounts(self) -> Tensor:
        """B M: the number of rules given."""
        return _amounts(RULES, self.lengths)

    def forbidden(self, state: SearchState) -> Tensor | None:
        """R A: rules other than the one due."""
        applied = state.used[:, RULES]  # R
        if not self.rules.shape[1]:
            return None
        due = self.rules[state.row_sentences(), applied.clamp(max=self.rules.shape[1] - 1)].unsqueeze(1)  # R 1
        return (due != ANY) & self.is_rule & (torch.arange(len(self.is_rule), device=due.device) != due)  # R A

    def due(self, state: SearchState) -> Due | None:
        """The rules that are still to be applied, and a piece and an end for each phrase that waits for its words."""
        sentences, applied = state.row_sentences(), state.used[:, RULES]  # R
        ended = state.used[:, STEPS] - state.used[:, PIECES] - applied  # R   phrases
        unended = self.phrases[sentences] - ended  # R
        if not bool((unended > 0).any()):
            return None
        rules = (self.lengths[sentences] - applied).unsqueeze(1) - self.is_rule.long()  # R A
        # A word or an end is an action within a phrase, which then waits for its first piece no longer.
        waiting = unended.unsqueeze(1) - (~self.is_rule).long()  # R A
        begun = state.effects.needs_after[:, STEPS] * ~self.is_rule  # A
        steps = rules + 2 * waiting + begun + state.effects.closed  # R A
        demanded = (unended > 0).unsqueeze(1)  # R 1
        return Due(steps=steps * demanded, pieces=waiting * demanded)


@dataclass(frozen=True)
class ExactWords(_OfTensors):
    """Each sentence has a given number of words, however many pieces they have and whatever its tree is."""

    counts: Tensor  # B
    is_piece: Tensor  # A bool
    begins: Tensor  # A bool
    fresh: Tensor  # Y bool   where a phrase has no word yet and must begin one
    uncounted: Tensor  # A bool   pieces whose spaces are not those that their beginnings tell of
    spaced_before: Tensor  # A bool   pieces that begin with a space that begins no word
    spaced_after: Tensor  # A+1 bool   pieces that end with one; the last stands for no piece

    @classmethod
    def of(cls, table: ActionTable, begins: Tensor, counts: Sequence[int]) -> ExactWords:
        """The constraint that each sentence of tokenised text has this many words."""
        if "mark" in table.kinds:
            raise UsageError("this system writes marks between words, so the number of words cannot be fixed.")
        none = torch.zeros(len(table.actions) + 1, dtype=torch.bool)
        return cls(
            counts=torch.tensor(counts),
            is_piece=_is_piece(table),
            begins=begins,
            fresh=torch.tensor([symbol == PRE for symbol in table.symbols]),
            uncounted=none[:-1],
            spaced_before=none[:-1],
            spaced_after=none,
        )

    @classmethod
    def of_raw(cls, table: ActionTable, begins: Tensor, counts: Sequence[int]) -> ExactWords:
        """The constraint that each sentence of raw text has this many words with plain spaces between them."""
        pieces = [action.word if isinstance(action, EmitWord) else "" for action in table.actions]
        return replace(
            cls.of(table, begins, counts),
            fresh=torch.zeros(len(table.symbols), dtype=torch.bool),  # a phrase may hold a full stop alone
            uncounted=torch.tensor([_is_uncounted(piece) for piece in pieces]),
            spaced_before=torch.tensor([piece.startswith(tuple(SPACES)) for piece in pieces]),
            spaced_after=torch.tensor([*(piece.endswith(tuple(SPACES)) for piece in pieces), False]),
        )

    @property
    def amounts(self) -> Tensor:
        """B M: the number of words required."""
        return _amounts(WORDS, self.counts)

    def forbidden(self, state: SearchState) -> Tensor:
        """R A: actions that would make too many words, and pieces that continue a word where none has begun."""
        # The very first piece begins a word too, wherever it is.
        fresh = self.fresh[state.frontiers.symbols] | (state.used[:, PIECES] == 0)  # R
        # Where phrases begin with words, each that is still needed has one.
        needed = _pieces_needed(state) * self.fresh.any()  # R A
        too_many = state.effects.gains[:, WORDS] + needed > self._words_due(state).unsqueeze(1)  # R A
        continues = self.is_piece & ~self.begins  # A
        # Two spaces of any kind side by side become one plain space, which is between words.
        doubled = self.spaced_after[state.last_piece].unsqueeze(1) & self.spaced_before  # R A
        return self.uncounted | too_many | doubled | (fresh.unsqueeze(1) & continues)

    def due(self, state: SearchState) -> Due | None:
        """The words that are still to be written."""
        words = self._words_due(state)  # R
        return Due(words=words.unsqueeze(1) - state.effects.gains[:, WORDS]) if bool((words > 0).any()) else None

    def _words_due(self, state: SearchState) -> Tensor:
        """R: the number of words still to be written."""
        return self.counts[state.row_sentences()] - state.used[:, WORDS]


def _pieces_needed(state: SearchState) -> Tensor:
    """R A: how many pieces the completion after an action has at least."""
    return state.frontiers.needs_below[:, PIECES, None] + state.effects.needs_after[:, PIECES]


def _is_piece(table: ActionTable) -> Tensor:
    """A bool: which actions write pieces."""
    return torch.tensor([isinstance(action, EmitWord) for action in table.actions])


def _begins_word(table: ActionTable) -> Tensor:
    """A bool: which actions write the first piece of a word; all pieces, if none is marked as that."""
    marked = torch.tensor([isinstance(a, EmitWord) and a.word.startswith(WORD_START) for a in table.actions])
    return marked if bool(marked.any()) else _is_piece(table)


def _is_uncounted(piece: str) -> bool:
    """Whether the number of words with plain spaces between them is not that of pieces that begin a word."""
    begins = piece.startswith(WORD_START)
    spaces = normalise(f"x{piece.replace(WORD_START, ' ')}x").count(" ")
    return spaces != begins or (begins and piece != WORD_START and not piece.strip(WORD_START + SPACES))


def _amounts(measure: int, amounts: Tensor) -> Tensor:
    """B M: these amounts B of one measure, 0 of the others."""
    found = amounts.new_zeros(len(amounts), MEASURES)  # B M
    found[:, measure] = amounts
    return found

"""The attention of a translation, computed by a second pass over the actions found."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from trdec.data.batch import collate
from trdec.data.codec import Codec
from trdec.data.store import Example
from trdec.model.translation_model import TranslationModel
from trdec.search.hypotheses import Hypothesis
from trdec.tokenisers import SPACES, WORD_START, words_of_pieces
from trdec.translation.scoring import batches_of
from trdec.translation.source import Source
from trdec.trees.tree import Nonterminal, Terminal

PARTS = 10_000
"""Weights in JSON are multiples of 1 / PARTS."""


class AttentionRow(NamedTuple):
    """What one RNN attended to when an action was chosen."""

    action: int
    """The action's number among those of the translation, from 0."""
    text: str
    kind: str
    rnn: str
    """`rule`, at every action, and `word`, where a word may follow; `sequence` where there is only one RNN;
    `transformer` where there is none."""
    weights: tuple[float, ...]
    """The weight of each source piece; they sum to 1."""


@dataclass(frozen=True, slots=True)
class TranslationAttention:
    """The attention at each action of a translation; for an ensemble, the mean over the models with such an RNN."""

    source: tuple[str, ...]
    """The places of the source: its pieces and its end; then the phrases of its tree, or brackets among the pieces."""
    rows: tuple[AttentionRow, ...]
    """In the order of the actions; where two RNNs attended, the rule RNN's row comes first."""
    words: tuple[tuple[int, ...], ...]
    """For each word of the tree, the numbers of the actions that wrote it: several if it has several pieces."""

    @property
    def rnns(self) -> tuple[str, ...]:
        """The names of the RNNs that attended."""
        return tuple(dict.fromkeys(row.rnn for row in self.rows))

    def of_words(self) -> list[list[AttentionRow]]:
        """For each word of the tree, the attention of the RNN that writes words at each of its pieces, if any."""
        writers = {row.action: row for row in self.rows if row.kind == "word"}  # the word RNN's row comes second
        return [[writers[number] for number in numbers if number in writers] for numbers in self.words]

    def to_json(self) -> dict[str, Any]:
        """The contents as JSON values: weights have four digits and still sum to 1."""
        rows = [{**row._asdict(), "weights": rounded(row.weights)} for row in self.rows]
        return {"source": list(self.source), "words": [list(numbers) for numbers in self.words], "rows": rows}


NO_ATTENTION = TranslationAttention((), (), ())
"""The attention of an empty line's translation."""


def rounded(weights: Sequence[float]) -> list[float]:
    """The weights as multiples of 1 / PARTS that sum to 1; those with the largest remainders are rounded up."""
    total = sum(weights)
    exact = [weight * PARTS / total for weight in weights]
    parts = [int(part) for part in exact]
    by_remainder = sorted(range(len(exact)), key=lambda number: parts[number] - exact[number])
    for number in by_remainder[: PARTS - sum(parts)]:
        parts[number] += 1
    return [part / PARTS for part in parts]


def actions_of_words(
    pieces: Nonterminal, kinds: Iterable[str], words_of: Callable[[str], Sequence[str]] = words_of_pieces
) -> tuple[tuple[int, ...], ...]:
    """For each word that `desegment` makes of a tree over pieces, the numbers of the actions that wrote it."""
    numbers = iter([number for number, kind in enumerate(kinds) if kind == "word"])
    found: list[tuple[int, ...]] = []
    for run in _runs(pieces):
        text = "".join(run)
        writers = [next(numbers) for _ in run]
        ends = list(accumulate(map(len, run)))
        place = 0
        for word in words_of(text):
            # A word may be spelt with fewer spaces than its pieces have before it; they and the mark are its own.
            letters = word.lstrip(WORD_START + SPACES) or word
            begin = text.index(letters, place)
            start = place + len(text[place:begin].rstrip(SPACES).removesuffix(WORD_START))
            place = begin + len(letters)
            first, last = bisect_right(ends, start), bisect_left(ends, place)
            found.append(tuple(writers[first : last + 1]))
    return tuple(found)


def _runs(tree: Nonterminal) -> list[list[str]]:
    """The runs of adjacent terminals under the same node, left to right."""
    runs: list[list[str]] = []
    stack: list[list[str] | Nonterminal] = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            runs.append(item)
            continue
        parts: list[list[str] | Nonterminal] = []
        for is_word, children in groupby(item.children, lambda child: isinstance(child, Terminal)):
            if is_word:
                parts.append([child.word for child in children if isinstance(child, Terminal)])
            else:
                parts.extend(child for child in children if isinstance(child, Nonterminal))
        stack.extend(reversed(parts))
    return runs


Weights = dict[str, Tensor]
"""The attention weights of each RNN: ... S."""


@torch.inference_mode()
def attention_of(
    models: Sequence[TranslationModel], codec: Codec, sources: Sequence[Source], found: Sequence[Sequence[Hypothesis]]
) -> list[list[TranslationAttention]]:
    """The attention of the models for the hypotheses found for each source, by another pass over them."""
    owners = [(row, hypothesis) for row, hypotheses in enumerate(found) for hypothesis in hypotheses]
    pairs = [(sources[row].pieces, np.array(hypothesis.actions, dtype=np.int32)) for row, hypothesis in owners]
    attentions: dict[int, TranslationAttention] = {}
    # Longest first, as `collate` orders a batch too, so rows keep the places they have here.
    order = sorted(range(len(pairs)), key=lambda number: -len(pairs[number][1]))
    for numbers in batches_of(order, pairs):
        batch = collate([Example(*pairs[number], number, 0) for number in numbers], codec.table.steps)
        weights = [each.attention(batch.to(next(each.parameters()).device)) for each in models]
        names = dict.fromkeys(rnn for each in weights for rnn in each)
        mean = {
            rnn: torch.stack([each[rnn] for each in weights if rnn in each]).mean(dim=0).cpu() for rnn in names
        }  # B T S
        for place, number in enumerate(numbers):
            row, hypothesis = owners[number]
            own = {
                rnn: each[place, : len(hypothesis.actions), : len(sources[row])] for rnn, each in mean.items()
            }  # T S
            attentions[number] = _attention(codec, sources[row], hypothesis, own)
    in_order = iter(range(len(owners)))
    return [[attentions[next(in_order)] for _ in hypotheses] for hypotheses in found]


def _attention(codec: Codec, source: Source, hypothesis: Hypothesis, weights: Weights) -> TranslationAttention:
    actions, kinds = codec.table.actions, codec.table.kinds
    shares = {rnn: each.tolist() for rnn, each in weights.items()}  # T S each
    return TranslationAttention(
        source=tuple(codec.source_names(source.words, source.tree)),
        rows=tuple(
            AttentionRow(step, str(actions[number]), kinds[number], rnn, tuple(each[step]))
            for step, number in enumerate(hypothesis.actions)
            for rnn, each in shares.items()
            if any(each[step])
        ),
        words=actions_of_words(
            codec.decode(hypothesis.actions).pieces,
            [kinds[n] for n in hypothesis.actions],
            codec.target_side.tokeniser.words_of,
        ),
    )

"""Which source pieces a target piece translates, found by counting which of them occur together.

    P(t comes from j)  is proportional to  p(piece t | piece j) exp(-4 |t / T - j / S|)
    P(j comes from t)  is proportional to  p(piece j | piece t) exp(-4 |t / T - j / S|)

These are IBM's second model (Brown et al., 1993) in both directions, with the distances of Dyer et al. (2013) and a
share for what has no translation. A link is what both directions agree on: its probability is the product of the two.
Both are learnt from the same expected numbers of links (Liang et al., 2006), so one table of counts is the whole model.

Links guide attention in training (Chen et al., 2016). With few sentence pairs, most of what a model learns in its
first passes is where to look; counting finds that in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trdec.data.codec import Codec
from trdec.data.store import Example, Prepared
from trdec.progress import Progress

ITERATIONS = 5
"""How often the counts are made anew from the links that they give."""

TENSION = 4.0
"""How much nearer places are preferred."""

UNLINKED = 0.08
"""The share of pieces that translate nothing; each is then as probable as it is frequent."""

MOST_SENTENCES = 50_000
"""So many sentences of a larger corpus are counted."""

_REPORTED_TOGETHER = 100
"""Progress is told of so many pairs at a time."""

_UNSEEN = 1e-6
"""What pieces that never occur together are counted, so that no probability is zero."""


class PiecePair(NamedTuple):
    """The numbers of a source's pieces, S, and of its translation's, T."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]


class Alignment:
    """How often each source piece and each target piece translate each other."""

    def __init__(
        self, together: NDArray[np.float64], source_shares: NDArray[np.float64], target_shares: NDArray[np.float64]
    ) -> None:
        """The alignment by these counts, source by target pieces; the shares say how frequent each piece is."""
        self._together = together
        self._shares = source_shares, target_shares
        self._of_source, self._of_target = 1 / together.sum(axis=1), 1 / together.sum(axis=0)

    @classmethod
    def learn(
        cls,
        pairs: Sequence[PiecePair],
        source_size: int,
        target_size: int,
        progress: Progress,
        iterations: int = ITERATIONS,
    ) -> Alignment:
        """The alignment of these pairs, whose pieces have numbers below the sizes."""
        shares = _shares((pair.source for pair in pairs), source_size), _shares((p.target for p in pairs), target_size)
        found = cls(np.ones((source_size, target_size)), *shares)
        for iteration in range(iterations):
            together = np.full((source_size, target_size), _UNSEEN)
            for number, (source, target) in enumerate(pairs, start=iteration * len(pairs)):
                if number % _REPORTED_TOGETHER == 0:
                    progress("aligning the pairs", number, iterations * len(pairs))
                np.add.at(together, (source, target[:, np.newaxis]), found.links(source, target))
            found = cls(together, *shares)
        progress("aligning the pairs", iterations * len(pairs), iterations * len(pairs))
        return found

    def links(self, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.float64]:
        """T S: the probability that each target piece and each source piece translate each other.

        Nothing is known of a piece that was never counted: it has no links.
        """
        together = self._together[source, target[:, np.newaxis]]  # T S
        source_shares, target_shares = self._shares[0][source], self._shares[1][target]  # S, T
        forwards = _posteriors(together * self._of_source[source], target_shares)  # T S
        backwards = _posteriors((together * self._of_target[target][:, np.newaxis]).T, source_shares)  # S T
        found = forwards * backwards.T
        found[target_shares == 0] = 0
        found[:, source_shares == 0] = 0
        return found


def _shares(texts: Iterable[NDArray[np.int64]], size: int) -> NDArray[np.float64]:
    """How frequent each piece is."""
    counts = np.bincount(np.concatenate([np.zeros(0, dtype=np.int64), *texts]), minlength=size)
    return np.asarray(counts / max(1, counts.sum()))


def _posteriors(probabilities: NDArray[np.float64], alone: NDArray[np.float64]) -> NDArray[np.float64]:
    """N G: where each of N pieces comes from, given p(piece | each of G) and its probability of coming from nowhere."""
    joint = probabilities * _nearness(*probabilities.shape)
    joint *= 1 - UNLINKED
    return np.asarray(joint / (joint.sum(axis=1) + UNLINKED * alone)[:, np.newaxis])


def _nearness(rows: int, columns: int) -> NDArray[np.float64]:
    """How probable each place is before anything is known of the pieces; a row's sum is 1."""
    places = np.arange(rows)[:, np.newaxis] + 0.5, np.arange(columns) + 0.5
    near = np.exp(-TENSION * np.abs(places[0] / rows - places[1] / columns))
    return np.asarray(near / near.sum(axis=1, keepdims=True))


class Guide:
    """Where attention should look: the links of an example's steps to its source's places, times a weight."""

    def __init__(self, alignment: Alignment, codec: Codec, weight: float) -> None:
        self._alignment, self._weight = alignment, weight
        self._text = TextOf(codec)

    def __call__(self, example: Example) -> NDArray[np.float32]:
        """T S, zero at steps and places that are no pieces of text."""
        steps, places = self._text.steps(example), self._text.places(example)
        found = np.zeros((len(example.actions), len(example.source)), dtype=np.float32)
        found[np.ix_(steps, places)] = self._weight * self._alignment.links(*self._text.pair(example))
        return found


class TextOf:
    """The pieces of text in an example: not the end, nor what tells of a tree."""

    def __init__(self, codec: Codec) -> None:
        self._is_piece = np.array([kind == "word" for kind in codec.table.kinds])  # A
        self._piece_numbers = np.cumsum(self._is_piece) - 1  # A
        self.source_size, self.target_size = codec.source_end, int(self._is_piece.sum())

    def steps(self, example: Example) -> NDArray[np.int64]:
        """The steps that write pieces."""
        return np.flatnonzero(self._is_piece[example.actions])

    def places(self, example: Example) -> NDArray[np.int64]:
        """The places of the source that are pieces."""
        return np.flatnonzero(_numbers(example) < self.source_size)

    def pair(self, example: Example) -> PiecePair:
        """The numbers of the pieces, those of the target counted without other actions."""
        source = _numbers(example)[self.places(example)].astype(np.int64)
        return PiecePair(source, self._piece_numbers[example.actions[self.steps(example)]])


def _numbers(example: Example) -> NDArray[np.int32]:
    """S: what stands at each place of the source."""
    return example.source if example.source.ndim == 1 else example.source[:, 0]


def learn_guide(prepared: Prepared, codec: Codec, weight: float, progress: Progress) -> Guide:
    """What guides attention on this corpus with this weight."""
    _, first = np.unique(prepared.sentences, return_index=True)  # the trees of a sentence have the same pieces
    chosen = first[:: -(-len(first) // MOST_SENTENCES) or 1]
    text = TextOf(codec)
    pairs = [text.pair(prepared[int(number)]) for number in chosen]
    alignment = Alignment.learn(pairs, text.source_size, text.target_size, progress)
    return Guide(alignment, codec, weight)

"""Subword dropout: words are split into other pieces each time they are trained on.

A model that sees a word in many spellings learns what its parts mean, which helps most where there is little text
(Provilkov et al. 2020, "BPE-dropout"). Each piece of several characters is unavailable with a given probability,
and the word is split as well as the others allow. With probability 0 this is how sentencepiece splits it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from trdec.data.codec import Codec
from trdec.data.store import Example
from trdec.targets.actions import Action, EmitWord
from trdec.text import UNKNOWN, Side, Subwords
from trdec.tokenisers import WORD_START

Uniform = Callable[[], float]
"""Draws a number from 0 up to 1."""


class PieceSampler:
    """Splits words, each time into the best pieces of those that are available this time."""

    def __init__(self, subwords: Subwords, rate: float, words_of: Callable[[str], Sequence[str]] | None = None) -> None:
        """A sampler that drops pieces at this rate; `words_of` finds words without a space between them."""
        self._words_of = words_of or (lambda text: (text,))
        self._rate = rate
        self._scores = subwords.scores()
        self._longest = max(map(len, self._scores))
        self._split = self._merge if subwords.kind == "bpe" else self._best_path

    def split(self, word: str, uniform: Uniform) -> list[str]:
        """Pieces that spell the word, all of whose characters must be pieces."""
        return self._split(word, uniform)

    def _merge(self, word: str, uniform: Uniform) -> list[str]:
        """BPE: merge the two neighbours whose union has the best score, the leftmost of equals, until none are left."""
        pieces = list(word)
        refused: set[tuple[int, int, int]] = set()  # where a merge was refused: begin, middle, end
        while True:
            best: tuple[float, int] | None = None
            begin = 0
            for place, (left, right) in enumerate(pairwise(pieces)):
                score = self._scores.get(left + right)
                spot = (begin, begin + len(left), begin + len(left) + len(right))
                begin += len(left)
                if score is not None and spot not in refused and (best is None or score > best[0]):
                    best, best_spot = (score, place), spot
            if best is None:
                return pieces
            if uniform() < self._rate:
                refused.add(best_spot)
            else:
                pieces[best[1] : best[1] + 2] = [pieces[best[1]] + pieces[best[1] + 1]]

    def _best_path(self, word: str, uniform: Uniform) -> list[str]:
        """Unigram: the pieces with the greatest sum of log-probabilities."""
        best = [0.0] + [-np.inf] * len(word)  # by end
        begins = [0] * (len(word) + 1)
        for begin in range(len(word)):
            for end in range(begin + 1, min(begin + self._longest, len(word)) + 1):
                score = self._scores.get(word[begin:end])
                if score is None or (end - begin > 1 and uniform() < self._rate):
                    continue
                if best[begin] + score > best[end]:
                    best[end], begins[end] = best[begin] + score, begin
        pieces, end = [], len(word)
        while end > 0:
            pieces.append(word[begins[end] : end])
            end = begins[end]
        return pieces[::-1]

    def resplit(self, pieces: Iterable[str], uniform: Uniform) -> Iterator[str]:
        """The pieces of a text with every word split anew; a word with an unknown piece stays as it is."""
        for word in _words(pieces):
            spelled = "".join(word)
            known = UNKNOWN not in word and all(character in self._scores for character in spelled)
            if not known:
                yield from word
                continue
            for part in self._words_of(spelled):
                yield from self.split(part, uniform)


class SubwordDropout:
    """Gives examples other pieces in each epoch: the same for a seed, whatever was drawn before."""

    def __init__(self, codec: Codec, rate: float, seed: int) -> None:
        self._codec = codec
        self._seed = seed
        self._source = _sampler(codec.source_side, rate)
        self._target = _sampler(codec.target_side, rate)
        self._source_pieces = codec.source_side.subwords.pieces
        self._source_numbers = {piece: number for number, piece in enumerate(self._source_pieces)}

    def __call__(self, example: Example, number: int, epoch: int) -> Example:
        """The example with this number as it is in this epoch."""
        draw = random.Random(f"{self._seed} {epoch} {number}").random
        source = self._resplit_source(example.source, draw)
        return Example(source, self._resplit_target(example.actions, draw), example.sentence, example.treebank)

    def _resplit_source(self, source: NDArray[np.int32], draw: Uniform) -> NDArray[np.int32]:
        if source.ndim > 1:
            return self._resplit_places(source, draw)
        return np.array([*self._resplit_pieces(source[:-1].tolist(), draw), source[-1]], dtype=np.int32)  # S

    def _resplit_places(self, places: NDArray[np.int32], draw: Uniform) -> NDArray[np.int32]:
        """Each run of pieces under a node, split anew; nodes stand after all pieces, so all move equally far."""
        rows: list[tuple[int, int, int]] = []
        for (is_text, parent), run in groupby(places.tolist(), lambda place: (place[1], place[2])):
            numbers = [number for number, _, _ in run]
            ends = numbers[-1:] if is_text and numbers[-1] == self._codec.source_end else []
            pieces = numbers[: len(numbers) - len(ends)]
            found = self._resplit_pieces(pieces, draw) if is_text else pieces
            rows += [(number, is_text, parent) for number in (*found, *ends)]
        changed = np.array(rows, dtype=np.int32)  # S 3
        changed[changed[:, 2] > 0, 2] += len(changed) - len(places)
        return changed

    def _resplit_pieces(self, numbers: list[int], draw: Uniform) -> list[int]:
        pieces = (self._source_pieces[number] for number in numbers)
        return [self._source_numbers[piece] for piece in self._source.resplit(pieces, draw)]

    def _resplit_target(self, numbers: NDArray[np.int32], draw: Uniform) -> NDArray[np.int32]:
        table = self._codec.table
        actions: list[Action] = []
        for is_text, run in groupby((table.actions[number] for number in numbers.tolist()), _writes_text):
            if is_text:
                pieces = (action.word for action in run if isinstance(action, EmitWord))
                actions += map(EmitWord, self._target.resplit(pieces, draw))
            else:
                actions += run
        return table.numbers(actions)  # T


def _sampler(side: Side, rate: float) -> PieceSampler:
    return PieceSampler(side.subwords, rate, side.tokeniser.words_of if side.tokeniser.marks_spaces else None)


def _writes_text(action: Action) -> bool:
    return isinstance(action, EmitWord)


def _words(pieces: Iterable[str]) -> Iterator[Sequence[str]]:
    word: list[str] = []
    for piece in pieces:
        if word and piece.startswith(WORD_START):
            yield word
            word = []
        word.append(piece)
    if word:
        yield word

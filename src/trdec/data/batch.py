"""Sentence pairs as tensors, and which of them are trained on together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trdec.configuration.sections import BatchConfiguration
from trdec.data.store import Example, Prepared


@dataclass(frozen=True)
class SourceBatch:
    """Some sources as an encoder reads them, as wide as the longest; padded places hold 0.

    Without trees, the places are pieces and the end. With trees for an encoder that reads trees, the nodes follow in
    postorder, the root last; for one that reads sequences, brackets stand among the pieces.
    """

    pieces: Tensor  # B S   the numbers of the places
    lengths: Tensor  # B
    parents: Tensor | None = None  # B S   1 + the place of the node above; 0 = none
    is_text: Tensor | None = None  # B S bool   whether the place is a piece or the end; None: all are

    @classmethod
    def of(cls, sources: Sequence[NDArray[np.int32]]) -> SourceBatch:
        """The sources that a codec encoded, side by side."""
        lengths = np.array([len(source) for source in sources])  # B
        rest = sources[0].shape[1:] if sources else ()
        places = np.zeros((len(sources), lengths.max(initial=0), *rest), dtype=np.int64)  # B S, or with trees B S 3
        for row, source in enumerate(sources):
            places[row, : len(source)] = source
        if not rest:
            return cls(torch.from_numpy(places), torch.from_numpy(lengths))
        pieces, is_text, parents = (column.contiguous() for column in torch.from_numpy(places).unbind(2))  # B S
        return cls(pieces, torch.from_numpy(lengths), parents, is_text.bool())

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def device(self) -> torch.device:
        """Where its tensors are."""
        return self.lengths.device

    @property
    def text_lengths(self) -> Tensor:
        """B: the number of pieces of each source, its end included, but not what tells of a tree."""
        return self.lengths if self.is_text is None else self.is_text.sum(dim=1)

    def to(self, device: torch.device | str) -> SourceBatch:
        """The same on another device."""
        return self._changed(lambda values: values.to(device))

    def select(self, sentences: Tensor) -> SourceBatch:
        """These sentences in this order."""
        longest = int(self.lengths[sentences].max())
        return self._changed(lambda values: values[sentences][..., :longest] if values.dim() > 1 else values[sentences])

    def _changed(self, change: Callable[[Tensor], Tensor]) -> SourceBatch:
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: change(value) for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class Batch:
    """Sentences with the steps that write them; padding is 0.

    Axes: B sentences, S source pieces, T steps.
    """

    source: SourceBatch
    actions: Tensor  # B T   action ids
    symbols: Tensor  # B T   what is open when the action is chosen: a row of the legal table
    parents: Tensor  # B T   1 + the step whose rule opened the symbol; 0 = none
    padding: Tensor  # B T   true = ignore
    guide: Tensor | None = None  # B T S   how much attention should look at each place, where that is known

    @property
    def num_sentences(self) -> int:
        """B."""
        return self.actions.shape[0]

    @property
    def num_actions(self) -> int:
        """The number of steps that are not padding."""
        return int((~self.padding).sum())

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return Batch(**{name: value.to(device) for name, value in given.items() if value is not None})


NOISE = 0.05
"""Lengths are changed by up to this share before sorting, so that each epoch groups examples differently."""


Change = Callable[[Example, int, int], Example]
"""From an example, its number and the epoch to the example as it is trained on in that epoch."""

GuideOf = Callable[[Example], NDArray[np.float32]]
"""From an example to how much attention at each step should look at each place of the source, T S."""

StepsOf = Callable[[NDArray[np.int32]], NDArray[np.int32]]
"""From the actions of a derivation, T, to its steps, T 3: action, symbol, parent."""


class Batcher:
    """The batches of a prepared corpus: different in each epoch, but the same on every machine for a seed."""

    def __init__(
        self,
        prepared: Prepared,
        steps_of: StepsOf,
        configuration: BatchConfiguration,
        seed: int,
        change: Change | None = None,
        weights: NDArray[np.float64] | None = None,
        guide: GuideOf | None = None,
    ) -> None:
        """Batches of the examples as they are, or as `change` makes them anew in each epoch.

        An example of weight 2 is in two batches of an epoch, one of weight 0.3 in a batch of three epochs in ten. With
        a guide, batches say where attention should look.
        """
        self._prepared = prepared
        self._steps_of = steps_of
        self._configuration = configuration
        self._seed = seed
        self._change = change
        self._weights = weights
        self._guide = guide

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """The example numbers of each batch, longest first; batches are in random order."""
        drawn = self._drawn(epoch)
        steps, source = self._prepared.step_lengths[drawn], self._prepared.source_lengths[drawn]
        costs = {"actions": steps + source, "sentences": np.ones_like(steps)}[self._configuration.batch_type]
        random = _Random(self._seed, epoch)
        count = len(drawn)
        order = _grid(
            steps * (1 + NOISE * random.uniform(count)),
            source * (1 + NOISE * random.uniform(count)),
            max(1, int(costs.sum()) // self._configuration.batch_size),
        )
        batches = _cut(order, costs[order], self._configuration.batch_size)
        shuffled = np.argsort(random.uniform(len(batches)), kind="stable")
        return [drawn[_longest_first(batches[number], steps)] for number in shuffled]

    def _drawn(self, epoch: int) -> NDArray[np.int64]:
        """The examples of an epoch: each as often as its weight says, or one of each sentence that often."""
        examples = len(self._prepared)
        first, kinds = np.arange(examples), np.ones(examples, dtype=np.int64)
        one_tree = self._configuration.trees == "drawn"
        if one_tree:  # the first example of each sentence, and how many it has
            _, first, kinds = np.unique(self._prepared.sentences, return_index=True, return_counts=True)
        if self._weights is not None:
            weights = self._weights[first]
            whole = np.floor(weights)
            once_more = _Random(self._seed, epoch, len(first)).uniform(len(first)) < weights - whole
            times = (whole + once_more).astype(np.int64)
            first, kinds = np.repeat(first, times), np.repeat(kinds, times)
        if not one_tree:
            return first
        return first + (_Random(self._seed, epoch, 0, len(first)).uniform(len(first)) * kinds).astype(np.int64)

    def batch(self, numbers: Sequence[int] | NDArray[np.int64], epoch: int) -> Batch:
        """The tensors of these examples as they are in this epoch."""
        examples = [self._prepared[int(number)] for number in numbers]
        if self._change is not None:
            pairs = zip(examples, numbers, strict=True)
            examples = [self._change(example, int(number), epoch) for example, number in pairs]
        return collate(examples, self._steps_of, self._guide)


def collate(examples: Sequence[Example], steps_of: StepsOf, guide: GuideOf | None = None) -> Batch:
    """The examples as one batch, those with most steps first, otherwise in the order given.

    Which symbol an action replaced, and which step opened it, follows from the actions before it: it is found here
    rather than stored. So is what guides attention, if anything does.
    """
    ordered = sorted(examples, key=lambda example: -len(example.actions))
    step_lengths = np.array([len(example.actions) for example in ordered])  # B
    steps = np.zeros((3, len(ordered), step_lengths.max(initial=0)), dtype=np.int64)  # 3 B T
    for row, example in enumerate(ordered):
        steps[:, row, : len(example.actions)] = steps_of(example.actions).T
    padding = np.arange(steps.shape[2]) >= step_lengths[:, np.newaxis]  # B T
    actions, symbols, parents = torch.from_numpy(steps).unbind()
    source = SourceBatch.of([example.source for example in ordered])
    return Batch(
        source=source,
        actions=actions,
        symbols=symbols,
        parents=parents,
        padding=torch.from_numpy(padding),
        guide=None if guide is None else _side_by_side([guide(example) for example in ordered], *source.pieces.shape),
    )


def _side_by_side(guides: Sequence[NDArray[np.float32]], sentences: int, places: int) -> Tensor:
    """B T S: the guides T S of all sentences, zero at padding."""
    padded = np.zeros((sentences, max(map(len, guides), default=0), places), dtype=np.float32)
    for row, guide in enumerate(guides):
        padded[row, : guide.shape[0], : guide.shape[1]] = guide
    return torch.from_numpy(padded)


def unbatch(batch: Batch) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """The source and the steps of each row, without padding: the inverse of `collate`."""
    steps = torch.stack([batch.actions, batch.symbols, batch.parents], dim=2).numpy().astype(np.int32)  # B T 3
    source = _places(batch.source)  # B S, or with trees B S 3
    step_lengths = (~batch.padding).sum(dim=1).tolist()
    source_lengths = batch.source.lengths.tolist()
    return [
        (source[row, :pieces], steps[row, :length])
        for row, (pieces, length) in enumerate(zip(source_lengths, step_lengths, strict=True))
    ]


def _places(source: SourceBatch) -> NDArray[np.int32]:
    """The sources as a codec encodes them, padded."""
    if source.parents is None or source.is_text is None:
        return source.pieces.numpy().astype(np.int32)  # B S
    return torch.stack([source.pieces, source.is_text, source.parents], dim=2).numpy().astype(np.int32)  # B S 3


class _Random:
    """Uniform numbers that depend on the seeds alone: numpy guarantees its raw bits, but not how it uses them."""

    def __init__(self, *seeds: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(seeds))

    def uniform(self, count: int) -> NDArray[np.float64]:
        """Numbers from 0 up to 1."""
        raw = self._bits.random_raw(count)
        return np.asarray(raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _grid(steps: NDArray[np.float64], source: NDArray[np.float64], batches: int) -> NDArray[np.int64]:
    """All examples in an order in which neighbours are similar in steps and in source length.

    They are divided into bands of similar steps, each sorted by source length: one band upwards, the next
    downwards, so that neighbours across a border are similar too.
    """
    # Half as many bands again as there are batches in a band: a step costs more than a source piece.
    bands = np.array_split(np.argsort(steps, kind="stable"), max(1, math.isqrt(9 * batches // 4)))
    ordered = [band[np.argsort(source[band], kind="stable")] for band in bands]
    return np.concatenate([band[:: -1 if number % 2 else 1] for number, band in enumerate(ordered)])


def _cut(order: NDArray[np.int64], costs: NDArray[np.int64], batch_size: int) -> list[NDArray[np.int64]]:
    """Consecutive examples in batches as large as the size allows, with at least one example each."""
    total = np.cumsum(costs)
    batches = []
    start = 0
    while start < len(order):
        before = total[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(total, before + batch_size, side="right")))
        batches.append(order[start:end])
        start = end
    return batches


def _longest_first(numbers: NDArray[np.int64], steps: NDArray[np.int64]) -> NDArray[np.int64]:
    return numbers[np.argsort(-steps[numbers], kind="stable")]


@dataclass(frozen=True)
class Inventory:
    """The sizes of a target and what is legal where.

    For a target with word symbols, the word actions are one contiguous block of ids; a word symbol allows only
    word actions, any other symbol only the others.
    """

    source_size: int
    num_actions: int
    num_symbols: int
    legal: Tensor  # Y A bool
    word_symbols: Tensor  # Y bool   where the word RNN is invoked: an open phrase
    word_actions: Tensor  # A bool   what the word RNN generates: pieces and <eop>
    pieces: Tensor  # A bool   what writes a piece of text: where there is a choice worth smoothing

    def __post_init__(self) -> None:
        expected = {
            "legal": (self.num_symbols, self.num_actions),
            "word_symbols": (self.num_symbols,),
            "word_actions": (self.num_actions,),
            "pieces": (self.num_actions,),
        }
        for name, shape in expected.items():
            found = tuple(getattr(self, name).shape)
            if found != shape:
                raise ValueError(f"{name} must have the shape {shape}, found {found}.")
        if not bool(self.word_symbols.any()):
            return
        ids = self.word_actions.nonzero().squeeze(1)
        if int(ids[-1] - ids[0]) + 1 != len(ids):
            raise ValueError("the word actions must be one contiguous block of ids.")
        if bool((self.legal & (self.word_symbols.unsqueeze(1) != self.word_actions)).any()):
            raise ValueError("a word symbol must allow word actions only, any other symbol none of them.")

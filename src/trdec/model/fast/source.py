"""The source side of attention: vectors at the places of each sentence, read by many rows at once.

Rows are visited in groups whose data stay in the processor's cache. A group reads one sentence, without padding, or
several where sentences are so small that a call costs more than its computation.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

CACHED = 2**16
"""How many numbers a group of several sentences may take: a quarter of a megabyte."""

ENOUGH = 4
"""How many sentences must fit into such a group to make it worthwhile."""


class SourceTable:
    """Vectors sum(S) X at the places of sentences of these lengths."""

    def __init__(self, packed: Tensor, lengths: list[int]) -> None:
        self.lengths = lengths
        self.width = max(lengths)
        self.sentences = packed.split_with_sizes(lengths)  # S X each
        at_once = CACHED // max(1, self.width * packed.shape[1])
        self.padded: Tensor | None = None  # B S X, where groups have several sentences
        self.at_once = 1
        if at_once >= ENOUGH:
            self.at_once = at_once
            self.padded = pad_sequence(list(self.sentences), batch_first=True)
        else:
            self._singles = [sentence.unsqueeze(0) for sentence in self.sentences]  # 1 S X each

    def groups(self, sentences: list[int]) -> tuple[list[int], list[Tensor]]:
        """For rows that each read one sentence: the number of rows in each group, and the vectors g S X it reads."""
        if self.padded is None:
            return [1] * len(sentences), [self._singles[sentence] for sentence in sentences]
        chunks = [sentences[first : first + self.at_once] for first in range(0, len(sentences), self.at_once)]
        return [len(chunk) for chunk in chunks], [self._pick(chunk) for chunk in chunks]

    def add_products(self, sentences: list[int], left: Sequence[Tensor], right: Sequence[Tensor]) -> None:
        """Add left times right, g S X after broadcasting, to the vectors that each group of these rows reads.

        No two rows read the same sentence.
        """
        sizes, vectors = self.groups(sentences)
        first = 0
        for size, target, one, other in zip(sizes, vectors, left, right, strict=True):
            self.add_product(sentences[first : first + size], target, one, other)
            first += size

    def add_product(self, sentences: list[int], vectors: Tensor, left: Tensor, right: Tensor) -> None:
        """Add left times right, g S X after broadcasting, to the vectors that a group of these sentences reads."""
        if self.padded is None or _adjacent(sentences):
            vectors.addcmul_(left, right)  # a view
        else:
            self.padded.index_add_(0, torch.tensor(sentences, device=vectors.device), left * right)

    def packed(self) -> Tensor:
        """sum(S) X: the vectors, sentence after sentence."""
        if self.padded is None:
            return torch.cat(list(self.sentences))
        return torch.cat([row[:length] for row, length in zip(self.padded.unbind(0), self.lengths, strict=True)])

    def _pick(self, sentences: list[int]) -> Tensor:
        """g S X: a view where the sentences are adjacent, otherwise a copy."""
        assert self.padded is not None
        first = sentences[0]
        if _adjacent(sentences):
            return self.padded[first : first + len(sentences)]
        return self.padded.index_select(0, torch.tensor(sentences, device=self.padded.device))

    def row_parts(self, table: Tensor, sentences: list[int], sizes: list[int]) -> Sequence[Tensor]:
        """For each group of rows, its entries of a table n S, without padding, flattened: views, made in one call."""
        flat, width = table.view(-1), table.shape[1]
        if self.padded is not None:
            return flat.split_with_sizes([size * width for size in sizes])
        pieces = [size for sentence in sentences for size in (self.lengths[sentence], width - self.lengths[sentence])]
        return flat.split_with_sizes(pieces)[::2]


def _adjacent(sentences: list[int]) -> bool:
    first = sentences[0]
    return sentences == list(range(first, first + len(sentences)))

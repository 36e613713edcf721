"""The states that later steps may refer to as their parent's."""

from __future__ import annotations

import torch
from torch import Tensor


class History:
    """An append-only table of vectors that all hypotheses share; address 0 is the zero vector.

    Nothing is ever moved, so an address stays good whichever hypotheses survive.
    """

    def __init__(self, like: Tensor) -> None:
        self._table = like.new_zeros(1, like.shape[-1])  # capacity H
        self._size = 1

    def append(self, vectors: Tensor) -> Tensor:
        """The addresses n of new vectors n H."""
        begin, end = self._size, self._size + len(vectors)
        if torch.is_grad_enabled():  # autograd must not see a table change under it
            self._table = torch.cat([self._table[:begin], vectors])  # end H
        else:
            if end > len(self._table):
                larger = self._table.new_empty(2 * end, self._table.shape[1])  # larger capacity H
                larger[:begin] = self._table[:begin]
                self._table = larger
            self._table[begin:end] = vectors
        self._size = end
        return torch.arange(begin, end, device=vectors.device)

    def at(self, addresses: Tensor) -> Tensor:
        """The vectors n H at these addresses."""
        return self._table.index_select(0, addresses)

    def __len__(self) -> int:
        return self._size

"""The tanh of additive attention without a tanh."""

from __future__ import annotations

import torch
from torch import Tensor

LARGEST_KEY = 20.0
"""tanh of this is 1 to the last bit, in any precision."""


class Reciprocals:
    """r = 1 / (1 + e^2q e^2k), so that tanh(q + k) = 1 - 2 r and its derivative is 4 (r - r^2).

    The exponentials are made once for each query and key, and a division costs half of a tanh. The scores are
    v tanh(q + k) = v - 2 v r, of which a softmax need not see the first term, nor v's gradient, since the gradients of
    a softmax's scores sum to zero. With keys within LARGEST_KEY of 0, a query whose exponential overflows or vanishes
    (beyond 43 in single precision) does no harm: the sum is so large that its tanh is 1 or -1. With larger keys, the
    exponential is made of the sum.
    """

    def __init__(self, keys: Tensor) -> None:
        self.apart = bool((keys.abs() <= LARGEST_KEY).all())
        self._one = keys.new_ones(())
        self.keys = self.prepare(2 * keys)

    def prepare(self, doubled: Tensor) -> Tensor:
        """Twice the keys or the queries as they are compared, in place."""
        return doubled.exp_() if self.apart else doubled

    def __call__(self, keys: Tensor, queries: Tensor, out: Tensor) -> Tensor:
        """r, of the shape of keys and queries broadcast, in `out`."""
        if self.apart:
            torch.addcmul(self._one, keys, queries, out=out)
        else:
            torch.add(keys, queries, out=out).exp_().add_(1)
        return out.reciprocal_()

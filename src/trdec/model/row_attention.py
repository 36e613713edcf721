"""Attention weights of the rows of a search: the softmax that `attend` takes, sentence by sentence."""

from __future__ import annotations

import torch
from torch import Tensor

from trdec.model.attention import Attention

ROWS_AT_ONCE = 8
"""So that the comparisons with a sentence's keys stay in the processor's cache."""


def attention_weights(
    attention: Attention, hidden: Tensor, counts: list[int], keys: Tensor, lengths: list[int]
) -> Tensor:
    """n S for hidden states n H, of which each sentence has its count; padding of the source costs nothing."""
    queries = attention.queries(hidden)  # n H
    scores = hidden.new_full((len(hidden), keys.shape[1]), -torch.inf)  # n S
    begin = 0
    for sentence_keys, count, length in zip(keys.unbind(0), counts, lengths, strict=True):
        for first in range(begin, begin + count, ROWS_AT_ONCE):
            end = min(first + ROWS_AT_ONCE, begin + count)
            compared = attention.compare(queries[first:end].unsqueeze(0), sentence_keys[:length].unsqueeze(0))  # 1 k S
            scores[first:end, :length] = compared[0]
        begin += count
    return scores.softmax(dim=1)

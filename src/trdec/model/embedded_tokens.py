"""The embeddings of a batch's tokens."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def embed_tokens(embedding: Tensor, groups: list[tuple[Tensor, Tensor | None]]) -> list[tuple[Tensor, Tensor]]:
    """For each group of tokens N and its dropout mask N E: rows M E, and for each of the N places its token's row.

    Without dropout equal tokens have equal rows, so each distinct one has one; with it every place has its own.
    All groups are looked up at once, so that the table's gradient is formed once.
    """
    distinct, places = [], []
    for tokens, mask in groups:
        if mask is None:
            tokens, numbers = tokens.unique(return_inverse=True)  # type: ignore[no-untyped-call] # M, N
        else:
            numbers = torch.arange(len(tokens), device=tokens.device)  # N
        distinct.append(tokens)
        places.append(numbers)
    rows = functional.embedding(torch.cat(distinct), embedding).split_with_sizes(list(map(len, distinct)))  # M E each
    masked = [part if mask is None else part * mask for part, (_, mask) in zip(rows, groups, strict=True)]
    return list(zip(masked, places, strict=True))

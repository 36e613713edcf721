"""What embedded tokens contribute to the gates of an LSTM."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def project_tokens(
    tokens: Tensor, embedding: Tensor, mask: Tensor | None, weight: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor]:
    """Rows M 4H, and for each of the N places the row that is its token's.

    Without dropout equal tokens have equal rows, so each distinct one is projected once; with it (mask N E), every
    place has its own.
    """
    if mask is None:
        tokens, places = tokens.unique(return_inverse=True)  # type: ignore[no-untyped-call] # M, N
        return functional.linear(functional.embedding(tokens, embedding), weight, bias), places
    places = tokens.new_ones(len(tokens)).cumsum(0) - 1  # N
    return functional.linear(functional.embedding(tokens, embedding) * mask, weight, bias), places

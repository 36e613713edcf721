"""The best continuations of each sentence's hypotheses, found without sorting them all."""

from __future__ import annotations

import torch
from torch import Tensor

GROUP = 16
"""Actions of which only the best is looked at first."""


def best_continuations(
    totals: Tensor,  # R
    log_probs: Tensor,  # R A
    num_sentences: int,
    count: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """B K each: the greatest sums of total and log-probability among a sentence's rows, their rows and actions.

    Actions stand in groups. The best K lie in the K groups whose greatest are greatest, so only these are searched.
    """
    num_rows, num_actions = log_probs.shape
    num_groups = -(-num_actions // GROUP)
    # Group g holds the actions g, g + G, g + 2 G and so on; the last few groups have one less.
    whole = num_actions // num_groups * num_groups
    greatest = log_probs[:, :whole].view(num_rows, -1, num_groups).amax(dim=1)  # R G
    rest = num_actions - whole
    torch.maximum(greatest[:, :rest], log_probs[:, whole:], out=greatest[:, :rest])
    greatest += totals.unsqueeze(1)
    grouped = greatest.view(num_sentences, -1)  # B K*G
    groups = grouped.topk(min(count, grouped.shape[1]), dim=1).indices  # B k
    first_rows = torch.arange(num_sentences, device=totals.device).unsqueeze(1) * (num_rows // num_sentences)  # B 1
    rows = (first_rows + groups // num_groups).unsqueeze(2)  # B k 1
    steps = torch.arange(0, GROUP * num_groups, num_groups, device=totals.device)
    actions = (groups % num_groups).unsqueeze(2) + steps  # B k g
    beyond = actions >= num_actions
    actions.masked_fill_(beyond, 0)
    scores = (totals[rows] + log_probs[rows, actions]).masked_fill_(beyond, -torch.inf).flatten(1)  # B k*g
    best, places = scores.topk(count, dim=1)  # B K
    return best, rows.squeeze(2).gather(1, places // GROUP), actions.flatten(1).gather(1, places)

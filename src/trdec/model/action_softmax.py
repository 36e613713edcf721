"""The distribution over the next action."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from trdec.data.inventory import Inventory


class ActionSoftmax(nn.Module):
    """softmax(W features) over the actions that the open symbol allows; nothing else has any probability.

    "W varies depending on whether a rule or a subword unit is needed" (paper, section 3): the rows of W that belong
    to the other kind are not even multiplied.
    """

    legal: Tensor  # Y A bool
    block_of: Tensor  # Y   which block of actions a symbol needs

    def __init__(self, inventory: Inventory) -> None:
        super().__init__()
        num_actions = inventory.num_actions
        self.register_buffer("legal", inventory.legal.clone(), persistent=False)
        if bool(inventory.word_symbols.any()):
            ids = inventory.word_actions.nonzero().squeeze(1)
            first, end = int(ids[0]), int(ids[-1]) + 1
            self.blocks: list[list[slice]] = [
                [part for part in (slice(0, first), slice(end, num_actions)) if part.start < part.stop],
                [slice(first, end)],
            ]
        else:
            self.blocks = [[slice(0, num_actions)]]
        self.register_buffer("block_of", inventory.word_symbols.long(), persistent=False)

    def _by_block(self, weight: Tensor, features: Tensor, symbols: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """For each block: the rows n that need it, its action ids a, and the masked logits n a."""
        blocks = self.block_of[symbols]  # R
        for number, parts in enumerate(self.blocks):
            rows = (blocks == number).nonzero().squeeze(1)  # n
            if not len(rows):
                continue
            actions = torch.cat([torch.arange(p.start, p.stop, device=rows.device) for p in parts])  # a
            used = weight[parts[0]] if len(parts) == 1 else torch.cat([weight[part] for part in parts])  # a F
            chosen = features if len(rows) == len(features) else features[rows]  # n F
            logits = nn.functional.linear(chosen, used)  # n a
            illegal = ~self.legal[:, actions]  # Y a
            yield rows, actions, logits.masked_fill_(illegal[symbols[rows]], -torch.inf)

    def log_probs(self, weight: Tensor, features: Tensor, symbols: Tensor) -> Tensor:
        """R A: exactly -inf where illegal."""
        shape = (len(features), self.legal.shape[1])
        log_probs = features.new_full(shape, -torch.inf)  # R A
        for rows, actions, logits in self._by_block(weight, features, symbols):
            log_probs[rows.unsqueeze(1), actions] = logits.log_softmax(dim=1, dtype=weight.dtype)
        return log_probs

    def losses(
        self, weight: Tensor, features: Tensor, symbols: Tensor, actions: Tensor, label_smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """R each: the negative log-probability of given actions, and the same with label smoothing.

        Smoothing mixes in the mean over the actions that are legal there, so illegal ones are left alone.
        """
        plain, smoothed, order = [], [], []
        for rows, ids, logits in self._by_block(weight, features, symbols):
            log_probs = logits.log_softmax(dim=1, dtype=weight.dtype)  # n a
            places = torch.searchsorted(ids, actions[rows]).unsqueeze(1)  # n 1
            gold = -log_probs.gather(1, places).squeeze(1)  # n
            plain.append(gold)
            order.append(rows)
            if label_smoothing:
                legal = self.legal[:, ids]  # Y a
                finite = log_probs.masked_fill(~legal[symbols[rows]], 0.0)  # n a
                mean = -finite.sum(dim=1) / legal.sum(dim=1)[symbols[rows]]  # n
                gold = (1 - label_smoothing) * gold + label_smoothing * mean
            smoothed.append(gold)
        back = torch.argsort(torch.cat(order))  # R
        return torch.cat(plain)[back], torch.cat(smoothed)[back]

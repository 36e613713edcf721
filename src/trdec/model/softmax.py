"""The distribution over the next action."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from trdec.data.batch import Inventory
from trdec.model.fast.kernels import RightMatrix


class ActionSoftmax(nn.Module):
    """softmax(W features) over the actions that the open symbol allows; all others have probability 0.

    "W varies depending on whether a rule or a subword unit is needed" (paper, section 3): the rows of W that belong
    to the other kind are never multiplied.
    """

    legal: Tensor  # Y A bool
    block_of: Tensor  # Y   the block of actions that a symbol needs
    pieces: Tensor  # A bool   what writes a piece of text

    def __init__(self, inventory: Inventory) -> None:
        super().__init__()
        num_actions = inventory.num_actions
        self.register_buffer("legal", inventory.legal.clone(), persistent=False)
        self.register_buffer("pieces", inventory.pieces.clone(), persistent=False)
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
        self.masked: list[slice] = []  # for each block, a span that covers the columns some symbol forbids
        for number, parts in enumerate(self.blocks):
            ids = torch.cat([torch.arange(part.start, part.stop, device=inventory.legal.device) for part in parts])  # a
            self.register_buffer(f"ids_{number}", ids, persistent=False)
            illegal = ~inventory.legal[:, ids]  # Y a
            self.register_buffer(f"illegal_{number}", illegal, persistent=False)
            self.masked.append(_span(illegal[self.block_of == number].any(dim=0)))

    def columns(self, weight: Tensor) -> list[Tensor]:
        """The part of a weight A F that each block multiplies, F a."""
        parts = sorted((part.start, part.stop) for block in self.blocks for part in block)
        pieces = weight.split_with_sizes([stop - start for start, stop in parts])  # unlike slices: one gradient
        by_start = {start: piece for (start, _), piece in zip(parts, pieces, strict=True)}
        chosen = [[by_start[part.start] for part in block] for block in self.blocks]
        return [(block[0] if len(block) == 1 else torch.cat(block)).t() for block in chosen]

    def _by_block(
        self, columns: Sequence[Tensor | RightMatrix], features: Tensor, symbols: Tensor
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """For each block that some rows need: its number, those rows n, and their masked logits n a."""
        blocks = self.block_of[symbols]  # R
        for number, weight in enumerate(columns):
            rows = (blocks == number).nonzero().squeeze(1)  # n
            if not rows.shape[0]:
                continue
            logits = (features if rows.shape[0] == features.shape[0] else features[rows]) @ weight  # n a
            masked = self.masked[number]
            illegal = self.get_buffer(f"illegal_{number}")[:, masked]  # Y m
            logits[:, masked] = logits[:, masked].masked_fill(illegal[symbols[rows]], -torch.inf)
            yield number, rows, logits

    def log_probs(self, columns: Sequence[Tensor | RightMatrix], features: Tensor, symbols: Tensor) -> Tensor:
        """R A: exactly -inf where illegal."""
        shape = (features.shape[0], self.legal.shape[1])
        blocks = self._by_block(columns, features, symbols)
        if len(columns) == 1:
            return next(blocks)[2].log_softmax(dim=1, dtype=columns[0].dtype)
        log_probs = features.new_full(shape, -torch.inf, dtype=columns[0].dtype)  # R A
        for number, rows, logits in blocks:
            values = logits.log_softmax(dim=1, dtype=log_probs.dtype)  # n a
            widths = [part.stop - part.start for part in self.blocks[number]]
            for part, share in zip(self.blocks[number], values.split_with_sizes(widths, dim=1), strict=True):
                log_probs[rows, part] = share
        return log_probs

    def losses(
        self, weight: Tensor, features: Tensor, symbols: Tensor, actions: Tensor, label_smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """R each: the negative log-probability of the given actions, and the same with label smoothing.

        Where a piece of text is written, smoothing mixes in the mean over the actions that are legal there; illegal
        ones get none of it. Rules and ends are not smoothed: most are nearly certain, and to doubt them costs more
        than it teaches.
        """
        plain, smoothed, order = [], [], []
        for number, rows, logits in self._by_block(self.columns(weight), features, symbols):
            ids = self.get_buffer(f"ids_{number}")  # a
            log_probs = logits.log_softmax(dim=1, dtype=weight.dtype)  # n a
            places = torch.searchsorted(ids, actions[rows]).unsqueeze(1)  # n 1
            gold = -log_probs.gather(1, places).squeeze(1)  # n
            plain.append(gold)
            order.append(rows)
            if label_smoothing:
                legal = ~self.get_buffer(f"illegal_{number}")  # Y a
                finite = log_probs.masked_fill(~legal[symbols[rows]], 0.0)  # n a
                mean = -finite.sum(dim=1) / legal.sum(dim=1)[symbols[rows]]  # n
                mixed = (1 - label_smoothing) * gold + label_smoothing * mean  # n
                gold = torch.where(self.pieces[actions[rows]], mixed, gold)
            smoothed.append(gold)
        back = torch.argsort(torch.cat(order))  # R
        return torch.cat(plain)[back], torch.cat(smoothed)[back]


def _span(chosen: Tensor) -> slice:
    """The shortest slice that covers every true place of `chosen`, a bool."""
    places = chosen.nonzero().squeeze(1).tolist()
    return slice(places[0], places[-1] + 1) if places else slice(0, 0)

"""The tree LSTM encoder: states for the phrases of the source's tree, beside those of its pieces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import SourceBatch
from trdec.errors import UsageError
from trdec.model.dropout import drop, sample_embedding_mask, sample_mask
from trdec.model.encoder import LSTMEncoder
from trdec.model.interfaces import Encoding, Summary
from trdec.model.lstm_cell import LSTMCell


class TreeLSTMEncoder(nn.Module):
    """A bidirectional LSTM over the pieces, then a child-sum tree LSTM over its states (Tai et al. 2015), bottom-up.

        s = sum of h[k],  i, o = sigmoid(W x + U s + b),  g = tanh(W x + U s + b)
        f[k] = sigmoid(W x + U h[k] + b),  c = i g + sum of f[k] c[k],  h = o tanh(c)

    for a node with the children k, where x is the embedding of its label. A piece's h and c are its state of the LSTM.
    Decoders attend to pieces and nodes alike, and start from the root.
    """

    reads_trees = True

    def __init__(self, configuration: ModelConfiguration, source_size: int) -> None:
        super().__init__()
        self.sequence = LSTMEncoder(configuration, source_size)
        self.output_size = self.sequence.output_size
        self.cell = LSTMCell({"label": configuration.embedding_size}, self.output_size)
        self.dropout = configuration.dropout

    def forward(self, source: SourceBatch) -> Encoding:
        """The states of the pieces, of the end and of the nodes; the summary is the root's."""
        if source.parents is None:
            raise UsageError("expected sources with trees, found some without. Give the system source_trees.")
        width, lengths = source.pieces.shape[1], source.text_lengths
        text = SourceBatch(source.pieces[:, : int(lengths.max())], lengths)
        encoded = self.sequence(text)
        row_of = torch.arange(len(source), device=source.device)  # B
        pieces = _places(torch.zeros_like(lengths), lengths, width)  # N
        nodes = _places(lengths, source.lengths, width)  # M
        levels = Levels.of(source.parents, pieces.tolist(), nodes.tolist())
        hidden, cells = self._run(levels, encoded.packed_states, source.pieces.flatten()[nodes], nodes // width)  # M C
        states = hidden.new_zeros(len(source) * width, self.output_size)  # B*S C
        states = states.index_copy(0, pieces, encoded.packed_states).index_copy(0, nodes, hidden)
        roots = torch.searchsorted(nodes, row_of * width + source.lengths - 1)  # B   the last node of each source
        return Encoding(
            states=states.view(len(source), width, -1),  # B S C
            lengths=source.lengths,
            summary=Summary(hidden[roots], cells[roots]),
            pieces=self.sequence.embedding(source.pieces),  # B S E
        )

    def _run(self, levels: Levels, pieces: Tensor, labels: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden states and cells of the nodes, M C each, given the pieces' states N C, labels M and sources M."""
        # Nodes stand level by level here, and what children pass to a level waits there in parts, one for each level
        # that it comes from: everything is then copied once, however deep the tree is.
        order = torch.cat([level.nodes for level in levels.of_nodes])  # M
        rows = rows[order]
        embedded = self.sequence.embedding(labels[order])  # M E
        state_mask: Tensor | None = None
        if self.training:
            embedded = drop(embedded, sample_embedding_mask(tuple(embedded.shape), self.dropout, embedded))
            state_mask = sample_mask((int(rows.max()) + 1, self.output_size), self.dropout.states, embedded)  # B C
        inputs = nn.functional.linear(embedded, self.cell.input_weights["label"], self.cell.bias)  # M 4C
        precision = self.cell.hidden_weight.dtype
        # Sums of children and the products of so few rows are neither faster nor good in less than full precision.
        with torch.autocast(pieces.device.type, enabled=False):
            hiddens, cells = self._climb(levels, pieces.to(precision), inputs.to(precision), state_mask, rows)
        back = torch.argsort(order)  # M
        return hiddens[back], cells[back]

    def _climb(
        self, levels: Levels, pieces: Tensor, inputs: Tensor, state_mask: Tensor | None, rows: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Hidden states and cells of the nodes, level by level, M C each."""
        weight_i, weight_f, weight_o, weight_g = self.cell.hidden_weight.chunk(4)  # C C each
        of_sum = torch.cat([weight_i, weight_o, weight_g])  # 3C C
        waiting: dict[int, list[tuple[Tensor, Tensor]]] = defaultdict(list)
        _deliver(waiting, levels.of_pieces, pieces, pieces)
        sizes = [len(level.nodes) for level in levels.of_nodes]
        hiddens, cells = [], []
        parts = zip(levels.of_nodes, inputs.split_with_sizes(sizes), rows.split_with_sizes(sizes), strict=True)
        for number, (level, level_inputs, level_rows) in enumerate(parts, start=1):
            arrived = waiting.pop(number)
            child_hidden = torch.cat([part for part, _ in arrived])  # k C
            child_cell = torch.cat([part for _, part in arrived])  # k C
            if state_mask is not None:
                child_hidden = child_hidden * state_mask[level_rows[level.parents]]
            in_i, in_f, in_o, in_g = level_inputs.chunk(4, dim=1)  # n C each
            summed = torch.zeros_like(in_i).index_add(0, level.parents, child_hidden)  # n C
            i, o, g = nn.functional.linear(summed, of_sum).chunk(3, dim=1)  # n C each
            f = torch.sigmoid(nn.functional.linear(child_hidden, weight_f) + in_f[level.parents])  # k C
            kept = torch.zeros_like(in_i).index_add(0, level.parents, f * child_cell)  # n C
            cell = torch.sigmoid(in_i + i) * torch.tanh(in_g + g) + kept  # n C
            hidden = torch.sigmoid(in_o + o) * torch.tanh(cell)  # n C
            hiddens.append(hidden)
            cells.append(cell)
            _deliver(waiting, level.above, hidden, cell)
        return torch.cat(hiddens), torch.cat(cells)


@dataclass(frozen=True)
class Passing:
    """Where the states of some places go: in which order, and how many of them to which level."""

    order: Tensor  # n   those that have a parent
    shares: dict[int, int]


@dataclass(frozen=True)
class Level:
    """The nodes of one height: those whose highest child is one lower."""

    nodes: Tensor  # n   their numbers among all nodes
    parents: Tensor  # k   for each child, in the order in which they arrive, which of these nodes is its parent
    above: Passing


@dataclass(frozen=True)
class Levels:
    """The trees of a batch by height, so that all nodes of a height are computed together."""

    of_pieces: Passing
    of_nodes: Sequence[Level]

    @classmethod
    def of(cls, parents: Tensor, pieces: list[int], nodes: list[int]) -> Levels:
        """The levels of trees with these parents B S; pieces and nodes are places in B S, flattened."""
        width = parents.shape[1]
        # Place by place, in plain numbers: children stand before their parents, so one walk finds all heights.
        above = [
            place // width * width + parent - 1 if parent else -1
            for place, parent in enumerate(parents.flatten().tolist())
        ]
        heights = [0] * len(above)
        for place in (*pieces, *nodes):
            if above[place] >= 0:
                heights[above[place]] = max(heights[above[place]], heights[place] + 1)
        by_height: list[list[int]] = [[] for _ in range(max(heights) + 1)]
        by_height[0] = pieces
        for place in nodes:
            by_height[heights[place]].append(place)
        number_of = {place: number for number, place in enumerate(nodes)}
        row_of = {place: row for places in by_height[1:] for row, place in enumerate(places)}
        arriving: list[list[int]] = [[] for _ in by_height]
        passings = []
        for places in by_height:
            going: dict[int, list[int]] = defaultdict(list)  # by the height of the parent
            for row, place in enumerate(places):
                if (parent := above[place]) >= 0:
                    going[heights[parent]].append(row)
                    arriving[heights[parent]].append(row_of[parent])
            order = torch.tensor([row for rows in going.values() for row in rows], dtype=torch.long)
            shares = {height: len(rows) for height, rows in going.items()}
            passings.append(Passing(order.to(parents.device), shares))
        levels = [
            Level(
                torch.tensor([number_of[place] for place in places], device=parents.device),
                torch.tensor(rows, device=parents.device),
                passing,
            )
            for places, rows, passing in zip(by_height[1:], arriving[1:], passings[1:], strict=True)
        ]
        return cls(passings[0], levels)


def _places(begins: Tensor, ends: Tensor, width: int) -> Tensor:
    """The places from begin to end of each row, in a table that is so wide, flattened."""
    columns = torch.arange(width, device=begins.device)
    return ((columns >= begins.unsqueeze(1)) & (columns < ends.unsqueeze(1))).flatten().nonzero().squeeze(1)


def _deliver(waiting: dict[int, list[tuple[Tensor, Tensor]]], passing: Passing, hidden: Tensor, cell: Tensor) -> None:
    """Pass states to the levels of their parents."""
    sizes = list(passing.shares.values())
    hiddens, cells = (values.index_select(0, passing.order).split_with_sizes(sizes) for values in (hidden, cell))
    for level, *parts in zip(passing.shares, hiddens, cells, strict=True):
        waiting[level].append((parts[0], parts[1]))

"""The tree decoder's step as a search runs it: what `TreeDecoder.step` defines, computed with less.

What does not change between steps is prepared: the projections of all action embeddings once for a set of weights,
those of the encoder's states, through which contexts enter the gates, once for a batch of sentences. A word state is
projected into the rule RNN when it is made, and the word RNN touches only the rows that write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from trdec.model.attention import Attention
from trdec.model.history import History
from trdec.model.lstm_cell import LSTMCell
from trdec.model.lstm_tape import add_product, by_gate, product
from trdec.model.memory import Memory
from trdec.model.row_attention import attention_weights
from trdec.model.tree_decoder import TreeDecoder


@dataclass(frozen=True)
class TreeStepperState:
    """Both RNNs after a step; contexts are kept as the attention weights that they are sums with."""

    rule: Tensor  # R H
    rule_cell: Tensor  # R H
    rule_weights: Tensor  # R S   zero before the first step
    word: Tensor  # R H
    word_cell: Tensor  # R H
    word_weights: Tensor  # R S
    word_gates: Tensor  # R 4H   what the word state contributes to the rule RNN's gates
    last_word: Tensor  # R
    writing: Tensor  # R bool
    here: Tensor  # R
    history: History

    def select(self, rows: Tensor) -> TreeStepperState:
        """These rows in this order; addresses keep their meaning."""
        chosen: dict[str, Any] = {
            field.name: value.index_select(0, rows)
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), Tensor)
        }
        return replace(self, **chosen)


class RNNWeights:
    """The weights of one of the two RNNs as stepping uses them."""

    def __init__(self, cell: LSTMCell, attention: Attention, embedding: Tensor) -> None:
        parts = cell.input_weights
        self.attention = attention
        self.actions = functional.linear(embedding, parts["action"], cell.bias)  # A+1 4H
        self.parent_and_state = by_gate(torch.cat([parts["parent"], cell.hidden_weight], dim=1))  # 4 2H H
        self.context = parts["context"]  # 4H C

    def step(self, gates: Tensor, parent: Tensor, state: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """The state and the cell, R H each; gates R 4H hold what all other inputs contribute, and are overwritten."""
        add_product(gates, torch.cat([parent, state], dim=1), self.parent_and_state)
        size = cell.shape[1]
        gates[:, : 3 * size].sigmoid_()
        i, f, o, g = gates.chunk(4, dim=1)  # R H each
        cell = (f * cell).addcmul_(i, g.tanh_())
        return o * cell.tanh(), cell


class TreeStepper:
    """Steps of a tree decoder with the weights that it had when this was made, without gradients or dropout."""

    def __init__(self, decoder: TreeDecoder, output_columns: list[Tensor]) -> None:
        embedding = decoder.embedding.weight
        rule, word = decoder.rule_rnn, decoder.word_rnn
        self.decoder = decoder
        self.rule = RNNWeights(rule.cell, rule.attention, embedding)
        self.word = RNNWeights(word.cell, word.attention, embedding)
        self.word_to_rule = by_gate(rule.cell.input_weights["word"])  # 4 H H
        self.output_columns = [aligned(columns) for columns in output_columns]  # F a each

    def prepare(self, memory: Memory) -> Memory:
        """The memory with the encoder's states as contexts enter the gates."""
        projected = tuple(functional.linear(memory.states, rnn.context) for rnn in (self.rule, self.word))  # B S 4H
        return replace(memory, projected=projected)

    def start(self, memory: Memory) -> TreeStepperState:
        """The state before the first step, one row a sentence."""
        state = self.decoder.start(memory)
        no_weights = memory.states.new_zeros(memory.padding.shape)  # B S
        return TreeStepperState(
            rule=state.rule,
            rule_cell=state.rule_cell,
            rule_weights=no_weights,
            word=state.word,
            word_cell=state.word_cell,
            word_weights=no_weights,
            word_gates=product(state.word, self.word_to_rule),
            last_word=state.last_word,
            writing=state.writing,
            here=state.here,
            history=state.history,
        )

    def step(
        self,
        state: TreeStepperState,
        memory: Memory,
        previous: Tensor,  # R
        symbols: Tensor,  # R
        parents: Tensor,  # R   addresses
    ) -> tuple[Tensor, TreeStepperState]:
        """Features R F of the next action, and the state after it."""
        parent = state.history.at(parents)  # R H
        last_word = torch.where(state.writing, previous, state.last_word)  # R
        writing = self.decoder.word_symbols[symbols]  # R
        writers, opening = writing.nonzero().squeeze(1), (~writing).nonzero().squeeze(1)  # W, R - W

        gates = weighted_sums(state.rule_weights, memory.projected[0])  # R 4H
        gates += self.rule.actions.index_select(0, previous)
        gates += state.word_gates
        rule, rule_cell = self.rule.step(gates, parent, state.rule, state.rule_cell)  # R H
        lengths, width = memory.lengths.tolist(), len(rule) // len(memory.lengths)
        counts = [width] * len(lengths)
        rule_weights = attention_weights(self.rule.attention, rule, counts, memory.keys[0], lengths)  # R S

        word, word_cell, word_weights = state.word, state.word_cell, state.word_weights
        word_gates = state.word_gates
        if len(writers):
            gates = weighted_sums(word_weights, memory.projected[1]).index_select(0, writers)  # W 4H
            gates += self.word.actions.index_select(0, last_word.index_select(0, writers))
            new_word, new_cell = self.word.step(gates, parent[writers], word[writers], word_cell[writers])  # W H
            counts = writing.view(-1, width).sum(dim=1).tolist()
            new_weights = attention_weights(self.word.attention, new_word, counts, memory.keys[1], lengths)  # W S
            word = word.index_copy(0, writers, new_word)  # R H
            word_cell = word_cell.index_copy(0, writers, new_cell)  # R H
            word_weights = word_weights.index_copy(0, writers, new_weights)  # R S
            word_gates = word_gates.index_copy(0, writers, product(new_word, self.word_to_rule))  # R 4H

        here = torch.zeros_like(previous).index_copy_(0, opening, state.history.append(rule[opening]))  # R
        features = self.decoder.readout(
            rule, contexts(rule_weights, memory), word, contexts(word_weights, memory)
        )  # R F
        return features, TreeStepperState(
            rule=rule,
            rule_cell=rule_cell,
            rule_weights=rule_weights,
            word=word,
            word_cell=word_cell,
            word_weights=word_weights,
            word_gates=word_gates,
            last_word=last_word,
            writing=writing,
            here=here,
            history=state.history,
        )


def aligned(matrix: Tensor) -> Tensor:
    """The same matrix with rows that begin at multiples of 16 numbers: few rows multiply it fastest so."""
    height, width = matrix.shape
    return matrix.new_empty(height, -(-width // 16) * 16)[:, :width].copy_(matrix)


def weighted_sums(weights: Tensor, values: Tensor) -> Tensor:
    """R X: for each row the sum of its sentence's values B S X with its weights R S."""
    return torch.bmm(weights.view(len(values), -1, weights.shape[1]), values).flatten(0, 1)


def contexts(weights: Tensor, memory: Memory) -> Callable[[], Tensor]:
    """The context vectors R C of attention weights R S, made when asked for."""
    return lambda: weighted_sums(weights, memory.states)

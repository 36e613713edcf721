"""The tree decoder's step as a search takes it: what `TreeDecoder.step` defines, computed with less.

What does not change between steps is prepared: the projections of all action embeddings once for a set of weights,
those of the encoder's states, through which contexts enter gates and features, once for a batch of sentences, a
parent's once for all its children. The word RNN touches only the rows that write.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trdec.model.history import History
from trdec.model.memory import Memory
from trdec.model.parents import Parents
from trdec.model.row_spacing import turned
from trdec.model.search_memory import SearchMemory
from trdec.model.search_rnn import RNNRows, SearchRNN
from trdec.model.tree_decoder import TreeDecoder

RULE, WORD = range(2)


@dataclass(frozen=True)
class TreeStepperState:
    """Both RNNs after a step of R rows, of which R' go on: each continues one of them, its origin."""

    states: Tensor  # R 2H   rule and word states side by side
    rule: RNNRows
    word: RNNRows
    origins: Tensor  # R'
    last_word: Tensor  # R'
    writing: Tensor  # R' bool
    here: Tensor  # R'
    history: History
    rule_parents: Parents
    word_parents: Parents

    def select(self, rows: Tensor) -> TreeStepperState:
        """These rows in this order; addresses keep their meaning, and the step that follows copies what it needs."""
        return replace(
            self,
            origins=self.origins[rows],
            last_word=self.last_word[rows],
            writing=self.writing[rows],
            here=self.here[rows],
        )


class TreeStepper:
    """Steps of a tree decoder with the weights that it had when this was made, without gradients or dropout."""

    def __init__(self, decoder: TreeDecoder, output_columns: list[Tensor]) -> None:
        self.output_columns = output_columns  # F a each
        embedding = decoder.embedding.weight
        rule, word = decoder.rule_rnn, decoder.word_rnn
        self._decoder = decoder
        self._readout = decoder.readout.split(embedding)
        states_to_rule = torch.cat([rule.cell.hidden_weight, rule.cell.input_weights["word"]], dim=1)  # 4H 2H
        rule_contexts, word_contexts = self._readout.contexts  # F C each
        self._rule = SearchRNN(rule.cell, rule.attention, embedding, states_to_rule, rule_contexts)
        self._word = SearchRNN(word.cell, word.attention, embedding, word.cell.hidden_weight, word_contexts)
        self._rule_parents = turned(rule.cell.input_weights["parent"])  # H 4H
        self._word_parents = turned(word.cell.input_weights["parent"])  # H 4H

    def prepare(self, memory: Memory) -> SearchMemory:
        """What all steps share of the source."""
        starts = zip(self._decoder.rule_start(memory), self._decoder.word_start(memory), strict=True)
        return SearchMemory(
            self,
            tuple(torch.cat(parts, dim=1) for parts in starts),  # B 2H each
            (self._rule.sight(memory), self._word.sight(memory)),
        )

    def start(self, memory: SearchMemory) -> TreeStepperState:
        """The state before the first step, one row a sentence."""
        states, cells = memory.starts  # B 2H
        rule_cell, word_cell = cells.chunk(2, dim=1)  # B H
        numbers = torch.arange(len(states), device=states.device)  # B
        history = History(rule_cell)
        return TreeStepperState(
            states=states,
            rule=self._rule.start(rule_cell),
            word=self._word.start(word_cell),
            origins=numbers,
            last_word=torch.full_like(numbers, self._decoder.start_action),
            writing=torch.zeros_like(numbers, dtype=torch.bool),
            here=torch.zeros_like(numbers),
            history=history,
            rule_parents=Parents(history, self._rule_parents),
            word_parents=Parents(history, self._word_parents),
        )

    def step(
        self,
        state: TreeStepperState,
        memory: SearchMemory,
        previous: Tensor,  # R
        symbols: Tensor,  # R
        parents: Tensor,  # R   addresses
    ) -> tuple[Tensor, TreeStepperState]:
        """Features R F of the next action, and the state after it."""
        rows, size, num_sentences = state.origins, self._rule.size, len(memory.starts[0])
        width = len(rows) // num_sentences
        last_word = torch.where(state.writing, previous, state.last_word)  # R
        writing = self._decoder.word_symbols[symbols]  # R
        writers, opening = writing.nonzero().squeeze(1), (~writing).nonzero().squeeze(1)  # W, R - W

        gates = self._rule.gates(state.states, state.rule.seen, rows, previous)  # R 4H
        gates += state.rule_parents.gates(parents)
        cell = state.rule.cell.index_select(0, rows)  # R H
        hidden, rule = self._rule.advance(gates, cell, memory.sights[RULE], [width] * num_sentences)  # R H

        states = state.states.index_select(0, rows)  # R 2H
        states[:, :size] = hidden
        written = rows[writers]  # W
        gates = self._word.gates(state.states[:, size:], state.word.seen, written, last_word[writers])  # W 4H
        gates += state.word_parents.gates(parents[writers])
        cell = state.word.cell.index_select(0, written)  # W H
        counts = writing.view(num_sentences, -1).sum(dim=1).tolist()
        hidden_of_writers, new = self._word.advance(gates, cell, memory.sights[WORD], counts)  # W H
        states[:, size:].index_copy_(0, writers, hidden_of_writers)
        word = state.word.merged(rows[opening], opening, new, writers)

        seen = rule.seen[:, 4 * size :] + word.seen[:, 4 * size :]  # R F   if the readout looks at contexts
        here = torch.zeros_like(previous).index_copy_(0, opening, state.history.append(hidden[opening]))  # R
        return self._readout.features(states, seen), TreeStepperState(
            states=states,
            rule=rule,
            word=word,
            origins=torch.arange(len(rows), device=rows.device),
            last_word=last_word,
            writing=writing,
            here=here,
            history=state.history,
            rule_parents=state.rule_parents,
            word_parents=state.word_parents,
        )

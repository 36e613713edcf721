"""TrDec's decoder: a rule RNN and a word RNN that write a derivation together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import Batch, Inventory
from trdec.model.attention import attend
from trdec.model.context_features import context_features
from trdec.model.dropout import NO_DROPOUT, DecoderDropout, drop, sample_mask
from trdec.model.embedded_tokens import embed_tokens
from trdec.model.full_precision import apply_in_precision_of
from trdec.model.history import History
from trdec.model.memory import Memory
from trdec.model.packing import Packing
from trdec.model.readout import TREE_READOUTS
from trdec.model.rule_rnn import RuleRNN
from trdec.model.start import STARTS
from trdec.model.tree_plan import TreePlan
from trdec.model.tree_recurrence import Layout, RNNInputs, TreeRecurrence
from trdec.model.word_rnn import WordRNN


@dataclass(frozen=True)
class TreeDecoderState:
    """Both RNNs after a step, and the rule states that are parents of what is still open."""

    rule: Tensor  # R H   s_tree
    rule_cell: Tensor  # R H
    rule_context: Tensor  # R C
    word: Tensor  # R H   s_word of the most recent step of the word RNN
    word_cell: Tensor  # R H
    word_context: Tensor  # R C
    last_word: Tensor  # R   the action that the word RNN generated last
    writing: Tensor  # R bool   whether the latest step belonged to the word RNN
    here: Tensor  # R
    history: History

    def select(self, rows: Tensor) -> TreeDecoderState:
        """These rows in this order; addresses keep their meaning."""
        return TreeDecoderState(
            rule=self.rule[rows],
            rule_cell=self.rule_cell[rows],
            rule_context=self.rule_context[rows],
            word=self.word[rows],
            word_cell=self.word_cell[rows],
            word_context=self.word_context[rows],
            last_word=self.last_word[rows],
            writing=self.writing[rows],
            here=self.here[rows],
            history=self.history,
        )


class TreeDecoder(nn.Module):
    """The tree decoder (paper, section 3).

    `step` is its definition. `sequence` computes the same for a whole batch.
    """

    word_symbols: Tensor  # Y bool

    def __init__(self, configuration: ModelConfiguration, inventory: Inventory) -> None:
        super().__init__()
        embedding, hidden = configuration.embedding_size, configuration.hidden_size
        context = 2 * hidden
        self.dropout = configuration.dropout
        self.start_action = inventory.num_actions
        self.register_buffer("word_symbols", inventory.word_symbols.clone(), persistent=False)
        self.embedding = nn.Embedding(inventory.num_actions + 1, embedding)
        self.rule_rnn = RuleRNN(embedding, hidden, context, configuration.attention)
        self.word_rnn = WordRNN(embedding, hidden, context, configuration.attention)
        self.rule_start = STARTS[configuration.start](hidden)
        self.word_start = STARTS[configuration.start](hidden)
        self.readout = TREE_READOUTS[configuration.readout](embedding, hidden, context)
        self.feature_size = self.readout.feature_size

    def prepare(self, memory: Memory) -> Memory:
        """The memory with the keys of both attentions."""
        attentions = (self.rule_rnn.attention, self.word_rnn.attention)
        states = memory.packed_states()  # sum(S) C
        return replace(memory, keys=tuple(memory.unpack(attention.keys(states)) for attention in attentions))

    def start(self, memory: Memory) -> TreeDecoderState:
        """The state before the first step, one row a sentence."""
        rule, rule_cell = self.rule_start(memory)  # B H
        word, word_cell = self.word_start(memory)  # B H
        nowhere = memory.lengths.new_zeros(len(rule))  # B
        return TreeDecoderState(
            rule=rule,
            rule_cell=rule_cell,
            rule_context=torch.zeros_like(memory.final_cells),  # B C
            word=word,
            word_cell=word_cell,
            word_context=torch.zeros_like(memory.final_cells),  # B C
            last_word=torch.full_like(nowhere, self.start_action),
            writing=torch.zeros_like(nowhere, dtype=torch.bool),
            here=nowhere,
            history=History(rule),
        )

    def step(
        self,
        state: TreeDecoderState,
        memory: Memory,
        previous: Tensor,  # R
        symbols: Tensor,  # R
        parents: Tensor,  # R   addresses
        dropout: DecoderDropout = NO_DROPOUT,
    ) -> tuple[Tensor, TreeDecoderState]:
        """Features R F of the next action, and the state after it.

        Both RNNs see only what came before: the rule RNN takes the word state of an earlier step, the word RNN the
        rule state of its parent.
        """
        parent = state.history.at(parents)  # R H
        last_word = torch.where(state.writing, previous, state.last_word)  # R

        rule, rule_cell = self.rule_rnn(
            drop(self.embedding(previous), dropout.rule_embeddings),
            state.rule_context,
            parent,
            state.word,
            drop(state.rule, dropout.rule_states),
            state.rule_cell,
        )  # R H
        rule_context = attend(self.rule_rnn.attention, rule, memory.keys[0], memory)  # R C

        writing = self.word_symbols[symbols]  # R
        word, word_cell, word_context = state.word, state.word_cell, state.word_context
        rows = writing.nonzero().squeeze(1)  # W
        if len(rows):
            embedded = drop(self.embedding(last_word), dropout.word_embeddings)  # R E
            recurrent = drop(word, dropout.word_states)  # R H
            new_word, new_cell = self.word_rnn(
                parent[rows], embedded[rows], word_context[rows], recurrent[rows], word_cell[rows]
            )  # W H
            word = word.index_copy(0, rows, new_word)  # R H
            word_cell = word_cell.index_copy(0, rows, new_cell)  # R H
            new_context = attend(self.word_rnn.attention, word, memory.keys[1], memory)  # R C
            word_context = torch.where(writing.unsqueeze(1), new_context, word_context)  # R C

        opening = (~writing).nonzero().squeeze(1)  # R - W
        here = torch.zeros_like(previous).index_copy(0, opening, state.history.append(rule[opening]))  # R
        features = drop(self.readout(rule, rule_context, word, word_context), dropout.features)  # R F
        return features, TreeDecoderState(
            rule=rule,
            rule_cell=rule_cell,
            rule_context=rule_context,
            word=word,
            word_cell=word_cell,
            word_context=word_context,
            last_word=last_word,
            writing=writing,
            here=here,
            history=state.history,
        )

    def sequence(self, memory: Memory, batch: Batch, dropout: DecoderDropout = NO_DROPOUT) -> Tensor:
        """Features B T F of all steps."""
        features, packing = self.packed_sequence(memory, batch, dropout)
        return packing.unpack(features, batch.actions.shape[1])  # B T F

    def packed_sequence(
        self, memory: Memory, batch: Batch, dropout: DecoderDropout = NO_DROPOUT
    ) -> tuple[Tensor, Packing]:
        """Features N F of all steps that are not padding."""
        plan = TreePlan(batch, self.word_symbols, self.start_action)
        packing, places, order = plan.packing, plan.word_places, plan.packing.order
        rule_cell, word_cell = self.rule_rnn.cell, self.word_rnn.cell
        rule_weights, word_weights = rule_cell.input_weights, word_cell.input_weights
        source = memory.packed_states()  # sum(S) C

        def packed(mask: Tensor | None) -> Tensor | None:
            return None if mask is None else packing.pack(mask)

        def by_sorted_row(mask: Tensor | None) -> Tensor | None:
            return None if mask is None else mask[order]

        word_mask = packed(dropout.word_embeddings)
        (rule_tokens, rule_rows), (word_tokens, word_rows) = embed_tokens(
            self.embedding.weight,
            [
                (plan.rule_tokens, packed(dropout.rule_embeddings)),
                (plan.word_tokens, None if word_mask is None else word_mask[places]),
            ],
        )  # M E and N, M E and W
        rule_hidden, rule_start_cell = self.rule_start(memory)  # B H
        word_hidden, word_start_cell = self.word_start(memory)  # B H
        rule = RNNInputs(
            nn.functional.linear(rule_tokens, rule_weights["action"], rule_cell.bias),  # M 4H
            rule_cell.hidden_weight,
            rule_weights["parent"],
            nn.functional.linear(source, rule_weights["context"]),  # sum(S) 4H
            rule_hidden[order],
            rule_start_cell[order],
            memory.keys[0],
            self.rule_rnn.attention.parameters_in_loop(),
        )
        word = RNNInputs(
            nn.functional.linear(word_tokens, word_weights["action"], word_cell.bias),  # M 4H
            word_cell.hidden_weight,
            word_weights["parent"],
            nn.functional.linear(source, word_weights["context"]),  # sum(S) 4H
            word_hidden[order],
            word_start_cell[order],
            memory.keys[1],
            self.word_rnn.attention.parameters_in_loop(),
        )
        layout = Layout(
            plan,
            memory.lengths.tolist(),
            rule_rows,
            word_rows,
            by_sorted_row(dropout.rule_states),
            by_sorted_row(dropout.word_states),
            self.rule_rnn.attention.tape,
        )
        rule_tensors, word_tensors = rule.tensors(), word.tensors()
        rule_states, word_states, rule_attention, word_attention = apply_in_precision_of(
            rule_cell.hidden_weight,
            TreeRecurrence,
            layout,
            len(rule_tensors),
            *rule_tensors,
            *word_tensors,
            rule_weights["word"],
        )  # N H, B+W H, B+N S, B+W S

        def contexts(*weights: Tensor) -> Tensor:
            attention = [rule_attention[plan.num_rows :], word_attention.index_select(0, plan.latest)]  # N S each
            return context_features(memory, source, packing, attention, weights)  # N F

        features = self.readout.sequence(rule_states, word_states, plan.latest, contexts)  # N F
        return drop(features, packed(dropout.features)), packing

    def sample_dropout(self, batch: Batch) -> DecoderDropout:
        """The places to drop while training on this batch."""
        num_sentences, num_steps = batch.actions.shape
        weight, rates = self.embedding.weight, self.dropout
        embeddings = (num_sentences, num_steps, weight.shape[1])
        states = (num_sentences, self.rule_rnn.cell.hidden_size)
        return DecoderDropout(
            rule_embeddings=sample_mask(embeddings, rates.embeddings, weight),
            word_embeddings=sample_mask(embeddings, rates.embeddings, weight),
            rule_states=sample_mask(states, rates.states, weight),
            word_states=sample_mask(states, rates.states, weight),
            features=sample_mask((num_sentences, num_steps, self.feature_size), rates.readout, weight),
        )

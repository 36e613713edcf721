"""TrDec's decoder: a rule RNN and a word RNN that write a derivation together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor, nn

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import Batch, Inventory
from trdec.model.attention import attend
from trdec.model.dropout import NO_DROPOUT, DecoderDropout, drop, sample_embedding_mask, sample_mask
from trdec.model.interfaces import Encoding
from trdec.model.readout import TREE_READOUTS
from trdec.model.rule_rnn import RuleRNN
from trdec.model.start import STARTS
from trdec.model.word_rnn import WordRNN


@dataclass(frozen=True)
class TreeMemory:
    """The encoding, with the keys that each RNN's attention compares its states with."""

    encoding: Encoding
    rule_keys: Tensor  # B S H
    word_keys: Tensor  # B S H

    def select(self, sentences: Tensor) -> TreeMemory:
        """These sentences in this order."""
        return TreeMemory(self.encoding.select(sentences), self.rule_keys[sentences], self.word_keys[sentences])


@dataclass(frozen=True)
class TreeDecoderState:
    """Both RNNs after a step, and the rule states of all steps so far, which may be parents of what is still open."""

    rule: Tensor  # R H   s_tree
    rule_cell: Tensor  # R H
    rule_context: Tensor  # R C
    rule_attention: Tensor  # R S
    word: Tensor  # R H   s_word of the word RNN's most recent step
    word_cell: Tensor  # R H
    word_context: Tensor  # R C
    word_attention: Tensor  # R S
    last_word: Tensor  # R   the action that the word RNN generated last
    writing: Tensor  # R bool   whether the latest step was the word RNN's
    rule_states: Tensor  # R 1+T H   s_tree of every step; place 0 is the zero vector, the parent of ROOT

    @property
    def attention(self) -> Mapping[str, Tensor]:
        """The attention weights of each RNN at the latest step."""
        return {"rule": self.rule_attention, "word": self.word_attention * self.writing.unsqueeze(1)}

    def select(self, rows: Tensor) -> TreeDecoderState:
        """These rows in this order."""
        return TreeDecoderState(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


class TreeDecoder(nn.Module):
    """The tree decoder (paper, section 3)."""

    word_symbols: Tensor  # Y bool

    def __init__(self, configuration: ModelConfiguration, inventory: Inventory, context_size: int) -> None:
        super().__init__()
        embedding, hidden = configuration.embedding_size, configuration.hidden_size
        self.dropout = configuration.dropout
        self.start_action = inventory.num_actions
        self.register_buffer("word_symbols", inventory.word_symbols.clone(), persistent=False)
        self.embedding = nn.Embedding(inventory.num_actions + 1, embedding)
        self.rule_rnn = RuleRNN(embedding, hidden, context_size, configuration.attention)
        self.word_rnn = WordRNN(embedding, hidden, context_size, configuration.attention)
        self.rule_start = STARTS[configuration.start](hidden, context_size)
        self.word_start = STARTS[configuration.start](hidden, context_size)
        self.readout = TREE_READOUTS[configuration.readout](embedding, hidden, context_size)
        self.feature_size = self.readout.feature_size

    def prepare(self, encoding: Encoding) -> TreeMemory:
        """The encoding with the keys of both attentions."""
        rule, word = self.rule_rnn.attention, self.word_rnn.attention
        return TreeMemory(encoding, rule.keys(encoding.states), word.keys(encoding.states))

    def start(self, memory: TreeMemory) -> TreeDecoderState:
        """The state before the first step, one row per sentence."""
        rule, rule_cell = self.rule_start(memory.encoding)  # B H
        word, word_cell = self.word_start(memory.encoding)  # B H
        states = memory.encoding.states  # B S C
        nothing = torch.zeros_like(memory.encoding.lengths)  # B
        return TreeDecoderState(
            rule=rule,
            rule_cell=rule_cell,
            rule_context=torch.zeros_like(states[:, 0]),  # B C
            rule_attention=torch.zeros_like(states[:, :, 0]),  # B S
            word=word,
            word_cell=word_cell,
            word_context=torch.zeros_like(states[:, 0]),  # B C
            word_attention=torch.zeros_like(states[:, :, 0]),  # B S
            last_word=nothing + self.start_action,
            writing=nothing.bool(),
            rule_states=torch.zeros_like(rule).unsqueeze(1),  # B 1 H
        )

    def step(
        self,
        state: TreeDecoderState,
        memory: TreeMemory,
        previous: Tensor,  # R
        symbols: Tensor,  # R
        parents: Tensor,  # R
        dropout: DecoderDropout = NO_DROPOUT,
    ) -> tuple[Tensor, TreeDecoderState]:
        """Features R F of the next action, and the state after it.

        Both RNNs depend only on earlier steps: the rule RNN takes the word state of an earlier step, the word RNN
        the rule state of its parent.
        """
        parent = state.rule_states[torch.arange(len(parents), device=parents.device), parents]  # R H
        last_word = torch.where(state.writing, previous, state.last_word)  # R

        rule, rule_cell = self.rule_rnn(
            drop(self.embedding(previous), dropout.rule_embeddings),
            state.rule_context,
            parent,
            state.word,
            drop(state.rule, dropout.rule_states),
            state.rule_cell,
        )  # R H
        rule_context, rule_attention = attend(self.rule_rnn.attention, rule, memory.rule_keys, memory.encoding)
        after = replace(
            state,
            rule=rule,
            rule_cell=rule_cell,
            rule_context=rule_context,
            rule_attention=rule_attention,
            last_word=last_word,
            writing=self.word_symbols[symbols],
            rule_states=torch.cat([state.rule_states, rule.unsqueeze(1)], dim=1),  # R 2+T H
        )

        word, word_cell = self.word_rnn(
            parent,
            drop(self.embedding(last_word), dropout.word_embeddings),
            state.word_context,
            drop(state.word, dropout.word_states),
            state.word_cell,
        )  # R H
        word_context, word_attention = attend(self.word_rnn.attention, word, memory.word_keys, memory.encoding)
        # The word RNN is invoked only where a phrase is open; in other rows its state stays as it was.
        writing = after.writing.unsqueeze(1)  # R 1
        after = replace(
            after,
            word=torch.where(writing, word, state.word),
            word_cell=torch.where(writing, word_cell, state.word_cell),
            word_context=torch.where(writing, word_context, state.word_context),
            word_attention=torch.where(writing, word_attention, state.word_attention),
        )
        features = self.readout(after.writing, after.rule, after.rule_context, after.word, after.word_context)  # R F
        return drop(features, dropout.features), after

    def sample_dropout(self, batch: Batch) -> DecoderDropout:
        """The dropout masks for training on this batch."""
        num_sentences, num_steps = batch.actions.shape
        weight, rates = self.embedding.weight, self.dropout
        embeddings = (num_sentences, num_steps, weight.shape[1])
        states = (num_sentences, self.rule_rnn.cell.hidden_size)
        return DecoderDropout(
            rule_embeddings=sample_embedding_mask(embeddings, rates, weight),
            word_embeddings=sample_embedding_mask(embeddings, rates, weight),
            rule_states=sample_mask(states, rates.states, weight),
            word_states=sample_mask(states, rates.states, weight),
            features=sample_mask((num_sentences, num_steps, self.feature_size), rates.readout, weight),
        )

"""Attention by a second pass over derivations that were found: the search itself keeps none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from trdec.data.batch import Batch
from trdec.data.batching import collate
from trdec.data.codec import Codec
from trdec.data.prepared import Example
from trdec.errors import UsageError
from trdec.model.attention import Attention as ModelAttention
from trdec.model.memory import Memory
from trdec.model.sequence_decoder import SequenceDecoder
from trdec.model.translation_model import TranslationModel
from trdec.model.tree_decoder import TreeDecoder
from trdec.search.attention import END, Attention, AttentionRow, actions_of_words
from trdec.search.ensemble import Ensemble
from trdec.search.forced import batches_of
from trdec.search.hypothesis import Hypothesis
from trdec.search.protocols import SearchModel
from trdec.search.sources import Source
from trdec.targets.target import replay

Weights = dict[str, Tensor]
"""For each RNN, what it looked at: ... S."""


@torch.inference_mode()
def look(
    model: SearchModel, codec: Codec, sources: Sequence[Source], found: Sequence[Sequence[Hypothesis]]
) -> list[list[Attention]]:
    """What the model looks at while it writes the hypotheses found for each source."""
    models = _members(model)
    owners = [(row, hypothesis) for row, hypotheses in enumerate(found) for hypothesis in hypotheses]
    actions = codec.table.actions
    pairs = [
        (sources[row].pieces, codec.table.numbers(replay(codec.target, [actions[n] for n in hypothesis.actions])))
        for row, hypothesis in owners
    ]
    attentions: dict[int, Attention] = {}
    # Longest first, as `collate` orders a batch too, so that rows keep the places given to them here.
    order = sorted(range(len(pairs)), key=lambda number: -len(pairs[number][1]))
    for numbers in batches_of(order, pairs):
        batch = collate([Example(*pairs[number], sentence=number, treebank=0) for number in numbers])
        weights = [_weights(each, batch.to(next(each.parameters()).device)) for each in models]
        mean = {rnn: torch.stack([each[rnn] for each in weights]).mean(dim=0).cpu() for rnn in weights[0]}  # B T S
        for place, number in enumerate(numbers):
            row, hypothesis = owners[number]
            own = {
                rnn: each[place, : len(hypothesis.actions), : len(sources[row])] for rnn, each in mean.items()
            }  # T S
            attentions[number] = _attention(codec, sources[row], hypothesis, own)
    in_order = iter(range(len(owners)))
    return [[attentions[next(in_order)] for _ in hypotheses] for hypotheses in found]


def _members(model: SearchModel) -> list[TranslationModel[Any]]:
    found: list[TranslationModel[Any]] = []
    for member in model.models if isinstance(model, Ensemble) else (model,):
        if not isinstance(member, TranslationModel):
            raise UsageError(
                f"attention was asked of a {type(member).__name__}, which has none. Leave attention out, or use a "
                "trained model."
            )
        found.append(member)
    return found


def _weights(model: TranslationModel[Any], batch: Batch) -> Weights:
    """B T S for each RNN: the model's attention at every step of the batch, all 0 where the RNN stood still."""
    decoder = model.decoder
    memory = decoder.prepare(model.encoder(batch.source, batch.source_lengths))
    state = decoder.start(memory)
    previous = torch.full_like(batch.source_lengths, model.num_actions)  # B
    addresses = torch.zeros_like(batch.actions[:, :1])  # B t   the address of each step; 0 is none
    steps: list[Weights] = []
    for actions, symbols, parents in zip(
        batch.actions.unbind(1), batch.symbols.unbind(1), batch.parents.unbind(1), strict=True
    ):
        own_parents = addresses.gather(1, parents.unsqueeze(1)).squeeze(1)  # B
        _, state = decoder.step(state, memory, previous, symbols, own_parents)
        addresses = torch.cat([addresses, state.here.unsqueeze(1)], dim=1)
        steps.append(_weights_after(decoder, memory, state))
        previous = actions
    return {rnn: torch.stack([step[rnn] for step in steps], dim=1) for rnn in steps[0]}


def _weights_after(decoder: TreeDecoder | SequenceDecoder, memory: Memory, state: Any) -> Weights:
    """B S for each RNN: what it looked at in the step that led to this state."""
    if isinstance(decoder, SequenceDecoder):
        return {"sequence": _shares(decoder.attention, state.hidden, memory.keys[0], memory)}
    word = _shares(decoder.word_rnn.attention, state.word, memory.keys[1], memory)
    return {
        "rule": _shares(decoder.rule_rnn.attention, state.rule, memory.keys[0], memory),
        "word": word * state.writing.unsqueeze(1),
    }


def _shares(attention: ModelAttention, hidden: Tensor, keys: Tensor, memory: Memory) -> Tensor:
    """B S: the softmax of the scores of hidden states B H, which `attend` forms contexts with."""
    scores = attention.compare(attention.queries(hidden).unsqueeze(1), keys).squeeze(1)  # B S
    return scores.masked_fill(memory.padding, -torch.inf).softmax(dim=1)


def _attention(codec: Codec, source: Source, hypothesis: Hypothesis, weights: Weights) -> Attention:
    actions, kinds = codec.table.actions, codec.table.kinds
    shares = {rnn: each.tolist() for rnn, each in weights.items()}  # T S each
    return Attention(
        source=(*codec.source_side.pieces(source.words), END),
        rows=tuple(
            AttentionRow(step, str(actions[number]), kinds[number], rnn, tuple(each[step]))
            for step, number in enumerate(hypothesis.actions)
            for rnn, each in shares.items()
            if any(each[step])
        ),
        words=actions_of_words(codec.decode(hypothesis.actions).pieces, [kinds[n] for n in hypothesis.actions]),
    )

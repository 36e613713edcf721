"""The recurrence that training runs computes what the readable step defines: values and gradients."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from support.random_batches import random_batch, select, sentence, sequence_inventory, tree_inventory
from support.small_models import ROWS, SMALL, small, small_dev
from trdec.configuration.sections import DropoutConfiguration, ModelConfiguration
from trdec.data.batch import Batch, collate
from trdec.errors import UsageError
from trdec.model.dropout import NO_DROPOUT
from trdec.model.fast import source_table
from trdec.model.fast.form import fast_form
from trdec.model.interfaces import SearchModel, step_through
from trdec.model.sequence_decoder import SequenceDecoder
from trdec.model.translation_model import DECODERS, ENCODERS, TranslationModel
from trdec.model.tree_decoder import TreeDecoder
from trdec.systems import TREE_ENCODER_NAMES

torch.set_num_threads(1)  # many tiny products: threads would only wait for each other

VARIANTS: list[dict[str, object]] = [
    {"decoder": "tree", "readout": "paper", "attention": "additive"},
    {"decoder": "tree", "readout": "released", "attention": "additive", "start": "last_state"},
    {"decoder": "tree", "readout": "released", "attention": "dot", "tie_embeddings": True},
    {"decoder": "tree", "readout": "paper", "attention": "dot", "encoder_layers": 2},
    {"decoder": "sequence", "attention": "additive"},
    {"decoder": "sequence", "attention": "dot", "start": "last_state", "tie_embeddings": True},
    {"decoder": "tree", "readout": "released", "lexical": True},
    {"decoder": "tree", "readout": "paper", "lexical": True},
    {"decoder": "sequence", "lexical": True, "tie_embeddings": True},
    {"encoder": "tree-lstm", "decoder": "tree", "lexical": True},
    {"encoder": "transformer", "decoder": "tree-transformer", "lexical": True},
]
KINDS: list[dict[str, object]] = VARIANTS + [
    {"encoder": encoder, "decoder": decoder}
    for encoder in ENCODERS
    for decoder in DECODERS
    if not any(
        (kind.get("encoder", "lstm"), kind["decoder"]) == (encoder, decoder) and not kind.get("lexical")
        for kind in VARIANTS
    )
]
"""Every registered encoder with every registered decoder, and the variants of those that have some."""
DROPOUTS = [DropoutConfiguration(), DropoutConfiguration(embeddings=0.3, tokens=0.2, states=0.4, readout=0.2)]

FORMS = {"a sentence at a time": 0, "in groups of sentences": source_table.CACHED}
"""Attention as large LSTM networks compute it, and as small ones do; these are small enough for both."""


def name_of(kind: dict[str, object]) -> str:
    return "-".join(map(str, kind.values()))


kinds = pytest.mark.parametrize("kind", KINDS, ids=name_of)
kinds_in_all_forms = pytest.mark.parametrize(
    ("kind", "form"),
    [
        pytest.param(kind, form, id=f"{name_of(kind)} {form}")
        for kind in KINDS
        for form in (FORMS if DECODERS[str(kind["decoder"])] in (TreeDecoder, SequenceDecoder) else list(FORMS)[:1])
    ],
    indirect=["form"],
)
dropouts = pytest.mark.parametrize("dropout", DROPOUTS, ids=["no dropout", "dropout"])


def make_model(kind: dict[str, object], dropout: DropoutConfiguration = DROPOUTS[0], seed: int = 1) -> TranslationModel:
    torch.manual_seed(seed)
    chosen = {"encoder": "lstm", **kind}
    encoder, decoder = str(chosen.pop("encoder")), str(chosen.pop("decoder"))
    inventory = sequence_inventory() if decoder == "sequence" else tree_inventory()
    sizes = SMALL.model_dump() | {"initialisation_range": 0.7, "dropout": dropout}
    return TranslationModel(ModelConfiguration(**(sizes | chosen)), inventory, encoder, decoder).double()


def batch_for(kind: dict[str, object], *given: int, **sizes: Any) -> Batch:
    """A random batch that the encoder of this kind can read."""
    return random_batch(*given, **sizes, source_trees=kind.get("encoder") in TREE_ENCODER_NAMES)


def gradients(model: TranslationModel, *outputs: Tensor) -> dict[str, Tensor]:
    """The gradients of a sum of the outputs with fixed random weights."""
    torch.manual_seed(5)
    model.zero_grad()
    torch.stack([(output * torch.randn_like(output)).sum() for output in outputs]).sum().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.fixture
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention is computed in this form."""
    monkeypatch.setattr(source_table, "CACHED", FORMS[request.param])


@kinds_in_all_forms
@dropouts
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.usefixtures("form")
def test_the_sequence_is_what_stepping_gives(kind: dict[str, object], dropout: DropoutConfiguration, seed: int) -> None:
    model, batch = make_model(kind, dropout, seed), batch_for(kind, seed)
    assert all(bool(gradient.any()) for gradient in assert_sequence_is_stepping(model, batch).values())


@pytest.mark.parametrize("system", ROWS)
@pytest.mark.parametrize("form", FORMS, indirect=True)
@pytest.mark.usefixtures("form")
def test_every_system_trains_on_what_it_steps_through(system: str) -> None:
    """Its own actions, symbols and parents, in sentences of different lengths."""
    dev = small_dev(system)
    by_length = sorted(range(len(dev)), key=lambda number: len(dev[number].actions))
    some = [dev[number] for number in (by_length[0], by_length[-1], *by_length[4:6])]
    batch = collate(some, small(system).codec.table.steps)
    assert len(set((~batch.padding).sum(dim=1).tolist())) > 2
    assert_sequence_is_stepping(small(system).model, batch)


def assert_sequence_is_stepping(model: TranslationModel, batch: Batch) -> dict[str, Tensor]:
    """The same features and gradients both ways, of which the latter are given back."""
    masks = model.decoder.sample_dropout(batch)
    fast = fast_form(model.decoder)
    assert fast is not None
    found, defined = [], []
    for into, compute in ((found, fast.run), (defined, partial(step_through, model.decoder))):
        torch.manual_seed(9)  # the encoder drops the same places both times
        passed = compute(model.encoder(batch.source), batch, masks)
        features = passed.unpack(passed.features)  # B T F
        attention = {rnn: passed.unpack(weights) for rnn, weights in passed.attention.items()}  # B T S
        into += [features.detach(), gradients(model, features, *attention.values()), attention]
    torch.testing.assert_close(found[0], defined[0], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found[2], defined[2], rtol=1e-9, atol=1e-9)
    assert found[1].keys() == defined[1].keys()
    for name, gradient in defined[1].items():
        torch.testing.assert_close(found[1][name], gradient, rtol=1e-9, atol=1e-9, msg=name)
    return defined[1]


@kinds_in_all_forms
@pytest.mark.usefixtures("form")
def test_the_sequence_has_the_gradients_of_its_values(kind: dict[str, object]) -> None:
    model, batch = make_model(kind), batch_for(kind, 4, sizes=(3, 0), max_source=3)
    parameters = dict(model.named_parameters())

    def features(*values: Tensor) -> Tensor:
        replaced = dict(zip(parameters, values, strict=True))
        result = torch.func.functional_call(_Features(model), {f"model.{k}": v for k, v in replaced.items()}, (batch,))
        assert isinstance(result, Tensor)
        return result

    inputs = tuple(parameter.detach().clone().requires_grad_() for parameter in parameters.values())
    assert torch.autograd.gradcheck(features, inputs, fast_mode=True, atol=1e-6)


class _Features(torch.nn.Module):
    def __init__(self, model: TranslationModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Tensor:
        return self.model.run(batch).features


@kinds
def test_a_batch_is_its_sentences(kind: dict[str, object]) -> None:
    model, batch = make_model(kind).eval(), batch_for(kind, 6)
    together = model.log_probs(batch)
    assert not bool(together[batch.padding].any())
    for row in range(batch.num_sentences):
        alone = model.log_probs(sentence(batch, row))[0]
        torch.testing.assert_close(together[row, : len(alone)], alone, rtol=1e-9, atol=1e-9)


@kinds
def test_the_order_of_sentences_does_not_matter(kind: dict[str, object]) -> None:
    model, batch = make_model(kind).eval(), batch_for(kind, 7)
    order = torch.tensor([2, 0, 3, 1])
    moved = select(batch, order)
    torch.testing.assert_close(model.log_probs(moved), model.log_probs(batch)[order], rtol=1e-9, atol=1e-9)


@kinds
def test_no_step_sees_what_comes_after_it(kind: dict[str, object]) -> None:
    """Other actions from some step on, and another tree, change nothing up to that step, and the next at once."""
    model, batch = make_model(kind).eval(), sentence(batch_for(kind, 3), 0)
    inventory, expected = tree_inventory(), model.run(batch).features  # T F
    steps = torch.arange(len(expected))
    for step in (0, 4, len(expected) - 2):
        changed = replace(
            batch,
            actions=torch.where(steps >= step, (batch.actions + 1) % inventory.num_actions, batch.actions),
            symbols=torch.where(steps > step, (batch.symbols + 1) % inventory.num_symbols, batch.symbols),
            parents=batch.parents.masked_fill(steps > step, 0),
        )
        found = model.run(changed).features
        torch.testing.assert_close(found[: step + 1], expected[: step + 1], rtol=1e-9, atol=1e-9)
        assert not torch.allclose(found[step + 1], expected[step + 1])


@kinds
def test_gold_log_probabilities_are_those_that_stepping_gives(kind: dict[str, object]) -> None:
    model, batch = make_model(kind).eval(), batch_for(kind, 8)
    passed = step_through(model.decoder, model.encoder(batch.source), batch, NO_DROPOUT)
    features = passed.unpack(passed.features)  # B T F
    weight = model.output_matrix()
    expected = torch.zeros(batch.padding.shape, dtype=torch.float64)
    writing = passed.unpack(passed.attention["word" if "word" in passed.attention else next(iter(passed.attention))])

    def meaning(row: int, step: int) -> Tensor:
        """What the pieces that are attended to here say by themselves, piece by piece."""
        total = torch.zeros(features.shape[2], dtype=torch.float64)
        if model.lexical is not None:
            embedding = getattr(model.encoder, "sequence", model.encoder).embedding
            for place in range(int(batch.source.lengths[row])):
                piece = embedding.weight[batch.source.pieces[row, place]]
                total += writing[row, step, place] * (model.lexical.projection.weight @ piece)
        return total.tanh()

    for row, step in (~batch.padding).nonzero().tolist():
        legal = model.softmax.legal[batch.symbols[row, step]]
        logits = (weight @ (features[row, step] + meaning(row, step))).masked_fill(~legal, -torch.inf)
        expected[row, step] = logits.log_softmax(0)[batch.actions[row, step]]
    torch.testing.assert_close(model.log_probs(batch), expected, rtol=1e-9, atol=1e-9)


@kinds
@pytest.mark.parametrize("fast", [False, True], ids=["the definition", "the fast way"])
def test_hypotheses_of_a_sentence_are_copies_of_it_and_survive_any_reordering(
    kind: dict[str, object], fast: bool
) -> None:
    """Three hypotheses a sentence follow different derivations, are shuffled at every step, and find their parents."""
    model = make_model(kind).eval()
    width = 3
    gold = batch_for(kind, 11, sizes=(6, 4, 5, 3, 2, 7))
    # Rows 0-2 read the source of row 0, rows 3-5 that of row 3.
    gold = replace(gold, source=gold.source.select(torch.tensor([0, 0, 0, 3, 3, 3])))
    expected = model.log_probs(gold)

    stepping = model.for_search() if fast else model
    memory = stepping.encode(gold.source).select(torch.tensor([0, 3]))
    state = stepping.start(memory).select(torch.tensor([0] * width + [1] * width))
    at = torch.arange(6)  # which derivation each row follows
    found = torch.zeros_like(expected)
    draw = torch.Generator().manual_seed(3)
    for step in range(gold.actions.shape[1]):
        shuffle = torch.cat([torch.randperm(width, generator=draw) + base for base in (0, width)])
        state, at = state.select(shuffle), at[shuffle]
        previous = gold.actions[at, step - 1] if step else torch.full_like(at, model.num_actions)
        symbols, parents = gold.symbols[at, step], gold.parents[at, step]
        log_probs, state = stepping.step(state, memory, previous, symbols, parents)
        found[at, step] = log_probs[torch.arange(6), gold.actions[at, step]].masked_fill(gold.padding[at, step], 0)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@kinds
def test_a_search_model_has_the_probabilities_of_the_definition(kind: dict[str, object]) -> None:
    model, batch = make_model(kind).eval(), batch_for(kind, 12)
    expected = stepped_log_probs(model, batch)
    torch.testing.assert_close(stepped_log_probs(model.for_search(), batch), expected, rtol=1e-9, atol=1e-9)


@kinds
def test_a_search_model_in_int8_has_nearly_the_probabilities_of_the_definition(kind: dict[str, object]) -> None:
    model, batch = make_model(kind).eval(), batch_for(kind, 12)
    fast = fast_form(model.decoder)
    if fast is None or "int8" not in fast.precisions:
        with pytest.raises(UsageError, match=rf"int8.*{type(model.decoder).__name__}.*float32"):
            model.for_search("int8")
        return
    expected, found = stepped_log_probs(model, batch).exp(), stepped_log_probs(model.for_search("int8"), batch).exp()
    assert not torch.equal(found, expected)
    torch.testing.assert_close(found, expected, rtol=0, atol=0.02)
    assert torch.equal(found == 0, expected == 0)


@kinds
def test_a_search_model_has_the_decoder_of_when_it_was_made(kind: dict[str, object]) -> None:
    model, batch = make_model(kind).eval(), batch_for(kind, 13)
    searching = model.for_search()
    before = stepped_log_probs(searching, batch)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.startswith("encoder"):
                parameter.mul_(0.9)
    torch.testing.assert_close(
        stepped_log_probs(model.for_search(), batch), stepped_log_probs(model, batch), rtol=1e-9, atol=1e-9
    )
    assert torch.equal(stepped_log_probs(searching, batch), before)
    assert not torch.equal(before, stepped_log_probs(model, batch))


def stepped_log_probs(model: SearchModel, batch: Batch) -> Tensor:
    """B T A: the log-probabilities of all actions along the batch's derivations."""
    memory = model.encode(batch.source)
    state = model.start(memory)
    previous = torch.full_like(batch.source.lengths, model.num_actions)
    rows = []
    for step in range(batch.actions.shape[1]):
        log_probs, state = model.step(state, memory, previous, batch.symbols[:, step], batch.parents[:, step])
        previous = batch.actions[:, step]
        rows.append(log_probs)
    return torch.stack(rows, dim=1)  # B T A

"""A source with its tree becomes places, in either form, and the places give the tree back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support.small_models import ROWS, small, small_dev
from support.strategies import trees
from trdec.data.batch import SourceBatch, collate, unbatch
from trdec.data.codec import Codec
from trdec.data.source_form import SOURCE_END, BracketedSource, SourceForm, SourcePlace, TreeSource
from trdec.data.subword_dropout import SubwordDropout
from trdec.model.translation_model import ENCODERS
from trdec.systems import TREE_ENCODER_NAMES
from trdec.targets.actions import EOS, EmitMark, EmitWord
from trdec.text import UNKNOWN
from trdec.trees.transforms import desegment
from trdec.trees.tree import Nonterminal, labels, words

FORMS: dict[str, SourceForm] = {"brackets": BracketedSource(), "a tree": TreeSource()}
WITH_TREES = [name for name, row in ROWS.items() if row.source_trees is not None]

forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
rows = pytest.mark.parametrize("row", WITH_TREES)


@forms
@given(tree=trees())
def test_reading_undoes_writing(form: SourceForm, tree: Nonterminal) -> None:
    assert form.read(form.write(tree)) == tree


@forms
@given(tree=trees())
def test_every_node_has_its_marks_and_every_piece_is_there_once(form: SourceForm, tree: Nonterminal) -> None:
    actions = [place.action for place in form.write(tree)]
    assert [action.word for action in actions if isinstance(action, EmitWord)] == words(tree)
    marks = [action.mark for action in actions if isinstance(action, EmitMark)]
    around = ("(", ")") if isinstance(form, BracketedSource) else ("",)
    assert sorted(marks) == sorted(f"{bracket}{label}" for label in labels(tree) for bracket in around)
    assert actions.count(EOS) == 1
    names = form.names(tree)
    assert [name for name, action in zip(names, actions, strict=True) if isinstance(action, EmitWord)] == words(tree)
    assert names[actions.index(EOS)] == SOURCE_END


@given(tree=trees())
def test_a_tree_has_its_pieces_first_and_its_root_last(tree: Nonterminal) -> None:
    places = TreeSource.write(tree)
    end = len(words(tree))
    assert places[end] == (EOS, 0)
    assert len(places) == end + 1 + len(list(labels(tree)))
    assert places[-1] == (EmitMark(tree.label), 0)
    for number, (action, parent) in enumerate(places[:-1]):
        assert action == EOS or max(number, end) + 1 < parent <= len(places)


@rows
def test_the_prepared_source_is_the_text_with_its_tree(row: str) -> None:
    one, dev = small(row), small_dev(row)
    codec = one.codec
    for example in (dev[number] for number in range(len(dev))):
        assert np.array_equal(example.source, codec.encode_source(one.lines[example.sentence]))
        assert is_what_was_written(codec, example.source, one.lines[example.sentence])


def is_what_was_written(codec: Codec, source: np.ndarray, text: str) -> bool:
    """Whether a source's numbers stand for the pieces of the text under the nodes of its tree."""
    tokens = (EmitWord(token) if isinstance(token, str) else token for token in codec.source_tokens)
    action_of = dict(enumerate(tokens))
    places = [SourcePlace(action_of[number], parent) for number, _, parent in source.tolist()]
    form = FORMS["a tree" if codec.system.reads_trees else "brackets"]
    read = desegment(form.read(places), codec.source_side.tokeniser.words_of)
    return read == codec.built_tree(text, codec.source_side.split(text))


@rows
def test_unbatching_undoes_batching(row: str) -> None:
    dev, steps_of = small_dev(row), small(row).codec.table.steps
    examples = sorted((dev[number] for number in range(9)), key=lambda example: -len(example.actions))
    for (source, steps), example in zip(unbatch(collate(examples, steps_of)), examples, strict=True):
        assert np.array_equal(source, example.source)
        assert np.array_equal(steps[:, 0], example.actions)


@rows
def test_lengths_of_text_leave_the_tree_out(row: str) -> None:
    one = small(row)
    batch = one.sources([0, 1, 2])
    pieces = [len(one.codec.source_side.pieces(one.codec.source_side.split(one.lines[n]))) + 1 for n in range(3)]
    assert batch.text_lengths.tolist() == pieces
    assert (batch.lengths > batch.text_lengths).all()
    assert SourceBatch(batch.pieces, batch.lengths).text_lengths is batch.lengths


@rows
@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_subword_dropout_changes_pieces_but_neither_text_nor_tree(row: str, rate: float) -> None:
    one, dev = small(row), small_dev(row)
    dropout = SubwordDropout(one.codec, rate, seed=3)
    for number in range(12):
        example = dev[number]
        changed = dropout(example, number, epoch=1).source
        unknown = one.codec.source_tokens.index(UNKNOWN)
        if (example.source[:, 0] == unknown).any():
            continue
        assert shape(changed) == shape(example.source)
        if rate == 0:
            assert np.array_equal(changed, example.source)
        assert is_what_was_written(one.codec, changed, one.lines[example.sentence])
        if rate == 1:
            assert len(changed) > len(example.source)


def shape(source: np.ndarray) -> list[object]:
    """What of a source does not depend on how words are split: its marks, and the runs of pieces under each node."""
    length, (numbers, is_text, parents) = len(source), source.T.tolist()
    found: list[object] = []
    for number, text, parent in zip(numbers, is_text, parents, strict=True):
        item = ("text" if text else number, parent and length - parent)
        if not text or not found or found[-1] != item:
            found.append(item)
    return found


@settings(deadline=None, max_examples=20)
@given(words_of=st.lists(st.sampled_from(["Keride", "ve", "bene", "yesitir", "."]), min_size=1, max_size=12))
@rows
def test_any_line_of_words_can_be_encoded(row: str, words_of: list[str]) -> None:
    codec = small(row).codec
    source = codec.encode_source(" ".join(words_of))
    tree = codec.built_tree(" ".join(words_of), words_of)
    assert len(source) == len(codec.source_names(words_of, tree))


def test_names_say_which_encoders_read_trees() -> None:
    assert {name for name, made in ENCODERS.items() if getattr(made, "reads_trees", False)} == set(TREE_ENCODER_NAMES)


def test_a_batch_is_taken_apart_with_its_trees() -> None:
    batch = small("source trees for tree-lstm").sources([0, 1, 2])
    assert batch.parents is not None
    assert batch.is_text is not None
    one = batch.select(torch.tensor([1]))
    assert one.parents is not None
    assert one.pieces.shape == one.parents.shape == (1, int(batch.lengths[1]))
    assert torch.equal(one.parents[0], batch.parents[1, : batch.lengths[1]])
    assert one.text_lengths.tolist() == batch.text_lengths[1:2].tolist()

"""A training that starts from a trained model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
import yaml

from support.tiny_training import Recorder
from trdec.configuration import Configuration, load_configuration, load_saved_configuration
from trdec.corpora.toy.generate import write_corpus
from trdec.data.codec import Codec
from trdec.errors import ModelError, TrainingError
from trdec.model.translation_model import TranslationModel
from trdec.training.trainer import train
from trdec.training.transfer import take_weights
from trdec.translation.model_directory import load_model

KEYS: dict[str, Any] = {
    "system": "trdec-con",
    "data": {
        "train": {"source": "train.vel", "target": "train.en", "constituency": "train.en.con"},
        "dev": {"source": "dev.vel", "target": "dev.en", "constituency": "dev.en.con"},
        "source_subwords": {"size": 120},
        "target_subwords": {"size": 120},
    },
    "model": {"embedding_size": 6, "hidden_size": 6, "tie_embeddings": False},  # a softmax matrix to follow, too
    "training": {"max_updates": 1, "plot": False},
}


def configuration(folder: Path, corpus: str, output: str, *overrides: str) -> Configuration:
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump({**KEYS, "folder": str(folder / corpus), "output": str(folder / output)}))
    return load_configuration(path, overrides)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two corpora, and a model of the first."""
    folder = tmp_path_factory.mktemp("transfer")
    write_corpus(folder / "one", 60, 1)
    write_corpus(folder / "two", 80, 2)
    train(configuration(folder, "one", "parent"))
    return folder


def first_weights(folder: Path, output: str, *overrides: str, corpus: str = "two") -> tuple[Recorder, Path]:
    recorder = Recorder()
    # A rate of nearly nothing leaves the weights as training begins with them.
    keys = ("training.optimiser.learning_rate=1e-30", *overrides)
    train(configuration(folder, corpus, output, *keys), recorder)
    return recorder, folder / output


def test_the_same_corpus_takes_everything(folder: Path) -> None:
    recorder, output = first_weights(folder, "same", f"training.start_from={folder / 'parent'}", corpus="one")
    codec, parent, _ = load_model(folder / "parent")
    _, child, _ = load_model(output)
    for (name, weight), other in zip(child.named_parameters(), parent.parameters(), strict=True):
        assert torch.equal(weight, other), name
    weights = len(list(child.parameters()))
    (note,) = [note for note in recorder.notes if note.startswith("starting from")]
    assert f"{weights} of {weights} weights" in note
    actions = len(codec.table.actions)
    assert f"{actions} of {actions} actions" in note


def test_rows_follow_their_pieces_and_actions_to_another_vocabulary(folder: Path) -> None:
    recorder, output = first_weights(folder, "child", f"training.start_from={folder / 'parent'}", "seed=9")
    _, fresh_output = first_weights(folder, "fresh", "seed=9")
    (old, parent, _), (new, child, _), (_, fresh, _) = map(load_model, (folder / "parent", output, fresh_output))
    assert isinstance(parent, TranslationModel)
    actions = known(child.output_weight, fresh.output_weight, parent.output_weight, new, old)
    embeddings = known(
        child.decoder.embedding.weight, fresh.decoder.embedding.weight, parent.decoder.embedding.weight, new, old
    )
    assert 0 < actions == embeddings < len(new.table.actions)
    assert torch.equal(child.decoder.embedding.weight[-1], parent.decoder.embedding.weight[-1])  # the start
    assert torch.equal(child.encoder.embedding.weight[-1], parent.encoder.embedding.weight[-1])  # the end
    pieces = old.source_side.subwords.pieces
    for row, piece in enumerate(new.source_side.subwords.pieces):
        there = parent.encoder.embedding.weight[pieces.index(piece)] if piece in pieces else None
        expected = fresh.encoder.embedding.weight[row] if there is None else there
        assert torch.equal(child.encoder.embedding.weight[row], expected), piece
    assert any(f"{actions} of {len(new.table.actions)} actions" in note for note in recorder.notes)


def known(child: Any, fresh: Any, parent: Any, new: Codec, old: Codec) -> int:
    """How many rows are the parent's; the others must be those of a fresh network."""
    count = 0
    for row, action in enumerate(new.table.actions):
        if action in old.table.actions:
            assert torch.equal(child[row], parent[old.table.number(action)]), action
            count += 1
        else:
            assert torch.equal(child[row], fresh[row]), action
    return count


def test_symbols_keep_their_embeddings_in_another_grammar(folder: Path) -> None:
    codec, parent, _ = load_model(folder / "parent")
    table = codec.table
    order = [*reversed(table.symbols[1:]), table.symbols[0]]
    other = SimpleNamespace(
        source_tokens=codec.source_tokens, table=SimpleNamespace(actions=table.actions, symbols=order)
    )
    sizes = parent.configuration.model_copy(update={"embedding_size": 8})
    theirs, own = (TranslationModel(sizes, codec.inventory(), "lstm", "tree-transformer") for _ in range(2))
    take_weights(own, cast(Codec, other), theirs, codec)
    for row, symbol in enumerate(order):
        there = theirs.decoder.symbols.weight[table.symbols.index(symbol)]
        assert torch.equal(own.decoder.symbols.weight[row], there), symbol


def test_what_has_another_size_or_name_starts_fresh(folder: Path) -> None:
    codec, parent, _ = load_model(folder / "parent")
    sizes = parent.configuration.model_copy(update={"hidden_size": 7})
    child = TranslationModel(sizes, codec.inventory(), "lstm", "sequence")
    before = {name: weight.clone() for name, weight in child.named_parameters()}
    taken = take_weights(child, codec, parent, codec)
    changed = {name for name, weight in child.named_parameters() if not torch.equal(weight, before[name])}
    kept = {"encoder.embedding.weight", "decoder.embedding.weight", "output_weight", "lexical.projection.weight"}
    assert changed == kept
    assert taken.weights == (len(kept), len(before))


def test_a_resumed_training_does_not_start_again_and_needs_no_parent(folder: Path) -> None:
    first_weights(folder, "gone", f"training.start_from={folder / 'parent'}")
    recorder, _ = first_weights(folder, "gone", f"training.start_from={folder / 'nowhere'}")
    assert not any(note.startswith("starting from") for note in recorder.notes)
    assert load_saved_configuration(folder / "gone").training.start_from == folder / "parent"


def test_a_parent_of_which_nothing_fits_is_refused(folder: Path) -> None:
    keys = ("model.embedding_size=5", "model.hidden_size=4", "system=seq2seq")
    with pytest.raises(TrainingError, match=r"parent: no weight .*training\.start_from"):
        train(configuration(folder, "one", "unlike", *keys, f"training.start_from={folder / 'parent'}"))


def test_a_parent_that_cannot_be_used_is_refused_before_the_data_are_prepared(folder: Path) -> None:
    (folder / "torn").mkdir()
    (folder / "torn" / "config.yaml").write_text("system: [")
    for parent, fact in (("nowhere", "nowhere: expected a model"), ("torn", "torn: there is no codec")):
        with pytest.raises(ModelError, match=fact):
            train(configuration(folder, "one", "unready", f"training.start_from={folder / parent}"))
    assert not (folder / "unready" / "data").exists()


@pytest.mark.parametrize(("cost", "notes"), [(3.0, 1), (0.7, 0)])
def test_a_training_in_bfloat16_says_where_it_is_slower(
    folder: Path, cost: float, notes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trdec.training.trainer.bfloat16_cost", lambda: cost)
    recorder, _ = first_weights(folder, f"half-{notes}", "training.precision=bfloat16")
    assert len([note for note in recorder.notes if "bfloat16" in note]) == notes


def test_a_guided_training_learns_where_to_look(folder: Path) -> None:
    """Guidance costs something, and nothing else of the first update is changed by it."""
    rows = []
    for weight in (0, 2):
        recorder, _ = first_weights(folder, f"guided-{weight}", f"training.guidance={weight}", "training.log_every=1")
        assert ("aligning the pairs" in recorder.tasks) == (weight > 0)
        rows.append((recorder.train[0], recorder.dev[-1]))
    (alone, alone_on_dev), (guided, guided_on_dev) = rows
    assert guided["loss"] > alone["loss"] + 1
    assert guided["perplexity"] == pytest.approx(alone["perplexity"])
    assert guided_on_dev["loss"] == pytest.approx(alone_on_dev["loss"])

"""The examples run, and say what their documents say they do."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml
from hypothesis import given

from support import strategies
from support.model_directory import trained
from support.random_batches import random_batch, sentence, tree_inventory
from trdec.configuration.sections import ModelConfiguration
from trdec.errors import UsageError
from trdec.model.translation_model import TranslationModel
from trdec.targets.target import Target, replay
from trdec.trees.transforms import null_labels
from trdec.trees.tree import Nonterminal, words

Run = Callable[..., "subprocess.CompletedProcess[str]"]

EXAMPLES = Path(__file__).parent.parent.parent.parent / "examples"

TOY = """\
output: model
folder: toy
data:
  train: {source: train.vel, target: train.en}
  dev: {source: dev.vel, target: dev.en}
  source_subwords: {size: 150}
  target_subwords: {size: 120}
model: {embedding_size: 8, hidden_size: 8}
training: {max_updates: 3, validate_every: 3, log_every: 3, plot: false}
"""


def test_figure_1_is_the_papers_derivation(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "figure_1.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 18
    assert lines[0].split() == ["1", "ROOT", "0", "ROOT", "->", "S"]
    assert lines[12].split() == ["13", "pre", "11", "sh"]
    assert lines[-1].split() == ["18", "<end>", "0", "<eos>"]


def test_a_tree_kind_is_added_without_touching_the_package(trdec: Run) -> None:
    sentence = "It sleeps because it ate and drank .\n"
    result = trdec("trees", "build", "add_a_tree_kind:clauses", stdin=sentence, cwd=EXAMPLES)
    assert result.stdout == (
        "(ROOT (CLAUSE (NULL It sleeps)) (CLAUSE (NULL (NULL because it) ate)) (CLAUSE (NULL (NULL and drank) .)))\n"
    )


def test_a_tree_kind_is_twenty_lines() -> None:
    docstring, code = (EXAMPLES / "add_a_tree_kind.py").read_text(encoding="utf-8").split('"""\n', maxsplit=1)
    assert docstring.startswith('"""')
    assert len(code.strip().splitlines()) <= 20


@given(strategies.trees())
def test_the_example_of_a_target_is_read_back(tree: Nonterminal) -> None:
    target: type[Target[str]] = runpy.run_path(str(EXAMPLES / "add_a_target.py"))["BracketTarget"]
    made = target.from_trees([tree], words(tree))
    actions = made.linearise(tree)
    assert made.read(actions) == null_labels(tree)
    assert len(replay(made, actions)) == len(actions)


@pytest.mark.documents
@pytest.mark.parametrize("name", ["add_a_tree_kind", "add_a_target", "add_an_encoder", "add_a_decoder"])
def test_what_an_example_adds_is_trained_and_translates(name: str, trdec: Run, tmp_path: Path) -> None:
    """The example alone in a directory, with the line of YAML in its docstring."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    (system,) = re.findall(r"^    (system: .*)$", text, flags=re.MULTILINE)
    (tmp_path / "my.yaml").write_text(f"{system}\n{TOY}", encoding="utf-8")
    trdec("toy", "--sentences", "60", "--output", "toy", cwd=tmp_path)
    trained = trdec("train", "my.yaml", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    source = (tmp_path / "toy" / "dev.vel").read_text(encoding="utf-8").splitlines()[0]
    command = ("translate", "model", "--trees", "trees")
    refused = trdec(*command, stdin=f"{source}\n", cwd=tmp_path)
    assert refused.returncode == 1
    (flag,) = re.findall(rf"--allow {name}:\w+", refused.stderr)
    translated = trdec(*command, *flag.split(), stdin=f"{source}\n", cwd=tmp_path)
    assert translated.returncode == 0, translated.stderr
    assert len(translated.stdout.splitlines()) == 1
    assert (tmp_path / "trees").read_text(encoding="utf-8").startswith("(ROOT")
    saved = yaml.safe_load((tmp_path / "model" / "config.yaml").read_text(encoding="utf-8"))["system"]
    assert any(str(value).startswith((name, f"['{name}")) for value in saved.values())


def test_a_model_is_used_from_python() -> None:
    model = trained()
    source = (model.parent / "toy" / "train.vel").read_text(encoding="utf-8").splitlines()[0]
    target = (model.parent / "toy" / "train.en").read_text(encoding="utf-8").splitlines()[0]
    result = subprocess.run(
        [sys.executable, EXAMPLES / "translate_from_python.py", model],
        input=f"{source}\n\n",
        capture_output=True,
        text=True,
        check=True,
    )
    lines = result.stdout.splitlines()
    assert lines[0] == target
    assert lines[1].strip() == "ROOT"
    assert lines[-2].startswith("  score -")
    assert lines[-1] == ""  # an empty line has an empty translation, and neither tree nor score


def test_a_model_must_be_named() -> None:
    script = EXAMPLES / "translate_from_python.py"
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "usage: python examples/translate_from_python.py MODEL < LINES\n"


@pytest.mark.parametrize(("encoder", "decoder"), [("lstm", "Trigrams"), ("Neighbourhood", "tree")])
def test_parts_from_outside_obey_the_laws_of_a_network(
    encoder: str, decoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stepping gives the log-probabilities of training, and a sentence is the same alone and among others."""
    monkeypatch.syspath_prepend(EXAMPLES)
    torch.manual_seed(1)
    names = {"Trigrams": "add_a_decoder:Trigrams", "Neighbourhood": "add_an_encoder:Neighbourhood"}
    configuration = ModelConfiguration(embedding_size=3, hidden_size=4, initialisation_range=0.7)
    model = TranslationModel(
        configuration, tree_inventory(), names.get(encoder, encoder), names.get(decoder, decoder)
    ).double()
    batch = random_batch(5)
    expected = model.eval().log_probs(batch)
    searching = model.for_search()
    memory = searching.encode(batch.source)
    state, previous = searching.start(memory), torch.full_like(batch.source.lengths, model.num_actions)
    for step in range(batch.actions.shape[1]):
        log_probs, state = searching.step(state, memory, previous, batch.symbols[:, step], batch.parents[:, step])
        previous = batch.actions[:, step]
        found = log_probs.gather(1, previous.unsqueeze(1)).squeeze(1).masked_fill(batch.padding[:, step], 0)
        torch.testing.assert_close(found, expected[:, step])
    for row in range(batch.num_sentences):
        alone = model.log_probs(sentence(batch, row))[0]
        torch.testing.assert_close(expected[row, : len(alone)], alone)
    model.loss(batch).total.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("name", ["add_a_decoder:MeanOfSource", "add_a_decoder:Trigram"])
def test_what_is_not_a_network_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    with pytest.raises(UsageError, match=r"MeanOfSource.*torch.nn.Module|no 'Trigram'. Did you mean 'Trigrams'"):
        TranslationModel(ModelConfiguration(), tree_inventory(), decoder=name)

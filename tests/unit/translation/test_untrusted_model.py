"""A model from a stranger runs nothing and costs nothing, unless its user names the code himself."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.commands import Result, run
from support.model_directory import trained
from support.running import Run
from trdec.cli.score import score_command
from trdec.cli.translate import translate_command
from trdec.data.manifest import write_manifest
from trdec.errors import ModelError, UntrustedCodeError, UsageError
from trdec.translation.model_directory import load_model
from trdec.translation.translator import Translator

MODULE = """\
from pathlib import Path
Path({mark!r}).write_text("imported")
def build(words):
    Path({mark!r}).write_text("called")
"""


def copied(folder: Path) -> Path:
    """A copy of a small model without the data it was trained on."""
    return shutil.copytree(trained(), folder / "model", ignore=shutil.ignore_patterns("data", "best", "checkpoints"))


def edited(model: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The model with a changed configuration, and a manifest to match: its author made it so."""
    path = model / "config.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    write_manifest(model)
    return model


def naming(model: Path, **keys: Any) -> Path:
    """The model with these keys in the system of its configuration and of its codec."""
    path = model / "codec" / "codec.json"
    description = json.loads(path.read_text())
    path.write_text(json.dumps({**description, "system": {**description["system"], **keys}}))
    return edited(model, lambda content: content.update(system={**description["system"], **keys}))


def score(model: Path, target: str, *options: object) -> Result:
    (model.parent / "source").write_text("Finise piti yesebil .\n")
    (model.parent / "target").write_text(f"{target}\n")
    files = ("--source", model.parent / "source", "--target", model.parent / "target")
    return run(score_command, model, *files, *options)


@pytest.mark.parametrize("name", ["subprocess:call", "os:system"])
@pytest.mark.parametrize("key", ["trees", "transforms", "target", "encoder", "decoder"])
def test_what_a_model_names_is_not_run(key: str, name: str, tmp_path: Path) -> None:
    model = naming(copied(tmp_path), **{key: [name] if key in ("trees", "transforms") else name})
    for result in (
        score(model, f"touch {tmp_path / 'mark'}"),
        run(translate_command, model, stdin=f"touch {tmp_path / 'mark'}\n"),
    ):
        assert result.returncode == 1
        assert result.stdout == ""
        assert str(model / "config.yaml") in result.stderr
        assert f"--allow {name}" in result.stderr
    with pytest.raises(UntrustedCodeError, match=f"`allow` {name}"):
        Translator.load(model)
    assert not (tmp_path / "mark").exists()


def test_the_codec_alone_is_not_believed_either(tmp_path: Path) -> None:
    model = copied(tmp_path)
    path = model / "codec" / "codec.json"
    description = json.loads(path.read_text())
    path.write_text(json.dumps({**description, "system": {**description["system"], "trees": ["subprocess:call"]}}))
    write_manifest(model)
    result = score(model, f"touch {tmp_path / 'mark'}")
    assert result.returncode == 1
    assert f"{path}: " in result.stderr
    assert "--allow subprocess:call" in result.stderr
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("where", ["current", "model"])
@pytest.mark.parametrize("key", ["trees", "target", "decoder"])
def test_no_module_is_imported_because_of_a_model(key: str, where: str, tmp_path: Path, trdec: Run) -> None:
    name = "strangers_trees"
    model = naming(copied(tmp_path), **{key: [f"{name}:build"] if key == "trees" else f"{name}:build"})
    folder = model if where == "model" else tmp_path
    mark = tmp_path / "mark"
    (folder / f"{name}.py").write_text(MODULE.format(mark=str(mark)))
    (tmp_path / "lines").write_text("a\n")
    command = ("score", model, "--source", tmp_path / "lines", "--target", tmp_path / "lines")
    result = trdec(*command, cwd=folder)
    assert result.returncode == 1
    assert f"--allow {name}:build" in result.stderr
    assert not mark.exists()


def test_even_allowed_code_never_comes_from_the_models_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = naming(copied(tmp_path), decoder="strangers_decoder:build")
    (model / "strangers_decoder.py").write_text(MODULE.format(mark=str(tmp_path / "mark")))
    (model / "deeper").mkdir()
    for folder in (model, model / "deeper"):
        monkeypatch.chdir(folder)
        with pytest.raises(UntrustedCodeError, match="never taken from a model's directory"):
            load_model(model, allow=["strangers_decoder:build"])
        with pytest.raises(UntrustedCodeError):
            load_model(Path(os.path.relpath(model)), allow=["strangers_decoder:build"])
    assert not (tmp_path / "mark").exists()
    assert "strangers_decoder" not in sys.modules


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "great"])
@pytest.mark.parametrize(
    "name", ["config.yaml", "manifest.json", "codec/codec.json", "codec/grammar.txt", "codec/source.spm.model"]
)
def test_what_is_no_file_is_not_read(kind: str, name: str, tmp_path: Path) -> None:
    path = copied(tmp_path) / name
    (tmp_path / "model" / "manifest.json").unlink()
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        path.touch()
        os.truncate(path, 1 << 33)
    with pytest.raises(ModelError, match=rf"{path}: expected (a file, found something else|at most 67,108,864 bytes)"):
        load_model(tmp_path / "model")


def test_the_very_same_name_must_be_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "allowed_trees.py").write_text(
        "from trdec.trees.tree import Nonterminal, Terminal\n"
        "def build(words):\n    return Nonterminal('S', tuple(map(Terminal, words)))\n"
    )
    model = naming(copied(tmp_path), trees=["allowed_trees:build"])
    for wrong in (["allowed_trees:other"], ["allowed_trees:builder"], ["other:build"], []):
        with pytest.raises(UntrustedCodeError, match="`allow` allowed_trees:build"):
            load_model(model, allow=wrong)
    assert score(model, "The fish .", "--allow", "allowed_trees:build").returncode == 0
    assert run(translate_command, model, "--allow", "allowed_trees:build", stdin="Finise .\n").returncode == 0
    with pytest.raises(UsageError, match=r"module:attribute, found 'allowed_trees'"):
        load_model(model, allow=["allowed_trees"])


@pytest.mark.parametrize(
    ("key", "value", "facts"),
    [
        ("hidden_size", 20_000, "of shape"),
        ("embedding_size", 65_536, "of shape"),
        ("embedding_size", 10**12, "embedding_size"),
        ("hidden_size", 10**30, "hidden_size"),
        ("encoder_layers", 10**9, "encoder_layers"),
        ("encoder_layers", 1024, "weights of 1024 layers"),
        ("encoder_layers", 2, "missing"),
    ],
)
def test_sizes_are_compared_with_the_weights_before_anything_is_made(
    key: str, value: int, facts: str, tmp_path: Path
) -> None:
    def change(content: dict[str, Any]) -> None:
        content["model"][key] = value

    model = edited(copied(tmp_path), change)
    began, before = time.monotonic(), _peak()
    with pytest.raises(ModelError, match=facts):
        load_model(model)
    assert time.monotonic() - began < 5
    assert _peak() - before < 100


def _peak() -> float:
    """The most memory that this process has used, in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_a_grammar_that_would_fill_memory_is_refused(tmp_path: Path) -> None:
    model = copied(tmp_path)
    rules = "".join(f"A{number} -> pre\t1\n" for number in range(40_000))
    (model / "codec" / "grammar.txt").write_text("ROOT -> pre\t1\n" + rules)
    write_manifest(model)
    before = _peak()
    with pytest.raises(ModelError, match=r"40,\d\d\d symbols"):
        load_model(model)
    assert _peak() - before < 300


def test_a_long_chain_of_rules_is_read_in_no_time(tmp_path: Path) -> None:
    model = copied(tmp_path)
    rules = "".join(f"A{number} -> A{number + 1}\t1\n" for number in range(20_000))
    (model / "codec" / "grammar.txt").write_text(f"ROOT -> A0\t1\n{rules}")
    write_manifest(model)
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"grammar.txt.*ROOT"):
        load_model(model)
    (model / "codec" / "grammar.txt").write_text(f"ROOT -> A0\t1\n{rules}A20000 -> pre\t1\n")
    write_manifest(model)
    with pytest.raises(ModelError, match="symbols"):
        load_model(model)
    assert time.monotonic() - began < 10


def test_a_yaml_bomb_in_a_model_costs_nothing(tmp_path: Path) -> None:
    model = copied(tmp_path)
    letters = "abcdefghij"
    lines = [f"{name}: &{name} [{','.join([f'*{old}'] * 9)}]" for old, name in itertools.pairwise(letters)]
    (model / "config.yaml").write_text("\n".join(["a: &a [x,x,x,x,x,x,x,x,x]", *lines]))
    write_manifest(model)
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"config.yaml, line \d+: .*10,000"):
        load_model(model)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "null", "[]", "{}", '{"format": "trdec codec"}'])
def test_no_json_is_a_traceback(content: str, tmp_path: Path) -> None:
    model = copied(tmp_path)
    (model / "codec" / "codec.json").write_text(content)
    write_manifest(model)
    with pytest.raises(ModelError, match=r"codec.json"):
        load_model(model)
    (model / "manifest.json").write_text(content)
    with pytest.raises(ModelError, match=r"manifest.json"):
        load_model(model)


def test_a_transformer_of_many_layers_is_refused_before_any_is_made(tmp_path: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        content["model"]["transformer"] = {"layers": 1024, "heads": 2, "feed_forward": 65_536}

    model = edited(naming(copied(tmp_path), encoder="transformer", decoder="tree-transformer"), change)
    begin = time.process_time()
    with pytest.raises(ModelError, match=r"expected weights of 1024 layers, found \d+ tensors"):
        load_model(model)
    assert time.process_time() - begin < 1

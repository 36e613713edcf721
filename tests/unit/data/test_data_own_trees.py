"""Trees from outside the package: kept with the codec, and seen when they change."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from support.toy_corpora import changed_system, configuration
from trdec.data.codec import Codec
from trdec.data.prepare import prepare
from trdec.data.workers import Processes
from trdec.errors import TreeShapeError, UsageError
from trdec.trees.by_name import builder_called

HALVES = """\
from trdec.trees.tree import Nonterminal, Terminal

def halves(words):
    leaves = tuple(Terminal(word) for word in words)
    half = (len(leaves) + 1) // 2
    return Nonterminal("LEFT", leaves[:half] + ((Nonterminal("RIGHT", leaves[half:]),) if leaves[half:] else ()))
"""


def own(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> Path:
    """A module of one's own in the folder, which is the current directory from then on."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = folder / f"{name}.py"
    path.write_text(HALVES, encoding="utf-8")
    return path


def test_a_model_can_be_used_where_its_builder_is_not(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(tmp_path, monkeypatch, "halves_kept")
    made = prepare(
        configuration(toy),
        changed_system("trdec-binary", trees="halves_kept:halves"),
        tmp_path / "data",
        workers=Processes(2),
    )
    assert {rule.lhs for rule in made.codec.target.grammar.rules} == {"ROOT", "LEFT", "RIGHT"}
    (tmp_path / "halves_kept.py").unlink()
    monkeypatch.delitem(sys.modules, "halves_kept")
    builder_called.cache_clear()
    codec = Codec.load(tmp_path / "data" / "codec", allow=["halves_kept:halves"])
    assert codec.system.trees == ("halves_kept:halves",)
    assert codec.decode(made.train[0].actions).text == (toy / "train.en").read_text().splitlines()[0]
    with pytest.raises(UsageError, match="halves_kept:halves: the module cannot be imported"):
        prepare(configuration(toy), changed_system("trdec-binary", trees="halves_kept:halves"), tmp_path / "data")


def test_an_edit_of_the_function_is_seen(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = own(tmp_path, monkeypatch, "halves_edited")
    system = changed_system("trdec-binary", trees="halves_edited:halves")
    prepare(configuration(toy), system, tmp_path / "data")
    caplog.set_level(logging.INFO)
    prepare(configuration(toy), system, tmp_path / "data")
    assert "nothing changed, used again" in caplog.text
    path.write_text(HALVES + "# edited\n", encoding="utf-8")
    prepare(configuration(toy), system, tmp_path / "data")
    assert "made again, because of changes in halves_edited:halves" in caplog.text


@pytest.mark.parametrize(("system", "kind"), [("trdec-binary", "phrase"), ("lin", "ternary"), ("seq2seq", "binary-1")])
def test_any_tree_can_stand_in_for_the_systems_own(system: str, kind: str, toy: Path, tmp_path: Path) -> None:
    made = prepare(configuration(toy), changed_system(system, trees=(kind, "flat")), tmp_path / "data")
    assert len(made.train) == 2 * 600
    assert made.codec.system.trees == (kind, "flat")


def test_supertags_cannot_be_built_from_words(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(TreeShapeError, match="expected"):
        prepare(configuration(toy), changed_system("ccg", trees="binary-1"), tmp_path / "data")


def test_an_edit_of_a_transform_is_seen(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = own(tmp_path, monkeypatch, "itself_edited")
    path.write_text("def itself(tree):\n    return tree\n", encoding="utf-8")
    system = changed_system("trdec-binary", transforms="itself_edited:itself")
    made = prepare(configuration(toy), system, tmp_path / "data")
    assert made.codec.system.transforms == ("itself_edited:itself",)
    path.write_text("def itself(tree):\n    return tree  # edited\n", encoding="utf-8")
    prepare(configuration(toy), system, tmp_path / "data")
    assert "made again, because of changes in itself_edited:itself" in caplog.text

"""`data.trees`: other trees than the system's own, kept with the codec, and seen when they change."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from support.toy_corpora import configuration
from trdec.data.codec import Codec, system_called, treebanks_of
from trdec.data.prepare import prepare
from trdec.errors import StoredDataError, TreeShapeError, UsageError
from trdec.trees.builders import BUILDERS
from trdec.trees.own_builders import builder_called

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
    made = prepare(configuration(toy, trees="halves_kept:halves"), "trdec-binary", tmp_path / "data", workers=2)
    assert {rule.lhs for rule in made.codec.target.grammar.rules} == {"ROOT", "LEFT", "RIGHT"}
    (tmp_path / "halves_kept.py").unlink()
    monkeypatch.delitem(sys.modules, "halves_kept")
    builder_called.cache_clear()
    codec = Codec.load(tmp_path / "data" / "codec")
    assert codec.trees == ("halves_kept:halves",)
    assert codec.decode(made.train[0].steps[:, 0]).text == (toy / "train.en").read_text().splitlines()[0]
    with pytest.raises(UsageError, match="halves_kept:halves: the module cannot be imported"):
        prepare(configuration(toy, trees="halves_kept:halves"), "trdec-binary", tmp_path / "data")


def test_an_edit_of_the_function_is_seen(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = own(tmp_path, monkeypatch, "halves_edited")
    asked = configuration(toy, trees=("halves_edited:halves",))
    prepare(asked, "trdec-binary", tmp_path / "data")
    caplog.set_level(logging.INFO)
    prepare(asked, "trdec-binary", tmp_path / "data")
    assert "nothing changed, used again" in caplog.text
    path.write_text(HALVES + "# edited\n", encoding="utf-8")
    prepare(asked, "trdec-binary", tmp_path / "data")
    assert "made again, because of changes in halves_edited:halves" in caplog.text


@pytest.mark.parametrize(("system", "kind"), [("trdec-binary", "phrase"), ("lin", "ternary"), ("seq2seq", "binary-1")])
def test_any_tree_can_stand_in_for_the_systems_own(system: str, kind: str, toy: Path, tmp_path: Path) -> None:
    made = prepare(configuration(toy, trees=(kind, "flat")), system, tmp_path / "data")
    assert len(made.train) == 2 * 600
    assert [treebank.kind for treebank in made.codec.treebanks] == [kind, "flat"]


def test_parses_can_be_learnt_as_they_are() -> None:
    (as_given,) = treebanks_of(system_called("trdec-con"), (), ["constituency"])
    assert as_given.transforms == ()
    (stripped,) = treebanks_of(system_called("trdec-con"), ("strip-tags",), ["constituency"])
    assert stripped == system_called("trdec-con").treebanks[0]


def test_without_the_key_nothing_is_different(toy: Path, tmp_path: Path) -> None:
    prepare(configuration(toy), "trdec-binary", tmp_path / "data")
    assert "trees" not in (tmp_path / "data" / "codec" / "codec.json").read_text()
    assert not any(f'"{kind}":' in (tmp_path / "data" / "data" / "preparation.json").read_text() for kind in BUILDERS)


def test_supertags_cannot_be_built_from_words(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(TreeShapeError, match="expected"):
        prepare(configuration(toy, trees=("binary-1",)), "ccg", tmp_path / "data")


@pytest.mark.parametrize(("name", "hint"), [("binary-3", " Did you mean 'binary-2'"), ("own.py", "found 'own.py'.")])
def test_what_is_no_kind_of_tree_is_refused(toy: Path, name: str, hint: str) -> None:
    message = (
        f"expected a kind of tree, one of constituency, .*, or a function of your own as module:function; .*{hint}"
    )
    with pytest.raises(ValueError, match=message):
        configuration(toy, trees=name)
    with pytest.raises(UsageError, match=message):
        treebanks_of(system_called("trdec-con"), (), [name])


def test_a_codec_with_unknown_trees_is_refused(toy: Path, tmp_path: Path) -> None:
    prepare(configuration(toy, trees="flat"), "trdec-binary", tmp_path / "data")
    path = tmp_path / "data" / "codec" / "codec.json"
    path.write_text(path.read_text().replace('"flat"', '"flut"'))
    with pytest.raises(StoredDataError, match=r"expected a kind of tree, .*found 'flut'. Did you mean 'flat'\?"):
        Codec.load(tmp_path / "data" / "codec")

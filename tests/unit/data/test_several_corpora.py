"""Several corpora to train on, each with its weight."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from support.toy_corpora import configuration
from trdec.configuration import check_unchanged, load_configuration
from trdec.configuration.sections import DataConfiguration
from trdec.data.prepare import Preparation, prepare
from trdec.errors import ConfigError, FileError
from trdec.files import read_lines
from trdec.systems import SYSTEMS


@pytest.fixture
def parts(toy: Path, tmp_path: Path) -> DataConfiguration:
    """The toy corpus in two parts, of which the second is seen twice."""
    for name in ("vel", "en"):
        lines = (toy / f"train.{name}").read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / f"first.{name}").write_text("".join(lines[:40]), encoding="utf-8")
        (tmp_path / f"second.{name}").write_text("".join(lines[40:]), encoding="utf-8")
    named = [{"source": tmp_path / f"{part}.vel", "target": tmp_path / f"{part}.en"} for part in ("first", "second")]
    content = configuration(toy).model_dump()
    return DataConfiguration.model_validate({**content, "train": [named[0], {**named[1], "weight": 2}]})


def test_corpora_are_prepared_as_if_they_were_one(toy: Path, tmp_path: Path, parts: DataConfiguration) -> None:
    system = SYSTEMS["trdec-binary"]
    one = prepare(configuration(toy), system, tmp_path / "one")
    two = prepare(parts, system, tmp_path / "two")
    for name in ("codec/target.spm.model", "codec/grammar.txt", "data/train/actions.npy", "data/train/sentences.npy"):
        if (tmp_path / "one" / name).exists() or name.endswith("npy"):
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    assert two.first_sentences == (0, 40)
    assert Preparation.open(tmp_path / "two").first_sentences == (0, 40)
    assert one.first_sentences == (0,)
    weights = two.of_each([corpus.weight for corpus in parts.corpora])
    assert np.array_equal(weights, np.where(two.train.sentences < 40, 1.0, 2.0))
    assert one.fingerprint != two.fingerprint


def test_a_changed_second_corpus_is_prepared_again(tmp_path: Path, parts: DataConfiguration) -> None:
    before = prepare(parts, SYSTEMS["seq2seq"], tmp_path / "model")
    for corpus in (parts.further[0].source, parts.further[0].target):
        lines = [line.text for line in read_lines(corpus)]
        corpus.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    after = prepare(parts, SYSTEMS["seq2seq"], tmp_path / "model")
    assert len(after.train) == len(before.train) - 1


def test_a_missing_file_is_named_with_its_key(tmp_path: Path, parts: DataConfiguration) -> None:
    parts.further[0].source.unlink()
    with pytest.raises(FileError, match=r"data\.further\.0\.source: .*second\.vel"):
        prepare(parts, SYSTEMS["seq2seq"], tmp_path / "model")


def written(folder: Path, train: object) -> Path:
    path = folder / "my.yaml"
    data = {"train": train, "dev": {"source": "d.a", "target": "d.b"}}
    path.write_text(yaml.safe_dump({"system": "seq2seq", "output": "model", "folder": "texts", "data": data}))
    return path


def test_a_list_is_the_first_corpus_and_further_ones(tmp_path: Path) -> None:
    two = [{"source": "t.a", "target": "t.b"}, {"source": "u.a", "target": "u.b", "weight": 0.5}]
    found = load_configuration(written(tmp_path, two))
    assert [corpus.weight for corpus in found.data.corpora] == [1.0, 0.5]
    assert [corpus.source for corpus in found.located_data.corpora] == [Path("texts/t.a"), Path("texts/u.a")]
    found.save(tmp_path / "saved.yaml")
    assert load_configuration(tmp_path / "saved.yaml") == found
    moved = [{"source": "v.a", "target": "v.b"}, {"source": "w.a", "target": "w.b", "weight": 0.5}]
    check_unchanged(found, load_configuration(written(tmp_path, moved)), Path("config.yaml"))
    for other, key in (
        ([two[0], {**two[1], "weight": 3}], r"data\.further\.0\.weight: 0\.5 there, 3\.0 now"),
        (two[:1], r"data\.further: 1 there, 0 now"),
    ):
        with pytest.raises(ConfigError, match=key):
            check_unchanged(found, load_configuration(written(tmp_path, other)), Path("config.yaml"))


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ([], "at least one corpus"),
        ([{"source": "a", "target": "b"}, {"source": "c"}], r"data\.further\.0\.target"),
        ([{"source": "a", "target": "b", "weight": 0}], "greater than 0"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, train: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_configuration(written(tmp_path, train))


def test_defaults_by_size_count_what_an_epoch_has(toy: Path, tmp_path: Path) -> None:
    one = {"source": str(toy / "train.vel"), "target": str(toy / "train.en")}
    alone = load_configuration(written(tmp_path, one))
    often = load_configuration(written(tmp_path, [one, {**one, "weight": 1000}]))
    many = load_configuration(written(tmp_path, one), pairs=1001 * sum(1 for _ in read_lines(toy / "train.vel")))
    assert often.training == many.training != alone.training

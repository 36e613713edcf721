"""No damage to a model goes unnoticed: whatever byte of whatever file changes, loading refuses and names the file."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.model_directory import make_model, trained
from trdec.data.codec import Codec
from trdec.data.manifest import MANIFEST, check_manifest, write_manifest
from trdec.errors import ModelError, Place, StoredDataError, TrdecError
from trdec.files import Line
from trdec.text import Subwords
from trdec.translation.model_directory import load_model
from trdec.translation.translator import Translator
from trdec.trees.grammar import Grammar, Rule

PLACES = 40
"""Places at which each file is damaged, each in every way."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = tmp_path_factory.mktemp("damaged") / "model"
    return shutil.copytree(trained(), model, ignore=shutil.ignore_patterns("data", "best", "checkpoints", ".*"))


def files(model: Path) -> list[Path]:
    return sorted(path for path in model.rglob("*") if path.is_file())


def damaged(content: bytes, generator: random.Random) -> Iterator[bytes]:
    """The content with a bit flipped, a byte replaced, two bytes swapped, a byte lost, one more, or its end missing."""
    for _ in range(PLACES):
        place, other = generator.randrange(len(content)), generator.randrange(len(content))
        flipped, replaced, swapped = bytearray(content), bytearray(content), bytearray(content)
        flipped[place] ^= 1 << generator.randrange(8)
        replaced[place] = generator.randrange(256)
        swapped[place], swapped[other] = content[other], content[place]
        yield bytes(flipped)
        yield bytes(replaced)
        yield bytes(swapped)
        yield content[:place] + content[place + 1 :]
        yield content[:place] + bytes([generator.randrange(256)]) + content[place:]
        yield content[:place]


def test_no_damage_is_silent(whole: Path) -> None:
    generator = random.Random(1)
    tried = 0
    for path in files(whole):
        content = path.read_bytes()
        for changed in damaged(content, generator):
            if changed == content:
                continue
            path.write_bytes(changed)
            with pytest.raises(ModelError) as raised:
                check_manifest(whole)
            assert path.name in str(raised.value)
            tried += 1
        path.unlink()
        if path.name != MANIFEST:
            with pytest.raises(TrdecError, match=path.name.replace(".", r"\.")):
                load_model(whole)
        path.write_bytes(content)
    assert tried > 5 * PLACES * len(files(whole)) > 1000
    load_model(whole)


def test_files_of_two_models_are_not_mixed(whole: Path, tmp_path: Path) -> None:
    other = make_model(tmp_path, "trdec-binary")
    for path in files(whole):
        foreign = other / path.relative_to(whole)
        content = path.read_bytes()
        if path.name == MANIFEST or foreign.read_bytes() == content:
            continue
        path.write_bytes(foreign.read_bytes())
        with pytest.raises(ModelError, match=path.name.replace(".", r"\.")):
            load_model(whole)
        path.write_bytes(content)


def test_a_file_more_or_a_manifest_that_lists_too_little_is_noticed(whole: Path, tmp_path: Path) -> None:
    model = shutil.copytree(whole, tmp_path / "model")
    (model / "codec" / "marks.txt").write_text("")
    with pytest.raises(ModelError, match=r"marks\.txt"):
        load_model(model)
    write_manifest(model)
    load_model(model)


def test_without_a_manifest_a_model_is_used_with_a_warning(
    whole: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = shutil.copytree(whole, tmp_path / "model")
    (model / MANIFEST).unlink()
    load_model(model)
    assert MANIFEST in caplog.text


def test_counts_do_not_order_the_actions(whole: Path, tmp_path: Path) -> None:
    """A count in `grammar.txt` is a remark: editing it changes no translation, even where nothing is checked."""
    model = shutil.copytree(whole, tmp_path / "model")
    path = model / "codec" / "grammar.txt"
    lines = path.read_text().splitlines()
    path.write_text("".join(f"{line.split(chr(9))[0]}\t{number + 1}\n" for number, line in enumerate(lines)))
    (model / MANIFEST).unlink()
    before, now = Translator.load(whole), Translator.load(model)
    assert now.codec.table.actions == before.codec.table.actions
    source = (trained().parent / "toy" / "train.vel").read_text(encoding="utf-8").splitlines()[:5]
    assert [found.text for found in now.translate(source)] == [found.text for found in before.translate(source)]


@pytest.mark.parametrize("name", ["grammar.txt", "source.spm.model", "target.spm.model"])
def test_a_codec_notices_other_numbers_by_itself(name: str, whole: Path, tmp_path: Path) -> None:
    """Rules in another order, and another subword model of the same size, are refused without a manifest too."""
    codec = shutil.copytree(whole / "codec", tmp_path / "codec")
    path = codec / name
    if name == "grammar.txt":
        path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    else:
        before = Subwords.load(path)
        text = (trained().parent / "toy" / "train.en").read_text(encoding="utf-8").splitlines()
        other = Subwords.train((line[::-1] for line in text), "bpe", len(before.pieces) + 2)
        assert len(other.pieces) == len(before.pieces)
        other.save(path)
    with pytest.raises(StoredDataError, match=r"codec\.json"):
        Codec.load(codec)


def test_a_grammar_keeps_the_order_of_its_lines() -> None:
    texts = ["A -> pre\t1", "ROOT -> A\t7", "ROOT -> A A\t9"]
    read = Grammar.read(Line(Place("grammar", number), text) for number, text in enumerate(texts, start=1))
    assert [str(rule) for rule in read] == [text.split("\t")[0] for text in texts]
    assert list(read.write()) == texts
    assert [rule.rhs for rule in Grammar(read.counts)] == [("A", "A"), ("A",), ("pre",)]
    assert Rule("A", ("pre",)) in read

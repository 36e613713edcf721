"""An exported model has what translating needs and nothing else, as a folder or an archive, and translates the same."""

from __future__ import annotations

import gzip
import io
import json
import resource
import shutil
import tarfile
import time
import zipfile
from pathlib import Path

import pytest
import yaml

from support.commands import run
from support.model_directory import trained
from trdec.cli.export import dev_scores, export_command, translate_line
from trdec.configuration import load_saved_configuration
from trdec.errors import FileError, ModelError
from trdec.systems import SYSTEMS, System
from trdec.translation.export import model_card
from trdec.translation.translator import Translator

FILES = {"README.md", "codec", "config.yaml", "manifest.json", "model.safetensors"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with checkpoints, data and a log."""
    directory = tmp_path_factory.mktemp("trained") / "model"
    shutil.copytree(trained(), directory)
    (directory / "checkpoints").mkdir()
    (directory / "checkpoints" / "much").write_text("much")
    rows = [
        {"event": "dev", "update": 1, "loss": 9.0, "bleu": 1.0, "best": True},
        {"event": "dev", "update": 2, "loss": 8.5, "bleu": 20.25, "best": True},
        {"event": "dev", "update": 3, "loss": 8.0, "bleu": 20.0, "best": False},
    ]
    (directory / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return directory


@pytest.mark.parametrize("name", ["mine", "mine.tar.gz", "mine.zip"])
def test_an_exported_model_translates_the_same(model: Path, tmp_path: Path, name: str) -> None:
    output = tmp_path / name
    done = run(export_command, model, output)
    assert done.stdout == f"{output}\n"
    assert "MB" in done.stderr
    lines = ["Finise piti yesebil .", "Tavona yibitil ."]
    expected = [found.text for found in Translator.load(model).translate(lines)]
    assert [found.text for found in Translator.load(output).translate(lines)] == expected
    if output.is_dir():
        assert {path.name for path in output.iterdir()} == FILES


@pytest.mark.parametrize("name", ["mine.tar.gz", "mine.zip"])
def test_the_same_model_gives_the_same_archive(model: Path, tmp_path: Path, name: str) -> None:
    for folder in ("a", "b"):
        run(export_command, model, tmp_path / folder / name)
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_card_has_what_hubs_read(model: Path, tmp_path: Path) -> None:
    run(export_command, model, tmp_path / "mine", "--license", "cc-by-4.0")
    _, front, text = (tmp_path / "mine" / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    found = yaml.safe_load(front)
    assert found["license"] == "cc-by-4.0"
    assert found["pipeline_tag"] == "translation"
    assert "trdec-con" in found["tags"]
    metrics = found["model-index"][0]["results"][0]["metrics"]
    assert [(metric["type"], metric["value"]) for metric in metrics] == [("bleu", 20.0), ("loss", 8.0)]
    assert "trdec translate mine" in text
    assert "trdec train config.yaml" in text


@pytest.mark.parametrize(
    ("changes", "scores"),
    [
        ({"final_weights": "last", "metric": "bleu"}, {"dev BLEU": 20.0, "dev loss": 8.0}),
        ({"final_weights": "best", "metric": "bleu"}, {"dev BLEU": 20.25, "dev loss": 8.5}),
        ({"final_weights": "best", "metric": "loss"}, {"dev BLEU": 20.0, "dev loss": 8.0}),
        (
            {"final_weights": "average", "metric": "bleu", "keep_best": 2},
            {"best single weights' dev BLEU": 20.25, "best single weights' dev loss": 8.5},
        ),
    ],
    ids=["last", "best by bleu", "best by loss", "average"],
)
def test_the_card_credits_weights_with_their_own_scores(
    model: Path, tmp_path: Path, changes: dict[str, object], scores: dict[str, float]
) -> None:
    theirs = shutil.copytree(model, tmp_path / "theirs")
    (theirs / "manifest.json").unlink()
    configuration = load_saved_configuration(theirs)
    training = configuration.training.model_copy(update=changes)
    configuration.model_copy(update={"training": training}).save(theirs / "config.yaml")
    with (theirs / "log.jsonl").open("r+") as stream:  # a loss that was not finite is no score
        others = stream.read()
        stream.seek(0)
        stream.write(json.dumps({"event": "dev", "update": 0, "loss": None, "bleu": None}) + "\n" + others)
    assert dev_scores(theirs) == scores
    run(export_command, theirs, tmp_path / "mine")
    front = yaml.safe_load((tmp_path / "mine" / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    metrics = front["model-index"][0]["results"][0]["metrics"]
    assert {metric["name"]: metric["value"] for metric in metrics} == scores
    assert [metric["type"] for metric in metrics] == ["bleu", "loss"]


def test_a_damaged_log_costs_the_card_its_scores_alone(model: Path, tmp_path: Path) -> None:
    theirs = shutil.copytree(model, tmp_path / "theirs")
    with (theirs / "log.jsonl").open("a") as stream:
        stream.write("half a li\n")
    result = run(export_command, theirs, tmp_path / "mine")
    assert result.returncode == 0
    assert f"{theirs / 'log.jsonl'}, line 4: expected a JSON object" in result.stderr
    assert "no scores" in result.stderr
    assert "None are known." in (tmp_path / "mine" / "README.md").read_text(encoding="utf-8")


def test_a_model_may_have_a_name_that_is_not_utf_8(model: Path, tmp_path: Path) -> None:
    output = tmp_path / b"my\xffmodel".decode("utf-8", "surrogateescape")
    assert run(export_command, model, output).returncode == 0
    assert "my\\udcffmodel" in (output / "README.md").read_text(encoding="utf-8")


def test_what_cannot_be_exported_is_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    assert "there: already exists" in run(export_command, model, tmp_path / "there").stderr
    assert "there is no config.yaml" in run(export_command, tmp_path / "there", tmp_path / "new").stderr
    damaged = tmp_path / "damaged"
    shutil.copytree(model, damaged)
    with (damaged / "model.safetensors").open("r+b") as stream:
        stream.seek(-1, 2)
        stream.write(b"\x7f")
    assert "model.safetensors: the file is damaged" in run(export_command, damaged, tmp_path / "new").stderr
    assert not (tmp_path / "new").exists()


def test_an_archive_is_not_trusted(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as zipped, zipped.open("m/model.safetensors", "w") as stream:
        for _ in range(70):
            stream.write(bytes(1 << 20))
    outside = tmp_path / "outside.tar.gz"
    with tarfile.open(outside, "w:gz") as tar:
        header = tarfile.TarInfo("../escaped")
        header.size = 1
        tar.addfile(header, io.BytesIO(b"x"))
    empty = tmp_path / "empty.zip"
    with zipfile.ZipFile(empty, "w") as zipped:
        zipped.writestr("m/notes.txt", "nothing")
    for archive, fact in (
        (bomb, "at most 67,108,864 bytes"),
        (outside, "outside its folder"),
        (empty, "no config.yaml"),
    ):
        with pytest.raises(ModelError, match=fact) as caught:
            Translator.load(archive)
        assert str(archive) in str(caught.value)
    assert not (tmp_path.parent / "escaped").exists()


def _member(name: str, kind: bytes, size: int = 0) -> bytes:
    header = tarfile.TarInfo(name)
    header.type, header.size = kind, size
    return header.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        # tarfile reads a name and a note of any length at once.
        (_member("x", tarfile.XHDTYPE, 1 << 40), "a name or a note of 1,099,511,627,776 bytes"),
        (_member("x", tarfile.GNUTYPE_LONGNAME, 1 << 30) + bytes(1 << 27), "a name or a note of 1,073,741,824 bytes"),
        (_member("x", b"Z", 1 << 30) + bytes(1 << 28), "at most 134,217,728 bytes"),  # skipped, but unpacked
        (_member("x", tarfile.REGTYPE) + bytes(1 << 28), "at most 134,217,728 bytes"),  # after the end
        (b"".join(_member(f"x/{number}", tarfile.REGTYPE) for number in range(20_000)), "at most 67,108,864 bytes"),
        (_member("a", tarfile.REGTYPE) + _member("a/b", tarfile.REGTYPE), "cannot be written: File exists"),
    ],
    ids=["note", "name", "skipped", "rest", "many", "twice"],
)
def test_no_trick_of_a_tar_file_costs_much(content: bytes, fact: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(gzip.compress(content, 1))
    begin, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises((ModelError, FileError), match=fact) as caught:
        Translator.load(path)
    assert str(path) in str(caught.value)
    assert time.process_time() - begin < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_many_links_are_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    links = b"".join(_member(f"x/{number}", tarfile.SYMTYPE) for number in range(1000))
    (tmp_path / "links.tgz").write_bytes(gzip.compress(links + bytes(1024)))
    with pytest.raises(ModelError, match="no config"):
        Translator.load(tmp_path / "links.tgz")
    assert [record.getMessage() for record in caplog.records] == [
        "links.tgz: x/0 is neither a file nor a folder, and was skipped.",
        "links.tgz: 999 more such were skipped.",
    ]


@pytest.mark.parametrize("name", ["codec/extra", "codec/source.spm.model", "config.yaml"])
def test_a_link_in_a_model_publishes_nothing_from_elsewhere(name: str, model: Path, tmp_path: Path) -> None:
    theirs = shutil.copytree(model, tmp_path / "theirs")
    (theirs / "manifest.json").unlink()
    (theirs / name).unlink(missing_ok=True)
    (tmp_path / "private").write_text("secret")
    (theirs / name).symlink_to(tmp_path / "private")
    result = run(export_command, theirs, tmp_path / "new")
    assert result.returncode == 1
    assert f"{name}: expected a file of the model, found a link to {tmp_path / 'private'}" in result.stderr
    assert not (tmp_path / "new").exists()


def test_a_file_of_an_archive_that_was_changed_is_noticed(model: Path, tmp_path: Path) -> None:
    run(export_command, model, tmp_path / "mine")
    (tmp_path / "mine" / "config.yaml").open("a").write("# changed\n")
    shutil.make_archive(str(tmp_path / "changed"), "zip", tmp_path, "mine")
    with pytest.raises(ModelError, match=rf"{tmp_path}/changed.zip/mine/config.yaml: expected .* bytes"):
        Translator.load(tmp_path / "changed.zip")


@pytest.mark.parametrize(
    ("output", "name"), [("my.model-1.0", "my.model-1.0"), ("v1.2.tar.gz", "v1.2"), ("a model", "'a model'")]
)
def test_the_card_names_the_model_as_the_command_needs_it(model: Path, tmp_path: Path, output: str, name: str) -> None:
    run(export_command, model, tmp_path / output)
    if (tmp_path / output).is_dir():
        card = (tmp_path / output / "README.md").read_text(encoding="utf-8")
    else:
        with tarfile.open(tmp_path / output) as packed:
            stream = packed.extractfile(f"{name}/README.md")
            assert stream is not None
            card = stream.read().decode()
    assert f"trdec translate {name} < source.txt" in card


def test_the_card_says_what_the_system_needs_and_writes(model: Path) -> None:
    def card(**changes: object) -> str:
        system = System.model_validate(SYSTEMS["trdec-con"].model_dump() | changes)
        configuration = load_saved_configuration(model).model_copy(update={"system": system})
        return model_card(configuration, "mine", {}, translate_line, None)

    assert "generates a tree" in card()
    assert "generates a tree" not in card(**SYSTEMS["seq2seq"].model_dump())
    assert "trdec translate mine <" in card(source_trees="binary-1", encoder="tree-lstm")
    parsed = card(source_trees="constituency", encoder="tree-lstm", decoder="my_code:Decoder")
    assert "trdec translate mine --allow my_code:Decoder --source-trees source.trees < source.txt" in parsed

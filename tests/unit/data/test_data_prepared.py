"""Examples are kept in flat arrays on disk; what is damaged or foreign is refused by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from trdec.data.store import ARRAYS, Example, Examples, Prepared, PreparedWriter
from trdec.errors import StoredDataError
from trdec.files import checksum

EXAMPLES = [
    Example(np.array([4, 5, 6], dtype=np.int32), np.array([0, 1], dtype=np.int32), 7, 0),
    Example(np.array([8], dtype=np.int32), np.array([2, 0, 1], dtype=np.int32), 9, 0),
    Example(np.array([8], dtype=np.int32), np.array([1], dtype=np.int32), 9, 1),
]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with PreparedWriter(tmp_path / "train") as writer:
        writer.append(Examples.of(EXAMPLES[:1]))
        writer.append(Examples.of([]))
        writer.append(Examples.of(EXAMPLES[1:]))
    return tmp_path / "train"


def test_what_is_written_is_read(directory: Path) -> None:
    prepared = Prepared.open(directory)
    assert len(prepared) == 3
    for number, expected in enumerate(EXAMPLES):
        found = prepared[number]
        assert np.array_equal(found.source, expected.source)
        assert np.array_equal(found.actions, expected.actions)
        assert (found.sentence, found.treebank) == (expected.sentence, expected.treebank)
    assert prepared.source_lengths.tolist() == [3, 1, 1]
    assert prepared.step_lengths.tolist() == [2, 3, 1]
    assert prepared.sentences.tolist() == [7, 9, 9]
    assert prepared.treebanks.tolist() == [0, 0, 1]


def test_the_files_are_ordinary_numpy_arrays(directory: Path) -> None:
    assert np.load(directory / "action_offsets.npy").tolist() == [0, 2, 5, 6]


def test_trees_of_one_sentence_share_its_source(directory: Path) -> None:
    assert np.load(directory / "source.npy").tolist() == [4, 5, 6, 8]
    assert np.load(directory / "sources.npy").tolist() == [0, 1, 1]
    assert np.load(directory / "sentences.npy").tolist() == [7, 9]


def test_examples_are_mapped_not_read(directory: Path) -> None:
    example = Prepared.open(directory)[0]
    assert not example.source.flags.owndata
    assert not example.source.flags.writeable


@pytest.mark.parametrize("number", [3, -1])
def test_an_example_that_is_not_there_is_refused(number: int, directory: Path) -> None:
    with pytest.raises(IndexError, match=f"from 0 to 2, found {number}"):
        Prepared.open(directory)[number]


@pytest.mark.parametrize("name", ARRAYS)
def test_a_missing_array_is_named(name: str, directory: Path) -> None:
    (directory / f"{name}.npy").unlink()
    with pytest.raises(StoredDataError, match=rf"train/{name}.npy: is missing. Prepare the data again"):
        Prepared.open(directory)


@pytest.mark.parametrize("name", ARRAYS)
def test_a_damaged_array_is_named(name: str, directory: Path) -> None:
    content = (directory / f"{name}.npy").read_bytes()
    for damaged in (content[:-3], content[:50], b"", b"text" + content[4:]):
        (directory / f"{name}.npy").write_bytes(damaged)
        with pytest.raises(StoredDataError, match=rf"train/{name}.npy: is damaged"):
            Prepared.open(directory)


def test_an_array_of_another_corpus_is_named(directory: Path) -> None:
    np.save(directory / "actions.npy", np.zeros(5, dtype=np.int32))
    with pytest.raises(
        StoredDataError, match=r"actions.npy: expected int32 of shape \(6,\), found int32 of shape \(5,\)"
    ):
        Prepared.open(directory)
    np.save(directory / "actions.npy", np.zeros(6, dtype=np.float32))
    with pytest.raises(StoredDataError, match=r"expected int32 of shape \(6,\), found float32"):
        Prepared.open(directory)


def test_offsets_that_do_not_fit_are_named(directory: Path) -> None:
    np.save(directory / "source_offsets.npy", np.array([0, 3, 3]))
    with pytest.raises(
        StoredDataError, match=r"source_offsets.npy: expected offsets that rise from 0 to 4, found 0 to 3"
    ):
        Prepared.open(directory)


def test_a_directory_without_a_description_is_refused(directory: Path) -> None:
    (directory / "prepared.json").unlink()
    with pytest.raises(StoredDataError, match=r"prepared.json: cannot be read: No such file"):
        Prepared.open(directory)
    shutil.rmtree(directory)
    with pytest.raises(StoredDataError, match=r"prepared.json: cannot be read: No such file"):
        Prepared.open(directory)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "expected version 4 or 5 of the trdec prepared corpus format, found version 3"),
        ({"format": "other"}, "expected the description of a trdec prepared corpus, found something else"),
        ({"lengths": {}}, "source.npy: expected int32 of shape"),
    ],
)
def test_a_foreign_directory_is_refused(change: dict[str, object], message: str, directory: Path) -> None:
    path = directory / "prepared.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(StoredDataError, match=message):
        Prepared.open(directory)


def test_an_error_while_writing_leaves_no_description(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="stop"), PreparedWriter(tmp_path / "train") as writer:
        writer.append(Examples.of(EXAMPLES))
        raise ValueError("stop")
    assert not (tmp_path / "train" / "prepared.json").exists()


@pytest.mark.parametrize("offsets", [[0, 2, 1, 6], [0, 9, 5, 6], [0, -1, 5, 6]])
def test_offsets_that_fall_are_refused(offsets: list[int], directory: Path) -> None:
    np.save(directory / "action_offsets.npy", np.array(offsets))
    with pytest.raises(StoredDataError, match=r"train/action_offsets.npy: .* fall"):
        Prepared.open(directory)


@pytest.mark.parametrize("name", ARRAYS)
def test_no_changed_bit_goes_unnoticed(name: str, directory: Path) -> None:
    path = directory / f"{name}.npy"
    content = path.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(StoredDataError, match=rf"{name}.npy"):
            Prepared.open(directory)
    path.write_bytes(content)
    Prepared.open(directory)


def test_numbers_that_a_codec_does_not_have_are_refused(directory: Path) -> None:
    prepared = Prepared.open(directory)
    prepared.check_numbers(directory, 9, 3)
    with pytest.raises(StoredDataError, match=r"source.npy: a piece is out of range"):
        prepared.check_numbers(directory, 8, 3)
    with pytest.raises(StoredDataError, match=r"actions.npy: an action is out of range"):
        prepared.check_numbers(directory, 9, 2)


@pytest.mark.parametrize("sources", [[0, 1, 2], [-1, 1, 1]])
def test_a_source_that_is_not_there_is_refused(sources: list[int], directory: Path) -> None:
    path, description = directory / "sources.npy", directory / "prepared.json"
    np.save(path, np.array(sources))
    content = json.loads(description.read_text())
    content["sha256"]["sources"] = checksum(path)
    description.write_text(json.dumps(content))
    with pytest.raises(StoredDataError, match=r"sources.npy: a source is out of range"):
        Prepared.open(directory)


def test_what_is_not_kept_takes_its_source_along() -> None:
    examples = Examples.of(EXAMPLES)
    for kept in ([True, False, True], [False, True, True], [True, False, False], [False, False, False]):
        found = examples.select(np.array(kept))
        expected = Examples.of([example for example, is_kept in zip(EXAMPLES, kept, strict=True) if is_kept])
        for name in Examples.__slots__:
            assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name

"""Examples are kept in flat arrays on disk; what is damaged or foreign is refused by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from trdec.data.store import ARRAYS, Example, Examples, Prepared, PreparedWriter
from trdec.errors import StoredDataError

EXAMPLES = [
    Example(np.array([4, 5, 6], dtype=np.int32), np.arange(6, dtype=np.int32).reshape(2, 3), 7, 0),
    Example(np.array([8], dtype=np.int32), np.arange(9, dtype=np.int32).reshape(3, 3), 9, 1),
    Example(np.array([1, 2], dtype=np.int32), np.arange(3, dtype=np.int32).reshape(1, 3), 10, 0),
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
        assert np.array_equal(found.steps, expected.steps)
        assert (found.sentence, found.treebank) == (expected.sentence, expected.treebank)
    assert prepared.source_lengths.tolist() == [3, 1, 2]
    assert prepared.step_lengths.tolist() == [2, 3, 1]
    assert prepared.sentences.tolist() == [7, 9, 10]
    assert prepared.treebanks.tolist() == [0, 1, 0]


def test_the_files_are_ordinary_numpy_arrays(directory: Path) -> None:
    assert np.load(directory / "source.npy").tolist() == [4, 5, 6, 8, 1, 2]
    assert np.load(directory / "step_offsets.npy").tolist() == [0, 2, 5, 6]


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
    np.save(directory / "steps.npy", np.zeros((5, 3), dtype=np.int32))
    with pytest.raises(
        StoredDataError, match=r"steps.npy: expected int32 of shape \(6, 3\), found int32 of shape \(5, 3\)"
    ):
        Prepared.open(directory)
    np.save(directory / "steps.npy", np.zeros((6, 3), dtype=np.float32))
    with pytest.raises(StoredDataError, match=r"expected int32 of shape \(6, 3\), found float32"):
        Prepared.open(directory)


def test_offsets_that_do_not_fit_are_named(directory: Path) -> None:
    np.save(directory / "source_offsets.npy", np.array([0, 3, 4, 5]))
    with pytest.raises(
        StoredDataError, match=r"source_offsets.npy: expected offsets that rise from 0 to 6, found 0 to 5"
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
        ({"version": 4}, "expected version 1 or 2 or 3 of the trdec prepared corpus format, found version 4"),
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
    np.save(directory / "step_offsets.npy", np.array(offsets))
    with pytest.raises(StoredDataError, match=r"train/step_offsets.npy: .* fall"):
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


def _older(directory: Path) -> None:
    """Rewrite the description as the first version of the format, which had no checksums."""
    path = directory / "prepared.json"
    description = {key: value for key, value in json.loads(path.read_text()).items() if key != "sha256"}
    path.write_text(json.dumps({**description, "version": 1}))


def test_the_first_version_is_read_and_its_numbers_are_checked(directory: Path) -> None:
    _older(directory)
    steps = np.array([[0, 0, 0], [1, 1, 1], [2, 0, 0], [2, 1, 1], [0, 0, 2], [1, 0, 0]], dtype=np.int32)
    legal = np.array([[True, True, True], [False, True, True]])
    np.save(directory / "steps.npy", steps)
    Prepared.open(directory).check_numbers(directory, 9, legal)
    with pytest.raises(StoredDataError, match=r"source.npy"):
        Prepared.open(directory).check_numbers(directory, 8, legal)
    for row, column, value in ((0, 0, 3), (0, 0, -1), (1, 1, 2), (1, 1, -1), (1, 2, 2), (0, 2, 1), (1, 0, 0)):
        changed = steps.copy()
        changed[row, column] = value
        np.save(directory / "steps.npy", changed)
        with pytest.raises(StoredDataError, match=r"steps.npy"):
            Prepared.open(directory).check_numbers(directory, 9, legal)

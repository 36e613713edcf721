"""The manifest of a model directory: what wrote it, and the size and checksum of every file that translating reads.

    {
      "format": "trdec model",
      "version": 1,
      "trdec": "0.1.0",
      "files": {"model.safetensors": [{"bytes": 61400000, "sha256": "..."}], ...},
      "checksum": "..."
    }

Training replaces files of a model that someone may be translating with, and may be killed at any moment. Before a
file is replaced, the manifest lists what the file is and what it will be; afterwards, only what it is. So the files
always agree with the manifest. A directory without a manifest, as earlier versions wrote it, is taken as it is.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trdec import __version__
from trdec.configuration import CONFIGURATION_FILE
from trdec.errors import ModelError
from trdec.files import checksum, checksum_of_text, replacing_file, write_errors

_log = logging.getLogger(__name__)

MANIFEST_FORMAT = "trdec model"
MANIFEST_VERSION = 1
MANIFEST = "manifest.json"

WEIGHTS = "model.safetensors"
CODEC = "codec"

FileState = dict[str, Any]
"""The size of a file in bytes, and its checksum."""


def write_manifest(directory: Path) -> None:
    """Write the manifest of the files that are in a model directory now."""
    _write(directory, {name: [_state(path)] for name, path in _files(directory).items()})


def check_kinds(directory: Path) -> None:
    """Raise ModelError unless all that is read is a file, or a link to one, and of a size that such a file may have.

    Reading a pipe would wait for ever, reading a device would never end.
    """
    inner = sorted((directory / CODEC).iterdir()) if (directory / CODEC).is_dir() else [directory / CODEC / ""]
    for path in (directory / MANIFEST, directory / CONFIGURATION_FILE, directory / WEIGHTS, *inner):
        if path.exists() and not path.is_file():
            raise ModelError(f"{path}: expected a file, found something else. {_RESTORE}")
        if path.name != WEIGHTS and path.exists() and (size := path.stat().st_size) > MOST_BYTES:
            raise ModelError(f"{path}: expected at most {MOST_BYTES:,} bytes, found {size:,}. {_RESTORE}")


MOST_BYTES = 1 << 26
"""The most bytes of a file other than the weights; the greatest known subword models have a tenth of that."""


def check_manifest(directory: Path) -> None:
    """Raise ModelError if a file of the model is not the one that its manifest lists."""
    if not (directory / MANIFEST).exists():
        _log.warning(
            "%s: there is no %s, as earlier versions of trdec wrote none: damage to this model cannot be noticed.",
            directory,
            MANIFEST,
        )
        return
    while True:
        listed = _read(directory)
        try:
            _compare(directory, listed)
        except ModelError:
            if _read(directory) != listed:  # training replaced a file in between
                continue
            raise
        return


@contextlib.contextmanager
def replacing_model_file(directory: Path, name: str) -> Iterator[Path]:
    """The name of an empty file to write to, which then replaces a file of the model and what the manifest lists."""
    path = directory / name
    with replacing_file(path, durable=True) as temporary:
        yield temporary
        new = [_state(temporary)]
        if listed := _read_or_remove(directory):
            _write(directory, listed | {name: [*listed.get(name, []), *new]})
    if listed:
        _write(directory, listed | {name: new})


def remove_manifest(directory: Path) -> None:
    """Delete the manifest, before more than one file is replaced."""
    (directory / MANIFEST).unlink(missing_ok=True)


def _files(directory: Path) -> dict[str, Path]:
    """Everything that translating reads, by its name in the manifest."""
    names = [CONFIGURATION_FILE, *(f"{CODEC}/{path.name}" for path in sorted((directory / CODEC).glob("*"))), WEIGHTS]
    return {name: directory / name for name in names if (directory / name).is_file()}


def _state(path: Path) -> FileState:
    return {"bytes": path.stat().st_size, "sha256": checksum(path)}


def _compare(directory: Path, listed: Mapping[str, list[FileState]]) -> None:
    files = _files(directory)
    for name in listed:
        if name not in files:
            raise ModelError(f"{directory / name}: the file is missing; {MANIFEST} lists it. {_RESTORE}")
    for name, path in files.items():
        if name not in listed:
            raise ModelError(f"{path}: {MANIFEST} does not list this file. {_RESTORE}")
        size = path.stat().st_size
        if all(state["bytes"] != size for state in listed[name]):
            expected = " or ".join(f"{state['bytes']:,}" for state in listed[name])
            raise ModelError(f"{path}: expected {expected} bytes, found {size:,}: the file is damaged. {_RESTORE}")
        found = checksum(path)
        if all(state["sha256"] != found for state in listed[name]):
            raise ModelError(
                f"{path}: the file is damaged or was changed: its checksum is not the one in {MANIFEST}. {_RESTORE}"
            )


_RESTORE = "Copy the model again, or train again."


def _read(directory: Path) -> dict[str, list[FileState]]:
    """What each file of the model may be."""
    path = directory / MANIFEST
    try:
        text = path.read_bytes().decode("utf-8")  # ends of lines as they are
        found = json.loads(text)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}. {_RESTORE}") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: expected JSON, found something else: {error}. {_RESTORE}") from error
    if not isinstance(found, dict) or found.get("format") != MANIFEST_FORMAT:
        raise ModelError(f"{path}: expected the manifest of a {MANIFEST_FORMAT}, found something else. {_RESTORE}")
    if found.get("version") != MANIFEST_VERSION:
        raise ModelError(
            f"{path}: expected version {MANIFEST_VERSION} of the {MANIFEST_FORMAT} format, found version "
            f"{found.get('version')}. Use the version of trdec that wrote it: {found.get('trdec')}."
        )
    files = found.get("files")
    # Compared as text, so that no byte can change unnoticed.
    if not isinstance(files, dict) or not _well_formed(files) or text != _text(found.get("trdec"), files):
        raise ModelError(f"{path}: the file is damaged: its checksum is not the one recorded. {_RESTORE}")
    return files


def _well_formed(files: Mapping[str, Any]) -> bool:
    return all(
        isinstance(states, list)
        and all(
            isinstance(state, dict) and isinstance(state.get("bytes"), int) and isinstance(state.get("sha256"), str)
            for state in states
        )
        for states in files.values()
    )


def _read_or_remove(directory: Path) -> dict[str, list[FileState]] | None:
    """What the manifest lists; one that cannot be read is deleted, so that it does not contradict new files."""
    try:
        return _read(directory)
    except ModelError:
        remove_manifest(directory)
        return None


def _write(directory: Path, files: Mapping[str, list[FileState]]) -> None:
    path = directory / MANIFEST
    with write_errors(path), replacing_file(path, durable=True) as temporary:
        temporary.write_text(_text(__version__, files), encoding="utf-8")


def _text(writer: object, files: Mapping[str, list[FileState]]) -> str:
    content = {"format": MANIFEST_FORMAT, "version": MANIFEST_VERSION, "trdec": writer, "files": files}
    sealed = {**content, "checksum": checksum_of_text(json.dumps(content, sort_keys=True))}
    return json.dumps(sealed, indent=1) + "\n"

"""The JSON file that says what a directory of stored data is, so that no other is taken for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trdec.errors import StoredDataError
from trdec.text.lines import writing

AGAIN = "Prepare the data again with: trdec prepare (in a model directory: run its trdec train again)"


def write_description(path: Path, format_name: str, version: int, content: Mapping[str, Any]) -> None:
    """Write the content under its format's name and version."""
    with writing(path) as stream:
        described = {"format": format_name, "version": version, **content}
        stream.write(json.dumps(described, ensure_ascii=False, indent=2) + "\n")


def read_description(path: Path, format_name: str, version: int) -> dict[str, Any]:
    """The content that `write_description` wrote; StoredDataError for another format or version."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StoredDataError(f"{path}: cannot be read: {error.strerror}. {AGAIN}") from error
    except ValueError as error:
        raise StoredDataError(f"{path}: expected JSON, found something else: {error}. {AGAIN}") from error
    if not isinstance(found, dict) or found.get("format") != format_name:
        raise StoredDataError(f"{path}: expected the description of a {format_name}, found another. {AGAIN}")
    if found.get("version") != version:
        raise StoredDataError(
            f"{path}: expected version {version} of the {format_name} format, "
            f"found version {found.get('version')}. {AGAIN}"
        )
    return found

"""Paths as people write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def at_home(value: Any) -> Any:
    """A path whose leading `~` or `~name` is that user's folder, as a shell would have it; all else as it is."""
    if not isinstance(value, Path):
        return value
    try:
        return value.expanduser()
    except RuntimeError as error:
        raise ValueError(f"expected a path, found {str(value)!r}: no user of that name has a folder here.") from error

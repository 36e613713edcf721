"""Keys that requests must have, where a server asks for them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path

from trdec.errors import UsageError
from trdec.files import read_lines


def read_keys(path: Path) -> frozenset[str]:
    """The keys in a file, one per line; empty lines and lines that begin with # are ignored."""
    lines = (line.text.strip() for line in read_lines(path))
    keys = frozenset(line for line in lines if line and not line.startswith("#"))
    if not keys:
        raise UsageError(f"{path}: expected API keys, one per line, found none: nobody could use the server.")
    return keys


class KeyRing:
    """Keys that are compared in the same time whatever they are and however many there are."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = [_digest(key) for key in keys]

    def __contains__(self, key: str) -> bool:
        digest = _digest(key)
        return sum([hmac.compare_digest(digest, each) for each in self._digests]) > 0


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()

"""Texts of a corpus: lines, columns of tables and fields of JSON, compressed or not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import zstandard

from fuzz.harness import Target
from trdec.data.inspection import check_is_text
from trdec.errors import TrdecError
from trdec.files import count_lines, read_lines, text_checksum

_NAMES = ("text", "text.tsv:2", "text.jsonl:de", "text.jsonl:translation.de")
_TABLE = b"a cat\teine Katze\n\tzwei\n"
_FIELDS = b"".join(
    json.dumps({"de": "Katze \n \u00a0", "translation": {"de": str(number)}}).encode() + b"\n" for number in range(3)
)


def run_text(data: bytes) -> None:
    """Read a file as lines, as a table and as JSON; every way that succeeds finds the same number of lines."""
    with TemporaryDirectory(prefix="trdec-fuzz-") as name:
        refused: TrdecError | None = None
        taken = 0
        for part in _NAMES:
            path = Path(name, part)
            Path(name, part.split(":")[0]).write_bytes(data)
            try:
                check_is_text(path)
                lines = list(read_lines(path))
                assert len(lines) == count_lines(path)
                assert not any("\n" in line.text for line in lines)
                text_checksum(path)
                taken += 1
            except TrdecError as error:
                assert len(str(error)) < 2000, "a message nobody can read"
                refused = error
        if refused is not None and not taken:
            raise refused


def _plain() -> list[bytes]:
    return [b"a cat\n\ntwo cats", _TABLE, _FIELDS]


def text_seeds() -> list[bytes]:
    """Each kind of text, plain and compressed."""
    packed = zstandard.ZstdCompressor()
    return [
        *_plain(),
        *(gzip.compress(text, mtime=0) for text in _plain()),
        *(packed.compress(text) for text in _plain()),
        packed.compress(b"a\nb") + packed.compress(b"c\n"),
    ]


def generate_text(random: Random) -> bytes:
    """A text that may be damaged before it is compressed, so that what is wrong is within."""
    text = bytearray(random.choice(_plain()))
    for _ in range(random.randrange(4)):
        text[random.randrange(len(text))] = random.choice(b'\t\n"{}[]\\\xff\0a')
    return random.choice((bytes, gzip.compress, zstandard.ZstdCompressor().compress))(bytes(text))


_TOKENS = (b"\t", b"\n", b"{", b'"de": ', b'"', b"\\ud800", b"\x1f\x8b\x08", b"(\xb5/\xfd", b"\x00\x00\x00\xff\xff")

TARGETS = [Target("texts", run_text, text_seeds, _TOKENS, generate_text, weight=0.5)]

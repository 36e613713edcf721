"""Every breakage is of a line that is there: `make test-breakages` would otherwise break nothing."""

from __future__ import annotations

from pathlib import Path

from breakages import BREAKAGES, REPOSITORY


def test_every_breakage_is_of_one_line_of_the_code() -> None:
    package = REPOSITORY / "src" / "trdec"
    stale = [
        (breakage.file, breakage.right)
        for breakage in BREAKAGES
        if Path(package, breakage.file).read_text(encoding="utf-8").count(breakage.right) != 1
    ]
    assert stale == []
    assert all(breakage.right != breakage.wrong for breakage in BREAKAGES)

"""What is installed is pinned, and nothing but pins stands in the file that pins it."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent


def test_every_constraint_is_a_name_and_a_version() -> None:
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.]+", line)] == []
    assert "torch==2.13.0" in lines

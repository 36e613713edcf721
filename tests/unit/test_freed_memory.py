"""A process that keeps freed memory does not ask the system for it again."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trdec.cli import main
from trdec.freed_memory import keep_freed_memory

PAGES_ASKED_FOR = """
import resource, sys
from trdec.freed_memory import keep_freed_memory

def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if sys.argv[1] == "keep" and not keep_freed_memory():
    sys.exit("the allocator of this system cannot be told to keep memory")
bytearray(2**26)
before = pages()
for _ in range(3):
    bytearray(2**26)
print(pages() - before)
"""


def pages_asked_for(how: str) -> int:
    """The pages that three times 64 MB take, after the first 64 MB were freed."""
    done = subprocess.run([sys.executable, "-c", PAGES_ASKED_FOR, how], capture_output=True, text=True, check=False)
    if "cannot be told" in done.stderr:
        pytest.skip(done.stderr.strip())
    return int(done.stdout)


def test_freed_memory_is_used_again() -> None:
    assert pages_asked_for("keep") < 50
    assert (
        pages_asked_for("give back") > 100
    )  # 96 huge pages, or 49,152 small ones and more: else this test shows nothing


def test_other_systems_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not keep_freed_memory()


def test_the_command_line_keeps_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[None] = []
    monkeypatch.setattr(main, "keep_freed_memory", lambda: calls.append(None))
    monkeypatch.setattr(sys, "argv", ["trdec", "--version"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert (ended.value.code, len(calls)) == (0, 1)

"""Where the corpora are, and how to run the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from support.running import Run

REPOSITORY = Path(__file__).parent.parent
CORPORA = Path(os.environ.get("TRDEC_DATA", REPOSITORY / "data"))

# A law that fails must fail again when it is looked into: continuous integration draws the same examples each time.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("default", deadline=None)
settings.load_profile("ci" if "CI" in os.environ else "default")


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora; tests that need it are skipped where it is absent."""
    if not CORPORA.is_dir():
        pytest.skip(f"no corpora at {CORPORA}: name the folder with TRDEC_DATA")
    return CORPORA


@pytest.fixture
def trdec() -> Run:
    """Run `trdec` with arguments and standard input (text, or bytes); gives its output and exit code."""

    def run(*arguments: object, stdin: str | bytes = "", **options: object) -> subprocess.CompletedProcess[str]:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        result = subprocess.run(
            [sys.executable, "-m", "trdec.cli.main", *map(str, arguments)],
            input=raw,
            capture_output=True,
            check=False,
            **options,  # type: ignore[call-overload]
        )
        return subprocess.CompletedProcess(
            result.args, result.returncode, result.stdout.decode(), result.stderr.decode()
        )

    return run

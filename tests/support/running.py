"""What running a command in a test gives."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

Run = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs `trdec` with arguments, and standard input if given."""

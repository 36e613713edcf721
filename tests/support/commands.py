"""Commands run in this process, since starting torch takes seconds."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass

import typer

from trdec.cli.options import explain_error
from trdec.errors import TrdecError


@dataclass(frozen=True)
class Result:
    """What a command wrote, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


def run(command: Callable[..., None], *arguments: object, stdin: str | bytes = "") -> Result:
    """Run a command as `trdec` does: an error the user can fix goes to standard error."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    out, err, code = io.StringIO(), io.StringIO(), 0
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            app([str(argument) for argument in arguments], standalone_mode=False)
    except TrdecError as error:
        code = 1
        err.write(f"{explain_error(error)}\n")
    finally:
        sys.stdin = before
    return Result(code, out.getvalue(), err.getvalue())

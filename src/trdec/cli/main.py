"""`trdec`: the console script, its verbs, and what a person sees when something goes wrong."""

from __future__ import annotations

import io
import os
import platform
import shlex
import sys
import tempfile
import traceback
from typing import Any

import typer
import typer.core

from trdec import __version__
from trdec.cli.options import explain_error, say
from trdec.errors import TrdecError, memory_errors
from trdec.files import write_errors
from trdec.freed_memory import keep_freed_memory

INTERNAL_ERROR = 70
"""The exit status after an error that is trdec's own fault, as in sysexits.h."""


class _Verbs(typer.core.TyperGroup):
    def invoke(self, context: Any) -> Any:
        """Run a verb to the end of its output; Ctrl-C or the end of a pipe gives the exit status that shells expect."""
        try:
            result = super().invoke(context)
            with write_errors("standard output"):
                sys.stdout.flush()
            return result
        except KeyboardInterrupt:
            say("trdec: interrupted")
            sys.exit(130)
        except BrokenPipeError:  # the reader (`head`) has enough
            _abandon_output()
            sys.exit(141)
        except EOFError as error:  # typer would take it for the end of typed input
            raise RuntimeError("a file or a stream ended too early") from error


app = typer.Typer(
    name="trdec",
    cls=_Verbs,
    help="Translation models that generate a tree together with the translation.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
    verbose: bool = typer.Option(False, "--verbose", help="With --version: show what computes, too."),
) -> None:
    """Translation models that generate a tree together with the translation."""
    if version:
        typer.echo(f"trdec {__version__}")
        if verbose:
            _show_what_computes()
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.fail("Missing command.")


def _show_what_computes() -> None:
    import torch

    from trdec.model.fast.compiled import kernels_for

    typer.echo(f"Python {platform.python_version()}")
    typer.echo(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    typer.echo(f"kernels in {kernels_for(torch.empty(0)).name}")


def _add_verbs() -> None:
    from trdec.cli import (
        compare,
        data,
        evaluate,
        experiment,
        export,
        grammar,
        init,
        prepare,
        score,
        serve,
        table,
        tokenise,
        toy,
        train,
        translate,
        trees,
        tune,
    )

    app.add_typer(trees.trees_app, name="trees")
    app.add_typer(grammar.grammar_app, name="grammar")
    app.add_typer(data.data_app, name="data")
    app.command("toy")(toy.toy_command)
    app.command("init")(init.init_command)
    app.command("tokenise")(tokenise.tokenise_command)
    app.command("detokenise")(tokenise.detokenise_command)
    app.command("prepare")(prepare.prepare_command)
    app.command("train")(train.train_command)
    app.command("tune")(tune.tune_command)
    app.command("translate")(translate.translate_command)
    app.command("serve")(serve.serve_command)
    app.command("export")(export.export_command)
    app.command("score")(score.score_command)
    app.command("experiment")(experiment.experiment_command)
    app.command("evaluate")(evaluate.evaluate_command)
    app.command("compare")(compare.compare_command)
    app.command("table")(table.table_command)


_add_verbs()


def main() -> None:
    """Run a command; exit with 0 if it did all that was asked, otherwise with a message and another status."""
    _open_streams()
    keep_freed_memory()
    try:
        with memory_errors("Give it less at once, or more memory."):
            app()
    except OSError as error:  # a full disk, a folder that may not be written
        name = "" if error.filename is None else f"{error.filename}: "
        _fail(f"FileError: {name}{error.strerror or error}.", 1)
    except TrdecError as error:
        _fail(explain_error(error), 1)
    except Exception as error:  # noqa: BLE001  (whatever it is, it becomes one line and a report)
        _fail(_internal_error(error), INTERNAL_ERROR)


def _open_streams() -> None:
    """Make the standard streams usable, whatever the shell gave.

    Output is UTF-8 whatever the terminal's locale says: it is data, often in other alphabets. File names are printed
    even if they are not UTF-8: as they are on standard output, escaped in messages.
    """
    # A closed stream would give its number to the next file that is opened. Reading the first and writing the second
    # still fails; messages are lost.
    for number, access in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_RDWR)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, access)
    # Python has None for a stream that was closed.
    sys.stdin = sys.stdin or open(0, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8")  # noqa: SIM115
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")


def _fail(message: str, status: int) -> None:
    try:
        say(message)
        sys.stdout.flush()
    except OSError:
        _abandon_output()  # that it cannot be written is what the error already said
    sys.exit(status)


def _abandon_output() -> None:
    """Send what is still buffered nowhere, or Python would complain once more when it flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())


def _internal_error(error: Exception) -> str:
    """One line, and where the full report is; the report itself if it cannot be written anywhere."""
    from trdec.experiment.run import versions

    report = "\n".join(
        [
            f"command: {shlex.join(sys.argv)}",
            *(f"{name}: {number}" for name, number in versions().items()),
            "",
            "".join(traceback.format_exception(error)),
        ]
    )
    reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    for folder in (None, os.curdir):
        try:
            with tempfile.NamedTemporaryFile(
                "w", prefix="trdec-error-", suffix=".txt", dir=folder, delete=False, encoding="utf-8", errors="replace"
            ) as stream:
                stream.write(report)
        except OSError:
            continue
        return f"trdec: internal error ({reason}). Please send the developers the report in {stream.name}"
    return f"trdec: internal error ({reason}). Please send the developers this report:\n{report}"


if __name__ == "__main__":
    main()

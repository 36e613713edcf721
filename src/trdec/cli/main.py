"""`trdec`: the console script, its verbs, and what a person sees when something goes wrong."""

from __future__ import annotations

import io
import os
import platform
import sys
from typing import Any

import typer
import typer.core

from trdec import __version__
from trdec.cli.options import explain_error
from trdec.errors import TrdecError
from trdec.freed_memory import keep_freed_memory


class _Verbs(typer.core.TyperGroup):
    def invoke(self, context: Any) -> Any:
        """Run a verb; Ctrl-C ends it with one line and the exit status that shells expect."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            print("trdec: interrupted", file=sys.stderr)
            sys.exit(130)


app = typer.Typer(
    name="trdec",
    cls=_Verbs,
    help="Translation models that generate a tree together with the translation.",
    no_args_is_help=True,
    add_completion=False,
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
    from trdec.cli import compare, data, evaluate, experiment, grammar, prepare, score, toy, train, translate, trees

    app.add_typer(trees.trees_app, name="trees")
    app.add_typer(grammar.grammar_app, name="grammar")
    app.add_typer(data.data_app, name="data")
    app.command("toy")(toy.toy_command)
    app.command("prepare")(prepare.prepare_command)
    app.command("train")(train.train_command)
    app.command("translate")(translate.translate_command)
    app.command("score")(score.score_command)
    app.command("experiment")(experiment.experiment_command)
    app.command("evaluate")(evaluate.evaluate_command)
    app.command("compare")(compare.compare_command)


_add_verbs()


def main() -> None:
    """Run a command; exit with 0 if it did all that was asked, otherwise with a message and another status."""
    # Output is UTF-8 whatever the terminal's locale says: it is data, often in other alphabets.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", newline="\n")
    keep_freed_memory()
    try:
        app()
    except BrokenPipeError:
        _abandon_output()  # the reader (`head`) has enough
        sys.exit(141)
    except OSError as error:  # a full disk, a folder that may not be written
        name = "" if error.filename is None else f"{error.filename}: "
        print(f"FileError: {name}{error.strerror or error}.", file=sys.stderr)
        _flush_or_abandon_output()
        sys.exit(1)
    except TrdecError as error:
        print(explain_error(error), file=sys.stderr)
        _flush_or_abandon_output()
        sys.exit(1)


def _flush_or_abandon_output() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _abandon_output()  # that it cannot be written is what the error already said


def _abandon_output() -> None:
    """Send what is still buffered nowhere, or Python would complain once more when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()

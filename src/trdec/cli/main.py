"""`trdec`: the console script, its verbs, and what a person sees when something goes wrong."""

from __future__ import annotations

import os
import sys

import click
import typer

from trdec import __version__
from trdec.errors import TrdecError

app = typer.Typer(
    name="trdec",
    help="Translation models that generate a tree together with the translation.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trdec {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", callback=_version, is_eager=True
    ),
) -> None:
    """Translation models that generate a tree together with the translation."""


def _add_verbs() -> None:
    from trdec.cli import grammar, toy, trees

    app.add_typer(trees.app, name="trees")
    app.add_typer(grammar.app, name="grammar")
    app.command("toy")(toy.toy)


_add_verbs()


def main() -> None:
    """Run a command; end with 0 if it did all that was asked, with a message and another number if not."""
    try:
        # Output is UTF-8 whatever the terminal's locale says: it is data, often of a language with letters.
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8", newline="\n")
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        print("trdec: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader (`head`) has enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        print(f"trdec: standard output: cannot be written: {error.strerror}.", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except TrdecError as error:
        sys.stdout.flush()
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()

"""`trdec serve`: a translation server with a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trdec.cli.options import AllowOption, ThreadsOption, say
from trdec.cli.translate import Precision
from trdec.errors import UsageError


def serve_command(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help="Models: MODEL, de-en=MODEL, or de-en=MODEL+MODEL for an ensemble."),
    ],
    host: Annotated[str, typer.Option("--host", help="The address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port to listen on; 0 for any that is free.")
    ] = 5000,
    languages: Annotated[
        list[str] | None,
        typer.Option(
            "--languages", metavar="NAME=PAIR", help="The languages of a model, as in a=de-en; may be repeated."
        ),
    ] = None,
    language_names: Annotated[
        list[str] | None,
        typer.Option(
            "--language-name", metavar="CODE=NAME", help="What a language is called, as in vel=Velu; may be repeated."
        ),
    ] = None,
    beam_size: Annotated[
        int | None,
        typer.Option(
            "--beam-size", min=1, help="Hypotheses pursued at once, if a request does not say; else each model's own."
        ),
    ] = None,
    threads: ThreadsOption = 1,
    precision: Annotated[
        Precision, typer.Option("--precision", help="int8 rounds the weights to eight bits, which is faster.")
    ] = Precision.float32,
    keys: Annotated[
        Path | None, typer.Option("--keys", help="A file of API keys, one per line; requests need one of them.")
    ] = None,
    cors: Annotated[
        list[str] | None,
        typer.Option("--cors", metavar="ORIGIN", help="A site whose pages may call the server; * for all."),
    ] = None,
    max_characters: Annotated[
        int, typer.Option("--max-characters", min=1, help="The most characters in a request.")
    ] = 10_000,
    max_texts: Annotated[int, typer.Option("--max-texts", min=1, help="The most texts in a request.")] = 128,
    max_body: Annotated[int, typer.Option("--max-body", min=1, help="The most bytes in a request.")] = 1 << 20,
    max_beam_size: Annotated[
        int, typer.Option("--max-beam-size", min=1, help="The widest beam that a request may ask for.")
    ] = 20,
    queue: Annotated[
        int, typer.Option("--queue", min=1, help="Sentences that may wait for a model; more are refused with 429.")
    ] = 1_000,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds after which a request is given up.")
    ] = 30.0,
    allow: AllowOption = None,
) -> None:
    """Serve models to browsers and programs until Ctrl-C or a termination signal.

    Logs are JSON lines on standard error. They hold no texts.
    """
    from trdec.serve.server import serve
    from trdec.serve.settings import LanguagePair, ModelArgument, ServerLimits, ServerSettings, read_keys

    pairs: dict[str, LanguagePair] = {}
    for text in languages or ():
        name, _, pair = text.partition("=")
        found = LanguagePair.parse(pair)
        if found is None:
            raise UsageError(f"--languages: expected a name and two language codes, as in a=de-en, found {text!r}.")
        pairs[name] = found
    limits = ServerLimits(
        characters=max_characters,
        texts=max_texts,
        body=max_body,
        beam_size=max_beam_size,
        queue=queue,
        seconds=timeout,
    )
    settings = ServerSettings(
        tuple(map(ModelArgument.parse, models)),
        pairs,
        dict(text.partition("=")[::2] for text in language_names or ()),
        limits,
        None if keys is None else read_keys(keys),
        tuple(cors or ()),
        beam_size,
        threads,
        precision.value,
        tuple(allow or ()),
    )
    shown = f"[{host}]" if ":" in host else host
    serve(settings, host, port, lambda chosen: say(f"trdec serves at http://{shown}:{chosen}/ (Ctrl-C stops it)"))

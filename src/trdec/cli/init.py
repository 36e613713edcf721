"""`trdec init`: a first configuration for a corpus, with settings fit for its size."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trdec.cli.options import SystemOption, say
from trdec.errors import UsageError

if TYPE_CHECKING:
    from trdec.configuration.recipe import Setting
    from trdec.data.survey import Survey


def init_command(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.yaml", help="The file to write.")],
    source: Annotated[Path | None, typer.Option("--source", help="Source sentences to train on, one per line.")] = None,
    target: Annotated[Path | None, typer.Option("--target", help="Their translations, one per line.")] = None,
    dev_source: Annotated[Path | None, typer.Option("--dev-source", help="Source sentences to validate on.")] = None,
    dev_target: Annotated[Path | None, typer.Option("--dev-target", help="Their translations.")] = None,
    source_language: Annotated[
        str | None, typer.Option("--source-language", metavar="CODE", help="The source language, such as de.")
    ] = None,
    target_language: Annotated[
        str | None, typer.Option("--target-language", metavar="CODE", help="The target language, such as en.")
    ] = None,
    system: SystemOption = "trdec-binary",
    trees: Annotated[
        Path | None, typer.Option("--trees", help="Parses of the translations, if the system learns a parser's trees.")
    ] = None,
    dev_trees: Annotated[Path | None, typer.Option("--dev-trees", help="The same for dev.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The model directory; by default models/ and CONFIG's name.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace CONFIG.yaml if it exists.")] = False,
) -> None:
    """Look at a corpus and write a commented configuration for it; what is not given is asked for on a terminal."""
    from trdec.configuration.recipe import Setting, recipe_for, write_recipe
    from trdec.data.inspection import check_is_text
    from trdec.data.survey import survey
    from trdec.errors import TextFormatError
    from trdec.files import writing
    from trdec.systems import ANNOTATIONS, system_called
    from trdec.tokenisers import language_problem

    if config.exists() and not force:
        raise UsageError(f"{config}: already exists. Choose another name, or replace it with --force.")
    kind = next((kind for kind in system_called(system).trees if kind in ANNOTATIONS), None)
    given: dict[str, Path | None] = {
        "--source": source,
        "--target": target,
        "--dev-source": dev_source,
        "--dev-target": dev_target,
        **({"--trees": trees, "--dev-trees": dev_trees} if kind else {}),
    }
    if kind is None and (trees or dev_trees):
        raise UsageError(
            f"--trees, --dev-trees: {system} learns no trees of a parser. Leave them out, or choose another --system."
        )
    asks = sys.stdin.isatty() and None in given.values()
    files = _complete(given, kind)
    if asks:
        source_language = source_language or _asked_language("source")
        target_language = target_language or _asked_language("target")
    for name, code in (("source", source_language), ("target", target_language)):
        if problem := language_problem("unicode", code):
            raise UsageError(f"--{name}-language: {problem}")
    for flag in ("--dev-source", "--dev-target"):
        check_is_text(files[flag])
    sides = {name: survey(files[f"--{name}"]) for name in ("source", "target")}
    if sides["source"].lines != sides["target"].lines:
        raise TextFormatError(
            f"{files['--source']} has {sides['source'].lines:,} lines, {files['--target']} has "
            f"{sides['target'].lines:,}. Each line must be the translation of the same line of the other."
        )
    for name, found in sides.items():
        say(f"{name}: {found.lines:,} lines, {'raw' if found.raw else 'tokenised'}, {found.script or 'no'} script")
    folder = output or Path("models") / config.stem
    settings = [
        Setting("system", system, "what is trained; other systems are in the documentation, under choosing trees"),
        Setting("output", str(folder), "the model directory; the same command resumes a training in it"),
        *_data(files, kind, {"source": source_language, "target": target_language}, sides),
        *_fitting(recipe_for(sides["source"].lines), sides),
    ]
    config.parent.mkdir(parents=True, exist_ok=True)
    heading = [f"Train with: trdec train {shlex.quote(str(config))}", "Every key is in docs/configuration.md."]
    with writing(config) as stream:
        stream.write(write_recipe(settings, heading))
    say(f"{config}: written. Train with: trdec train {shlex.quote(str(config))}")
    print(config)


def _complete(given: dict[str, Path | None], kind: str | None) -> dict[str, Path]:
    """The files, with those that are missing asked for; UsageError where nobody can answer."""
    missing = [flag for flag, path in given.items() if path is None]
    if missing and not sys.stdin.isatty():
        needs = f" (the system learns {kind} trees, from a parser's files)" if kind and "--trees" in missing else ""
        raise UsageError(f"{', '.join(missing)}: expected a file{needs}. On a terminal, trdec init asks for it.")
    return {flag: path if path is not None else Path(_asked(f"File for {flag}")) for flag, path in given.items()}


def _asked_language(side: str) -> str | None:
    return _asked(f"Code of the {side} language (empty if unknown)", required=False) or None


def _asked(question: str, required: bool = True) -> str:
    """The answer to a question; it is asked on standard error, because standard output is for the result alone."""
    while True:
        print(f"{question}: ", end="", file=sys.stderr, flush=True)
        try:
            answer = input().strip()
        except EOFError:
            raise UsageError(f"{question}: expected an answer, found the end of the input.") from None
        if answer or not required:
            return answer


def _data(
    files: dict[str, Path], kind: str | None, languages: dict[str, str | None], sides: dict[str, Survey]
) -> Iterator[Setting]:
    from trdec.configuration.recipe import Setting

    for corpus, prefix, why in (("train", "--", "trained on"), ("dev", "--dev-", "to validate on; never trained on")):
        yield Setting(f"data.{corpus}.source", str(files[f"{prefix}source"]), f"source sentences, {why}")
        yield Setting(f"data.{corpus}.target", str(files[f"{prefix}target"]), "their translations, line by line")
        if kind is not None:
            yield Setting(f"data.{corpus}.{kind}", str(files[f"{prefix}trees"]), "the trees of the translations")
    raw = _are_raw(sides)
    yield Setting(
        "data.tokeniser",
        "unicode" if raw else "none",
        "the text is raw, and translations will be" if raw else "words are already separated by spaces",
    )
    for side, code in languages.items():
        if code is not None:
            yield Setting(f"data.{side}_language", code, f"the {side} language")


def _are_raw(sides: dict[str, Survey]) -> bool:
    """Whether the corpus is to be read as raw text, which tokenised text can be, too."""
    return any(side.raw for side in sides.values())


def _fitting(settings: tuple[Setting, ...], sides: dict[str, Survey]) -> Iterator[Setting]:
    """The settings, with no more subwords than the text has."""
    for setting in settings:
        side = setting.key.removeprefix("data.").removesuffix("_subwords.size")
        if side in sides and isinstance(setting.value, int):
            size = sides[side].subwords(setting.value, _are_raw(sides))
            small = size < setting.value
            yield replace(
                setting, value=size, reason="as many pieces as so small a text has" if small else setting.reason
            )
        else:
            yield setting

"""`trdec translate`: translate text with a trained model, and write trees, attention and pictures beside it."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from trdec.cli.options import (
    STANDARD_STREAM,
    AllowOption,
    InputArgument,
    InputOption,
    OutputOption,
    SourceTreesOption,
    ThreadsOption,
    TreeFormat,
    chosen_input,
    counted,
    say,
    standard_error,
)
from trdec.errors import FileError, UsageError
from trdec.files import STANDARD, count_lines, read_lines, text_file, writing

if TYPE_CHECKING:
    from trdec.translation.translation import Translation
    from trdec.trees.tree import Nonterminal

Writer = Callable[[int, "Translation"], None]
"""Takes the translation of the line of this number, counted from 1."""

PAGE, JSON_LINES = ".html", ".jsonl"


class OutputFormat(StrEnum):
    """What is written for each line."""

    text = "text"
    json = "json"


class Precision(StrEnum):
    """What search multiplies."""

    float32 = "float32"
    int8 = "int8"


class LengthUnit(StrEnum):
    """What the length of a translation is counted in."""

    actions = "actions"
    words = "words"


def translate_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model directory, or an archive of `trdec export`.")],
    file: InputArgument = STANDARD_STREAM,
    input_file: InputOption = None,
    output: OutputOption = STANDARD_STREAM,
    output_format: Annotated[
        OutputFormat,
        typer.Option(
            "--format",
            help="text: the translation; json: also its tree, its score, every action's score and attention.",
        ),
    ] = OutputFormat.text,
    trees: Annotated[
        Path | None, typer.Option("--trees", help="Also write the trees to this file, one per line.")
    ] = None,
    source_trees: SourceTreesOption = None,
    attention: Annotated[
        Path | None,
        typer.Option(
            "--attention", help="Also write attention to this file: a page of heatmaps (.html) or JSON lines (.jsonl)."
        ),
    ] = None,
    draw: Annotated[
        Path | None,
        typer.Option("--draw", metavar="DIR", help="Also draw each tree with its attention: 0001.svg and so on."),
    ] = None,
    no_attention: Annotated[
        bool,
        typer.Option("--no-attention", help="Leave attention out of --format json, which is then smaller and faster."),
    ] = False,
    beam_size: Annotated[
        int | None,
        typer.Option("--beam-size", min=1, help="Hypotheses pursued at once; 1 is greedy; the model's own by default."),
    ] = None,
    n_best: Annotated[int, typer.Option("--n-best", min=1, help="Translations of each line; needs --format json.")] = 1,
    batch: Annotated[
        int | None, typer.Option("--batch", min=1, help="Sentences translated together; affects only speed and memory.")
    ] = None,
    threads: ThreadsOption = 1,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            min=1,
            max=1024,
            help="Processes that share the work; the output is the same.",
        ),
    ] = 1,
    device: Annotated[str, typer.Option("--device", help="Where to compute: cpu, cuda, or cuda:1.")] = "cpu",
    precision: Annotated[
        Precision, typer.Option("--precision", help="int8 rounds the weights to eight bits, which is faster.")
    ] = Precision.float32,
    length_power: Annotated[
        float | None,
        typer.Option(
            "--length-power",
            min=0.0,
            help="Divide log-probabilities by length to this power; the model's own by default.",
        ),
    ] = None,
    length_unit: Annotated[
        LengthUnit, typer.Option("--length-unit", help="What that length counts: all actions, or only words.")
    ] = LengthUnit.actions,
    min_ratio: Annotated[
        float, typer.Option("--min-ratio", min=0.0, help="At least this many actions per source subword.")
    ] = 0.0,
    max_ratio: Annotated[
        float, typer.Option("--max-ratio", min=0.0, help="At most this many actions (up to 100) per source subword ...")
    ] = 6.0,
    max_extra: Annotated[int, typer.Option("--max-extra", min=0, help="... plus this many (up to 100,000).")] = 50,
    also: Annotated[
        list[Path] | None, typer.Option("--with", help="Another model, to translate as an ensemble; may be repeated.")
    ] = None,
    sampling: Annotated[
        bool, typer.Option("--sample", help="Sample --n-best translations instead of searching.")
    ] = False,
    temperature: Annotated[float, typer.Option("--temperature", help="Below 1, samples favour the probable.")] = 1.0,
    top_k: Annotated[
        int | None, typer.Option("--top-k", min=1, help="Sample among the k most probable actions.")
    ] = None,
    top_p: Annotated[
        float | None, typer.Option("--top-p", help="Sample among the fewest actions with this total probability.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="The seed of samples; 1 by default.")] = None,
    prefix: Annotated[
        Path | None,
        typer.Option("--prefix", help="A file of words that each translation begins with; a line may be empty."),
    ] = None,
    skeleton: Annotated[
        Path | None,
        typer.Option("--skeleton", help="A file of trees whose shapes the translations take; (()) leaves one free."),
    ] = None,
    words: Annotated[
        int | None, typer.Option("--words", min=1, help="The number of words in each translation.")
    ] = None,
    word_ratio: Annotated[
        float | None, typer.Option("--word-ratio", help="The number of words per word of the source.")
    ] = None,
    allow: AllowOption = None,
) -> None:
    """Translate each line; an empty line gives an empty line. Translations are written as they are made."""
    source = chosen_input(file, input_file)
    if n_best > 1 and output_format is not OutputFormat.json:
        raise UsageError("several translations of a line do not fit on one line of text. Add --format json.")
    if no_attention and (attention is not None or draw is not None):
        raise UsageError("--no-attention leaves out what --attention and --draw show. Choose one.")
    if attention is not None:
        check_attention_file(attention)
    check_distinct(inputs=(source, prefix, skeleton, source_trees), outputs=(output, trees, attention))
    if not sampling and (temperature != 1.0 or top_k is not None or top_p is not None or seed is not None):
        raise UsageError("--temperature, --top-k, --top-p and --seed say how to sample. Add --sample.")
    if sampling and beam_size is not None:
        raise UsageError("--beam-size says how to search, and --sample does not search. Choose one.")
    if beam_size is not None and n_best > beam_size:
        raise UsageError(
            f"expected at most as many translations as hypotheses, found --n-best {n_best} and --beam-size {beam_size}."
        )

    import torch

    from trdec.data.inspection import check_is_text
    from trdec.search.beam import BeamSettings
    from trdec.search.limits import LengthLimits, Normalisation
    from trdec.search.sampling import SamplingSettings
    from trdec.translation.demands import Demands
    from trdec.translation.source import parsed_lines
    from trdec.translation.translator import Translator
    from trdec.translation.workers import Workers

    torch.set_num_threads(min(threads, os.cpu_count() or 1))
    limits = LengthLimits(min_ratio, max_ratio, max_extra)
    demands = Demands(_lines(prefix), _trees(skeleton), words, word_ratio)
    if text_file(source)[0].is_file():
        check_is_text(source)
    load = partial(Translator.load, model, *(also or ()), device=device, allow=allow or (), precision=precision.value)
    translator = load()
    own = translator.own
    normalisation = Normalisation(own.length_power if length_power is None else length_power, length_unit.value)
    settings: BeamSettings | SamplingSettings
    if sampling:
        settings = SamplingSettings(
            n_best, temperature, top_k, top_p, 1 if seed is None else seed, normalisation, limits
        )
    else:
        settings = BeamSettings(max(beam_size or own.beam_size, n_best), n_best, normalisation, limits)
    typed = str(source) == STANDARD and sys.stdin.isatty()  # someone who types is waiting for each translation
    texts = _begun(line.text for line in read_lines(source))
    lines = parsed_lines(translator.codec.system, texts, source_trees)
    remarks: Counter[str] = Counter()
    in_json = output_format is OutputFormat.json
    with_attention = attention is not None or draw is not None or (in_json and not no_attention)
    with contextlib.ExitStack() as opened:
        writers = [opened.enter_context(line_writer(output, _json if in_json else _text))]
        if trees is not None:
            writers.append(opened.enter_context(line_writer(trees, lambda translation: translation.brackets)))
        if attention is not None:
            writers.append(opened.enter_context(attention_writer(attention)))
        if draw is not None:
            writers.append(opened.enter_context(picture_writer(draw)))
        progress = opened.enter_context(_progress(source, output))
        workers = opened.enter_context(Workers(jobs, load)) if jobs > 1 else None
        found = translator.stream(
            lines, settings, batch, 1 if typed else None, demands, with_attention, progress, workers
        )
        try:
            for number, translation in enumerate(found, start=1):
                for write in writers:
                    write(number, translation)
                remarks.update(translation.remarks)
        finally:
            for remark, count in remarks.items():
                say(f"{counted(count, 'line', 'lines')} {remark}.")


@contextlib.contextmanager
def line_writer(path: Path, line_of: Callable[[Translation], str]) -> Iterator[Writer]:
    """A file with a line for each translation, or standard output for `-`."""
    with _growing(path) as stream:
        yield lambda _, translation: _write(stream, line_of(translation) + "\n")


def check_attention_file(path: Path) -> None:
    """Refuse a name that does not say how attention is written."""
    if path.suffix not in (PAGE, JSON_LINES):
        raise UsageError(
            f"{path}: expected a name that ends in {PAGE}, for a page of heatmaps, or in {JSON_LINES}, for JSON lines; "
            f"found {repr(path.suffix) if path.suffix else 'no ending'}."
        )


def check_distinct(inputs: Iterable[Path | None], outputs: Iterable[Path | None]) -> None:
    """Refuse standard input for two inputs, and an output that is an input or another output too."""
    inputs = list(inputs)
    if sum(str(path) == STANDARD for path in inputs) > 1:
        raise UsageError("standard input (-) is named for two inputs, and can be read only once. Name a file for one.")
    taken = {text_file(path)[0].resolve() for path in inputs if path is not None and str(path) != STANDARD}
    for path in outputs:
        if path is not None and str(path) != STANDARD:
            if path.resolve() in taken:
                raise UsageError(f"{path}: is named twice, and would be overwritten. Name another output.")
            taken.add(path.resolve())


@contextlib.contextmanager
def attention_writer(path: Path) -> Iterator[Writer]:
    """A file of the attention of each translation: a page of heatmaps or JSON lines, by the end of its name."""
    if path.suffix == JSON_LINES:
        with line_writer(path, _attention_line) as write:
            yield write
        return
    from trdec.translation.pictures import HEAD, TAIL, heatmap

    with _growing(path) as stream:
        _write(stream, HEAD)
        try:
            yield lambda number, translation: _write(stream, heatmap(number, translation))
        finally:
            _write(stream, TAIL)  # after an error too, so that the page is complete


@contextlib.contextmanager
def picture_writer(folder: Path) -> Iterator[Writer]:
    """A directory with a picture of each translation: 0001.svg and so on; other files in it stay as they are."""
    from trdec.translation.pictures import picture

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise FileError(f"{folder}: expected a directory for pictures, found a file. Name another.") from error
    except OSError as error:
        raise FileError(f"{folder}: cannot be created: {error.strerror}.") from error

    def draw(number: int, translation: Translation) -> None:
        with writing(folder / f"{number:04}.svg") as stream:
            stream.write(picture(translation))

    yield draw


def _attention_line(translation: Translation) -> str:
    from trdec.translation.attention import NO_ATTENTION

    looked = translation.attention or NO_ATTENTION
    return json.dumps({"text": translation.text, **looked.to_json()}, ensure_ascii=False)


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


@contextlib.contextmanager
def _growing(path: Path) -> Iterator[TextIO]:
    """A file, or standard output for `-`, that keeps what was written to it even if the rest fails."""
    try:
        if str(path) == STANDARD:
            yield sys.stdout
        else:
            with path.open("w", encoding="utf-8", newline="\n") as stream:
                yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if str(path) == STANDARD else path
        raise FileError(f"{name}: cannot be written: {error.strerror}.") from error


def _begun(lines: Iterator[str]) -> Iterator[str]:
    """The same lines, the first already read: a missing file is noticed before any output is begun."""
    first = list(itertools.islice(lines, 1))
    return itertools.chain(first, lines)


def _lines(path: Path | None) -> list[str] | None:
    return None if path is None else [line.text for line in read_lines(path)]


def _trees(path: Path | None) -> list[Nonterminal | None] | None:
    if path is None:
        return None
    from trdec.trees import treebank

    trees: list[Nonterminal | None] = []
    for entry in treebank.read(TreeFormat.brackets, path, None):
        if entry.error is not None:
            raise entry.error
        trees.append(entry.tree)
    return trees


def _text(translation: Translation) -> str:
    return translation.text


def _json(translation: Translation) -> str:
    return json.dumps(translation.to_json(), ensure_ascii=False)


@contextlib.contextmanager
def _progress(source: Path, output: Path) -> Iterator[Callable[[int], None] | None]:
    """Progress on standard error, unless the input is typed or the translations themselves are read on a terminal."""
    typed = str(source) == STANDARD and sys.stdin.isatty()
    if typed or (str(output) == STANDARD and sys.stdout.isatty()):
        yield None
        return
    from trdec.progress import ProgressDisplay

    total = count_lines(source) if text_file(source)[0].is_file() else None
    with ProgressDisplay(standard_error()) as show:
        show("translating", 0, total)
        yield lambda done: show("translating", done, total)

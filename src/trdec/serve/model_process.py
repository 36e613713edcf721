"""The process that holds a model: lines in, answers out, until its parent ends."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from trdec.errors import OutOfMemoryError, TrdecError, UsageError
from trdec.freed_memory import keep_freed_memory
from trdec.serve.lines import Answer, LineFailure, LineResult, LineSettings, ModelDescription, WaitingLine

if TYPE_CHECKING:
    from trdec.translation.translator import Translator

_WITHOUT_TREES = ("seq2seq", "ccg")


def run_model(
    connection: Connection, paths: Sequence[Path], precision: Literal["float32", "int8"], threads: int, allow: list[str]
) -> None:
    """Say what the model is, then answer batches of lines until the connection closes."""
    # Its parent decides when it ends: a signal to the whole group must not cut short what is being drained.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    keep_freed_memory()
    with contextlib.suppress(EOFError, OSError):  # the parent is gone, so there is nobody to answer
        try:
            translator = _load(paths, precision, threads, allow)
        except TrdecError as error:
            connection.send(LineFailure(str(error), "server"))
            return
        connection.send(_description(translator))
        while True:
            settings, lines = connection.recv()
            connection.send(answer_lines(translator, settings, lines))


def _load(paths: Sequence[Path], precision: Literal["float32", "int8"], threads: int, allow: list[str]) -> Translator:
    import torch

    from trdec.translation.translator import Translator

    torch.set_num_threads(threads)
    first, *others = paths
    translator = Translator.load(first, *others, allow=allow, precision=precision)
    if translator.codec.system.source_annotation is not None:
        raise UsageError(
            f"{first}: this model reads {translator.codec.system.source_trees} trees of the source, which a parser "
            "must find, so it cannot be served. Translate with `trdec translate`, or serve a model "
            "whose source_trees are built from the words."
        )
    return translator


def _description(translator: Translator) -> ModelDescription:
    from trdec.systems import system_name

    codec = translator.codec
    return ModelDescription(
        codec.source_side.tokeniser.language,
        codec.target_side.tokeniser.language,
        system_name(codec.system),
        codec.system.target not in _WITHOUT_TREES,
    )


def answer_lines(translator: Translator, settings: LineSettings, lines: Sequence[WaitingLine]) -> list[LineResult]:
    """The answer to each line; if the batch fails, its lines are tried one by one, so that only the guilty fail."""
    try:
        return _translate(translator, settings, lines)
    except Exception as error:  # noqa: BLE001  (whatever one line causes, the server keeps serving the others)
        if len(lines) == 1:
            return [_failure(error, settings)]
        return [result for line in lines for result in answer_lines(translator, settings, [line])]


def _translate(translator: Translator, settings: LineSettings, lines: Sequence[WaitingLine]) -> list[LineResult]:
    from trdec.search.beam import BeamSettings
    from trdec.search.limits import LengthLimits, Normalisation
    from trdec.serve.answers import sentence_json
    from trdec.translation.demands import Demands

    beam = BeamSettings(
        settings.beam_size,
        settings.n_best,
        Normalisation(settings.length_power, settings.length_unit),
        LengthLimits(settings.min_ratio, settings.max_ratio, settings.max_extra),
    )
    demands = Demands(
        [line.prefix for line in lines] if "prefix" in settings.demands else None,
        [line.skeleton for line in lines] if "skeleton" in settings.demands else None,
        settings.words,
    )
    texts = [line.text for line in lines]
    found = translator.stream(texts, beam, window=len(texts), demands=demands, attention=settings.answer == "attention")
    trees = translator.codec.system.target not in _WITHOUT_TREES
    return [
        Answer(
            tuple(each.text for each in (translation, *translation.alternatives)),
            None if settings.answer == "texts" else sentence_json(text, translation, trees),
        )
        for text, translation in zip(texts, found, strict=True)
    ]


def _failure(error: Exception, settings: LineSettings) -> LineFailure:
    if not isinstance(error, TrdecError) or isinstance(error, OutOfMemoryError):
        return LineFailure(f"internal error ({type(error).__name__})", "server")
    demanded = [*settings.demands, *(["words"] if settings.words is not None else [])]
    return LineFailure(str(error).replace("line 1: ", ""), "request", demanded[0] if len(demanded) == 1 else None)

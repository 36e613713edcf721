"""The process that holds a model: lines in, answers out, until its parent ends; a translation as JSON."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trdec.errors import OutOfMemoryError, TrdecError, UsageError
from trdec.freed_memory import keep_freed_memory
from trdec.serve.jobs import Answer, LineFailure, LineResults, LineSettings, ModelDescription, WaitingLine
from trdec.tokenisers import WORD_START
from trdec.trees.grammar import Rule
from trdec.trees.tree import PRE, Nonterminal, Terminal, depth, fold

if TYPE_CHECKING:
    from trdec.translation.scoring import ScoredAction
    from trdec.translation.translation import Translation
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
            for found in answer_lines(translator, settings, lines):
                connection.send(found)


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
        translator.own.beam_size,
    )


def answer_lines(translator: Translator, settings: LineSettings, lines: Sequence[WaitingLine]) -> Iterator[LineResults]:
    """The answers to lines, with their numbers, as they are found.

    If the batch fails, the lines that have none yet are tried one by one, so that only the guilty fail.
    """
    missing = set(range(len(lines)))
    try:
        for found in _translate(translator, settings, lines):
            missing -= {number for number, _ in found}
            yield found
    except Exception as error:  # noqa: BLE001  (whatever one line causes, the server keeps serving the others)
        if len(lines) == 1:
            yield [(0, _failure(error, settings))]
            return
        for number in sorted(missing):
            for found in answer_lines(translator, settings, [lines[number]]):
                yield [(number, result) for _, result in found]


def _translate(translator: Translator, settings: LineSettings, lines: Sequence[WaitingLine]) -> Iterator[LineResults]:
    from trdec.search.beam import BeamSettings
    from trdec.search.limits import LengthLimits, Normalisation
    from trdec.translation.demands import Demands

    power = translator.own.length_power if settings.length_power is None else settings.length_power
    beam = BeamSettings(
        settings.beam_size,
        settings.n_best,
        Normalisation(power, settings.length_unit),
        LengthLimits(settings.min_ratio, settings.max_ratio, settings.max_extra),
    )
    demands = Demands(
        [line.prefix for line in lines] if "prefix" in settings.demands else None,
        [line.skeleton for line in lines] if "skeleton" in settings.demands else None,
        settings.words,
    )
    texts = [line.text for line in lines]
    trees = translator.codec.system.target not in _WITHOUT_TREES

    def answer(number: int, translation: Translation) -> Answer:
        return Answer(
            tuple(each.text for each in (translation, *translation.alternatives)),
            None if settings.answer == "texts" else sentence_json(texts[number], translation, trees),
        )

    # One batch: each step of the search has a cost that does not depend on how many lines share it.
    for found in translator.as_found(texts, beam, len(texts), demands, settings.answer == "attention"):
        yield [(number, answer(number, translation)) for number, translation in found]


def _failure(error: Exception, settings: LineSettings) -> LineFailure:
    if not isinstance(error, TrdecError) or isinstance(error, OutOfMemoryError):
        return LineFailure(f"internal error ({type(error).__name__})", "server")
    message = str(error).replace("line 1: ", "")
    demanded = [*settings.demands, *(["words"] if settings.words is not None else [])]
    guilty = demanded if len(demanded) == 1 else [field for field in demanded if f"the {field}" in message]
    return LineFailure(message, "request", guilty[0] if len(guilty) == 1 else None)


DEEPEST_JSON = 200
"""The deepest tree that is written as nested JSON: readers of JSON have limits, some at a thousand."""


def sentence_json(source: str, translation: Translation, trees: bool) -> str:
    """The translation of a sentence with its alternatives, as one JSON object; `trees`: whether the system has any."""
    content = {"source": source, **_content(translation, trees)}
    content["alternatives"] = [_content(other, trees) for other in translation.alternatives]
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _content(translation: Translation, trees: bool) -> dict[str, Any]:
    tree = translation.tree if trees else None
    return {
        "text": translation.text,
        "score": translation.score,
        "log_prob": translation.log_prob,
        "truncated": translation.truncated,
        "remarks": list(translation.remarks),
        "tree": None if tree is None else {"brackets": translation.brackets, "json": nested(tree)},
        "actions": actions_json(translation.actions),
        "attention": None if translation.attention is None else translation.attention.to_json(),
    }


def nested(tree: Nonterminal) -> dict[str, Any] | None:
    """The tree as objects with a label and children, or a word; None if it is deeper than `DEEPEST_JSON`."""
    if depth(tree) > DEEPEST_JSON:
        return None

    def node(of: Nonterminal, children: list[dict[str, Any]]) -> dict[str, Any]:
        return {"label": of.label, "children": children}

    def leaf(terminal: Terminal) -> dict[str, Any]:
        return {"word": terminal.word}

    return fold(tree, leaf, node)


def actions_json(actions: tuple[ScoredAction, ...]) -> list[dict[str, Any]]:
    """Each action with its score; a rule has its label and children, a word its piece."""
    found: list[dict[str, Any]] = []
    begun = False
    for action in actions:
        content: dict[str, Any] = action._asdict()
        if action.kind == "rule":
            rule = Rule.parse(action.text)
            phrases = [number for number, label in enumerate(rule.rhs) if label == PRE]
            content |= {"label": rule.lhs, "children": list(rule.rhs), "phrases": phrases}
        elif action.kind == "word":
            content |= {"piece": action.text, "begins_word": not begun or action.text.startswith(WORD_START)}
            begun = True
        found.append(content)
    return found

"""A trained model, ready to translate: the class that programs and servers use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Literal

import torch

from trdec.configuration.sections import SearchConfiguration
from trdec.data.batch import SourceBatch
from trdec.data.codec import Codec
from trdec.errors import UsageError, memory_errors
from trdec.model.interfaces import SearchPrecision
from trdec.model.translation_model import TranslationModel
from trdec.search.beam import BeamSettings, beam_search_ends
from trdec.search.ensemble import Ensemble
from trdec.search.frontiers import Effects
from trdec.search.hypotheses import Hypothesis
from trdec.search.limits import LengthLimits, Normalisation
from trdec.search.sampling import SamplingSettings, sample
from trdec.systems import System
from trdec.translation.attention import attention_of
from trdec.translation.demands import Demands
from trdec.translation.model_directory import load_model
from trdec.translation.source import ParsedLine, Source, batches, read_source
from trdec.translation.translation import Translation, translation_of
from trdec.translation.workers import Workers

ROWS = 256
"""Hypotheses in a batch, unless a batch size is given: enough for fast matrix products."""

PLACES = 24_000
"""The most source places in a batch times hypotheses per sentence: this bounds the memory for long lines."""

WINDOW = 16
"""The most batches of lines that are sorted by length together; the first is alone, so that it is soon written."""

_MEMORY_ADVICE = "Choose a smaller `batch_size`, `beam_size` or `n_best`, or split the longest lines."


@dataclass(frozen=True, slots=True)
class Task:
    """Some lines that are translated together: their numbers in the text, and what is wanted of them."""

    numbers: Sequence[int]
    sources: Sequence[Source]
    settings: BeamSettings | SamplingSettings
    demands: Demands
    """The demands on these lines alone."""
    attention: bool


TaskMaker = Callable[[Sequence[int], Sequence[Source]], Task]
"""From the numbers and sources of some lines to what is to be done with them."""


class Translator:
    """Translates lines of text. It holds no mutable state, so threads may share it.

    >>> translator = Translator.load(MODEL)
    >>> translation, = translator.translate(["Finise piti yesebil ."])
    >>> translation.text
    'The fish is not small .'
    >>> translation.tree
    (ROOT (S (NP The fish) (VP is not (ADJP small)) .))
    >>> translation.actions[0].text
    'ROOT -> S'
    >>> best, empty = translator.translate(["Finise piti yesebil .", ""], beam_size=3, n_best=3)
    >>> [len(best.alternatives), best.score >= best.alternatives[0].score, empty.text]
    [2, True, '']
    >>> translation, = translator.translate(["Finise piti yesebil ."], attention=True)
    >>> the, *_ = translation.attention.of_words()[0]
    >>> [the.rnn, len(the.weights) == len(translation.attention.source), round(sum(the.weights), 3)]
    ['word', True, 1.0]
    """

    def __init__(
        self,
        models: Sequence[TranslationModel],
        codec: Codec,
        longest: int | None = None,
        device: str = "cpu",
        precision: SearchPrecision = "float32",
        own: SearchConfiguration | None = None,
    ) -> None:
        """A translator that uses one model in evaluation mode, with its present weights, or several models together.

        `longest` is the most source pieces that training allowed; `own` is how it searches unless told otherwise.
        """
        self.codec = codec
        self.own = own or SearchConfiguration()
        self._models = tuple(models)
        searching = [model.for_search(precision) for model in models]
        self._model = searching[0] if len(searching) == 1 else Ensemble(searching)
        self._longest = longest
        self._device = torch.device(device)
        self._effects = Effects.of(codec.target, codec.table, [codec.unknown_action]).to(self._device)

    @classmethod
    def load(
        cls,
        path: Path | str,
        *others: Path | str,
        device: str = "cpu",
        allow: Collection[str] = (),
        precision: SearchPrecision = "float32",
    ) -> Translator:
        """The translator of a model directory or of an archive of `trdec export`, or of several models together.

        With `precision="int8"` it searches faster, with weights rounded to eight bits. A model that names code from
        outside trdec is refused unless `allow` has the same `module:attribute`.
        """
        _check_device(device, precision)
        first = load_model(Path(path), device, allow)
        models = [first.network]
        for other in others:
            another = load_model(Path(other), device, allow)
            if not _same(first.codec, another.codec):
                raise UsageError(
                    f"{other}: its subwords or its grammar differ from those of {path}, so the two cannot be "
                    "combined. Train both on the same prepared data."
                )
            models.append(another.network)
        return cls(models, first.codec, first.longest, device, precision, first.configuration.search)

    def translate(
        self,
        texts: Iterable[str | ParsedLine],
        beam_size: int | None = None,
        n_best: int = 1,
        *,
        length_power: float | None = None,
        length_unit: Literal["actions", "words"] = "actions",
        min_ratio: float = 0.0,
        max_ratio: float = 6.0,
        max_extra: int = 50,
        batch_size: int | None = None,
        attention: bool = False,
    ) -> list[Translation]:
        """The translation of each line, in order; the next best ones are its `alternatives`.

        The beam and the power of the length are the model's own unless given (`trdec tune` finds them). A model that
        reads parses of the source takes lines with their parses (`trdec.translation.source`).
        On request each has its `attention`, which takes another pass and changes nothing else.
        """
        normalisation = Normalisation(self.own.length_power if length_power is None else length_power, length_unit)
        limits = LengthLimits(min_ratio, max_ratio, max_extra)
        settings = BeamSettings(self.own.beam_size if beam_size is None else beam_size, n_best, normalisation, limits)
        return list(self.stream(texts, settings, batch_size, attention=attention))

    def stream(
        self,
        texts: Iterable[str | ParsedLine],
        settings: BeamSettings | SamplingSettings | None = None,
        batch_size: int | None = None,
        window: int | None = None,
        demands: Demands | None = None,
        attention: bool = False,
        progress: Callable[[int], None] | None = None,
        workers: Workers | None = None,
    ) -> Iterator[Translation]:
        """The translations in order, as batches finish; lines are read a window of batches at a time.

        `progress` is called with the number of lines translated so far, of which some may still wait for their turn.
        If there are `workers`, their processes translate; the translations are the same.
        If reading the lines raises an error, the lines before it are translated first, then it is raised.
        """
        chosen = settings or BeamSettings(self.own.beam_size, normalisation=Normalisation(self.own.length_power))
        required = demands or Demands()
        size, places = _most_in_batch(chosen, batch_size)

        def task_of(numbers: Sequence[int], sources: Sequence[Source]) -> Task:
            return Task(numbers, sources, chosen, required.at(numbers), attention)

        windows = repeat(window) if window else chain((size << n for n in range(4)), repeat(WINDOW * size))
        report = progress or _ignore
        return self._windows(_Lines(texts), required, task_of, size, places, windows, report, workers)

    def as_found(
        self,
        texts: Iterable[str],
        settings: BeamSettings,
        batch_size: int | None = None,
        demands: Demands | None = None,
        attention: bool = False,
    ) -> Iterator[list[tuple[int, Translation]]]:
        """The numbers and translations of lines, as soon as the search for each of them ends.

        All lines are read first. Lines whose searches end at the same time come together, with attention those of a
        batch. The translations are those of `stream`.
        """
        required = demands or Demands()
        sources = [read_source(self.codec, text, self._longest) for text in texts]
        required.check_count(len(sources))
        if done := _without_words(sources):
            yield list(done.items())
        for part in batches(sources, *_most_in_batch(settings, batch_size)):
            task = Task(part, [sources[number] for number in part], settings, required.at(part), attention)
            for group in self._ends(task):
                yield [(part[place], translation) for place, translation in group]

    def search(self, task: Task) -> list[Translation]:
        """The translations of some lines that have words."""
        found = dict(pair for group in self._ends(task) for pair in group)
        return [found[place] for place in range(len(task.sources))]

    def _ends(self, task: Task) -> Iterator[list[tuple[int, Translation]]]:
        """The places in the task and the translations of its lines, as soon as the search for each of them ends."""
        with memory_errors(_MEMORY_ADVICE):
            for group in self._searches(task):
                places, found = zip(*group, strict=True)
                sources = [task.sources[place] for place in places]
                weights = (
                    attention_of(self._models, self.codec, sources, found) if task.attention else [None] * len(found)
                )
                yield [
                    (place, translation_of(self.codec, hypotheses, source.remarks, attentions))
                    for place, hypotheses, source, attentions in zip(places, found, sources, weights, strict=True)
                ]

    def _searches(self, task: Task) -> Iterable[list[tuple[int, list[Hypothesis]]]]:
        source = SourceBatch.of([each.pieces for each in task.sources]).to(self._device)
        constraints = task.demands.constraints(self.codec, self._effects, task.sources)
        if isinstance(task.settings, SamplingSettings):
            found = sample(self._model, self._effects, source, task.settings, task.numbers, constraints)
            return [list(enumerate(found))]
        ends = beam_search_ends(self._model, self._effects, source, task.settings, constraints, task.numbers)
        # The attention of a whole batch takes one pass.
        return [sorted(chain.from_iterable(ends))] if task.attention else ends

    def _windows(
        self,
        lines: _Lines,
        demands: Demands,
        task_of: TaskMaker,
        size: int,
        places: int,
        windows: Iterator[int],
        progress: Callable[[int], None],
        workers: Workers | None,
    ) -> Iterator[Translation]:
        first = 0
        while texts := list(islice(lines, next(windows))):
            sources = [read_source(self.codec, text, self._longest) for text in texts]
            yield from self._in_order(first, sources, task_of, size, places, progress, workers)
            first += len(texts)
        lines.raise_error()
        demands.check_count(first)

    def _in_order(
        self,
        first: int,
        sources: Sequence[Source],
        task_of: TaskMaker,
        size: int,
        places: int,
        progress: Callable[[int], None],
        workers: Workers | None,
    ) -> Iterator[Translation]:
        """The translations of a window from line `first` on, each as soon as all before it are done."""
        done = _without_words(sources)
        due = 0
        parts = list(batches(sources, size, places))
        tasks = (task_of([first + number for number in part], [sources[number] for number in part]) for part in parts)
        for numbers, found in zip(parts, workers.map(tasks) if workers else map(self.search, tasks), strict=True):
            done.update(zip(numbers, found, strict=True))
            progress(first + due + len(done))
            while due in done:
                yield done.pop(due)
                due += 1
        while due in done:
            yield done.pop(due)
            due += 1


def _most_in_batch(settings: BeamSettings | SamplingSettings, batch_size: int | None) -> tuple[int, int]:
    """The most sentences in a batch, and the most source places."""
    if batch_size is not None and batch_size < 1:
        raise UsageError(f"expected a batch of at least 1 sentence, found {batch_size}.")
    width = settings.beam_size if isinstance(settings, BeamSettings) else settings.samples
    places = max(1, PLACES // width)
    return min(batch_size or max(1, ROWS // width), places), places  # each sentence takes a place


def _without_words(sources: Sequence[Source]) -> dict[int, Translation]:
    """The empty translations of lines without words, by their numbers."""
    return {number: Translation("", remarks=each.remarks) for number, each in enumerate(sources) if not len(each)}


def _ignore(_done: int) -> None:
    """Progress that is not shown."""


def _check_device(device: str, precision: SearchPrecision) -> None:
    """Raise UsageError if nothing can be computed on the device, or not in this precision."""
    try:
        probe = torch.ones(1, device=device)
        probe.tolist()  # a device that keeps no numbers (meta) fails only here
    except (RuntimeError, AssertionError) as error:  # a name that torch does not know, or was not built for
        reason = str(error).splitlines()[0].rstrip(".!")
        raise UsageError(f"`device` {device}: cannot be used here: {reason}. Choose cpu or another device.") from error
    if precision != "float32" and probe.device.type != "cpu":
        raise UsageError(f"`device` {device}: {precision} is for processors. Choose float32, or cpu as the `device`.")


class _Lines:
    """Lines that end where reading fails; the error is kept until the lines read before it have been translated."""

    def __init__(self, texts: Iterable[str | ParsedLine]) -> None:
        if isinstance(texts, str):
            raise UsageError("expected a list of lines, found one string. Put it in a list.")
        self._texts = iter(texts)
        self._error: Exception | None = None

    def __iter__(self) -> Iterator[str | ParsedLine]:
        return self

    def __next__(self) -> str | ParsedLine:
        if self._error is not None:
            raise StopIteration
        try:
            return next(self._texts)
        except StopIteration:
            raise
        except Exception as error:  # noqa: BLE001  (it is raised later, whatever it is)
            self._error = error
            raise StopIteration from None

    def raise_error(self) -> None:
        """Raise the error that reading raised, if any."""
        if self._error is not None:
            raise self._error


def _reading(system: System) -> tuple[object, ...]:
    """How a system reads the source."""
    return system.source_trees, system.source_transforms, system.reads_trees


def _same(one: Codec, other: Codec) -> bool:
    """Whether two codecs use the same numbers."""
    return (
        one.table.actions == other.table.actions
        and one.source_tokens == other.source_tokens
        and _reading(one.system) == _reading(other.system)
        and one.source_side.tokeniser.name == other.source_side.tokeniser.name
        and one.source_side.tokeniser.language == other.source_side.tokeniser.language
    )

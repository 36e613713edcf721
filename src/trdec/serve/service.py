"""Texts in, translations out: models by name and by language, with detection, deadlines and limits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trdec.errors import ModelError, TrdecError
from trdec.serve.jobs import Answer, Job, LineFailure, LineSettings, ModelDescription, WaitingLine
from trdec.serve.languages import Detected, LanguageDetector, language_name, matching_code
from trdec.serve.observation import ServerMetrics
from trdec.serve.requests import Refusal
from trdec.serve.runner import ModelRunner, ProcessSettings, QueueFull
from trdec.serve.settings import LanguagePair, ModelArgument, ServerSettings

_log = logging.getLogger(__name__)

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model that can be asked."""

    name: str
    languages: LanguagePair
    description: ModelDescription
    runner: ModelRunner


class TranslationService:
    """The models of a server."""

    def __init__(self, settings: ServerSettings, metrics: ServerMetrics) -> None:
        self.settings = settings
        self.metrics = metrics
        self.models: dict[str, LoadedModel] = {}
        self._detector = LanguageDetector([])
        self._runners: list[ModelRunner] = []
        self._opening: asyncio.Task[None] | None = None
        self._draining = False

    async def start(self, failed: Callable[[TrdecError], None]) -> None:
        """Begin to load the models; `failed` is called if one of them cannot be served."""
        loop = asyncio.get_running_loop()
        found: dict[int, LoadedModel] = {}

        def loaded(number: int, result: ModelDescription | LineFailure) -> None:
            argument = self.settings.models[number]
            try:
                if isinstance(result, LineFailure):
                    raise ModelError(result.message)
                found[number] = self._loaded(argument, result, self._runners[number])
                if len(found) == len(self.settings.models):
                    models = [found[n] for n in sorted(found)]
                    _check_names(models)
                    self._opening = loop.create_task(self._open(models))
            except TrdecError as error:
                failed(error)

        for number, argument in enumerate(self.settings.models):
            limits = self.settings.limits
            process = ProcessSettings(
                argument.paths,
                self.settings.precision,
                self.settings.threads,
                self.settings.allow,
                2 * limits.seconds,
            )

            def report(result: ModelDescription | LineFailure, number: int = number) -> None:
                loop.call_soon_threadsafe(loaded, number, result)

            name = argument.name or argument.paths[0].name
            self._runners.append(ModelRunner(name, process, limits.queue, self.metrics, report))
        for runner in self._runners:
            runner.start()

    def _loaded(self, argument: ModelArgument, description: ModelDescription, runner: ModelRunner) -> LoadedModel:
        given = self.settings.languages.get(argument.name or "")
        languages = argument.languages((description.source_language, description.target_language), given)
        runner.name = argument.name or str(languages)
        return LoadedModel(runner.name, languages, description, runner)

    async def _open(self, models: Sequence[LoadedModel]) -> None:
        """All models are loaded: begin to answer."""
        sources = [model.languages.source for model in models]
        self._detector = await asyncio.to_thread(LanguageDetector, sources)  # loading it takes a second
        self.models = {model.name: model for model in models}
        _log.info("ready", extra={"models": list(self.models)})

    async def stop(self) -> None:
        """End the processes of the models."""
        await asyncio.gather(*(asyncio.to_thread(runner.stop) for runner in self._runners))

    def drain(self) -> None:
        """Say from now on that the server is about to end; what it has accepted is still answered."""
        self._draining = True

    @property
    def problem(self) -> str | None:
        """Why requests should go elsewhere; None if nothing speaks against sending them here."""
        if self._draining:
            return "the server is shutting down."
        if not self.models:
            return "the models are being loaded."
        down = [model.name for model in self.models.values() if not model.runner.ready]
        return f"{', '.join(down)}: the model is being loaded again." if down else None

    def beam_size(self, model: LoadedModel) -> int:
        """The beam of requests that do not choose one: the server's if it has one, or the model's own, if allowed."""
        return self.settings.beam_size or min(model.description.beam_size, self.settings.limits.beam_size)

    def check_loaded(self) -> None:
        """Refuse requests that come before the models are loaded."""
        if not self.models:
            raise Refusal(503, "the models are being loaded.", retry_after=2)

    def observe(self) -> None:
        """Give the metrics the present state."""
        self.metrics.states((runner.name, runner.waiting_lines, runner.ready) for runner in self._runners)

    def languages(self) -> list[dict[str, object]]:
        """Each source language with the languages it can be translated into; other targets have none."""
        targets: dict[str, list[str]] = {}
        for model in self.models.values():
            targets.setdefault(model.languages.source, []).append(model.languages.target)
        for model in self.models.values():
            targets.setdefault(model.languages.target, [])
        return [
            {"code": code, "name": self.language_name(code), "targets": list(dict.fromkeys(into))}
            for code, into in targets.items()
        ]

    def language_name(self, code: str) -> str:
        """The name of a language, as the server's users see it."""
        return self.settings.names.get(code) or language_name(code)

    def named(self, name: str | None) -> LoadedModel:
        """The model of this name, or the only one."""
        if name is None and len(self.models) == 1:
            return next(iter(self.models.values()))
        known = ", ".join(self.models)
        if name is None:
            raise Refusal(400, f"model is missing: choose one of {known}.", "model")
        if name not in self.models:
            raise Refusal(400, f"model: expected one of {known}, found {name[:60]!r}.", "model")
        return self.models[name]

    def between(self, source: str, target: str) -> LoadedModel:
        """The model for these languages."""
        sources = [model.languages.source for model in self.models.values()]
        code = matching_code(source, sources)
        if code is None:
            raise Refusal(400, f"{source[:60]!r} is not supported: choose one of {_listed(sources)}.", "source")
        models = [model for model in self.models.values() if model.languages.source == code]
        targets = [model.languages.target for model in models]
        into = matching_code(target, targets)
        if into is None:
            raise Refusal(
                400, f"{target[:60]!r} is not supported: from {code}, choose one of {_listed(targets)}.", "target"
            )
        return models[targets.index(into)]

    def detect(self, text: str, target: str | None = None) -> list[Detected]:
        """The source languages, or those that can be translated into the target, most probable first."""
        if target is None:
            return self._detector.rank(text)
        targets = [model.languages.target for model in self.models.values()]
        code = matching_code(target, targets)
        if code is None:
            raise Refusal(400, f"{target[:60]!r} is not supported: choose one of {_listed(targets)}.", "target")
        sources = [model.languages.source for model in self.models.values() if model.languages.target == code]
        return self._detector.rank(text, list(dict.fromkeys(sources)))

    async def answers(self, model: LoadedModel, settings: LineSettings, lines: Sequence[WaitingLine]) -> list[Answer]:
        """The answer to each line; Refusal if there are too many, it takes too long, or one cannot be translated."""
        if not lines:
            return []
        self.metrics.characters(model.name, sum(len(line.text) for line in lines))
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Job] = loop.create_future()

        def done(job: Job) -> None:
            loop.call_soon_threadsafe(_settle, future, job)

        job = Job(settings, lines, done)
        runner = model.runner
        try:
            runner.submit(job)
        except QueueFull:
            wait = runner.expected_wait
            raise Refusal(429, f"too many requests: try again in {wait} s.", retry_after=wait) from None
        try:
            async with asyncio.timeout(self.settings.limits.seconds):
                await future
        except TimeoutError:
            message = f"no translation within {self.settings.limits.seconds:g} s: try again later, or with less text."
            raise Refusal(503, message, retry_after=runner.expected_wait) from None
        finally:
            if not future.done() or future.cancelled():
                runner.cancel(job)
        if job.lost:
            raise Refusal(503, "the process of the model died: try again.", retry_after=runner.expected_wait)
        return [_answer(job.results[number]) for number in range(len(lines))]


def _check_names(models: Sequence[LoadedModel]) -> None:
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        raise ModelError(f"two models have the same name: {', '.join(names)}. Name them as in: de-en=models/a")


def _settle(future: asyncio.Future[Job], job: Job) -> None:
    if not future.done():
        future.set_result(job)


def _answer(result: Answer | LineFailure) -> Answer:
    if isinstance(result, Answer):
        return result
    raise Refusal(400 if result.blame == "request" else 500, result.message, result.field)


def _listed(codes: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(codes))

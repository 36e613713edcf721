"""Texts of a request as lines for models, and the lines' answers as translated texts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from trdec.errors import Place, TreeFormatError
from trdec.serve.jobs import Answer, LineSettings, WaitingLine
from trdec.serve.languages import Detected
from trdec.serve.requests import LibreRequest, Refusal, TreeRequest, texts_of
from trdec.serve.sentences import SplitText, escape_text, split_html, split_text, whole_text
from trdec.serve.service import AUTO, LoadedModel, TranslationService
from trdec.serve.settings import ServerLimits
from trdec.trees import brackets, treebank
from trdec.trees.transforms import rooted
from trdec.trees.tree import Entry, Nonterminal


@dataclass(frozen=True, slots=True)
class Translated:
    """A translated text, other translations of it, and the language that was found for it, if it was not given."""

    text: str
    alternatives: tuple[str, ...]
    detected: Detected | None


def check_size(texts: Sequence[str], limits: ServerLimits, field: str) -> None:
    """Refuse more texts or characters than a request may have."""
    if len(texts) > limits.texts:
        raise Refusal(400, f"{field}: expected at most {limits.texts} texts, found {len(texts)}.", field)
    characters = sum(map(len, texts))
    if characters > limits.characters:
        raise Refusal(400, f"{field}: expected at most {limits.characters} characters, found {characters}.", field)


async def translate_plainly(service: TranslationService, request: LibreRequest) -> list[Translated]:
    """The translation of each text of a LibreTranslate request."""
    limits = service.settings.limits
    texts = texts_of(request.q, "q")
    check_size(texts, limits, "q")
    if request.alternatives >= limits.beam_size:
        most = limits.beam_size - 1
        raise Refusal(400, f"alternatives: expected at most {most}, found {request.alternatives}.", "alternatives")
    automatic = request.source.lower() == AUTO
    detected = [service.detect(text, request.target)[0] if automatic else None for text in texts]
    models = [service.between(each.language if each else request.source, request.target) for each in detected]

    def split_all() -> list[SplitText]:
        return [_split(text, model, request.format, limits) for text, model in zip(texts, models, strict=True)]

    # Odd markup takes up to a second, in which others should be answered.
    split = await asyncio.to_thread(split_all) if request.format == "html" else split_all()
    answers = await _ask(service, request.alternatives, models, split)
    return [
        Translated(*_joined(each, its, request), found)
        for each, its, found in zip(split, answers, detected, strict=True)
    ]


def _split(text: str, model: LoadedModel, form: str, limits: ServerLimits) -> SplitText:
    languages = model.languages

    def split(part: str) -> SplitText:
        return split_text(part, languages.source, languages.target, limits.sentence)

    return split_html(text, split) if form == "html" else split(text)


async def _ask(
    service: TranslationService, alternatives: int, models: Sequence[LoadedModel], texts: Sequence[SplitText]
) -> list[list[Answer]]:
    """The answers to the sentences of each text, from its model; each model has one job."""

    def settings(model: LoadedModel) -> LineSettings:
        width = max(service.beam_size(model), alternatives + 1)
        return LineSettings(width, width if alternatives else 1)

    chosen = {model.name: model for model in models}
    lines: dict[str, list[WaitingLine]] = {name: [] for name in chosen}
    for model, text in zip(models, texts, strict=True):
        lines[model.name] += map(WaitingLine, text.sentences)
    found = await asyncio.gather(
        *(service.answers(model, settings(model), lines[name]) for name, model in chosen.items())
    )
    by_model = {name: iter(answers) for name, answers in zip(chosen, found, strict=True)}
    return [[next(by_model[model.name]) for _ in text.sentences] for model, text in zip(models, texts, strict=True)]


def _joined(text: SplitText, answers: Sequence[Answer], request: LibreRequest) -> tuple[str, tuple[str, ...]]:
    """The translation, and different ones as alternatives: in each, every sentence has its next best translation."""
    options = [list(dict.fromkeys(answer.texts)) for answer in answers]
    most = max((len(each) for each in options), default=1)
    ranked = [[each[min(number, len(each) - 1)] for each in options] for number in range(most)]
    if request.format == "html":
        ranked = [[escape_text(sentence) for sentence in sentences] for sentences in ranked]
    best, *others = dict.fromkeys(text.join(sentences) for sentences in ranked)
    return best, tuple(others[: request.alternatives])


async def translate_with_trees(service: TranslationService, request: TreeRequest) -> str:
    """The answer to a request for trees, as JSON."""
    limits = service.settings.limits
    model = service.named(request.model)
    texts = texts_of(request.text, "text")
    check_size(texts, limits, "text")
    settings = tree_settings(request, service.beam_size(model), limits)
    skeleton = _skeleton(request)
    if request.split:
        split = [_split(text, model, "text", limits) for text in texts]
    else:
        longest = max(map(len, texts), default=0)
        if longest > limits.sentence:
            message = f"text: expected at most {limits.sentence} characters in a sentence, found {longest}."
            raise Refusal(400, message, "text")
        split = [whole_text(text) for text in texts]
    lines = [
        WaitingLine(sentence, (request.prefix or "") if number == 0 else "", skeleton)
        for text in split
        for number, sentence in enumerate(text.sentences)
    ]
    if request.attention:
        _check_attention([line.text for line in lines], request.n_best, limits)
    answers = iter(await service.answers(model, settings, lines))
    parts = []
    for text in split:
        own = [next(answers) for _ in text.sentences]
        whole = json.dumps(text.join([answer.texts[0] for answer in own]), ensure_ascii=False)
        parts.append(f'{{"text":{whole},"sentences":[{",".join(answer.details or "" for answer in own)}]}}')
    return f'{{"model":{json.dumps(model.name)},"translations":[{",".join(parts)}]}}'


def _check_attention(sentences: Sequence[str], n_best: int, limits: ServerLimits) -> None:
    """Refuse more attention than an answer may hold: a translation has some for each word of source and translation."""
    each = sum(len(sentence) ** 2 for sentence in sentences)
    most = limits.attention // max(1, each)
    if n_best > most:
        raise Refusal(
            400,
            f"n_best: expected at most {most} translations of sentences so long with attention, found {n_best}: ask "
            "for fewer, for less text, or without attention.",
            "n_best",
        )


def tree_settings(request: TreeRequest, beam_size: int, limits: ServerLimits) -> LineSettings:
    """How the sentences of a request for trees are translated; Refusal if it asks for more than the limits."""
    width = max(request.beam_size or beam_size, request.n_best)
    length = request.length
    asked = {
        "beam_size": (request.beam_size or 1, limits.beam_size),
        "n_best": (request.n_best, limits.beam_size),
        "words": (request.words or 1, limits.words),
        "length.min_ratio": (length.min_ratio, limits.max_ratio),
        "length.max_ratio": (length.max_ratio, limits.max_ratio),
        "length.max_extra": (length.max_extra, limits.max_extra),
    }
    for field, (found, most) in asked.items():
        if not found <= most:
            shown = f"{found:g}" if found < 1e9 else "a larger number"  # JSON has whole numbers that no float holds
            raise Refusal(400, f"{field}: expected at most {most:g}, found {shown}.", field)
    if length.min_ratio > length.max_ratio:
        raise Refusal(400, "length.min_ratio: expected no more than length.max_ratio.", "length.min_ratio")
    if request.words is not None and request.skeleton is not None:
        raise Refusal(400, "words: expected either words or a skeleton, found both.", "words")
    for field, text, most in (
        ("prefix", request.prefix, limits.sentence),
        (
            "skeleton",
            request.skeleton,
            limits.characters,
        ),  # nobody is answered while it is read
    ):
        if text is not None:
            texts_of(text, field)
            if len(text) > most:
                raise Refusal(400, f"{field}: expected at most {most} characters, found {len(text)}.", field)
    return LineSettings(
        width,
        request.n_best,
        length.power,
        length.unit,
        length.min_ratio,
        length.max_ratio,
        length.max_extra,
        request.words,
        tuple(name for name in ("prefix", "skeleton") if getattr(request, name) is not None),
        "attention" if request.attention else "details",
    )


def _skeleton(request: TreeRequest) -> Nonterminal | None:
    if request.skeleton is None:
        return None
    place = Place("<text>", 1)
    try:
        entry = treebank.checked(Entry(place, rooted(brackets.parse(request.skeleton, place))))
        if entry.error is not None:
            raise entry.error
    except TreeFormatError as error:
        raise Refusal(400, f"skeleton: {error}", "skeleton") from None
    return entry.tree

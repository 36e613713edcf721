"""The description of the interface: what is answered, in OpenAPI, and as a page without scripts."""

from __future__ import annotations

import html
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from trdec.serve.requests import (
    FORM_TYPE,
    JSON_TYPE,
    DetectRequest,
    ErrorAnswer,
    LengthRequest,
    LibreRequest,
    RequestBody,
    TreeRequest,
)


class DetectedLanguage(BaseModel):
    """A language with the probability, in per cent, that a text is in it."""

    confidence: float
    language: str


class LibreAnswer(BaseModel):
    """Translations, each field a list if `q` was one."""

    translatedText: str | list[str]
    alternatives: list[str] | list[list[str]] | None = Field(None, description="If asked for.")
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = Field(
        None, description="If `source` was `auto`."
    )


class LanguageAnswer(BaseModel):
    """A language, and those it can be translated into."""

    code: str
    name: str
    targets: list[str]


class NamedLanguage(BaseModel):
    """A language."""

    code: str
    name: str


class ModelAnswer(BaseModel):
    """A model."""

    name: str
    source: NamedLanguage
    target: NamedLanguage
    system: str
    trees: bool = Field(description="Whether it writes trees.")
    beam_size: int = Field(description="The beam size of requests that do not choose one.")


class ModelsAnswer(BaseModel):
    """All models."""

    models: list[ModelAnswer]


class HealthAnswer(BaseModel):
    """The server is ready."""

    status: Literal["ok"]


class FrontendLanguages(BaseModel):
    """The languages that are chosen at first."""

    source: NamedLanguage
    target: NamedLanguage


class FrontendSettings(BaseModel):
    """What LibreTranslate's pages ask for."""

    apiKeys: bool
    charLimit: int
    filesTranslation: bool
    frontendTimeout: int
    keyRequired: bool
    language: FrontendLanguages
    suggestions: bool
    supportedFilesFormat: list[str]


class TreeOfWords(BaseModel):
    """A tree in brackets and as nested objects, which are null if it is very deep."""

    brackets: str
    json_: dict[str, Any] | None = Field(alias="json", description="`label` and `children`, or `word`.")


class DerivedTranslation(BaseModel):
    """A translation with its derivation."""

    text: str
    score: float = Field(description="What it was ranked by: the log-probability normalised by length.")
    log_prob: float
    truncated: bool
    remarks: list[str]
    tree: TreeOfWords | None = Field(description="null for systems that write no trees.")
    actions: list[dict[str, Any]] = Field(
        description="`text`, `kind` and `log_prob` of each action; a rule also has its `label`, its `children` and "
        "which of them are `phrases` of words, a word its `piece` and whether it `begins_word`."
    )
    attention: dict[str, Any] | None


class SentenceAnswer(DerivedTranslation):
    """A sentence and its translations."""

    source: str
    alternatives: list[DerivedTranslation]


class TreeTranslation(BaseModel):
    """A text's translation and its sentences."""

    text: str
    sentences: list[SentenceAnswer]


class TreeAnswer(BaseModel):
    """The translations of all texts."""

    model: str
    translations: list[TreeTranslation]


_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": description}
    for status, description in {
        400: "Something in the request is wrong.",
        403: "The API key is missing or wrong.",
        408: "The body took too long.",
        413: "The body is too large.",
        429: "Too many requests wait; Retry-After says for how many seconds.",
        500: "An internal error.",
        503: "The models are not ready, or the translation took too long.",
    }.items()
}


def described(request: type[RequestBody], answer: Any, summary: str) -> dict[str, Any]:
    """What OpenAPI says of an address that takes a body, as JSON or as a form."""
    schema = {"schema": {"$ref": f"#/components/schemas/{request.__name__}"}}
    kinds = [JSON_TYPE] if request is TreeRequest else [JSON_TYPE, FORM_TYPE]
    body = {"required": True, "content": dict.fromkeys(kinds, schema)}
    return {
        "summary": summary,
        "responses": {200: {"model": answer}, **_REFUSALS},
        "openapi_extra": {"requestBody": body},
        "response_class": JSONResponse,
    }


def answering(answer: Any, summary: str) -> dict[str, Any]:
    return {"summary": summary, "responses": {200: {"model": answer}, 503: _REFUSALS[503]}}


def openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, routes=app.routes)
        kinds: list[Any] = [LibreRequest, DetectRequest, TreeRequest, LengthRequest]
        _, definitions = models_json_schema(
            [(kind, "validation") for kind in kinds], ref_template="#/components/schemas/{model}"
        )
        found["components"]["schemas"] |= definitions["$defs"]
        app.openapi_schema = found
    return app.openapi_schema


def documentation_page(description: dict[str, Any]) -> str:
    """A page that lists each address with its fields and answers."""
    schemas = description["components"]["schemas"]
    sections = [
        _operation(path, method, operation, schemas)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    title = f"{_text(description['info']['title'])} {_text(description['info']['version'])}: interface"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width"></head>'
        f'<body><h1>{title}</h1><p>The same in OpenAPI: <a href="/spec">/spec</a></p>{"".join(sections)}</body></html>'
    )


def _operation(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    parts = [f"<h2><code>{method.upper()} {_text(path)}</code></h2>", f"<p>{_text(operation.get('summary', ''))}</p>"]
    if body := operation.get("requestBody"):
        kinds = " or ".join(f"<code>{_text(kind)}</code>" for kind in body["content"])
        reference = next(iter(body["content"].values()))["schema"]["$ref"]
        parts.append(f"<p>Takes {kinds}:</p>{_fields(schemas[reference.rsplit('/', 1)[-1]])}")
    answers = "".join(
        f"<tr><td>{_text(status)}</td><td>{_text(answer['description'])}</td></tr>"
        for status, answer in operation["responses"].items()
    )
    parts.append(f"<table><tr><th>status</th><th>when</th></tr>{answers}</table>")
    return "".join(parts)


def _fields(schema: dict[str, Any]) -> str:
    needed = schema.get("required", [])
    rows = "".join(
        f"<tr><td><code>{_text(name)}</code>{' (required)' if name in needed else ''}</td>"
        f"<td>{_text(field.get('description', ''))}</td></tr>"
        for name, field in schema["properties"].items()
    )
    return f"<table><tr><th>field</th><th>what it is</th></tr>{rows}</table>"


def _text(value: object) -> str:
    return html.escape(str(value))

"""What requests may say, read from JSON or a form, and how they are refused."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qs

from pydantic import BaseModel, ConfigDict, Field, ValidationError

JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"

_SURROGATE = re.compile("[\ud800-\udfff]")


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, field: str | None = None, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.retry_after = retry_after


class ErrorAnswer(BaseModel):
    """Why a request was refused."""

    error: str = Field(description="What is wrong, for people.")
    field: str | None = Field(None, description="The field that is wrong, if it is one.")


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore")

    api_key: str | None = Field(None, description="A key, where the server asks for one.")


Texts = Annotated[str | list[str], Field(description="A text, or a list of texts.")]


class LibreRequest(_Body):
    """What LibreTranslate's clients send to be translated."""

    q: Texts
    source: str = Field(description="The code of the language of the texts, or `auto`.", examples=["auto"])
    target: str = Field(description="The code of the language to translate into.", examples=["en"])
    format: Literal["text", "html"] = Field("text", description="In html, tags are kept and text nodes are translated.")
    alternatives: int = Field(0, ge=0, description="How many other translations to give, at most.")


class DetectRequest(_Body):
    """A text whose language is asked for."""

    q: Texts


class LengthRequest(BaseModel):
    """How long translations may be, and how their length counts in their score."""

    model_config = ConfigDict(extra="forbid")

    power: float | None = Field(
        default=None,
        ge=0,
        le=10,
        description="Log-probabilities are divided by length to this power; the model's own by default.",
    )
    unit: Literal["actions", "words"] = Field(default="actions", description="What that length counts.")
    min_ratio: float = Field(default=0.0, ge=0, description="At least this many actions per source subword.")
    max_ratio: float = Field(default=6.0, ge=0, description="At most this many actions per source subword ...")
    max_extra: int = Field(default=50, ge=0, description="... plus this many.")


class TreeRequest(_Body):
    """Texts to translate together with their trees."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(None, description="The name of the model; not needed if there is only one.")
    text: Texts
    split: bool = Field(True, description="Whether texts are split into sentences; otherwise each is one sentence.")
    beam_size: int | None = Field(None, ge=1, description="Hypotheses pursued at once; the model's own by default.")
    n_best: int = Field(1, ge=1, description="Translations of each sentence, with different trees.")
    attention: bool = Field(True, description="Whether to give the attention of each action.")
    words: int | None = Field(None, ge=1, description="The number of words of each sentence.")
    prefix: str | None = Field(None, description="Words that the first sentence of each text begins with.")
    skeleton: str | None = Field(None, description="A tree in brackets whose shape each sentence takes.")
    length: LengthRequest = LengthRequest()


RequestBody = TypeVar("RequestBody", bound=_Body)


def read_request(kind: type[RequestBody], content_type: str, body: bytes) -> RequestBody:
    """The request in a body of JSON or of a URL-encoded form; Refusal if it is neither, or something in it is wrong."""
    form = content_type.split(";")[0].strip().lower()
    if form.startswith("multipart/"):
        raise Refusal(400, f"expected a body of type {JSON_TYPE} or {FORM_TYPE}, found {form[:60]}.")
    fields = _form(body) if form == FORM_TYPE else _json(body)
    try:
        return kind.model_validate({name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        raise _refusal(error) from None


def _json(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):  # also of a body that is not UTF-8
        raise Refusal(400, "expected a JSON object or a form, found something else.") from None
    if not isinstance(found, dict):
        raise Refusal(400, f"expected a JSON object, found {_KINDS.get(type(found), 'something else')}.")
    return found


_KINDS = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean"}


def _form(body: bytes) -> dict[str, Any]:
    try:
        found = parse_qs(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=50)
    except ValueError:
        raise Refusal(400, "expected a form in UTF-8, found something else.") from None
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _refusal(error: ValidationError) -> Refusal:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = [str(part) for part in first["loc"] if part not in ("str", "list[str]")]
    name = ".".join(place)
    if first["type"] == "missing":
        return Refusal(400, f"{name} is missing.", name)
    if first["type"] == "extra_forbidden":
        return Refusal(400, f"there is no field {name[:60]!r}.", name[:60])
    message = str(first["msg"])
    return Refusal(400, f"{name}: {message[:1].lower()}{message[1:]}.", name)


def texts_of(given: str | list[str], field: str) -> list[str]:
    """The texts as a list; Refusal if one is not Unicode."""
    texts = [given] if isinstance(given, str) else given
    for text in texts:
        if not text.isascii() and (found := _SURROGATE.search(text)):
            raise Refusal(400, f"{field}: expected Unicode text, found the lone surrogate {found[0]!r}.", field)
    return texts

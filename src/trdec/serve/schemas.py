"""What the server answers, as its OpenAPI description tells it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


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

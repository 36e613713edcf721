"""What a server serves, and how much of it: models with their languages, limits, keys."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from trdec.errors import UsageError
from trdec.files import Line, read_lines
from trdec.tokenisers import language_problem

_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,63})=(.*)", re.DOTALL)
_TOGETHER = "+"
_EXAMPLE = "Name its languages, as in: trdec serve de-en=models/a"


@dataclass(frozen=True, slots=True)
class LanguagePair:
    """The codes of the languages that a model translates from and into."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"

    @classmethod
    def parse(cls, text: str) -> LanguagePair | None:
        """The two languages of `de-en` or `pt-BR-en`; None if the text is not two language codes."""
        parts = text.split("-")
        for place in range(1, len(parts)):
            source, target = "-".join(parts[:place]), "-".join(parts[place:])
            if not language_problem("unicode", source) and not language_problem("unicode", target):
                return cls(source, target)
        return None


@dataclass(frozen=True, slots=True)
class ModelArgument:
    """A model as it is named on the command line: several paths are an ensemble."""

    name: str | None
    paths: tuple[Path, ...]

    @classmethod
    def parse(cls, text: str) -> ModelArgument:
        """The model of `MODEL`, `NAME=MODEL` or `NAME=MODEL+MODEL`."""
        named = None if Path(text).exists() else _NAMED.fullmatch(text)
        name, path = named.groups() if named else (None, text)
        paths = [path] if Path(path).exists() else path.split(_TOGETHER)
        if not all(paths):
            raise UsageError(f"expected a model such as models/a, de-en=models/a or de-en=a+b, found {text!r}.")
        return cls(name, tuple(Path(each) for each in paths))

    def languages(self, own: tuple[str | None, str | None], given: LanguagePair | None) -> LanguagePair:
        """The languages that were given, that the model knows, or that its name says; UsageError if none do."""
        if given is not None:
            return given
        named = LanguagePair.parse(self.name) if self.name else None
        source = own[0] or (named and named.source)
        target = own[1] or (named and named.target)
        if not source or not target:
            raise UsageError(f"{self.paths[0]}: the languages of this model are not known. {_EXAMPLE}")
        return LanguagePair(source, target)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What a request may ask for, and how much may wait."""

    characters: int = 10_000
    """In all texts of a request."""
    texts: int = 128
    sentence: int = 1_000
    """Characters; a longer sentence is cut at a space."""
    attention: int = 10_000_000
    """The squares of the characters of sentences, in all translations with attention: ten of the longest sentence."""
    body: int = 1 << 20
    """Bytes."""
    body_seconds: float = 10.0
    seconds: float = 30.0
    """Until a request is given up."""
    queue: int = 1_000
    """Sentences that wait for one model."""
    beam_size: int = 20
    words: int = 200
    max_ratio: float = 10.0
    max_extra: int = 100


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Everything that a server is started with."""

    models: tuple[ModelArgument, ...]
    languages: dict[str, LanguagePair] = field(default_factory=dict)
    """Languages by the name of the model, where they are given."""
    names: dict[str, str] = field(default_factory=dict)
    """Names of languages by their codes, where the usual ones are not wanted."""
    limits: ServerLimits = field(default_factory=ServerLimits)
    keys: frozenset[str] | None = None
    """The keys that requests must have one of; None: none is needed."""
    origins: tuple[str, ...] = ()
    """Other sites whose pages may call the server; `*` for all."""
    beam_size: int | None = None
    """Of requests that do not choose one; None: each model's own."""
    threads: int = 1
    precision: Literal["float32", "int8"] = "float32"
    allow: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.beam_size is not None and not 1 <= self.beam_size <= self.limits.beam_size:
            raise UsageError(f"expected a `beam_size` from 1 to {self.limits.beam_size}, found {self.beam_size}.")
        names = [model.name for model in self.models if model.name]
        if len(names) != len(set(names)):
            raise UsageError(f"two models have the same name: {', '.join(names)}. Choose others.")
        if unknown := sorted(set(self.languages) - set(names)):
            raise UsageError(f"languages are given for {unknown[0]!r}, which is not among the models: {names}.")


def read_keys(path: Path) -> frozenset[str]:
    """The keys in a file, one per line; empty lines and lines that begin with # are ignored."""
    keys = frozenset(_key(line) for line in read_lines(path) if (text := line.text.strip()) and text[0] != "#")
    if not keys:
        raise UsageError(f"{path}: expected API keys, one per line, found none: nobody could use the server.")
    return keys


def _key(line: Line) -> str:
    """The key on a line; UsageError if it could not be sent in a header. The message does not show it."""
    key = line.text.strip()
    if odd := [character for character in key if not (character.isascii() and character.isprintable())]:
        raise UsageError(
            f"{line.place}: expected an API key of printable ASCII characters, found {odd[0]!r} in it. Choose another."
        )
    return key


class KeyRing:
    """Keys that are compared in the same time whatever they are and however many there are."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = [_digest(key) for key in keys]

    def __contains__(self, key: str) -> bool:
        digest = _digest(key)
        return sum([hmac.compare_digest(digest, each) for each in self._digests]) > 0


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()

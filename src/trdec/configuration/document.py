"""A YAML file with the place of each key, overrides of keys, and explanations of mistakes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from trdec.configuration.values import YamlMistake, read_yaml, shortened, write_yaml
from trdec.errors import ConfigError, Place, UsageError
from trdec.files import unreadable

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a YAML file, and the place of every key in it."""

    name: str
    content: dict[str, Any]
    places: dict[Key, str]

    def place(self, key: Key) -> str:
        """Where this key is, or the innermost key around it."""
        while key and key not in self.places:
            key = key[:-1]
        return self.places.get(key, self.name)


def read_document(path: Path) -> Document:
    """The document in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: expected UTF-8, found the byte 0x{error.object[error.start]:02x}.") from error
    try:
        node, content = read_yaml(text)
    except YamlMistake as mistake:
        place = path if mistake.line is None else Place(str(path), mistake.line)
        raise ConfigError(f"{place}: not valid YAML: {mistake}.") from mistake
    if node is None:
        content = {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected keys with values, such as 'system: seq2seq', found {describe(content)}.")
    places: dict[Key, str] = {}
    if node is not None:
        _note_places(node, (), str(path), places)
    return Document(str(path), content, places)


def _note_places(node: yaml.Node, key: Key, file: str, places: dict[Key, str]) -> None:
    if not isinstance(node, yaml.MappingNode):
        return
    for name, value in node.value:
        inner = (*key, str(name.value))
        place = str(Place(file, name.start_mark.line + 1))
        if inner in places:
            raise ConfigError(f"{place}: the key {'.'.join(inner)!r} was already given at {places[inner]}.")
        places[inner] = place
        _note_places(value, inner, file, places)


def override_of(key: str, value: object) -> str:
    """The `key=value` that gives a key this value; a path counts as its text."""
    return f"{key}={write_yaml(str(value) if isinstance(value, Path) else value)}"


def apply_overrides(
    document: Document,
    overrides: Sequence[str],
    root: type[BaseModel],
    named: Mapping[str, Callable[[str], dict[str, Any]]] = {},
) -> Document:
    """The document with the value of each `key=value` instead of its own.

    A value is YAML; where `root` has a path, it is the path as it is written, unless it is quoted or null. `named` has
    the keys whose value may be a name, and what gives the keys that the name stands for: to change one of them, the
    name is replaced by all.
    """
    content, places = deepcopy(document.content), dict(document.places)
    for override in overrides:
        shown = repr(shortened(override))
        name, equals, text = override.partition("=")
        if not equals or not all(name.split(".")):
            raise ConfigError(f"{shown}: expected key=value with a dotted key, such as model.hidden_size=256.")
        *outer, last = name.split(".")
        value = text if _is_path((*outer, last), root) and not _QUOTED_OR_NULL.match(text) else _value(text, shown)
        mapping = content
        for depth, part in enumerate(outer, start=1):
            inner = mapping.setdefault(part, {})
            if inner is None:
                inner = mapping[part] = {}
            if isinstance(inner, str) and (keys_of := named.get(".".join(outer[:depth]))):
                try:
                    inner = mapping[part] = keys_of(inner)
                except UsageError as error:
                    raise ConfigError(f"{shown}: {error}") from error
            if not isinstance(inner, dict):
                owner = ".".join(outer[:depth])
                raise ConfigError(f"{shown}: {owner} is {describe(inner)} and has no keys ({document.name}).")
            mapping = inner
        mapping[last] = value
        key = (*outer, last)
        places = {other: place for other, place in places.items() if other[: len(key)] != key}
        places[key] = shown
    return Document(document.name, content, places)


_QUOTED_OR_NULL = re.compile(r"""["']|(null|~)?\Z""")


def _is_path(key: Key, root: type[BaseModel]) -> bool:
    owner = model_at(key[:-1], root)
    field = owner.model_fields.get(key[-1]) if owner else None
    return field is not None and Path in (field.annotation, *get_args(field.annotation))


def _value(text: str, override: str) -> Any:
    try:
        return read_yaml(text)[1]
    except YamlMistake as mistake:
        raise ConfigError(f"{override}: expected a YAML value, found {shortened(text)!r}: {mistake}.") from mistake


_NAMES = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "a list"}


def describe(value: Any) -> str:
    """A value and its type: `'large' (a string)`."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "keys with values"
    return f"{shortened(repr(value))} ({_NAMES.get(type(value), type(value).__name__)})"


_EXPECTED = {
    "int": "an integer",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "string": "a string",
    "path": "a path",
    "tuple": "a list",
    "list": "a list",
    "model": "keys with values",
    "dict": "keys with values",
}


def explain(error: ValidationError, document: Document, root: type[BaseModel]) -> Iterator[str]:
    """One sentence per mistake: where, what was expected, what was found."""
    for details in error.errors():
        key = tuple(str(part) for part in details["loc"] if not str(part).startswith("function-"))
        # pydantic adds the names of a union's validators, which are not keys.
        yield f"{document.place(key)}: {_mistake(details, key, root)}"


def _mistake(details: ErrorDetails, key: Key, root: type[BaseModel]) -> str:
    kind, found = details["type"], describe(details["input"])
    name = ".".join(key)
    if kind == "extra_forbidden":
        return _unknown_key(key, root)
    if kind == "missing":
        return f"the key {name!r} is missing. {_description(key, root)}".rstrip()
    if kind == "value_error":
        prefix = "" if str(details["ctx"]["error"]).startswith(name) or not key else f"{name}: "
        return f"{prefix}{details['ctx']['error']}"
    if kind == "literal_error":
        return f"{name}: expected one of {details['ctx']['expected']}, found {found}.{_close_choice(details)}"
    if "ctx" in details and kind.startswith(("greater_than", "less_than")):
        return f"{name}: {details['msg'].replace('Input should be', 'expected a number')}, found {found}."
    expected = _EXPECTED.get(kind.split("_")[0])
    return f"{name}: expected {expected}, found {found}." if expected else f"{name}: {details['msg']}, found {found}."


MOVED = {
    "data.trees": "Say which trees with the system: system: {trees: right-branching}, or system.trees=right-branching.",
    "data.transforms": "A system's transforms are all in one place, those of a named system too: "
    "system: {trees: constituency, transforms: [strip-tags, binarise]}, or system.transforms=[strip-tags,binarise].",
    "model.decoder": "Say which decoder with the system: system: {trees: flat, target: seq2seq, decoder: sequence}, or "
    "system.decoder=sequence.",
    "variants": "List them under systems: systems: [seq2seq, {name: my-trees, like: trdec-binary, trees: "
    "right-branching, changes: {model.readout: paper}}].",
}
"""Keys that were renamed or moved, and what to write now."""


def _unknown_key(key: Key, root: type[BaseModel]) -> str:
    *outer, last = key
    if advice := MOVED.get(".".join(key)):
        return f"there is no key {'.'.join(key)!r} any more. {advice}"
    owner = model_at(tuple(outer), root)
    names = list(owner.model_fields) if owner else []
    where = ".".join(outer) or "the configuration"
    lasts = {name: name.rpartition(".")[2] for name in dotted_names(root)}
    close = (
        difflib.get_close_matches(last, names, n=1, cutoff=0.8)
        or [name for name, found in lasts.items() if found == last]
        or difflib.get_close_matches(last, names, n=1)
    )
    if not close:
        nearest = difflib.get_close_matches(last, lasts.values(), n=1)
        close = [name for name, found in lasts.items() if found in nearest]
    if close:
        return f"{where} has no key {last!r}. Did you mean {' or '.join(map(repr, close))}?"
    return f"{where} has no key {last!r}. It has {', '.join(names)}."


def _description(key: Key, root: type[BaseModel]) -> str:
    owner = model_at(key[:-1], root)
    field = owner.model_fields.get(key[-1]) if owner else None
    return (field.description or "") if field else ""


def _close_choice(details: ErrorDetails) -> str:
    choices = [part.strip("'\" ") for part in details["ctx"]["expected"].replace(" or ", ", ").split(", ")]
    close = difflib.get_close_matches(str(details["input"]), choices, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The configuration class in an annotation, if there is one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := model_in(part))), None)


def model_at(key: Key, root: type[BaseModel]) -> type[BaseModel] | None:
    """The configuration class of a key's value."""
    owner: type[BaseModel] | None = root
    for part in key:
        if part.isdigit():  # a place in a list, whose items have the keys
            continue
        field = owner.model_fields.get(part) if owner else None
        owner = model_in(field.annotation) if field else None
    return owner


def dotted_names(root: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Every key with dots, including those that contain keys."""
    for name, field in root.model_fields.items():
        yield f"{prefix}{name}"
        if inner := model_in(field.annotation):
            yield from dotted_names(inner, f"{prefix}{name}.")

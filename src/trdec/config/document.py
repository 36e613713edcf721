"""YAML that remembers where each key was given, in a file or on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from trdec.errors import ConfigError, FileError, Place

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """Nested mappings, and the place of every key in them."""

    name: str
    content: dict[str, Any]
    places: dict[Key, str]

    def place(self, key: Key) -> str:
        """Where this key was given, or the nearest key around it."""
        while key and key not in self.places:
            key = key[:-1]
        return self.places.get(key, self.name)


def read_document(path: Path) -> Document:
    """The document in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}. Check the name and its permissions.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: expected UTF-8, found the byte 0x{error.object[error.start]:02x}.") from error
    try:
        loader = yaml.SafeLoader(text)
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise ConfigError(f"{path}: this is not YAML: {error}.") from error
    try:
        node = loader.get_single_node()
        content = {} if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{Place(str(path), line)}: this is not YAML: {error.problem}.") from error
    except (yaml.YAMLError, ValueError) as error:  # a date that is none is a ValueError
        raise ConfigError(f"{path}: this is not YAML: {error}.") from error
    finally:
        loader.dispose()
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected keys with values, such as 'system: seq2seq', found {describe(content)}.")
    places: dict[Key, str] = {}
    if node is not None:
        _note_places(node, (), str(path), places, ())
    return Document(str(path), content, places)


def _note_places(node: yaml.Node, key: Key, file: str, places: dict[Key, str], around: tuple[yaml.Node, ...]) -> None:
    if not isinstance(node, yaml.MappingNode):
        return
    if any(node is other for other in around):
        raise ConfigError(f"{places[key]}: the value of {'.'.join(key)!r} contains itself.")
    for name, value in node.value:
        inner = (*key, str(name.value))
        place = str(Place(file, name.start_mark.line + 1))
        if inner in places:
            raise ConfigError(f"{place}: the key {'.'.join(inner)!r} was given before, at {places[inner]}.")
        places[inner] = place
        _note_places(value, inner, file, places, (*around, node))


def apply_overrides(document: Document, overrides: Sequence[str]) -> Document:
    """The document with the value of each `key=value` in place of its own."""
    content, places = deepcopy(document.content), dict(document.places)
    for override in overrides:
        name, equals, text = override.partition("=")
        if not equals or not all(name.split(".")):
            raise ConfigError(f"{override!r}: expected key=value with a dotted key, such as model.hidden_size=256.")
        try:
            value = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError) as error:
            raise ConfigError(f"{override!r}: expected a value as YAML writes it, found {text!r}.") from error
        *outer, last = name.split(".")
        mapping = content
        for depth, part in enumerate(outer, start=1):
            inner = mapping.setdefault(part, {})
            if inner is None:
                inner = mapping[part] = {}
            if not isinstance(inner, dict):
                owner = ".".join(outer[:depth])
                raise ConfigError(f"{override!r}: {owner} is {describe(inner)} and has no keys ({document.name}).")
            mapping = inner
        mapping[last] = value
        key = (*outer, last)
        places = {other: place for other, place in places.items() if other[: len(key)] != key}
        places[key] = repr(override)
    return Document(document.name, content, places)


_NAMES = {bool: "a truth value", int: "an integer", float: "a number", str: "a string", list: "a list"}


def describe(value: Any) -> str:
    """A value and what it is: `'large' (a string)`."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "keys with values"
    return f"{value!r} ({_NAMES.get(type(value), type(value).__name__)})"
